"""Run guards: find when each NOT's pattern has matched, and the latest start of such a match.

A guard runs as a propagation with one accumulator: the latest start of the matches that end at an
entry. Its pairs can have programs and floors, as pairs of trends have (NOT inside of NOT, GRETA,
section 5). A monotone queue keeps the maximum over the events that reach a rising floor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import NONE, Graph
from elsinore.executors.graph.kernels.pairs import find_pairs
from elsinore.executors.graph.kernels.upkeep import Upkeep
from elsinore.numbers.compiled import inlined


class Guards(NamedTuple):
    """Scratch for the guards of a window of W entries.

    Attributes:
        fired: int64[G, W + 1], the highest ts of the firings strictly before each entry, `NONE`
            before the first firing. The last column is for the whole window.
        latest: int64[W], latest start of a match that ends at the entry, `NONE` without a match.
        of_state: int64[S], the highest of `latest` so far.
        queue: int64[J, W], for each slide, entries of falling `latest` and rising time.
        head, tail: int64[J], the part of `queue` in use.
    """

    fired: np.ndarray
    latest: np.ndarray
    of_state: np.ndarray
    queue: np.ndarray
    head: np.ndarray
    tail: np.ndarray


def make_guards(graph: Graph, upkeep: Upkeep, buffer: int) -> Guards:
    """Return scratch for windows of up to `buffer` entries."""
    slides = upkeep.slide_state.size
    return Guards(
        np.empty((upkeep.guards, buffer + 1), np.int64),
        np.empty(buffer if upkeep.guards else 0, np.int64),
        np.empty(graph.starts.size, np.int64),
        np.empty((slides, buffer if upkeep.guards else 0), np.int64),
        np.empty(slides, np.int64),
        np.empty(slides, np.int64),
    )


@inlined
def run_guards(graph, upkeep, guards, pairs, members, member_count, low, high):
    """Run all guards over the entries `low` to `high - 1` of a window and fill `pairs.floors`.

    Inner guards run first, because outer guards read the floors that depend on them.
    """
    fill_floors(graph, upkeep, guards.fired, pairs.floors, 0, low, high)
    for state in range(graph.starts.size):
        guards.of_state[state] = NONE
        member_count[state] = 0
    for slide in range(guards.head.size):
        guards.head[slide] = guards.tail[slide] = 0
    for guard in range(upkeep.guards):
        _run(graph, upkeep, guards, pairs, members, member_count, guard, low, high)
        fill_floors(graph, upkeep, guards.fired, pairs.floors, guard + 1, low, high)


@inlined
def _run(graph, upkeep, guards, pairs, members, member_count, guard, low, high):
    """Run one guard over a window and fill its row of `fired`."""
    highest = NONE
    first = low
    while first < high:
        after = first
        while after < high and graph.times[after] == graph.times[first]:
            guards.fired[guard, after - low] = highest
            if graph.guard_of[graph.states[after]] == guard:
                guards.latest[after - low] = _latest_start(
                    graph, upkeep, guards, pairs, members, member_count, after, low
                )
            after += 1
        for entry in range(first, after):
            if graph.guard_of[graph.states[entry]] == guard:
                _settle(graph, upkeep, guards, members, member_count, entry, low)
                if may_end(graph, pairs.floors, entry, high - low):
                    highest = max(highest, guards.latest[entry - low])
        first = after
    guards.fired[guard, high - low] = highest


@inlined
def _latest_start(graph, upkeep, guards, pairs, members, member_count, entry, low):
    """Return the latest start of a match that ends at an entry; `NONE` if there is none."""
    state = graph.states[entry]
    latest = NONE
    if may_start(graph, pairs.floors, state, entry - low):
        latest = graph.times[entry]
    else:  # otherwise this entry is the latest start
        for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
            earlier = graph.transition_from[t]
            program, slide = graph.transition_program[t], upkeep.slide_of[t]
            if program >= 0:
                found = find_pairs(
                    graph, pairs, program, members[earlier], member_count[earlier], entry, low
                )
                for h in range(found):
                    latest = max(latest, guards.latest[pairs.hits[h] - low])
            elif slide >= 0:
                floor = pairs.floors[graph.transition_floor[t], entry - low]
                latest = max(latest, _highest_reaching(graph, guards, slide, floor, low))
            else:
                latest = max(latest, guards.of_state[earlier])
    return latest


@inlined
def _highest_reaching(graph, guards, slide, floor, low):
    """Return the highest `latest` of the events of a slide that reach a floor."""
    head = guards.head[slide]
    while head < guards.tail[slide] and graph.times[guards.queue[slide, head]] < floor:
        head += 1
    guards.head[slide] = head
    return guards.latest[guards.queue[slide, head] - low] if head < guards.tail[slide] else NONE


@inlined
def _settle(graph, upkeep, guards, members, member_count, entry, low):
    """Make an entry a predecessor of later entries."""
    state, latest = graph.states[entry], guards.latest[entry - low]
    if latest != NONE:
        guards.of_state[state] = max(guards.of_state[state], latest)
        if upkeep.kept[state]:
            members[state, member_count[state]] = entry
            member_count[state] += 1
        for slide in range(upkeep.slide_start[state], upkeep.slide_start[state + 1]):
            tail = guards.tail[slide]
            while (
                tail > guards.head[slide]
                and guards.latest[guards.queue[slide, tail - 1] - low] <= latest
            ):
                tail -= 1
            guards.queue[slide, tail] = entry
            guards.tail[slide] = tail + 1


# ---- floors: the earliest time of an earlier event such that no guard forbids the pair


@inlined
def fill_floors(graph, upkeep, fired, floors, level, low, high):
    """Fill the floors, int64[F, W + 1], that need exactly the first `level` guards.

    `fired` is int64[G, W + 1]: the highest ts of each guard's firings strictly before each entry.
    Its last column is for the whole window.
    """
    size = high - low
    for floor in range(upkeep.floor_level.size):
        if upkeep.floor_level[floor] == level:
            for place in range(size + 1):
                floors[floor, place] = _lowest(graph, fired, floor, place)
            if graph.floor_contiguous[floor]:
                for place in range(size):
                    floors[floor, place] = max(floors[floor, place], graph.base[low + place])


@inlined
def may_start(graph, floors, state, place):
    """Return whether an entry in a state can start a trend or a guard's match.

    `place` is the index of the entry in the window.
    """
    floor, bar = graph.start_floor[state], graph.start_bar[state]
    return (
        graph.starts[state]
        and (floor < 0 or floors[floor, place] == NONE)
        and (bar < 0 or floors[bar, place] != NONE)
    )


@inlined
def may_end(graph, floors, entry, size):
    """Return whether an entry can end a trend or a guard's match in a window of `size` entries."""
    state = graph.states[entry]
    floor = graph.end_floor[state]
    return graph.ends[state] and (floor < 0 or graph.times[entry] >= floors[floor, size])


@inlined
def _lowest(graph, fired, floor, place):
    """Return the minimum over a floor's sets of the maximum ts over the set's guards."""
    first, after = graph.floor_set_start[floor], graph.floor_set_start[floor + 1]
    lowest = NONE
    for group in range(first, after):
        highest = NONE
        for g in range(graph.set_guard_start[group], graph.set_guard_start[group + 1]):
            highest = max(highest, fired[graph.set_guards[g], place])
        lowest = highest if group == first else min(lowest, highest)
    return lowest
