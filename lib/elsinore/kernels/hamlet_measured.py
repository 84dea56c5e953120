"""The benefit of sharing a burst by what this engine pays for it, in nanoseconds.

The terms are Equation 7's. Where no predicate asks for earlier events, b n s_p becomes b steps of
coefficients, s_c k g t one product for each lane, and k b n an addition a lane and event: linear in
b, so that a run of queries has one length of bursts at which it turns, which is worked out
beforehand (`Policy.turns`). Where one does ask, n becomes the pairs of adjacent events, whose share
is counted as the run goes on; s_p is known before the burst, as far as it comes of predicates on
single events, and else what it came to last time.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_steps import takes
from elsinore.kernels.hamlet_ways import BESIDE, SHARED, set_all, set_run
from elsinore.kernels.hamlet_work import MAX_SNAPSHOTS

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
def plan_by_length(graph, work, policy, s, b):  # type: ignore[no-untyped-def]
    """Plan a burst of a state without edge predicates, and say for which lengths the plan holds."""
    low, high = np.int64(0), _FOREVER
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        turn = policy.turns[r]
        if b >= turn:
            low = max(low, turn)
            set_run(graph, work, s, r, SHARED)
        else:
            high = min(high, turn)
            set_run(graph, work, s, r, BESIDE)
    work.stores[s]["low"], work.stores[s]["high"] = low, high


@inlined
def plan_with_edges(graph, work, policy, s, first, after):  # type: ignore[no-untyped-def]
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
    outside = work.stores[s]["tail"] > work.stores[s]["head"]
    if outside:
        if work.stores[s]["skips_outside"] > 0:
            work.stores[s]["skips_outside"] -= 1
            return 0.0, 0.0
    elif work.stores[s]["skips"] > 0:
        work.stores[s]["skips"] -= 1
        return 0.0, 0.0
    return _judge(graph, work, policy.costs, s, first, after, outside)


@inlined
def _judge(graph, work, costs, s, first, after, outside):  # type: ignore[no-untyped-def]
    """Choose who shares by snapshots at levels 1 and 2; what it costs, and what values cost."""
    b = after - first
    differing = _count_common(graph, work, s, first, after)
    pairs = b * (b / 2.0 + work.stores[s]["tail"] - work.stores[s]["head"])
    looked = work.stores[s]["looked"]
    density = work.stores[s]["found"] / looked if looked > 0 else 0.5
    known = work.stores[s]["used"] if outside else 0
    snapshots = max(1.0 + differing, np.float64(known))
    lanes, rest = 0.0, False
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        if graph.runs[r]["common"]:
            lanes += _lanes(graph, r)
            set_run(graph, work, s, r, SHARED)
        else:
            rest = True
    values = _by_values(costs, b, pairs * density, lanes)
    if rest:  # the others' events arrive in any case
        values -= b * costs[ARRIVAL]
    shared = _by_snapshots(costs, b, pairs * density, lanes, snapshots)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        missed = b - work.seen[graph.runs[r]["class"]]
        if not graph.runs[r]["common"] or graph.runs[r]["largest"] or missed == 0:
            continue  # Theorem 4.3
        fewer, own = max(snapshots - missed, 1.0), _lanes(graph, r)
        beside = _by_values(costs, b, pairs * density, own) + pairs * costs[PAIR]
        left = beside + _by_snapshots(costs, b, pairs * density, lanes - own, fewer)
        if left < shared or snapshots > MAX_SNAPSHOTS:  # Theorem 4.5
            set_run(graph, work, s, r, BESIDE)
            shared, lanes, snapshots = left, lanes - own, fewer
    if shared >= values or snapshots > MAX_SNAPSHOTS:
        set_all(graph, work, s, BESIDE)
    else:
        work.stores[s]["low"], work.stores[s]["high"] = np.int64(0), np.int64(0)
    return shared, values


@inlined
def _lanes(graph, r):  # type: ignore[no-untyped-def]
    low, high = graph.runs[r]["low"], graph.runs[r]["high"]
    return np.float64(graph.queries[high]["long_start"] - graph.queries[low]["long_start"])


@inlined
def _by_values(costs, b, adjacent, lanes):  # type: ignore[no-untyped-def]
    return b * (costs[ARRIVAL] + lanes * costs[ARRIVAL_LANE]) + adjacent * (
        costs[HIT] + lanes * costs[PAIR_LANE]
    )


@inlined
def _by_snapshots(costs, b, adjacent, lanes, snapshots):  # type: ignore[no-untyped-def]
    return (
        b * (costs[EXPRESSION] + snapshots * lanes * costs[VALUE])
        + adjacent * costs[TERM]
        + snapshots * costs[SNAPSHOT]
    )


@inlined
def _count_common(graph, work, s, first, after):  # type: ignore[no-untyped-def]
    """Events that only some of the queries with the common predicate take; `Work.seen` by class."""
    mask = np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        if graph.runs[r]["common"]:
            mask |= np.int64(1) << graph.runs[r]["class"]
            work.seen[graph.runs[r]["class"]] = after - first
    differing = 0
    for entry in range(first, after):
        accepts = graph.accepts[entry]
        if accepts & mask == mask or accepts & mask == 0:
            continue
        differing += 1
        for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
            if graph.runs[r]["common"] and not takes(accepts, graph.runs[r]["class"]):
                work.seen[graph.runs[r]["class"]] -= 1
    return differing
