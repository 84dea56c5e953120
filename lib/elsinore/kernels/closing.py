"""Skip-till-next-match: an event that something could have followed goes on no more.

Where every way out of a state is open to all of its events alike, one instant closes them all.
Otherwise they close one by one, and for each of a few slots apart, which programs read by `OPEN`.
"""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.graph import NONE
from elsinore.kernels.pairs import find_pairs


@inlined
def open_all(closed, size):
    """Begin a window of `size` entries, none of them closed for any slot."""
    for slot in range(closed.shape[0]):
        for place in range(size):
            closed[slot, place] = False


@inlined
def close_events(graph, upkeep, pairs, members, member_count, entry, low):
    """Close all earlier events that an entry could extend; forget those closed for all slots.

    Every way on from a state whose events close one by one asks for an open slot.
    """
    later = graph.states[entry]
    for w in range(upkeep.way_start[later], upkeep.way_start[later + 1]):
        way, state = upkeep.ways[w], upkeep.way_from[w]
        program, floor = graph.open_program[way], graph.open_floor[way]
        closed = pairs.closed[graph.open_slot[way]]
        listed, count = members[state], member_count[state]
        if program >= 0:
            found = find_pairs(graph, pairs, program, listed, count, entry, low)
            for h in range(found):
                closed[pairs.hits[h] - low] = True
        else:
            bound = pairs.floors[floor, entry - low] if floor >= 0 else NONE
            for c in range(count):
                if graph.times[listed[c]] >= bound:
                    closed[listed[c] - low] = True
        still_open = 0
        for c in range(count):
            if _is_open(graph, pairs.closed, state, listed[c] - low):
                listed[still_open] = listed[c]
                still_open += 1
        member_count[state] = still_open


@inlined
def _is_open(graph, closed, state, place):
    """Whether an entry at a state is open for any of the state's slots."""
    for way in range(graph.open_start[state], graph.open_start[state + 1]):
        if not closed[graph.open_slot[way], place]:
            return True
    return False
