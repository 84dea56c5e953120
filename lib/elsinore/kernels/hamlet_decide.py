"""Decides for each burst which queries share it (Hamlet section 4).

Equation 7 compares a burst of b events shared and not shared, with n events in the window, g in the
graphlet, k queries of t types, s_c snapshots created and s_p propagated:

    Shared = b n s_p + s_c k g t        NonShared = k b n

`EQUATION` is the paper's own count of steps. `MEASURED` has the same terms as this engine pays for
them, in nanoseconds: where no predicate asks for earlier events, b n s_p becomes b steps of
coefficients, s_c k g t one product for each lane, and k b n an addition a lane, event and query;
where one does, a burst compares its pairs once, or once a query.

The query set follows Theorems 4.3 and 4.5: queries that bring no snapshot of their own share; each
other is judged by itself against all the rest (levels 1 and 2 of Figure 7, m + 1 plans).
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.hamlet_steps import takes

NEVER, ALWAYS, MEASURED, EQUATION, GIVEN = range(5)

#: Places in the table of costs, nanoseconds each.
(
    BURST,  # sharing one run of queries without predicates: its snapshot
    COEFFICIENT,  # an event's coefficients
    PRODUCT,  # a lane of the snapshot and of the burst's sum
    STEP,  # an event for one query without predicates
    ADDITION,  # a lane of such an event
    PAIR,  # a program on a pair
    PAIR_LANE,  # a lane of an adjacent pair
    ARRIVAL,  # an event for a run of queries with predicates
) = range(8)
COSTS = 8


@outlined
def decide(graph, work, log, policy, p, s, first, after):  # type: ignore[no-untyped-def]
    """Choose the queries that share a burst, into `work.chosen`; how many they are."""
    chosen = 0
    b = after - first
    n = after - work.ledger[14]
    grown = work.ledger[10] == s and work.ledger[13] > 0
    g = work.ledger[11] + b if grown else b
    events = _count_differing(graph, work, s, first, after)
    shared = alone = 0.0
    created = 1 + events if not grown else events
    propagated = (work.ledger[12] if grown else 1) + events
    if policy.mode == EQUATION:
        shared, alone = _by_equation(graph, work, s, b, n, propagated, created, g)
    elif policy.mode == MEASURED:
        shared, alone = _by_cost(graph, work, policy.costs, s, b)
    else:
        for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
            for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
                row = work.ledger[0] % policy.given.shape[0] if policy.mode == GIVEN else 0
                work.cursors[q]["chosen"] = policy.mode == ALWAYS or (
                    policy.mode == GIVEN and policy.given[row, q]
                )
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            chosen += 1 if work.cursors[q]["chosen"] else 0
    _note(graph, work, log, p, s, first, b, n, propagated, created, g, shared, alone, chosen)
    work.ledger[12] = propagated
    work.ledger[10] = s
    work.ledger[11] = g if grown or chosen == 0 else b
    work.ledger[13] = chosen
    return chosen


@inlined
def _count_differing(graph, work, s, first, after):  # type: ignore[no-untyped-def]
    """Events that some queries take and some do not; by class, the events taken.

    `work.seen[c]` are the events that class c takes.
    """
    for c in range(work.seen.size):
        work.seen[c] = 0
    classes = mask = np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        mask |= np.int64(1) << graph.runs[r]["class"]
        classes = max(classes, graph.runs[r]["class"] + 1)
    if classes == 1:
        work.seen[0] = after - first
        return 0
    differing = 0
    for entry in range(first, after):
        accepts = graph.accepts[entry]
        if accepts & mask != mask:
            differing += 1
        for c in range(classes):
            work.seen[c] += 1 if takes(accepts, c) else 0
    return differing


@inlined
def _by_equation(graph, work, s, b, n, propagated, created, g):  # type: ignore[no-untyped-def]
    """Equation 7 at levels 1 and 2; the costs of sharing among all and among none."""
    k, t = 0, np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            work.cursors[q]["chosen"] = True
            k += 1
            t = max(t, graph.queries[q]["types"])
    shared = np.float64(b * n * propagated + created * k * g * t)
    alone = np.float64(k * b * n)
    largest = _common_class(graph, s)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        missed = b - work.seen[graph.runs[r]["class"]]
        if graph.runs[r]["class"] == largest or missed == 0:
            continue  # Theorem 4.3: it brings no snapshot
        left = np.float64(
            b * n * (propagated - missed) + (created - missed) * (k - 1) * g * t + b * n
        )
        if left < shared:  # Theorem 4.5
            for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
                work.cursors[q]["chosen"] = False
    kept = 0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            kept += 1 if work.cursors[q]["chosen"] else 0
    if (shared > alone and kept == k) or kept < 2:
        for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
            for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
                work.cursors[q]["chosen"] = False
    return shared, alone


@inlined
def _common_class(graph, s):  # type: ignore[no-untyped-def]
    best, most = np.int64(-1), np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        size = np.int64(0)
        for other in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
            if graph.runs[other]["class"] == graph.runs[r]["class"]:
                size += graph.runs[other]["high"] - graph.runs[other]["low"]
        if size > most:
            best, most = graph.runs[r]["class"], size
    return best


@inlined
def _by_cost(graph, work, costs, s, b):  # type: ignore[no-untyped-def]
    """Each run of queries by its cost shared and alone, summed over all of them."""
    all_shared = all_alone = 0.0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        low, high = graph.runs[r]["low"], graph.runs[r]["high"]
        taken = np.float64(work.seen[graph.runs[r]["class"]])
        lanes = np.float64(graph.queries[high]["long_start"] - graph.queries[low]["long_start"])
        size = np.float64(high - low)
        if graph.kinds[s]["plain"]:
            shared = costs[BURST] + b * costs[COEFFICIENT] + lanes * costs[PRODUCT]
            alone = taken * (size * costs[STEP] + lanes * costs[ADDITION])
        else:
            members = np.float64(work.stores[s]["tail"] - work.stores[s]["head"]) + b / 2.0
            shared = b * costs[ARRIVAL] + taken * members * costs[PAIR]
            alone = b * size * costs[ARRIVAL] + size * taken * members * costs[PAIR]
        all_shared += shared
        all_alone += alone
        for q in range(low, high):
            work.cursors[q]["chosen"] = shared <= alone
    return all_shared, all_alone


@inlined
def _note(  # type: ignore[no-untyped-def]
    graph, work, log, p, s, first, b, n, propagated, created, g, shared, alone, chosen
):
    before, size = work.ledger[13], 0
    work.ledger[1] += 1 if chosen else 0
    work.ledger[2] += 1 if before and not chosen and work.ledger[10] == s else 0
    work.ledger[3] += 1 if chosen and not before and work.ledger[10] == s else 0
    work.ledger[6] += b
    work.ledger[7] += b if chosen else 0
    if log.decisions.shape[0] == 0:
        return
    used = log.used[0]
    log.used[0] += 1
    if used >= log.decisions.shape[0]:
        return
    t = np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            size += 1
            t = max(t, graph.queries[q]["types"])
    row = log.decisions[used]
    row[0], row[1], row[2], row[3] = work.ledger[0], p, s, first
    row[4], row[5], row[6], row[7] = b, n, propagated, created
    row[8], row[9], row[10], row[11] = size, g, t, chosen
    log.costs[used, 0] = shared
    log.costs[used, 1] = alone
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            log.shares[used, q] = work.cursors[q]["chosen"]
