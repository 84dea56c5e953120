"""Decides for each burst which queries share it (Hamlet section 4).

Equation 7 compares a burst of b events shared and not shared, with n events in the window, g in the
graphlet, k queries of t types, s_c snapshots created and s_p propagated:

    Shared = b n s_p + s_c k g t        NonShared = k b n

`EQUATION` is the paper's own count of steps (`hamlet_equation`), `MEASURED` the same terms as this
engine pays for them (`hamlet_measured`). A plan by measured costs is kept for a state as long as
bursts are of lengths for which it holds, so that most decisions are two comparisons.

The query set follows Theorems 4.3 and 4.5: queries that bring no snapshot of their own share; each
other is judged by itself against all the rest (levels 1 and 2 of Figure 7, m + 1 plans).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.apart import call
from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_equation import plan_by_equation, queries_of
from elsinore.kernels.hamlet_log import DECISIONS
from elsinore.kernels.hamlet_measured import plan_by_length, plan_with_edges
from elsinore.kernels.hamlet_steps import takes
from elsinore.kernels.hamlet_ways import ALONE, SHARED, lay_parts, set_all
from elsinore.kernels.hamlet_work import Ledger

NEVER, ALWAYS, MEASURED, EQUATION, GIVEN = range(5)


class Policy(NamedTuple):
    """How to decide.

    Attributes:
        mode: one of the above.
        costs: float64[COSTS], see `hamlet_measured`.
        given: int8[*, k], for `GIVEN` the queries' ways, burst by burst and over again.
        turns: int64[runs], the shortest burst that may pay by snapshots.
    """

    mode: int
    costs: np.ndarray
    given: np.ndarray
    turns: np.ndarray


@inlined
def decide(address, graph, work, policy, log, p, s, first, after):
    """Plan a burst: `Work.parts` of its state. `address` is that of `plan_burst`."""
    b = after - first
    if (
        policy.mode != MEASURED
        or b < work.stores[s]["low"]
        or b >= work.stores[s]["high"]
        or log.decisions.shape[0] > 0
    ):
        call(address, (graph, work, policy, log, p, s, first, after))
    sharing = work.stores[s]["sharing"]
    if work.ledger[Ledger.GRAPHLET_STATE] == s:
        work.ledger[Ledger.SPLIT] += (
            1 if work.ledger[Ledger.LAST_SHARED] > 0 and sharing == 0 else 0
        )
        work.ledger[Ledger.MERGED] += (
            1 if work.ledger[Ledger.LAST_SHARED] == 0 and sharing > 0 else 0
        )
    work.ledger[Ledger.GRAPHLET_STATE], work.ledger[Ledger.LAST_SHARED] = s, sharing
    work.ledger[Ledger.EVENTS] += b
    if sharing > 0:
        work.ledger[Ledger.SHARED] += 1
        work.ledger[Ledger.SHARED_EVENTS] += b


def plan_burst(graph, work, policy, log, p, s, first, after):
    """Make a plan of a burst, and tell the log; 0. Compiled apart."""
    b, n = after - first, after - work.ledger[Ledger.LOW]
    grown = work.ledger[Ledger.GRAPHLET_STATE] == s and work.ledger[Ledger.LAST_SHARED] > 0
    g = work.ledger[Ledger.GRAPHLET_EVENTS] + b if grown else b
    propagated = created = np.int64(0)
    shared = alone = 0.0
    if policy.mode == EQUATION or log.decisions.shape[0] > 0:
        events = _count_differing(graph, work, s, first, after)
        created = events if grown else events + 1
        propagated = (work.ledger[Ledger.GRAPHLET_LIVE] if grown else 1) + events
    if policy.mode == MEASURED:
        if graph.kinds[s]["plain"]:
            shared, alone = plan_by_length(graph, work, policy, s, b)
        else:
            shared, alone = plan_with_edges(graph, work, policy, s, first, after)
    elif policy.mode == EQUATION:
        shared, alone = plan_by_equation(graph, work, s, b, n, propagated, created, g)
    elif policy.mode == GIVEN:
        row = work.ledger[Ledger.BURSTS] % policy.given.shape[0]
        for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
            for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
                work.ways[s, q] = policy.given[row, q]
    else:
        set_all(graph, work, s, SHARED if policy.mode == ALWAYS else ALONE)
    lay_parts(graph, work, s)
    work.ledger[Ledger.GRAPHLET_EVENTS] = g if grown or work.stores[s]["sharing"] == 0 else b
    work.ledger[Ledger.GRAPHLET_LIVE] = propagated
    if log.decisions.shape[0] > 0:
        _note(graph, work, log, (p, s, first, b, n, propagated, created, g), shared, alone)
    return 0


@inlined
def _count_differing(graph, work, s, first, after):
    """Events that some queries take and some do not; `Work.seen` those that each class takes."""
    classes = mask = np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        mask |= np.int64(1) << graph.runs[r]["class"]
        classes = max(classes, graph.runs[r]["class"] + 1)
    for c in range(classes):
        work.seen[c] = 0
    differing = 0
    for entry in range(first, after):
        accepts = graph.accepts[entry]
        differing += 1 if accepts & mask != mask else 0
        for c in range(classes):
            work.seen[c] += 1 if takes(accepts, c) else 0
    return differing


@inlined
def _note(graph, work, log, numbers, shared, alone):
    p, s, first, b, n, propagated, created, g = numbers
    used = log.used[DECISIONS]
    log.used[DECISIONS] += 1
    if used >= log.decisions.shape[0]:
        return
    size, t = queries_of(graph, s)
    row = log.decisions[used]
    row[0], row[1], row[2], row[3] = work.ledger[Ledger.BURSTS], p, s, first
    row[4], row[5], row[6], row[7] = b, n, propagated, created
    row[8], row[9], row[10], row[11] = size, g, t, work.stores[s]["sharing"]
    log.costs[used, 0] = shared
    log.costs[used, 1] = alone
    plain = graph.kinds[s]["plain"]
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            way, company = work.ways[s, q], graph.runs[r]["company"] > 1
            log.shares[used, q] = way == SHARED or (way != ALONE and company and not plain)
