"""A burst of a state with edge predicates, its events as expressions over snapshots.

Hamlet Algorithm 1. A burst begins with a snapshot at graphlet level: all that its first event gets
from outside of the burst. An event that the sharing queries take alike, with the same predecessors
in the burst, and the same outside as the first event, is an expression: coefficients over snapshots
that hold for all queries. Any other event is a snapshot at event level (Definition 3.11), with a
value for each lane. A weighted count rides along by coefficients of its own over the counts.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_decide import SHARED
from elsinore.kernels.hamlet_graph import (
    EVERY,
    FREE_LOOP,
    LONG,
    NO_LOOP,
    end_of_instant,
    takes,
)
from elsinore.kernels.hamlet_lanes import add_lanes, add_own, add_rows, add_times, clear_lanes
from elsinore.kernels.hamlet_steps import arrive, find_members, settle
from elsinore.kernels.hamlet_work import FIRST, MAX_SNAPSHOTS, PART, SUM

_NONE = -9


def share_coefficients(graph, work, lanes, s, first, after):
    """Work out a burst for all sharing queries; the snapshots it took, 0 if there were too many.

    Called by address. On the first rung only, for queries without sums of doubles and extremes, and
    states that no program leads to from another one. With 0 nothing was done. The burst's events
    are the newest members already.
    """
    for i in parts_of(work, s):
        part = work.parts[i]
        if part["way"] == SHARED:
            arrive(graph, lanes, s, EVERY, work.stage, part["low"], part["high"])
    _clear_expression(work, SUM)
    snapshots, begin = 0, first
    while begin < after:
        end = end_of_instant(graph.times, begin, after)
        for entry in range(begin, end):
            snapshots = _take(graph, work, lanes, s, entry, first, begin, snapshots)
            if snapshots < 0:
                return 0
        for entry in range(begin, end):
            if not _add_expression(work, SUM, FIRST + entry - first, snapshots):
                return 0
        begin = end
    _resolve_burst(graph, work, lanes, s, first, after, snapshots)
    return max(snapshots, 1)


@inlined
def parts_of(work, s):
    """The numbers of the parts of a state's plan."""
    start = work.stores[s]["part_start"]
    return range(start, start + work.stores[s]["parts"])


@inlined
def _take(graph, work, lanes, s, entry, first, begin, snapshots):
    """Make an event an expression or a snapshot; the snapshots so far, -1 if they are too many."""
    e, store = FIRST + entry - first, work.stores[s]
    _clear_expression(work, e)
    taken, left, loop = _takers(graph, work, s, graph.accepts[entry])
    if taken == 0:
        return snapshots
    work.alive[store["start"] + store["tail"] + entry - first] = True
    for program in range(work.tallies.size):
        work.tallies[program]["found"] = -1
    alike = _find_sets(graph, work, s, entry, begin - first, snapshots == 0)
    if snapshots == 0:
        _enter_burst(graph, work, lanes, s)
        snapshots = 1
    if left == 0 and alike:
        return snapshots if _add_event(graph, work, s, entry, e, loop, snapshots) else -1
    if snapshots == MAX_SNAPSHOTS:
        return -1
    if not _make_snapshot(graph, work, lanes, s, entry, snapshots):
        return -1
    work.coefficients[e, snapshots] = 1
    return snapshots + 1


@inlined
def _takers(graph, work, s, accepts):
    """How many parts of the sharing queries take an event, how many do not; the last one's loop."""
    taken, left, loop = 0, 0, NO_LOOP
    for i in parts_of(work, s):
        part = work.parts[i]
        if part["way"] == SHARED:
            run = graph.runs[part["run"]]
            loop = run["loop"]
            if takes(accepts, run["class"]):
                taken += 1
            else:
                left += 1
    return taken, left, loop


# ---- the predecessors of an event, by each of the sharing queries' programs


@inlined
def _find_sets(graph, work, s, entry, ahead, is_first):
    """Find an event's predecessors by each program of the sharing queries, into `Work.sets`.

    Args:
        graph: a `MergedGraph`.
        work: a `Work`.
        s: the state.
        entry: the entry.
        ahead: events of the burst before the entry's instant.
        is_first: whether the entry is the burst's first one that any query takes.

    Returns:
        Whether all sharing queries have the same predecessors in the burst, and the burst's first
        event had the same ones before the burst.
    """
    alike, before = True, _NONE
    for i in parts_of(work, s):
        part = work.parts[i]
        if part["way"] != SHARED:
            continue
        loop = graph.runs[part["run"]]["loop"]
        if loop >= 0 and work.tallies[loop]["found"] < 0:
            last = work.stores[s]["tail"] + ahead
            found = find_members(graph, work, loop, s, last, entry, loop)
            work.tallies[loop]["found"] = found
            if is_first:
                work.tallies[loop]["first_found"] = found
                for h in range(found):
                    work.first_sets[loop, h] = work.sets[loop, h]
            alike &= _same_outside(work, s, loop)
        if before not in (_NONE, loop):
            alike &= _same_inside(work, s, before, loop, ahead)
        before = loop
    return alike


@inlined
def _outside_of(work, s, loop):
    """How many of the members found lie before the burst; they come first."""
    count, tail = 0, work.stores[s]["tail"]
    while count < work.tallies[loop]["found"] and work.sets[loop, count] < tail:
        count += 1
    return count


@inlined
def _same_outside(work, s, loop):
    count = _outside_of(work, s, loop)
    same = count == work.tallies[loop]["first_found"]
    if same:
        for h in range(count):
            same &= work.sets[loop, h] == work.first_sets[loop, h]
    return same


@inlined
def _same_inside(work, s, left, right, ahead):
    same = True
    for number in range(ahead):
        same &= _inside(work, s, left, number) == _inside(work, s, right, number)
    return same


@inlined
def _inside(work, s, loop, number):
    """Whether event `number` of the burst precedes the present one for queries that loop so."""
    sought = work.stores[s]["tail"] + number
    if loop == NO_LOOP:
        return False
    if loop == FREE_LOOP:
        return work.alive[work.stores[s]["start"] + sought]
    low, high = 0, work.tallies[loop]["found"]
    while low < high:
        middle = (low + high) // 2
        if work.sets[loop, middle] < sought:
            low = middle + 1
        else:
            high = middle
    return low < work.tallies[loop]["found"] and work.sets[loop, low] == sought


# ---- snapshots, and values for expressions over them


@inlined
def _enter_burst(graph, work, lanes, s):
    """The snapshot at graphlet level: what enters, and the members that the first event follows."""
    for i in parts_of(work, s):
        part = work.parts[i]
        if part["way"] == SHARED:
            loop = graph.runs[part["run"]]["loop"]
            hits = work.first_sets[max(loop, 0), : _first_found(work, loop)]
            clear_lanes(graph, lanes, work.snapshots, part["low"], part["high"])
            _add_outside(graph, work, lanes, s, work.snapshots, hits, part)


@inlined
def _first_found(work, loop):
    return work.tallies[loop]["first_found"] if loop >= 0 else np.int64(0)


@inlined
def _add_outside(graph, work, lanes, s, row, hits, part):
    """Add to a row what reaches an event from outside of the burst, some members among it."""
    a, b = part["low"], part["high"]
    add_lanes(graph, lanes, row, work.stage, a, b)
    add_rows(graph, lanes, row, work.stores[s]["base"], hits, a, b)


@inlined
def _make_snapshot(graph, work, lanes, s, entry, z):
    """The value of an event for each lane of the sharing queries, as snapshot `z`; False if not.

    It fails if the coefficients of what precedes the event outgrow 64 bits.
    """
    accepts, row, fits = graph.accepts[entry], work.snapshots + z, True
    for i in parts_of(work, s):
        part = work.parts[i]
        if part["way"] != SHARED:
            continue
        a, b, run = part["low"], part["high"], graph.runs[part["run"]]
        clear_lanes(graph, lanes, row, a, b)
        if takes(accepts, run["class"]):
            loop = run["loop"]
            fits &= _gather(work, s, loop, z)
            _resolve(graph, work, lanes, s, PART, z, row, a, b)
            outside = _outside_of(work, s, loop) if loop >= 0 else 0
            _add_outside(graph, work, lanes, s, row, work.sets[max(loop, 0), :outside], part)
            add_own(graph, lanes, s, accepts, row, row, graph.weights, entry, a, b)
    return fits


@inlined
def _resolve_burst(graph, work, lanes, s, first, after, snapshots):
    """Put values into the expressions of the burst's sum, and of its events if kept."""
    store, row = work.stores[s], work.stage + 1
    for i in parts_of(work, s):
        part = work.parts[i]
        if part["way"] != SHARED:
            continue
        a, b = part["low"], part["high"]
        clear_lanes(graph, lanes, row, a, b)
        _resolve(graph, work, lanes, s, SUM, snapshots, row, a, b)
        settle(graph, work, lanes, s, EVERY, row, a, b)
        if graph.kinds[s]["kept"]:
            for entry in range(first, after):
                place = store["base"] + store["tail"] + entry - first
                clear_lanes(graph, lanes, place, a, b)
                _resolve(graph, work, lanes, s, FIRST + entry - first, snapshots, place, a, b)


@inlined
def _resolve(graph, work, lanes, s, x, snapshots, row, a, b):
    """Add the value of expression `x` to the lanes of queries `a` to `b - 1` of a row."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    for c in range(snapshots):
        factor = work.coefficients[x, c]
        if factor != 0:
            add_times(lanes, row, low, work.snapshots + c, low, high, factor)
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        own = graph.owns[o]
        q = own["query"]
        if q < a or q >= b or own["kind"] != LONG:
            continue
        low, width = graph.queries[q]["long_start"], graph.queries[q]["width"]
        place, high = low + own["index"] * width, low + width
        for c in range(snapshots):
            weight = work.weighted[own["column"], x, c]
            if weight != 0:
                add_times(lanes, row, place, work.snapshots + c, low, high, weight)


# ---- expressions: coefficients of the count, and for each column of weights coefficients of the
# ---- weighted count over the counts of snapshots; a row for each event (the paper: a hash table)

#: No coefficient kept exceeds this, so that a sum of two never wraps.
_NARROW = 1 << 58


@inlined
def _clear_expression(work, row):
    """Set a row to 0."""
    for c in range(MAX_SNAPSHOTS):
        work.coefficients[row, c] = 0
        for w in range(work.weighted.shape[0]):
            work.weighted[w, row, c] = 0


@inlined
def _add_expression(work, row, other, count):
    """Add an expression over `count` snapshots to another; False if a coefficient outgrows."""
    fits = True
    for c in range(count):
        total = work.coefficients[row, c] + work.coefficients[other, c]
        work.coefficients[row, c] = total
        fits &= total < _NARROW
        for w in range(work.weighted.shape[0]):
            total = work.weighted[w, row, c] + work.weighted[w, other, c]
            work.weighted[w, row, c] = total
            fits &= total < _NARROW and total > -_NARROW
    return fits


@inlined
def _gather(work, s, loop, count):
    """Set row `PART` to the sum of an event's predecessors in the burst; False if it outgrows.

    `loop` is the program by which they were found, `count` the number of snapshots.
    """
    _clear_expression(work, PART)
    if loop == NO_LOOP:
        return True
    if loop == FREE_LOOP:
        return _add_expression(work, PART, SUM, count)
    shift = FIRST - work.stores[s]["tail"]
    for h in range(_outside_of(work, s, loop), work.tallies[loop]["found"]):
        if not _add_expression(work, PART, work.sets[loop, h] + shift, count):
            return False
    return True


@inlined
def _add_event(graph, work, s, entry, e, loop, count):
    """Make row `e` the expression of an event; False if a coefficient outgrows 64 bits."""
    fits = _gather(work, s, loop, count)
    for c in range(count):
        coefficient = work.coefficients[PART, c] + (1 if c == 0 else 0)
        work.coefficients[e, c] = coefficient
        for w in range(work.weighted.shape[0]):
            weight, before = graph.weights.longs[w, entry], work.weighted[w, PART, c]
            size = abs(np.float64(weight) * np.float64(coefficient))
            if size + abs(np.float64(before)) > _NARROW:
                fits = False
            else:
                work.weighted[w, e, c] = before + weight * coefficient
    return fits
