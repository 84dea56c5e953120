"""Process one entry: receive trends from its predecessors, and pass them on.

Each function handles a run of queries, `a` to `b - 1`, at once: their common work is one vector
operation.
"""

from __future__ import annotations

import numpy as np

from elsinore.executors.hamlet.kernels.lanes import add_lanes, clear_lanes
from elsinore.executors.hamlet.kernels.weights import add_weighted
from elsinore.numbers.compiled import inlined
from elsinore.numbers.rows import start_trend

_ONE = np.int64(1)

#: The `accepts` of an entry that all classes take.
EVERY = np.int64(-1)


@inlined
def takes(accepts, bit):
    """Return whether class `bit` takes an entry."""
    return (accepts >> bit) & _ONE != 0


@inlined
def start_trends(graph, work, q, row):
    """Start a trend in each open window of a query, in a cleared row."""
    lane, width = work.cursors[q]["lane"], graph.queries[q]["width"]
    place = graph.queries[q]["long_start"]
    for _ in range(work.cursors[q]["closing"], work.cursors[q]["opening"]):
        start_trend(work.lanes.counts, row, place + lane)
        lane += 1
        if lane == width:
            lane = 0


@inlined
def enter(graph, work, s, accepts, row, a, b):
    """Set a row to the trends that reach an entry without a program, except from its own state.

    These trends start at the entry, or come from other states. During a burst, they are the same
    for all of its events that a query takes.
    """
    clear_lanes(graph, work.lanes, row, a, b)
    for r in range(graph.kinds[s]["begin_start"], graph.kinds[s + 1]["begin_start"]):
        low, high = max(a, graph.begins[r]["low"]), min(b, graph.begins[r]["high"])
        if low < high and takes(accepts, graph.begins[r]["class"]):
            for q in range(low, high):
                start_trends(graph, work, q, row)
    for t in range(graph.kinds[s]["link_start"], graph.kinds[s]["loop_start"]):
        low, high = max(a, graph.links[t]["low"]), min(b, graph.links[t]["high"])
        if low < high and takes(accepts, graph.links[t]["class"]):
            source = graph.links[t]["from"]
            add_lanes(graph, work.lanes, row, work.lanes, source, low, high, work.over)


@inlined
def repeat(graph, work, s, accepts, row, a, b):
    """Add to a row the trends that enter an entry from its own state without a program."""
    for t in range(graph.kinds[s]["loop_start"], graph.kinds[s]["pair_start"]):
        low, high = max(a, graph.links[t]["low"]), min(b, graph.links[t]["high"])
        if low < high and takes(accepts, graph.links[t]["class"]):
            add_lanes(graph, work.lanes, row, work.lanes, s, low, high, work.over)


@inlined
def enter_burst(graph, work, s, first, after, entered, a, b):
    """Set row `entered` to the result of `enter` for all classes, if that saves work.

    Return whether it does.
    """
    ways = graph.kinds[s]["loop_start"] - graph.kinds[s]["link_start"]
    ways += graph.kinds[s + 1]["begin_start"] - graph.kinds[s]["begin_start"]
    spares = after - first > 1 and ways > 1
    if spares:
        enter(graph, work, s, EVERY, entered, a, b)
    return spares


@inlined
def enter_event(graph, work, s, accepts, row, spared, entered, a, b):
    """Set a row to the trends that enter an entry without a program.

    `spared` is the result of `enter_burst`; if it is True, row `entered` is used.
    """
    if spared:
        clear_lanes(graph, work.lanes, row, a, b)
        for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
            low, high = max(a, graph.runs[r]["low"]), min(b, graph.runs[r]["high"])
            if low < high and takes(accepts, graph.runs[r]["class"]):
                add_lanes(graph, work.lanes, row, work.lanes, entered, low, high, work.over)
    else:
        enter(graph, work, s, accepts, row, a, b)
    repeat(graph, work, s, accepts, row, a, b)


@inlined
def own(graph, work, s, entry, accepts, row, a, b):
    """Add the entry's own contribution for each trend that ends at it."""
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        q = graph.owns[o]["query"]
        if a <= q and q < b and takes(accepts, graph.owns[o]["class"]):
            weights = graph.long_weights, graph.double_weights, graph.ranks
            add_weighted(graph, o, weights, entry, work.lanes, row, row, work.over, work.limbs)


@inlined
def settle(graph, work, s, accepts, row, a, b):
    """Add an entry's lanes to the lanes of its state, and to the totals (Equation 3)."""
    add_lanes(graph, work.lanes, s, work.lanes, row, a, b, work.over)
    for r in range(graph.kinds[s]["end_start"], graph.kinds[s + 1]["end_start"]):
        low, high = max(a, graph.ends[r]["low"]), min(b, graph.ends[r]["high"])
        if low < high and takes(accepts, graph.ends[r]["class"]):
            add_lanes(graph, work.lanes, work.total, work.lanes, row, low, high, work.over)
