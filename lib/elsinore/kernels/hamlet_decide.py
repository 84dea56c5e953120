"""Decides for each burst which queries share it (Hamlet section 4).

Equation 7 compares a burst shared and not shared: `EQUATION` decides by the paper's own count of
steps, `MEASURED` by the same terms as this engine pays for them. A plan by measured costs is kept
for a state as long as bursts are of lengths for which it holds, so that most decisions are two
comparisons.

The query set follows Theorems 4.3 and 4.5: queries that bring no snapshot of their own share; each
other is judged by itself against all the rest (levels 1 and 2 of Figure 7, m + 1 plans).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.borrowed import call
from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_graph import takes
from elsinore.kernels.hamlet_work import MAX_SNAPSHOTS, Ledger

NEVER, ALWAYS, MEASURED, EQUATION, GIVEN = range(5)

#: The ways in which a query does a burst. By itself; together with others by snapshots, a graphlet
#: for all of them (Hamlet Definition 3.7); with values of its own, but side by side with its
#: neighbours: one vector operation for all, and where edge predicates agree, one adjacency.
ALONE, SHARED, BESIDE = range(3)

_FOREVER = np.iinfo(np.int64).max


class Costs(NamedTuple):
    """Nanoseconds, measured.

    Attributes:
        burst: sharing one run of queries without predicates: its snapshot.
        coefficient: an event's coefficients.
        product: a lane of the snapshot and of the burst's sum.
        step: an event for a run of queries without predicates.
        addition: a lane of such an event.
        pair: a program on a pair.
        pair_lane: a lane of an adjacent pair.
        arrival: an event for queries with predicates, side by side.
        arrival_lane: a lane of such an event.
        hit: an adjacent pair, beside its lanes.
        expression: an event as an expression over snapshots.
        term: an adjacent pair in expressions.
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
    """How to decide.

    Attributes:
        mode: one of the above.
        costs: what the engine pays.
        given: int8[*, k], for `GIVEN` the queries' ways, burst by burst and over again.
        turns: int64[runs], the shortest burst that may pay by snapshots.
    """

    mode: int
    costs: Costs
    given: np.ndarray
    turns: np.ndarray


@inlined
def decide(address, graph, work, policy, p, s, first, after):
    """Plan a burst: `Work.parts` of its state. `address` is that of `plan_burst`."""
    b, store, ledger = after - first, work.stores[s], work.ledger
    kept = b >= store["low"] and b < store["high"]
    if policy.mode != MEASURED or not kept or work.decisions.size > 0:
        call(address, (graph, work, policy, p, s, first, after))
    sharing = store["sharing"]
    if ledger[Ledger.GRAPHLET_STATE] == s:
        before = ledger[Ledger.LAST_SHARED] > 0
        ledger[Ledger.SPLIT] += 1 if before and sharing == 0 else 0
        ledger[Ledger.MERGED] += 1 if not before and sharing > 0 else 0
    ledger[Ledger.GRAPHLET_STATE], ledger[Ledger.LAST_SHARED] = s, sharing
    ledger[Ledger.EVENTS] += b
    if sharing > 0:
        ledger[Ledger.SHARED] += 1
        ledger[Ledger.SHARED_EVENTS] += b


def plan_burst(graph, work, policy, p, s, first, after):
    """Make a plan of a burst, and note it if that is wanted; 0. Called by address."""
    ledger, noted = work.ledger, work.decisions.size > 0
    b, n = after - first, after - ledger[Ledger.LOW]
    grown = ledger[Ledger.GRAPHLET_STATE] == s and ledger[Ledger.LAST_SHARED] > 0
    g = ledger[Ledger.GRAPHLET_EVENTS] + b if grown else b
    created = propagated = np.int64(0)
    shared = alone = 0.0
    _set_all(graph, work, s, SHARED)
    if policy.mode == EQUATION or noted:
        differing = _count_differing(graph, work, s, first, after)
        created = differing if grown else differing + 1
        propagated = (ledger[Ledger.GRAPHLET_LIVE] if grown else 1) + differing
    if policy.mode == MEASURED:
        if graph.kinds[s]["plain"]:
            shared, alone = _plan_by_length(graph, work, policy, s, b)
        else:
            shared, alone = _plan_with_edges(graph, work, policy, s, first, after)
    elif policy.mode == EQUATION:
        shared, alone = _plan_by_equation(graph, work, s, b, n, propagated, created, g)
    elif policy.mode == GIVEN:
        row = ledger[Ledger.BURSTS] % policy.given.shape[0]
        for r in _runs_of(graph, s):
            run = graph.runs[r]
            for q in range(run["low"], run["high"]):
                work.ways[s, q] = policy.given[row, q]
    elif policy.mode == NEVER:
        _set_all(graph, work, s, ALONE)
    _lay_parts(graph, work, s)
    ledger[Ledger.GRAPHLET_EVENTS] = g if grown or work.stores[s]["sharing"] == 0 else b
    ledger[Ledger.GRAPHLET_LIVE] = propagated
    if noted:
        _note(graph, work, (p, s, first, b, n, propagated, created, g), shared, alone)
    return 0


@inlined
def _runs_of(graph, s):
    """The numbers of a state's runs."""
    return range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"])


@inlined
def _set_all(graph, work, s, way):
    """Let all queries of a state do a burst in one way."""
    for r in _runs_of(graph, s):
        _set_run(work, s, graph.runs[r], way)


@inlined
def _set_run(work, s, run, way):
    for q in range(run["low"], run["high"]):
        work.ways[s, q] = way


@inlined
def _lay_parts(graph, work, s):
    """Make `Work.parts` of `Work.ways`: runs of neighbours that do a burst in one way.

    Queries beside each other make one part, whatever they take; those that share by snapshots one
    for each run; those alone one each.
    """
    store = work.stores[s]
    last = store["part_start"] - 1
    store["parts"] = store["sharing"] = store["by_snapshots"] = 0
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        for q in range(run["low"], run["high"]):
            way = work.ways[s, q]
            store["sharing"] += 1 if _is_sharing(graph, s, run, way) else 0
            store["by_snapshots"] += 1 if way == SHARED else 0
            if store["parts"] > 0 and way != ALONE:
                part = work.parts[last]
                alike = part["way"] == way and part["high"] == q
                if alike and (way == BESIDE or part["run"] == r):
                    part["high"] = q + 1
                    continue
            store["parts"] += 1
            last += 1
            part = work.parts[last]
            part["way"], part["run"], part["low"], part["high"] = way, r, q, q + 1


@inlined
def _is_sharing(graph, s, run, way):
    """Whether a query shares: snapshots, or an adjacency that others ask for, too."""
    beside = way == BESIDE and run["company"] > 1 and graph.kinds[s]["plain"] == 0
    return way == SHARED or beside


@inlined
def _note(graph, work, numbers, shared, alone):
    p, s, first, b, n, propagated, created, g = numbers
    used = work.ledger[Ledger.DECISIONS]
    work.ledger[Ledger.DECISIONS] += 1
    if used >= work.decisions.size:
        return
    k, t = _queries_of(graph, s)
    row = work.decisions[used]
    row["burst"] = work.ledger[Ledger.BURSTS]
    row["partition"], row["state"], row["entry"] = p, s, first
    row["b"], row["n"], row["s_p"], row["s_c"] = b, n, propagated, created
    row["k"], row["g"], row["t"] = k, g, t
    row["shared"], row["alone"] = shared, alone
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        for q in range(run["low"], run["high"]):
            work.shares[used, q] = _is_sharing(graph, s, run, work.ways[s, q])


@inlined
def _count_differing(graph, work, s, first, after):
    """Events that only some of the sharing queries take; `Work.seen` are those of each class."""
    mask = classes = np.int64(0)
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        if _shares(work, s, run):
            mask |= np.int64(1) << run["class"]
            classes = max(classes, run["class"] + 1)
            work.seen[run["class"]] = after - first
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
def _shares(work, s, run):
    return work.ways[s, run["low"]] == SHARED


# ---- the benefit of sharing a burst by what this engine pays for it, in nanoseconds
#
# The terms are Equation 7's. Where no predicate asks for earlier events, b n s_p becomes b steps of
# coefficients, s_c k g t one product for each lane, and k b n an addition a lane and event: linear
# in b, so that a run of queries has one length of bursts at which it turns, which is worked out
# beforehand (`Policy.turns`). Where one does ask, n becomes the pairs of adjacent events, whose
# share is counted as the run goes on; s_p is known before the burst, as far as it comes of
# predicates on single events, and else what it came to last time.


@inlined
def _plan_by_length(graph, work, policy, s, b):
    """Plan a burst of a state without edge predicates, and say for which lengths the plan holds.

    Returns what it costs shared by all, and by none; a query's own cost follows from its turn, at
    which both are the same.
    """
    low, high = np.int64(0), _FOREVER
    shared = alone = 0.0
    for r in _runs_of(graph, s):
        turn, run = policy.turns[r], graph.runs[r]
        once = policy.costs.burst + _lanes(graph, run) * policy.costs.product
        shared += once + b * policy.costs.coefficient
        alone += b * (once / turn + policy.costs.coefficient)
        if b >= turn:
            low = max(low, turn)
        else:
            high = min(high, turn)
            _set_run(work, s, run, BESIDE)
    work.stores[s]["low"], work.stores[s]["high"] = low, high
    return shared, alone


@inlined
def _plan_with_edges(graph, work, policy, s, first, after):
    """Plan a burst of a state with edge predicates; the costs of snapshots and of values.

    Queries are side by side unless snapshots promise to be cheaper, which asks for a burst of
    `Policy.turns`. Those with the most common predicate may share by snapshots: the others would
    bring one with nearly every event, so they are left out (Theorem 4.5).
    """
    turn, store = policy.turns[graph.kinds[s]["run_start"]], work.stores[s]
    _set_all(graph, work, s, BESIDE)
    store["low"], store["high"] = np.int64(0), turn
    outside = 1 if store["tail"] > store["head"] else 0
    if after - first < turn or pauses(work, s, outside):
        return 0.0, 0.0
    return _judge(graph, work, policy.costs, s, first, after, outside)


@inlined
def pauses(work, s, outside):
    """Whether this burst is to pass before snapshots are tried again; `outside`: see `_judge`."""
    pause = work.pauses[s, outside]
    if pause["left"] == 0:
        return False
    pause["left"] -= 1
    return True


@inlined
def _judge(graph, work, costs, s, first, after, outside):
    """Choose who shares by snapshots at levels 1 and 2; what it costs, and what values cost.

    `outside` is 1 if members lie before the burst, else 0.
    """
    b, rest, store = after - first, False, work.stores[s]
    pairs = b * (b / 2.0 + store["tail"] - store["head"])
    adjacent = pairs * (store["found"] / store["looked"] if store["looked"] > 0 else 0.5)
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        if run["common"]:
            _set_run(work, s, run, SHARED)
        else:
            rest = True
    lanes = _lanes_that_share(graph, work, s)
    values = _by_values(costs, b, adjacent, lanes)
    if rest:  # the others' events arrive in any case
        values -= b * costs.arrival
    most = MAX_SNAPSHOTS - 1
    differing = _count_differing(graph, work, s, first, after)
    while differing > most and _leave_out(graph, work, s, b):
        differing = _count_differing(graph, work, s, first, after)
    snapshots = np.float64(max(1 + differing, store["used"] if outside else 0))
    kept = _lanes_that_share(graph, work, s)
    apart = _by_values(costs, b, adjacent, lanes - kept) + pairs * costs.pair
    if kept == lanes:
        apart = 0.0
    shared = apart + _by_snapshots(costs, b, adjacent, kept, snapshots)
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        missed, own = b - work.seen[run["class"]], _lanes(graph, run)
        if not _shares(work, s, run) or run["largest"] or missed == 0:
            continue  # Theorem 4.3
        beside = apart + _by_values(costs, b, adjacent, own) + pairs * costs.pair
        fewer = max(snapshots - missed, 1.0)
        left = beside + _by_snapshots(costs, b, adjacent, kept - own, fewer)
        if left < shared:  # Theorem 4.5
            _set_run(work, s, run, BESIDE)
            shared, apart, kept, snapshots = left, beside, kept - own, fewer
    if shared >= values or differing > most:
        _set_all(graph, work, s, BESIDE)
    else:
        store["low"], store["high"] = np.int64(0), np.int64(0)
    return shared, values


@inlined
def _leave_out(graph, work, s, b):
    """Leave out the sharing run that misses most events, which would be too many snapshots."""
    worst = most = np.int64(-1)
    for r in _runs_of(graph, s):
        missed = b - work.seen[graph.runs[r]["class"]]
        if _shares(work, s, graph.runs[r]) and missed > max(most, 0):
            worst, most = np.int64(r), missed
    if worst >= 0:
        _set_run(work, s, graph.runs[worst], BESIDE)
    return worst >= 0


@inlined
def _lanes_that_share(graph, work, s):
    lanes = 0.0
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        lanes += _lanes(graph, run) if _shares(work, s, run) else 0.0
    return lanes


@inlined
def _lanes(graph, run):
    low, high = graph.queries[run["low"]], graph.queries[run["high"]]
    return np.float64(high["long_start"] - low["long_start"])


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


# ---- Equation 7 with the paper's own count of steps (Hamlet section 4)


def equation_7(b, n, s_p, s_c, k, g, t):
    """What a burst costs shared, and not shared (Hamlet Equation 7).

    The three bursts of Figure 6 (Equations 8 to 10), of which the second is not shared:

    >>> bursts = (4, 7, 1, 1, 2, 4, 2), (4, 11, 2, 1, 2, 8, 2), (4, 15, 1, 1, 2, 4, 2)
    >>> [equation_7(*burst) for burst in bursts]
    [(44, 56), (120, 88), (76, 120)]

    Args:
        b: events of the burst.
        n: events of the window.
        s_p: snapshots propagated.
        s_c: snapshots created.
        k: queries.
        g: events of the graphlet.
        t: event types of a query.
    """
    return b * n * s_p + s_c * k * g * t, k * b * n


_equation_7 = inlined(equation_7)


@inlined
def _plan_by_equation(graph, work, s, b, n, propagated, created, g):
    """Choose at levels 1 and 2 of Figure 7; the costs of sharing among all and among none.

    All are set to share, and `Work.seen` has the events of the burst by class.
    """
    k, t = _queries_of(graph, s)
    shared, alone = _equation_7(b, n, propagated, created, k, g, t)
    kept = k
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        missed = b - work.seen[run["class"]]
        if run["largest"] or missed == 0:
            continue  # Theorem 4.3
        left, _ = _equation_7(b, n, propagated - missed, created - missed, k - 1, g, t)
        if left + b * n < shared:  # Theorem 4.5
            _set_run(work, s, run, ALONE)
            kept -= run["high"] - run["low"]
    if (shared > alone and kept == k) or kept < 2:
        _set_all(graph, work, s, ALONE)
    return np.float64(shared), np.float64(alone)


@inlined
def _queries_of(graph, s):
    """Table 2's k and t: the queries of a state, and the most event types that one of them has."""
    k, t = 0, np.int64(0)
    for r in _runs_of(graph, s):
        run = graph.runs[r]
        for q in range(run["low"], run["high"]):
            k += 1
            t = max(t, graph.queries[q]["types"])
    return k, t
