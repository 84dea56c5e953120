"""One entry at a time: what it gets from its predecessors, and what it passes on.

Everything is done for a run of queries, `a` to `b - 1`: all of them where they share, one where
they do not. A program is run once for all queries of the run that have it, and each pair of
adjacent events is one vector addition.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.hamlet_lanes import (
    add_lanes,
    any_lane,
    clear_lanes,
    own_value,
    set_one,
)
from elsinore.kernels.hamlet_pairs import find_members
from elsinore.kernels.hamlet_windows import lane_of

_ONE = np.int64(1)


@inlined
def takes(accepts, bit):  # type: ignore[no-untyped-def]
    """Whether a class takes an entry."""
    return (accepts >> bit) & _ONE != 0


@inlined
def start_trends(graph, work, p, q, lanes, row):  # type: ignore[no-untyped-def]
    """Let a cleared row count a trend in each open window of a query."""
    first = graph.window_start[p * work.cursors.size + q]
    for window in range(work.cursors[q]["closing"], work.cursors[q]["opening"]):
        place = graph.queries[q]["long_start"] + lane_of(graph, first, window, q)
        set_one(lanes.longs, row, place)


@inlined
def _start(graph, work, p, s, accepts, lanes, row, a, b):  # type: ignore[no-untyped-def]
    """Clear a row, and start trends at it where the state is a START state."""
    clear_lanes(graph, lanes, row, a, b)
    for r in range(graph.kinds[s]["begin_start"], graph.kinds[s + 1]["begin_start"]):
        low, high = max(a, graph.begins[r]["low"]), min(b, graph.begins[r]["high"])
        if low < high and takes(accepts, graph.begins[r]["class"]):
            for q in range(low, high):
                start_trends(graph, work, p, q, lanes, row)


@inlined
def enter(graph, work, p, s, accepts, lanes, row, a, b):  # type: ignore[no-untyped-def]
    """What enters an entry over transitions without a program, and the trends that start there."""
    _start(graph, work, p, s, accepts, lanes, row, a, b)
    for t in range(graph.kinds[s]["link_start"], graph.kinds[s + 1]["link_start"]):
        low, high = max(a, graph.links[t]["low"]), min(b, graph.links[t]["high"])
        if low < high and graph.links[t]["program"] < 0 and takes(accepts, graph.links[t]["class"]):
            add_lanes(graph, lanes, row, work.lanes, graph.links[t]["from"], low, high, work.over)


@inlined
def own(graph, work, s, entry, accepts, lanes, row, a, b):  # type: ignore[no-untyped-def]
    """Add what the entry itself contributes for each trend that ends at it."""
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        q = graph.owns[o]["query"]
        if a <= q and q < b and takes(accepts, graph.owns[o]["class"]):
            own_value(graph, o, entry, lanes, row, work.over, work.limbs)


@inlined
def add_members(graph, work, t, entry, lanes, row, low, high, last):  # type: ignore[no-untyped-def]
    """Add all members for which the program of transition `t` is true, up to place `last`."""
    source = graph.links[t]["from"]
    first = work.stores[source]["head"]
    found = find_members(
        graph, work, graph.links[t]["program"], source, first, last, entry, work.hits
    )
    work.ledger[9] += last - first
    for h in range(found):
        add_lanes(
            graph,
            lanes,
            row,
            work.lanes,
            work.stores[source]["base"] + work.hits[h],
            low,
            high,
            work.over,
        )


@inlined
def arrive(graph, work, p, s, entry, lanes, row, a, b):  # type: ignore[no-untyped-def]
    """Work out an entry's lanes from its predecessors (Hamlet Equations 1 and 2)."""
    accepts = graph.accepts[entry]
    enter(graph, work, p, s, accepts, lanes, row, a, b)
    if not graph.kinds[s]["plain"]:
        for t in range(graph.kinds[s]["link_start"], graph.kinds[s + 1]["link_start"]):
            low, high = max(a, graph.links[t]["low"]), min(b, graph.links[t]["high"])
            if (
                low < high
                and graph.links[t]["program"] >= 0
                and takes(accepts, graph.links[t]["class"])
            ):
                last = work.stores[graph.links[t]["from"]]["tail"]
                add_members(graph, work, t, entry, lanes, row, low, high, last)
    own(graph, work, s, entry, accepts, lanes, row, a, b)


@inlined
def settle(graph, work, s, accepts, lanes, row, a, b):  # type: ignore[no-untyped-def]
    """Add an entry's lanes to those of its state, and to the totals (Equation 3)."""
    add_lanes(graph, work.lanes, s, lanes, row, a, b, work.over)
    for r in range(graph.kinds[s]["end_start"], graph.kinds[s + 1]["end_start"]):
        low, high = max(a, graph.ends[r]["low"]), min(b, graph.ends[r]["high"])
        if low < high and takes(accepts, graph.ends[r]["class"]):
            add_lanes(graph, work.lanes, work.total, lanes, row, low, high, work.over)


@outlined
def make_room(graph, work, s, count):  # type: ignore[no-untyped-def]
    """Move a state's members to the front where `count` more would not fit behind them."""
    room = work.entries.shape[1]
    if work.stores[s]["tail"] + count <= room:
        return
    shift, queries = work.stores[s]["head"], work.cursors.size
    for m in range(work.stores[s]["head"], work.stores[s]["tail"]):
        work.entries[s, m - shift] = work.entries[s, m]
        work.alive[s, m - shift] = work.alive[s, m]
        row = work.stores[s]["base"] + m
        clear_lanes(graph, work.lanes, row - shift, 0, queries)
        add_lanes(graph, work.lanes, row - shift, work.lanes, row, 0, queries, work.over)
    work.stores[s]["tail"] -= shift
    work.stores[s]["head"] = 0


@outlined
def instant(graph, work, p, first, after):  # type: ignore[no-untyped-def]
    """Entries of one time, at whatever states: none of them is adjacent to another."""
    queries = work.cursors.size
    for entry in range(first, after):
        s = np.int64(graph.states[entry])
        arrive(graph, work, p, s, entry, work.lanes, work.stage + entry - first, 0, queries)
    for entry in range(first, after):
        s, row = np.int64(graph.states[entry]), entry - first
        settle(graph, work, s, graph.accepts[entry], work.lanes, work.stage + row, 0, queries)
        if graph.kinds[s]["kept"] and any_lane(
            graph, work.lanes.longs, work.stage + row, 0, queries
        ):
            make_room(graph, work, s, 1)
            place = work.stores[s]["tail"]
            work.entries[s, place] = entry
            work.alive[s, place] = True
            clear_lanes(graph, work.lanes, work.stores[s]["base"] + place, 0, queries)
            add_lanes(
                graph,
                work.lanes,
                work.stores[s]["base"] + place,
                work.lanes,
                work.stage + row,
                0,
                queries,
                work.over,
            )
            work.stores[s]["tail"] += 1
