"""Values of floors: how late an earlier event must be so that no guard parts the pair."""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.graph import NONE


@inlined
def fill_floors(graph, upkeep, fired, floors, level, low, high):
    """Fill the floors that need just the guards before number `level`.

    Args:
        graph: a `Graph`.
        upkeep: its `Upkeep`.
        fired: int64[G, W + 1], the highest ts of each guard's firings strictly before each entry,
            and after the last entry those of the whole window.
        floors: int64[F, W + 1] to write to, by floor and place in the window.
        level: see above.
        low: number of the window's first entry.
        high: number after its last one.
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
    """Whether an entry at a state may start a trend or a guard's match."""
    floor, bar = graph.start_floor[state], graph.start_bar[state]
    return (
        graph.starts[state]
        and (floor < 0 or floors[floor, place] == NONE)
        and (bar < 0 or floors[bar, place] != NONE)
    )


@inlined
def may_end(graph, floors, entry, size):
    """Whether an entry may end a trend or a guard's match in a window of `size` entries."""
    state = graph.states[entry]
    floor = graph.end_floor[state]
    return graph.ends[state] and (floor < 0 or graph.times[entry] >= floors[floor, size])


@inlined
def _lowest(graph, fired, floor, place):
    """The lowest over a floor's sets of the highest over the set's guards."""
    first, after = graph.floor_set_start[floor], graph.floor_set_start[floor + 1]
    lowest = NONE
    for group in range(first, after):
        highest = NONE
        for g in range(graph.set_guard_start[group], graph.set_guard_start[group + 1]):
            highest = max(highest, fired[graph.set_guards[g], place])
        lowest = highest if group == first else min(lowest, highest)
    return lowest
