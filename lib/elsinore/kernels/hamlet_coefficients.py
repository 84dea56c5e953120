"""A burst of a state with edge predicates, its events as expressions over snapshots.

Hamlet Algorithm 1. A burst begins with a snapshot at graphlet level: all that its first event gets
from outside of the burst. An event that the sharing queries take alike, with the same predecessors
in the burst, and the same outside as the first event, is an expression: coefficients over snapshots
that hold for all queries. Any other event is a snapshot at event level (Definition 3.11), with a
value for each lane. A weighted count rides along by coefficients of its own over the counts.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.hamlet_lanes import add_lanes, clear_lanes, weigh_longs
from elsinore.kernels.hamlet_log import log_coefficient, log_values
from elsinore.kernels.hamlet_pairs import find_members
from elsinore.kernels.hamlet_steps import enter, own, settle, takes
from elsinore.kernels.hamlet_work import FIRST, MAX_SNAPSHOTS, PART, SUM
from elsinore.kernels.rows import LIMIT

_NARROW = 2.0**58
_EVERY = np.int64(-1)


@outlined
def share_coefficients(graph, work, log, p, s, first, after):  # type: ignore[no-untyped-def]
    """Work out a burst for all chosen queries; the snapshots it took, 0 if there were too many.

    On the first rung only, for queries without sums of doubles and extremes, and states that no
    program leads to from another one. With 0 nothing was done. The burst's events are the newest
    members already.
    """
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        a, high = (
            chosen_low(work, graph.runs[r]["low"], graph.runs[r]["high"]),
            graph.runs[r]["high"],
        )
        while a < high:
            b = chosen_high(work, a, high)
            enter(graph, work, p, s, _EVERY, work.lanes, work.stage + 0, a, b)
            a = chosen_low(work, b, high)
    _clear(work, SUM)
    snapshots, begin = 0, first
    while begin < after:
        end = begin + 1
        while end < after and graph.times[end] == graph.times[begin]:
            end += 1
        for entry in range(begin, end):
            snapshots = _take(graph, work, log, p, s, entry, first, begin, snapshots)
            if snapshots < 0:
                return 0
        for entry in range(begin, end):
            if not _add_expression(work, SUM, FIRST + entry - first):
                return 0
        begin = end
    _resolve_burst(graph, work, log, s, first, after, snapshots)
    return max(snapshots, 1)


@inlined
def chosen_low(work, a, high):  # type: ignore[no-untyped-def]
    """The first chosen query from `a` on; `high` if there is none."""
    while a < high and not work.cursors[a]["chosen"]:
        a += 1
    return a


@inlined
def chosen_high(work, a, high):  # type: ignore[no-untyped-def]
    """Where the run of chosen queries from `a` on ends."""
    while a < high and work.cursors[a]["chosen"]:
        a += 1
    return a


# ---- one event


@inlined
def _take(graph, work, log, p, s, entry, first, begin, snapshots):  # type: ignore[no-untyped-def]
    """Make an event an expression or a snapshot; the snapshots so far, -1 if they are too many."""
    e = FIRST + entry - first
    _clear(work, e)
    taken, left = _takers(graph, work, s, graph.accepts[entry])
    if taken == 0:
        return snapshots
    work.alive[s, work.stores[s]["tail"] + entry - first] = True
    for program in range(work.tallies.size):
        work.tallies[program]["found"] = -1
    alike = _find_sets(graph, work, s, entry, first, begin, snapshots == 0)
    if snapshots == 0:
        _enter_burst(graph, work, log, p, s)
        snapshots = 1
    if left == 0 and alike:
        if _add_up(graph, work, s, entry, first):
            for c in range(snapshots):
                log_coefficient(work, log, entry, c, work.coefficients[e, c])
            return snapshots
        return -1
    if snapshots == MAX_SNAPSHOTS:
        return -1
    _make_snapshot(graph, work, log, p, s, entry, snapshots)
    work.coefficients[e, snapshots] = 1
    log_coefficient(work, log, entry, snapshots, 1)
    return snapshots + 1


@inlined
def _takers(graph, work, s, accepts):  # type: ignore[no-untyped-def]
    """How many of the chosen queries take an event, and how many do not."""
    taken = left = 0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        takes_it = takes(accepts, graph.runs[r]["class"])
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            if work.cursors[q]["chosen"]:
                taken += 1 if takes_it else 0
                left += 0 if takes_it else 1
    return taken, left


@inlined
def _is_chosen(graph, work, r):  # type: ignore[no-untyped-def]
    found = False
    for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
        found |= work.cursors[q]["chosen"]
    return found


@inlined
def _find_sets(graph, work, s, entry, first, begin, is_first):  # type: ignore[no-untyped-def]
    """Find the predecessors by each program; whether all queries have the same ones as ever."""
    alike, before = True, -9
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        loop = graph.runs[r]["loop"]
        if not _is_chosen(graph, work, r):
            continue
        if loop >= 0 and work.tallies[loop]["found"] < 0:
            last = work.stores[s]["tail"] + begin - first
            work.tallies[loop]["found"] = find_members(
                graph, work, loop, s, work.stores[s]["head"], last, entry, work.sets[loop]
            )
            work.ledger[9] += last - work.stores[s]["head"]
            if is_first:
                work.tallies[loop]["first_found"] = work.tallies[loop]["found"]
                for h in range(work.tallies[loop]["found"]):
                    work.first_sets[loop, h] = work.sets[loop, h]
            alike &= _same_outside(work, s, loop)
        if before != -9:
            alike &= _same_inside(work, s, before, loop, begin - first)
        before = loop
    return alike


@inlined
def _outside(work, s, loop):  # type: ignore[no-untyped-def]
    """How many of the members found lie before the burst; they come first."""
    count = 0
    while count < work.tallies[loop]["found"] and work.sets[loop, count] < work.stores[s]["tail"]:
        count += 1
    return count


@inlined
def _same_outside(work, s, loop):  # type: ignore[no-untyped-def]
    count = _outside(work, s, loop)
    same = count == work.tallies[loop]["first_found"]
    if same:
        for h in range(count):
            same &= work.sets[loop, h] == work.first_sets[loop, h]
    return same


@inlined
def _inside(work, s, loop, number, earlier):  # type: ignore[no-untyped-def]
    """Whether event `number` of the burst precedes the present one for queries that loop so."""
    if loop == -2:
        return False
    if loop == -1:
        return number < earlier and work.alive[s, work.stores[s]["tail"] + number]
    low, high = 0, work.tallies[loop]["found"]
    sought = work.stores[s]["tail"] + number
    while low < high:
        middle = (low + high) // 2
        if work.sets[loop, middle] < sought:
            low = middle + 1
        else:
            high = middle
    return low < work.tallies[loop]["found"] and work.sets[loop, low] == sought


@inlined
def _same_inside(work, s, left, right, earlier):  # type: ignore[no-untyped-def]
    same = True
    if left != right:
        for number in range(earlier):
            same &= _inside(work, s, left, number, earlier) == _inside(
                work, s, right, number, earlier
            )
    return same


@inlined
def _enter_burst(graph, work, log, p, s):  # type: ignore[no-untyped-def]
    """The snapshot at graphlet level: what enters, and the members that the first event follows."""
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        loop, high = graph.runs[r]["loop"], graph.runs[r]["high"]
        a = chosen_low(work, graph.runs[r]["low"], high)
        while a < high:
            b = chosen_high(work, a, high)
            clear_lanes(graph, work.lanes, work.snapshots + 0, a, b)
            add_lanes(
                graph, work.lanes, work.snapshots + 0, work.lanes, work.stage + 0, a, b, work.over
            )
            if loop >= 0:
                for h in range(work.tallies[loop]["first_found"]):
                    row = work.stores[s]["base"] + work.first_sets[loop, h]
                    add_lanes(
                        graph, work.lanes, work.snapshots + 0, work.lanes, row, a, b, work.over
                    )
            log_values(graph, work, log, p, 0, -1, work.lanes, work.snapshots + 0, a, b)
            a = chosen_low(work, b, high)


@inlined
def _clear(work, row):  # type: ignore[no-untyped-def]
    for c in range(MAX_SNAPSHOTS):
        work.coefficients[row, c] = 0
        for w in range(work.weighted.shape[0]):
            work.weighted[w, row, c] = 0


@inlined
def _add_expression(work, row, other):  # type: ignore[no-untyped-def]
    """Add an expression to another; False if a coefficient outgrows 64 bits."""
    fits = True
    for c in range(MAX_SNAPSHOTS):
        work.coefficients[row, c] += work.coefficients[other, c]
        if np.float64(work.coefficients[row, c]) >= _NARROW:
            fits = False
        for w in range(work.weighted.shape[0]):
            work.weighted[w, row, c] += work.weighted[w, other, c]
            if abs(np.float64(work.weighted[w, row, c])) >= _NARROW:
                fits = False
    return fits


@inlined
def _gather(work, s, loop):  # type: ignore[no-untyped-def]
    """Sum up the expressions of an event's predecessors in the burst; False if they outgrow."""
    _clear(work, PART)
    if loop == -2:
        return True
    if loop == -1:
        return _add_expression(work, PART, SUM)
    fits, shift = True, FIRST - work.stores[s]["tail"]
    for h in range(_outside(work, s, loop), work.tallies[loop]["found"]):
        fits &= _add_expression(work, PART, work.sets[loop, h] + shift)
    return fits


@inlined
def _add_up(graph, work, s, entry, first):  # type: ignore[no-untyped-def]
    """The expression of an event; False if a coefficient outgrows 64 bits."""
    e, loop = FIRST + entry - first, np.int64(-2)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        if _is_chosen(graph, work, r):
            loop = graph.runs[r]["loop"]
    fits = _gather(work, s, loop)
    for c in range(MAX_SNAPSHOTS):
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
def _make_snapshot(graph, work, log, p, s, entry, z):  # type: ignore[no-untyped-def]
    """The value of an event for each lane of the chosen queries, as snapshot `z`."""
    accepts = graph.accepts[entry]
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        loop = graph.runs[r]["loop"]
        if not _is_chosen(graph, work, r):
            continue
        takes_it = takes(accepts, graph.runs[r]["class"])
        if takes_it:
            _gather(work, s, loop)
        high = graph.runs[r]["high"]
        a = chosen_low(work, graph.runs[r]["low"], high)
        while a < high:
            b = chosen_high(work, a, high)
            clear_lanes(graph, work.lanes, work.snapshots + z, a, b)
            if takes_it:
                resolve(graph, work, s, PART, z, work.snapshots + z, a, b)
                add_lanes(
                    graph,
                    work.lanes,
                    work.snapshots + z,
                    work.lanes,
                    work.stage + 0,
                    a,
                    b,
                    work.over,
                )
                if loop >= 0:
                    for h in range(_outside(work, s, loop)):
                        row = work.stores[s]["base"] + work.sets[loop, h]
                        add_lanes(
                            graph, work.lanes, work.snapshots + z, work.lanes, row, a, b, work.over
                        )
                own(graph, work, s, entry, accepts, work.lanes, work.snapshots + z, a, b)
            log_values(graph, work, log, p, z, entry, work.lanes, work.snapshots + z, a, b)
            a = chosen_low(work, b, high)


# ---- values from expressions


@inlined
def resolve(graph, work, s, x, snapshots, row, a, b):  # type: ignore[no-untyped-def]
    """Add the value of expression `x` to the lanes of queries `a` to `b - 1` of a row."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    longs = work.lanes.longs
    for c in range(snapshots):
        factor = work.coefficients[x, c]
        if factor != 0:
            add_times(longs, row, work.snapshots + c, low, high, factor, work.over)
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        q, column = graph.owns[o]["query"], graph.owns[o]["column"]
        if q < a or q >= b or graph.owns[o]["kind"] != 0:
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
def add_times(longs, row, source, low, high, factor, over):  # type: ignore[no-untyped-def]
    """Add `factor`, a positive number, times the lanes of a row to those of another; int64."""
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


@inlined
def _resolve_burst(graph, work, log, s, first, after, snapshots):  # type: ignore[no-untyped-def]
    for c in range(snapshots):
        log_coefficient(work, log, -1, c, work.coefficients[SUM, c])
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        high = graph.runs[r]["high"]
        a = chosen_low(work, graph.runs[r]["low"], high)
        while a < high:
            b = chosen_high(work, a, high)
            _resolve_run(graph, work, s, first, after, snapshots, a, b)
            a = chosen_low(work, b, high)


@inlined
def _resolve_run(graph, work, s, first, after, snapshots, a, b):  # type: ignore[no-untyped-def]
    clear_lanes(graph, work.lanes, work.stage + 1, a, b)
    resolve(graph, work, s, SUM, snapshots, work.stage + 1, a, b)
    settle(graph, work, s, _EVERY, work.lanes, work.stage + 1, a, b)
    if graph.kinds[s]["kept"]:
        for entry in range(first, after):
            row = work.stores[s]["base"] + work.stores[s]["tail"] + entry - first
            clear_lanes(graph, work.lanes, row, a, b)
            resolve(graph, work, s, FIRST + entry - first, snapshots, row, a, b)
