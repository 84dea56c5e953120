"""A burst of a state with edge predicates, every event with values of its own.

The program of a predicate is run once for all queries of a run that have it, and each pair of
adjacent events is one addition of short vectors: what is shared is the adjacency.
"""

from __future__ import annotations

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.hamlet_lanes import any_lane
from elsinore.kernels.hamlet_steps import add_members, enter, own, settle, takes


@outlined
def share_adjacency(graph, work, p, s, first, after, a, b):  # type: ignore[no-untyped-def]
    """Work out a burst for queries `a` to `b - 1`; its events are the newest members already."""
    begin = first
    while begin < after:
        end = begin + 1
        while end < after and graph.times[end] == graph.times[begin]:
            end += 1
        for entry in range(begin, end):
            _arrive(graph, work, p, s, entry, first, begin, a, b)
        for entry in range(begin, end):
            place = work.stores[s]["tail"] + entry - first
            if work.alive[s, place]:
                row = work.stores[s]["base"] + place
                settle(graph, work, s, graph.accepts[entry], work.lanes, row, a, b)
        begin = end


@inlined
def _arrive(graph, work, p, s, entry, first, begin, a, b):  # type: ignore[no-untyped-def]
    place = work.stores[s]["tail"] + entry - first
    row, accepts = work.stores[s]["base"] + place, graph.accepts[entry]
    enter(graph, work, p, s, accepts, work.lanes, row, a, b)
    for t in range(graph.kinds[s]["link_start"], graph.kinds[s + 1]["link_start"]):
        low, high = max(a, graph.links[t]["low"]), min(b, graph.links[t]["high"])
        if (
            low < high
            and graph.links[t]["program"] >= 0
            and takes(accepts, graph.links[t]["class"])
        ):
            source = graph.links[t]["from"]
            last = work.stores[source]["tail"] + (begin - first if source == s else 0)
            add_members(graph, work, t, entry, work.lanes, row, low, high, last)
    own(graph, work, s, entry, accepts, work.lanes, row, a, b)
    work.alive[s, place] |= any_lane(graph, work.lanes.longs, row, a, b)


@inlined
def take_members(graph, work, s, first, after):  # type: ignore[no-untyped-def]
    """Enter a burst's events behind the members of their state, without any trend so far."""
    for entry in range(first, after):
        place = work.stores[s]["tail"] + entry - first
        work.entries[s, place] = entry
        work.alive[s, place] = False


@inlined
def keep_members(graph, work, s, first, after):  # type: ignore[no-untyped-def]
    """Let a burst's events be members from now on, those that end a trend, where they are read."""
    if graph.kinds[s]["kept"]:
        work.stores[s]["tail"] += after - first
    else:
        work.stores[s]["head"] = work.stores[s]["tail"] = 0
