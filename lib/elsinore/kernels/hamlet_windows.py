"""Opens and closes the windows of a sharable set as time goes on."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.hamlet_lanes import clear_window, copy_long, overflows

_FOREVER = np.iinfo(np.int64).max


@inlined
def lane_of(graph, first, window, q):  # type: ignore[no-untyped-def]
    """The lane of a window among its query's; `first` is the query's first window of all."""
    return (window - first) % graph.queries[q]["width"]


@outlined
def begin_partition(graph, work, p):  # type: ignore[no-untyped-def]
    """Forget all that was before; every lane is clear, since all windows were closed."""
    queries = work.cursors.size
    for q in range(queries):
        work.cursors[q]["opening"] = work.cursors[q]["closing"] = graph.window_start[
            p * queries + q
        ]
    for s in range(work.stores.size):
        work.stores[s]["head"] = work.stores[s]["tail"] = 0
    work.ledger[10] = -1
    work.ledger[14] = graph.offsets[p]


@outlined
def pass_border(graph, work, output, p, time):  # type: ignore[no-untyped-def]
    """Close and open windows up to an instant; the next instant at which one closes or opens."""
    queries = work.cursors.size
    border = _FOREVER
    work.ledger[15] = 0
    for q in range(queries):
        last = graph.window_start[p * queries + q + 1]
        within, slide = graph.queries[q]["within"], graph.queries[q]["slide"]
        while (
            work.cursors[q]["closing"] < work.cursors[q]["opening"]
            and graph.windows[work.cursors[q]["closing"]] * slide + within <= time
        ):
            _close(graph, work, output, p, q)
        while (
            work.cursors[q]["opening"] < last
            and graph.windows[work.cursors[q]["opening"]] * slide <= time
        ):
            work.cursors[q]["opening"] += 1
        if work.cursors[q]["closing"] < work.cursors[q]["opening"]:
            border = min(border, graph.windows[work.cursors[q]["closing"]] * slide + within)
            work.ledger[15] += 1
        if work.cursors[q]["opening"] < last:
            border = min(border, graph.windows[work.cursors[q]["opening"]] * slide)
    _expire(graph, work, p)
    return border


@outlined
def close_all(graph, work, output, p):  # type: ignore[no-untyped-def]
    """Close all windows that are open."""
    for q in range(work.cursors.size):
        while work.cursors[q]["closing"] < work.cursors[q]["opening"]:
            _close(graph, work, output, p, q)


@inlined
def _close(graph, work, output, p, q):  # type: ignore[no-untyped-def]
    """Write out the oldest window of a query, and clear its lane everywhere."""
    row = work.cursors[q]["closing"]
    lane = lane_of(graph, graph.window_start[p * work.cursors.size + q], row, q)
    width, outgrown = graph.queries[q]["width"], False
    for j in range(graph.queries[q]["longs_of"]):
        place = graph.queries[q]["long_start"] + j * width + lane
        copy_long(output.lanes.longs, row, j, work.lanes.longs, work.total, place)
        outgrown |= work.over[place]
        work.over[place] = False
    for j in range(graph.queries[q]["doubles_of"]):
        place = graph.queries[q]["double_start"] + j * width + lane
        output.lanes.doubles[row, j] = work.lanes.doubles[work.total, place]
        output.lanes.exponents[row, j] = work.lanes.exponents[work.total, place]
        outgrown |= overflows(work.lanes.longs, work.lanes.doubles[work.total, place])
    for j in range(graph.queries[q]["ranks_of"]):
        place = graph.queries[q]["rank_start"] + j * width + lane
        output.lanes.ranks[row, j] = work.lanes.ranks[work.total, place]
    output.outgrown[row] = outgrown
    clear_window(graph, work.lanes, work.total, q, lane)
    for s in range(work.stores.size):
        clear_window(graph, work.lanes, s, q, lane)
        for m in range(work.stores[s]["head"], work.stores[s]["tail"]):
            clear_window(graph, work.lanes, work.stores[s]["base"] + m, q, lane)
    work.cursors[q]["closing"] += 1


@inlined
def _expire(graph, work, p):  # type: ignore[no-untyped-def]
    """Let go of members, and of entries, that no open window holds."""
    oldest = _FOREVER
    for q in range(work.cursors.size):
        if work.cursors[q]["closing"] < work.cursors[q]["opening"]:
            oldest = min(
                oldest, graph.windows[work.cursors[q]["closing"]] * graph.queries[q]["slide"]
            )
    for s in range(work.stores.size):
        while (
            work.stores[s]["head"] < work.stores[s]["tail"]
            and graph.times[work.entries[s, work.stores[s]["head"]]] < oldest
        ):
            work.stores[s]["head"] += 1
        if work.stores[s]["head"] == work.stores[s]["tail"]:
            work.stores[s]["head"] = work.stores[s]["tail"] = 0
    low, end = work.ledger[14], graph.offsets[p + 1]
    while low < end and graph.times[low] < oldest:
        low += 1
    work.ledger[14] = low
