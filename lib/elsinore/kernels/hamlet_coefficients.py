"""A burst of a state with edge predicates, its events as expressions over snapshots.

Hamlet Algorithm 1. A burst begins with a snapshot at graphlet level: all that its first event gets
from outside of the burst. An event that the sharing queries take alike, with the same predecessors
in the burst, and the same outside as the first event, is an expression: coefficients over snapshots
that hold for all queries. Any other event is a snapshot at event level (Definition 3.11), with a
value for each lane. A weighted count rides along by coefficients of its own over the counts.
"""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_expressions import (
    add_event,
    add_expression,
    clear_expression,
    gather,
    resolve,
)
from elsinore.kernels.hamlet_graph import NO_LOOP
from elsinore.kernels.hamlet_lanes import add_lanes, clear_lanes
from elsinore.kernels.hamlet_log import log_coefficient, log_values
from elsinore.kernels.hamlet_sets import find_sets, outside_of
from elsinore.kernels.hamlet_steps import EVERY, enter, own, repeat, settle, takes
from elsinore.kernels.hamlet_ways import SHARED
from elsinore.kernels.hamlet_work import FIRST, MAX_SNAPSHOTS, PART, SUM


def share_coefficients(graph, work, log, s, first, after):
    """Work out a burst for all sharing queries; the snapshots it took, 0 if there were too many.

    Compiled apart. On the first rung only, for queries without sums of doubles and extremes, and
    states that no program leads to from another one. With 0 nothing was done. The burst's events
    are the newest members already.
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
    """Make an event an expression or a snapshot; the snapshots so far, -1 if they are too many."""
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
    """How many parts of the sharing queries take an event, how many do not; the last one's loop."""
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
    """The snapshot at graphlet level: what enters, and the members that the first event follows."""
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
    """The value of an event for each lane of the sharing queries, as snapshot `z`; False if not.

    It fails if the coefficients of what precedes the event outgrow 64 bits.
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
    """Put values into the expressions of the burst, of its sum, and of its events if kept."""
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
