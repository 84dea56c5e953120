"""Decides for each burst which queries share it (Hamlet section 4).

Equation 7 compares a burst of b events shared and not shared, with n events in the window, g in the
graphlet, k queries of t types, s_c snapshots created and s_p propagated:

    Shared = b n s_p + s_c k g t        NonShared = k b n

`EQUATION` is the paper's own count of steps, `MEASURED` the same terms as this engine pays for
them. A plan by measured costs is kept for a state as long as bursts are of lengths for which it
holds, so that most decisions are two comparisons.

The query set follows Theorems 4.3 and 4.5: queries that bring no snapshot of their own share; each
other is judged by itself against all the rest (levels 1 and 2 of Figure 7, m + 1 plans).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.borrowed import call
from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_log import DECISIONS
from elsinore.kernels.hamlet_steps import takes
from elsinore.kernels.hamlet_ways import ALONE, BESIDE, SHARED, lay_parts, set_all, set_run
from elsinore.kernels.hamlet_work import MAX_SNAPSHOTS, Ledger

NEVER, ALWAYS, MEASURED, EQUATION, GIVEN = range(5)


class Policy(NamedTuple):
    """How to decide.

    Attributes:
        mode: one of the above.
        costs: float64[COSTS], nanoseconds by place.
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


# ---- the benefit of sharing a burst by what this engine pays for it, in nanoseconds
#
# The terms are Equation 7's. Where no predicate asks for earlier events, b n s_p becomes b steps of
# coefficients, s_c k g t one product for each lane, and k b n an addition a lane and event: linear
# in b, so that a run of queries has one length of bursts at which it turns, which is worked out
# beforehand (`Policy.turns`). Where one does ask, n becomes the pairs of adjacent events, whose
# share is counted as the run goes on; s_p is known before the burst, as far as it comes of
# predicates on single events, and else what it came to last time.

#: Places in the table of costs, nanoseconds each.
(
    BURST,  # sharing one run of queries without predicates: its snapshot
    COEFFICIENT,  # an event's coefficients
    PRODUCT,  # a lane of the snapshot and of the burst's sum
    STEP,  # an event for a run of queries without predicates
    ADDITION,  # a lane of such an event
    PAIR,  # a program on a pair
    PAIR_LANE,  # a lane of an adjacent pair
    ARRIVAL,  # an event for queries with predicates, side by side
    ARRIVAL_LANE,  # a lane of such an event
    HIT,  # an adjacent pair, beside its lanes
    EXPRESSION,  # an event as an expression over snapshots
    TERM,  # an adjacent pair in expressions
    VALUE,  # a lane of a snapshot in an event's value
    SNAPSHOT,  # a snapshot
) = range(14)
COSTS = 14

_FOREVER = np.iinfo(np.int64).max


@inlined
def plan_by_length(graph, work, policy, s, b):
    """Plan a burst of a state without edge predicates, and say for which lengths the plan holds.

    Returns what it costs shared by all, and by none; a query's own cost follows from its turn, at
    which both are the same.
    """
    low, high = np.int64(0), _FOREVER
    shared = alone = 0.0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        turn = policy.turns[r]
        once = policy.costs[BURST] + _lanes(graph, r) * policy.costs[PRODUCT]
        shared += once + b * policy.costs[COEFFICIENT]
        alone += b * (once / turn + policy.costs[COEFFICIENT])
        if b >= turn:
            low = max(low, turn)
            set_run(graph, work, s, r, SHARED)
        else:
            high = min(high, turn)
            set_run(graph, work, s, r, BESIDE)
    work.stores[s]["low"], work.stores[s]["high"] = low, high
    return shared, alone


@inlined
def plan_with_edges(graph, work, policy, s, first, after):
    """Plan a burst of a state with edge predicates; the costs of snapshots and of values.

    Queries are side by side unless snapshots promise to be cheaper, which asks for a burst of
    `Policy.turns`. Those with the most common predicate may share by snapshots: the others would
    bring one with nearly every event, so they are left out (Theorem 4.5).
    """
    turn = policy.turns[graph.kinds[s]["run_start"]]
    b = after - first
    set_all(graph, work, s, BESIDE)
    work.stores[s]["low"], work.stores[s]["high"] = np.int64(0), turn
    if b < turn:
        return 0.0, 0.0
    outside = np.int64(work.stores[s]["tail"] > work.stores[s]["head"])
    if work.skips[s, outside] > 0:
        work.skips[s, outside] -= 1
        return 0.0, 0.0
    return _judge(graph, work, policy.costs, s, first, after, outside)


@inlined
def _judge(graph, work, costs, s, first, after, outside):
    """Choose who shares by snapshots at levels 1 and 2; what it costs, and what values cost."""
    b, rest = after - first, False
    pairs = b * (b / 2.0 + work.stores[s]["tail"] - work.stores[s]["head"])
    looked = work.stores[s]["looked"]
    adjacent = pairs * (work.stores[s]["found"] / looked if looked > 0 else 0.5)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        if graph.runs[r]["common"]:
            set_run(graph, work, s, r, SHARED)
        else:
            rest = True
    lanes = _lanes_that_share(graph, work, s)
    values = _by_values(costs, b, adjacent, lanes)
    if rest:  # the others' events arrive in any case
        values -= b * costs[ARRIVAL]
    most = MAX_SNAPSHOTS - 1
    differing = _count_differing_among(graph, work, s, first, after)
    while differing > most and _leave_out(graph, work, s, b):
        differing = _count_differing_among(graph, work, s, first, after)
    snapshots = np.float64(max(1 + differing, work.stores[s]["used"] if outside else 0))
    kept = _lanes_that_share(graph, work, s)
    apart = _by_values(costs, b, adjacent, lanes - kept) + pairs * costs[PAIR]
    if kept == lanes:
        apart = 0.0
    shared = apart + _by_snapshots(costs, b, adjacent, kept, snapshots)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        missed, own = b - work.seen[graph.runs[r]["class"]], _lanes(graph, r)
        if not _shares(graph, work, s, r) or graph.runs[r]["largest"] or missed == 0:
            continue  # Theorem 4.3
        beside = apart + _by_values(costs, b, adjacent, own) + pairs * costs[PAIR]
        fewer = max(snapshots - missed, 1.0)
        left = beside + _by_snapshots(costs, b, adjacent, kept - own, fewer)
        if left < shared:  # Theorem 4.5
            set_run(graph, work, s, r, BESIDE)
            shared, apart, kept, snapshots = left, beside, kept - own, fewer
    if shared >= values or differing > most:
        set_all(graph, work, s, BESIDE)
    else:
        work.stores[s]["low"], work.stores[s]["high"] = np.int64(0), np.int64(0)
    return shared, values


@inlined
def _leave_out(graph, work, s, b):
    """Leave out the sharing run that misses most events, which would be too many snapshots."""
    worst = most = np.int64(-1)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        missed = b - work.seen[graph.runs[r]["class"]]
        if _shares(graph, work, s, r) and missed > max(most, 0):
            worst, most = np.int64(r), missed
    if worst >= 0:
        set_run(graph, work, s, worst, BESIDE)
    return worst >= 0


@inlined
def _shares(graph, work, s, r):
    return work.ways[s, graph.runs[r]["low"]] == SHARED


@inlined
def _lanes_that_share(graph, work, s):
    lanes = 0.0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        lanes += _lanes(graph, r) if _shares(graph, work, s, r) else 0.0
    return lanes


@inlined
def _lanes(graph, r):
    low, high = graph.runs[r]["low"], graph.runs[r]["high"]
    return np.float64(graph.queries[high]["long_start"] - graph.queries[low]["long_start"])


@inlined
def _by_values(costs, b, adjacent, lanes):
    return b * (costs[ARRIVAL] + lanes * costs[ARRIVAL_LANE]) + adjacent * (
        costs[HIT] + lanes * costs[PAIR_LANE]
    )


@inlined
def _by_snapshots(costs, b, adjacent, lanes, snapshots):
    return (
        b * (costs[EXPRESSION] + snapshots * lanes * costs[VALUE])
        + adjacent * costs[TERM]
        + snapshots * costs[SNAPSHOT]
    )


@inlined
def _count_differing_among(graph, work, s, first, after):
    """Events that only some of the sharing queries take; `Work.seen` are those of each class."""
    mask = classes = np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        if _shares(graph, work, s, r):
            mask |= np.int64(1) << graph.runs[r]["class"]
            classes = max(classes, graph.runs[r]["class"] + 1)
            work.seen[graph.runs[r]["class"]] = after - first
    differing = 0
    for entry in range(first, after):
        accepts = graph.accepts[entry] & mask
        if accepts == mask:
            continue
        differing += 1 if accepts != 0 else 0
        for c in range(classes):
            work.seen[c] -= 1 if takes(mask & ~accepts, c) else 0
    return differing


# ---- Equation 7 with the paper's own count of steps (Hamlet section 4)


@inlined
def plan_by_equation(graph, work, s, b, n, propagated, created, g):
    """Choose at levels 1 and 2 of Figure 7; the costs of sharing among all and among none.

    `Work.seen` has the events of the burst by class. Theorem 4.3: who brings no snapshot shares;
    Theorem 4.5: each other run is judged by itself against all the rest.
    """
    set_all(graph, work, s, SHARED)
    k, t = queries_of(graph, s)
    shared = np.float64(b * n * propagated + created * k * g * t)
    alone = np.float64(k * b * n)
    kept = k
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        missed = b - work.seen[graph.runs[r]["class"]]
        if graph.runs[r]["largest"] or missed == 0:
            continue  # Theorem 4.3
        left = np.float64(
            b * n * (propagated - missed) + (created - missed) * (k - 1) * g * t + b * n
        )
        if left < shared:  # Theorem 4.5
            set_run(graph, work, s, r, ALONE)
            kept -= graph.runs[r]["high"] - graph.runs[r]["low"]
    if (shared > alone and kept == k) or kept < 2:
        set_all(graph, work, s, ALONE)
    return shared, alone


@inlined
def queries_of(graph, s):
    """Table 2's k and t: the queries of a state, and the most event types that one of them has."""
    k, t = 0, np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            k += 1
            t = max(t, graph.queries[q]["types"])
    return k, t
