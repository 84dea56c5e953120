"""Decide for each burst which queries share it (Hamlet, section 4).

Equation 7 compares the costs of a burst of b events with and without sharing. The window has n
events, the graphlet g; there are k queries of t types; s_c snapshots are created and s_p
propagated:

    Shared = b n s_p + s_c k g t        NonShared = k b n

`MEASURED` uses the same terms with the costs of this engine. A plan by measured costs is kept for
a state while bursts have lengths for which it holds. So most decisions are two comparisons.

The sharing queries follow Theorems 4.3 and 4.5: queries that cause no snapshots share. Each other
query is compared separately with all the rest (levels 1 and 2 of Figure 7, m + 1 plans).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.hamlet.kernels.log import DECISIONS
from elsinore.executors.hamlet.kernels.steps import takes
from elsinore.executors.hamlet.kernels.ways import (
    ALONE,
    BESIDE,
    SHARED,
    lay_parts,
    set_all,
    set_run,
)
from elsinore.executors.hamlet.kernels.work import MAX_SNAPSHOTS, Ledger
from elsinore.numbers.borrowed import call
from elsinore.numbers.compiled import inlined

NEVER, ALWAYS, MEASURED, GIVEN = range(4)


class Costs(NamedTuple):
    """Costs in nanoseconds, with counts of 64 bits.

    Attributes:
        burst: sharing one run of queries without predicates (its snapshot).
        coefficient: an event's coefficients.
        product: a lane of the snapshot and of the burst's sum.
        step, addition: an event for a run of queries without predicates; a lane of it.
        pair, pair_lane: a program on a pair; a lane of an adjacent pair.
        arrival, arrival_lane: an event for queries with predicates, run together; a lane of it.
        hit: an adjacent pair, without its lanes.
        expression, term: an event as an expression over snapshots; an adjacent pair there.
        value: a lane of a snapshot in an event's value.
        snapshot: a snapshot.
    """

    burst: float
    coefficient: float
    product: float
    step: float
    addition: float
    pair: float
    pair_lane: float
    arrival: float
    arrival_lane: float
    hit: float
    expression: float
    term: float
    value: float
    snapshot: float


class Policy(NamedTuple):
    """How the executor decides which queries share.

    Attributes:
        mode: `NEVER`, `ALWAYS`, `MEASURED` or `GIVEN`.
        costs: the costs for `MEASURED`.
        given: int8[*, k], for `GIVEN`: the queries' ways per burst, repeated from the start.
        turns: int64[runs], the shortest burst for which snapshots can pay.
    """

    mode: int
    costs: Costs
    given: np.ndarray
    turns: np.ndarray


@inlined
def decide(address, graph, work, policy, log, p, s, first, after):
    """Plan a burst: set `Work.parts` of its state, and count the decision.

    `address` is the address of `plan_burst`.
    """
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
    """Plan a burst and log the decision; return 0. Compiled separately."""
    b, n = after - first, after - work.ledger[Ledger.LOW]
    grown = work.ledger[Ledger.GRAPHLET_STATE] == s and work.ledger[Ledger.LAST_SHARED] > 0
    g = work.ledger[Ledger.GRAPHLET_EVENTS] + b if grown else b
    propagated = created = np.int64(0)
    shared = alone = 0.0
    if log.decisions.shape[0] > 0:
        events = _count_differing(graph, work, s, first, after, False)
        created = events if grown else events + 1
        propagated = (work.ledger[Ledger.GRAPHLET_LIVE] if grown else 1) + events
    if policy.mode == MEASURED:
        if graph.kinds[s]["plain"]:
            shared, alone = plan_by_length(graph, work, policy, s, b)
        else:
            shared, alone = plan_with_edges(graph, work, policy, s, first, after)
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
def _count_differing(graph, work, s, first, after, sharing):
    """Return the number of events that only some queries take; set `Work.seen` per class.

    If `sharing`, only the sharing queries of the state count; otherwise all of them.
    """
    mask = classes = np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        if not sharing or _shares(graph, work, s, r):
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


@inlined
def _note(graph, work, log, numbers, shared, alone):
    """Log a decision: its numbers, its costs and the sharing queries."""
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


# ---- the benefit of sharing a burst with the costs of this engine, in nanoseconds
#
# The terms are from Equation 7. Without predicates on pairs, b n s_p becomes b steps of
# coefficients, s_c k g t one product per lane, and k b n one addition per lane and event. All of
# them are linear in b. So each run of queries has one burst length from which sharing pays, which
# is computed beforehand (`Policy.turns`). With such predicates, n becomes the number of adjacent
# pairs, whose share is measured during the run. Predicates on single events determine a part of
# s_p before the burst; the rest is taken from the previous burst.

_FOREVER = np.iinfo(np.int64).max


@inlined
def plan_by_length(graph, work, policy, s, b):
    """Plan a burst of a state without edge predicates.

    Set the range of burst lengths for which the plan holds. Return the cost if all queries share,
    and the cost if none does. The cost of a run that does not share follows from its turn, at which
    both costs are equal.
    """
    low, high = np.int64(0), _FOREVER
    shared = alone = 0.0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        turn = policy.turns[r]
        once = policy.costs.burst + _lanes(graph, r) * policy.costs.product
        shared += once + b * policy.costs.coefficient
        alone += b * (once / turn + policy.costs.coefficient)
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
    """Plan a burst of a state with edge predicates; return the costs of snapshots and of values.

    Queries run side by side, with values, unless snapshots promise to be cheaper. This requires a
    burst of at least `Policy.turns`. Only queries with the most common predicate can share by
    snapshots. The others would need one for nearly every event, so they are left out (Theorem 4.5).
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
    """Choose the queries that share by snapshots (levels 1 and 2); return both costs."""
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
        values -= b * costs.arrival
    most = MAX_SNAPSHOTS - 1
    differing = _count_differing(graph, work, s, first, after, True)
    while differing > most and _leave_out(graph, work, s, b):
        differing = _count_differing(graph, work, s, first, after, True)
    snapshots = np.float64(max(1 + differing, work.stores[s]["used"] if outside else 0))
    kept = _lanes_that_share(graph, work, s)
    apart = _by_values(costs, b, adjacent, lanes - kept) + pairs * costs.pair
    if kept == lanes:
        apart = 0.0
    shared = apart + _by_snapshots(costs, b, adjacent, kept, snapshots)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        missed, own = b - work.seen[graph.runs[r]["class"]], _lanes(graph, r)
        if not _shares(graph, work, s, r) or graph.runs[r]["largest"] or missed == 0:
            continue  # Theorem 4.3
        beside = apart + _by_values(costs, b, adjacent, own) + pairs * costs.pair
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
    """Exclude the sharing run that misses the most events; return whether there was one.

    Each missed event would be a snapshot.
    """
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
    return b * (costs.arrival + lanes * costs.arrival_lane) + adjacent * (
        costs.hit + lanes * costs.pair_lane
    )


@inlined
def _by_snapshots(costs, b, adjacent, lanes, snapshots):
    return (
        b * (costs.expression + snapshots * lanes * costs.value)
        + adjacent * costs.term
        + snapshots * costs.snapshot
    )


@inlined
def queries_of(graph, s):
    """Return k and t of Table 2: the number of a state's queries, and their most event types."""
    k, t = 0, np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            k += 1
            t = max(t, graph.queries[q]["types"])
    return k, t
