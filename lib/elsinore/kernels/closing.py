"""Skip-till-next-match: an event that something could have followed goes on no more.

Where every way out of a state is open to all of its events alike, one instant closes them all.
Otherwise they close one by one, and for each of a few slots apart, which programs read by `OPEN`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined
from elsinore.kernels.graph import NEVER, NONE
from elsinore.kernels.pairs import find_pairs
from elsinore.kernels.upkeep import Upkeep


class OpenLists(NamedTuple):
    """The events of each state that are still open for a closing slot, in windows of W entries.

    Attributes:
        entries: int64[L, W], in time order; counts: int64[L].
    """

    entries: np.ndarray
    counts: np.ndarray


def make_open_lists(upkeep: Upkeep, buffer: int) -> OpenLists:
    """Open lists for windows of up to `buffer` entries."""
    lists = upkeep.list_slot.size
    return OpenLists(np.empty((lists, buffer), np.int64), np.zeros(lists, np.int64))


@inlined
def open_all(lists, closing, size):
    """Begin a window of `size` entries, none of them closed for any slot."""
    for number in range(lists.counts.size):
        lists.counts[number] = 0
    for slot in range(closing.shape[0]):
        for place in range(size):
            closing[slot, place] = NEVER


@inlined
def list_open(upkeep, lists, state, entry):
    """List a new member of a state among the open ones."""
    for number in range(upkeep.list_start[state], upkeep.list_start[state + 1]):
        lists.entries[number, lists.counts[number]] = entry
        lists.counts[number] += 1


@inlined
def close_events(graph, upkeep, lists, pairs, members, member_count, entry, low):
    """Close all earlier events that an entry could extend."""
    later = graph.states[entry]
    for w in range(upkeep.way_start[later], upkeep.way_start[later + 1]):
        way, number = upkeep.ways[w], upkeep.way_list[upkeep.ways[w]]
        program, floor = graph.open_program[way], graph.open_floor[way]
        slot = graph.open_slot[way]
        listed, count = lists.entries[number], lists.counts[number]
        if program >= 0:
            found = find_pairs(graph, pairs, program, listed, count, entry, low)
            for h in range(found):
                pairs.closing[slot, pairs.hits[h] - low] = graph.times[entry]
        else:
            bound = pairs.floors[floor, entry - low] if floor >= 0 else NONE
            for c in range(count):
                if graph.times[listed[c]] >= bound:
                    pairs.closing[slot, listed[c] - low] = graph.times[entry]
        still_open = 0
        for c in range(count):
            if pairs.closing[slot, listed[c] - low] == NEVER:
                listed[still_open] = listed[c]
                still_open += 1
        lists.counts[number] = still_open
        if still_open < count:
            _retire(upkeep, pairs.closing, members, member_count, upkeep.list_state[number], low)


@inlined
def _retire(upkeep, closing, members, member_count, state, low):
    """Forget the members of a state that can go nowhere any more."""
    if upkeep.retires[state]:
        useful = 0
        for m in range(member_count[state]):
            entry = members[state, m]
            is_open = False
            for number in range(upkeep.list_start[state], upkeep.list_start[state + 1]):
                is_open |= closing[upkeep.list_slot[number], entry - low] == NEVER
            if is_open:
                members[state, useful] = entry
                useful += 1
        member_count[state] = useful
