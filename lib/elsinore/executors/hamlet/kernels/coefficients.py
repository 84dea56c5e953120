"""Run a burst of a state with edge predicates, with events as expressions over snapshots.

Hamlet, Algorithm 1. A burst begins with a snapshot at graphlet level: all trends that its first
event receives from outside of the burst. An event is an expression if all sharing queries take it,
with the same predecessors in the burst, and with the first event's predecessors outside of it. An
expression is a row of coefficients over snapshots that hold for all queries. Any other event is a
snapshot at event level (Definition 3.11), with a value per lane. A weighted count has separate
coefficients over the counts.
"""

from __future__ import annotations

import numpy as np

from elsinore.executors.hamlet.kernels.graph import FREE_LOOP, LONG, NO_LOOP
from elsinore.executors.hamlet.kernels.lanes import add_lanes, clear_lanes
from elsinore.executors.hamlet.kernels.log import log_coefficient, log_values
from elsinore.executors.hamlet.kernels.sets import find_sets, outside_of
from elsinore.executors.hamlet.kernels.steps import EVERY, enter, own, repeat, settle, takes
from elsinore.executors.hamlet.kernels.ways import SHARED
from elsinore.executors.hamlet.kernels.weights import weigh_longs
from elsinore.executors.hamlet.kernels.work import FIRST, MAX_SNAPSHOTS, PART, SUM
from elsinore.numbers.compiled import inlined, outlined
from elsinore.numbers.rows import LIMIT


def share_coefficients(graph, work, log, s, first, after):
    """Run a burst for all sharing queries; return the number of snapshots.

    Return 0, without a change to states and totals, if there are too many snapshots or a
    coefficient is too large. Counts must have one limb, queries must have no sums of doubles and no
    extremes, and no program may lead to the state from another one. The burst's events must be the
    newest members already. This function is compiled separately.
    """
    start = work.stores[s]["part_start"]
    for i in range(start, start + work.stores[s]["parts"]):
        if work.parts[i]["way"] == SHARED:
            a, b = work.parts[i]["low"], work.parts[i]["high"]
            enter(graph, work, s, EVERY, work.stage + 0, a, b)
            repeat(graph, work, s, EVERY, work.stage + 0, a, b)
    clear_expression(work, SUM)
    snapshots, begin = 0, first
    while begin < after:
        end = begin + 1
        while end < after and graph.times[end] == graph.times[begin]:
            end += 1
        for entry in range(begin, end):
            snapshots = _take(graph, work, log, s, entry, first, begin, snapshots)
            if snapshots < 0:
                return 0
        for entry in range(begin, end):
            if not add_expression(work, SUM, FIRST + entry - first, snapshots):
                return 0
        begin = end
    _resolve_burst(graph, work, log, s, first, after, snapshots)
    return max(snapshots, 1)


@inlined
def _take(graph, work, log, s, entry, first, begin, snapshots):
    """Make an event an expression or a snapshot; return the number of snapshots so far.

    Return -1 if there are too many, or if a coefficient is too large.
    """
    e = FIRST + entry - first
    clear_expression(work, e)
    taken, left, loop = _takers(graph, work, s, graph.accepts[entry])
    if taken == 0:
        return snapshots
    work.block.alive[work.stores[s]["start"] + work.stores[s]["tail"] + entry - first] = True
    for program in range(work.tallies.size):
        work.tallies[program]["found"] = -1
    alike = find_sets(graph, work, s, entry, begin - first, snapshots == 0)
    if snapshots == 0:
        _enter_burst(graph, work, log, s)
        snapshots = 1
    if left == 0 and alike:
        if add_event(graph, work, s, entry, e, loop, snapshots):
            for c in range(snapshots):
                log_coefficient(work, log, entry, c, work.coefficients[e, c])
            return snapshots
        return -1
    if snapshots == MAX_SNAPSHOTS:
        return -1
    if not _make_snapshot(graph, work, log, s, entry, snapshots):
        return -1
    work.coefficients[e, snapshots] = 1
    log_coefficient(work, log, entry, snapshots, 1)
    return snapshots + 1


@inlined
def _takers(graph, work, s, accepts):
    """Return how many sharing parts take an event, how many do not, and the last part's loop."""
    taken, left, loop = 0, 0, NO_LOOP
    start = work.stores[s]["part_start"]
    for i in range(start, start + work.stores[s]["parts"]):
        if work.parts[i]["way"] == SHARED:
            r = work.parts[i]["run"]
            loop = graph.runs[r]["loop"]
            if takes(accepts, graph.runs[r]["class"]):
                taken += 1
            else:
                left += 1
    return taken, left, loop


@inlined
def _enter_burst(graph, work, log, s):
    """Write the snapshot at graphlet level.

    It has the trends that enter the burst, and the earlier members that its first event follows.
    """
    start = work.stores[s]["part_start"]
    for i in range(start, start + work.stores[s]["parts"]):
        if work.parts[i]["way"] != SHARED:
            continue
        a, b = work.parts[i]["low"], work.parts[i]["high"]
        loop, row = graph.runs[work.parts[i]["run"]]["loop"], work.snapshots + 0
        clear_lanes(graph, work.lanes, row, a, b)
        add_lanes(graph, work.lanes, row, work.lanes, work.stage + 0, a, b, work.over)
        if loop >= 0:
            for h in range(work.tallies[loop]["first_found"]):
                source = work.stores[s]["base"] + work.block.first_sets[loop, h]
                add_lanes(graph, work.lanes, row, work.lanes, source, a, b, work.over)
        log_values(graph, work, log, 0, -1, row, a, b)


@inlined
def _make_snapshot(graph, work, log, s, entry, z):
    """Write an event's value for each lane of the sharing queries as snapshot `z`.

    Return False if a coefficient of its predecessors exceeds `_NARROW`.
    """
    accepts, row, fits = graph.accepts[entry], work.snapshots + z, True
    start = work.stores[s]["part_start"]
    for i in range(start, start + work.stores[s]["parts"]):
        if work.parts[i]["way"] != SHARED:
            continue
        a, b, r = work.parts[i]["low"], work.parts[i]["high"], work.parts[i]["run"]
        clear_lanes(graph, work.lanes, row, a, b)
        if takes(accepts, graph.runs[r]["class"]):
            loop = graph.runs[r]["loop"]
            fits &= gather(work, s, loop, z)
            resolve(graph, work, s, PART, z, row, a, b)
            add_lanes(graph, work.lanes, row, work.lanes, work.stage + 0, a, b, work.over)
            if loop >= 0:
                for h in range(outside_of(work, s, loop)):
                    source = work.stores[s]["base"] + work.block.sets[loop, h]
                    add_lanes(graph, work.lanes, row, work.lanes, source, a, b, work.over)
            own(graph, work, s, entry, accepts, row, a, b)
        log_values(graph, work, log, z, entry, row, a, b)
    return fits


@inlined
def _resolve_burst(graph, work, log, s, first, after, snapshots):
    """Evaluate the expressions of the burst's sum, and of its events if they are kept."""
    for c in range(snapshots):
        log_coefficient(work, log, -1, c, work.coefficients[SUM, c])
    start, row = work.stores[s]["part_start"], work.stage + 1
    for i in range(start, start + work.stores[s]["parts"]):
        if work.parts[i]["way"] != SHARED:
            continue
        a, b = work.parts[i]["low"], work.parts[i]["high"]
        clear_lanes(graph, work.lanes, row, a, b)
        resolve(graph, work, s, SUM, snapshots, row, a, b)
        settle(graph, work, s, EVERY, row, a, b)
        if graph.kinds[s]["kept"]:
            for entry in range(first, after):
                place = work.stores[s]["base"] + work.stores[s]["tail"] + entry - first
                clear_lanes(graph, work.lanes, place, a, b)
                resolve(graph, work, s, FIRST + entry - first, snapshots, place, a, b)


# ---- expressions: a row per event, with coefficients of the count, and per column of weights
# ---- coefficients of the weighted count over the counts of snapshots (the paper: a hash table)

#: No stored coefficient exceeds this, so the sum of two never wraps.
_NARROW = 1 << 58


@inlined
def clear_expression(work, row):
    """Set the coefficients of a row to 0."""
    for c in range(MAX_SNAPSHOTS):
        work.coefficients[row, c] = 0
        for w in range(work.weighted.shape[0]):
            work.weighted[w, row, c] = 0


@inlined
def add_expression(work, row, other, count):
    """Add an expression over `count` snapshots to another.

    Return False if a coefficient exceeds `_NARROW`.
    """
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
def gather(work, s, loop, count):
    """Set row `PART` to the sum of an event's predecessors in the burst.

    `loop` is the program that found them, and `count` the number of snapshots. Return False if a
    coefficient exceeds `_NARROW`.
    """
    clear_expression(work, PART)
    if loop == NO_LOOP:
        return True
    if loop == FREE_LOOP:
        return add_expression(work, PART, SUM, count)
    shift = FIRST - work.stores[s]["tail"]
    for h in range(outside_of(work, s, loop), work.tallies[loop]["found"]):
        if not add_expression(work, PART, work.block.sets[loop, h] + shift, count):
            return False
    return True


@inlined
def add_event(graph, work, s, entry, e, loop, count):
    """Write an event's expression to row `e`; return False if a coefficient exceeds `_NARROW`."""
    fits = gather(work, s, loop, count)
    for c in range(count):
        coefficient = work.coefficients[PART, c] + (1 if c == 0 else 0)
        work.coefficients[e, c] = coefficient
        for w in range(work.weighted.shape[0]):
            weight, before = graph.long_weights[w, entry], work.weighted[w, PART, c]
            size = abs(np.float64(weight) * np.float64(coefficient))
            if size + abs(np.float64(before)) > _NARROW:
                fits = False
            else:
                work.weighted[w, e, c] = before + weight * coefficient
    return fits


@inlined
def resolve(graph, work, s, x, snapshots, row, a, b):
    """Add the value of expression `x` to the lanes of queries `a` to `b - 1` of a row."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    longs = work.lanes.counts
    for c in range(snapshots):
        factor = work.coefficients[x, c]
        if factor != 0:
            _add_times(longs, row, work.snapshots + c, low, high, factor, work.over)
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        q, column = graph.owns[o]["query"], graph.owns[o]["column"]
        if q < a or q >= b or graph.owns[o]["kind"] != LONG:
            continue
        width, counts = graph.queries[q]["width"], graph.queries[q]["long_start"]
        for c in range(snapshots):
            weight = work.weighted[column, x, c]
            if weight != 0:
                weigh_longs(
                    longs, row, counts + graph.owns[o]["index"] * width, longs,
                    work.snapshots + c, counts, width, weight, work.over, work.limbs,
                )  # fmt: skip


@outlined
def _add_times(longs, row, source, low, high, factor, over):
    """Add `factor` (positive) times the int64 lanes of a row to another row.

    Lanes that outgrow 64 bits become 0 and are flagged in `over`.
    """
    target, more, flags = longs[row, low:high], longs[source, low:high], over[low:high]
    limit = LIMIT // factor
    seen, large = False, np.int64(0)
    for v in range(target.size):
        seen |= more[v] > limit or more[v] < -limit
        total = target[v] + more[v] * factor
        large |= total ^ (total >> 63)
        target[v] = total
    if seen or large > LIMIT:
        for v in range(target.size):
            wide = abs(np.float64(more[v]) * np.float64(factor)) > 2.0**61
            if wide or target[v] > LIMIT or target[v] < -LIMIT:
                target[v] = 0
                flags[v] = True
