"""A burst of a state with edge predicates, every event with values of its own.

The program of a predicate is run once for all queries side by side that have it, and each pair of
adjacent events is one addition of short vectors: what is shared is the adjacency.
"""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_lanes import any_lane
from elsinore.kernels.hamlet_pairs import add_members
from elsinore.kernels.hamlet_steps import enter_burst, enter_event, own, settle


def share_adjacency(graph, work, s, first, after, a, b):
    """Work out a burst for queries `a` to `b - 1`; its events are the newest members already; 0.

    Compiled apart.
    """
    base = work.stores[s]["base"] + work.stores[s]["tail"] - first
    place = work.stores[s]["start"] + work.stores[s]["tail"] - first
    spared = enter_burst(graph, work, s, first, after, work.snapshots + 0, a, b)
    begin = first
    while begin < after:
        end = begin + 1
        while end < after and graph.times[end] == graph.times[begin]:
            end += 1
        for entry in range(begin, end):
            _arrive(graph, work, s, entry, begin - first, base + entry, spared, a, b)
            work.block.alive[place + entry] |= any_lane(graph, work.lanes.longs, base + entry, a, b)
        for entry in range(begin, end):
            if work.block.alive[place + entry]:
                settle(graph, work, s, graph.accepts[entry], base + entry, a, b)
        begin = end
    return 0


@inlined
def _arrive(graph, work, s, entry, ahead, row, spared, a, b):
    """Work out an entry's lanes from its predecessors (Hamlet Equations 1 and 2)."""
    accepts = graph.accepts[entry]
    enter_event(graph, work, s, accepts, row, spared, work.snapshots + 0, a, b)
    add_members(graph, work, s, entry, ahead, row, a, b)
    own(graph, work, s, entry, accepts, row, a, b)
