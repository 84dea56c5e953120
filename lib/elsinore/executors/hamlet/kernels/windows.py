"""Open and close the windows of a sharable set as time advances."""

from __future__ import annotations

import numpy as np

from elsinore.executors.hamlet.kernels.lanes import clear_lanes, clear_window, overflows
from elsinore.executors.hamlet.kernels.work import Ledger
from elsinore.numbers.compiled import inlined
from elsinore.numbers.rows import copy_count

_FOREVER = np.iinfo(np.int64).max


@inlined
def begin_partition(graph, work, p):
    """Reset the scratch for a partition; all lanes are clear, because all windows were closed."""
    queries = work.cursors.size
    for q in range(queries):
        work.cursors[q]["opening"] = graph.window_start[p * queries + q]
        work.cursors[q]["closing"] = graph.window_start[p * queries + q]
        work.cursors[q]["lane"] = 0
    for s in range(work.stores.size):
        work.stores[s]["head"] = work.stores[s]["tail"] = 0
    work.ledger[Ledger.GRAPHLET_STATE] = -1
    work.ledger[Ledger.LOW] = graph.offsets[p]


def pass_border(graph, work, output, p, time):
    """Close and open windows up to a timestamp; return the next time at which one does."""
    queries = work.cursors.size
    _expire(graph, work, p, time)
    border = _FOREVER
    work.ledger[Ledger.OPEN] = 0
    bulk = _all_close(graph, work, time)
    for q in range(queries):
        last = graph.window_start[p * queries + q + 1]
        within, slide = graph.queries[q]["within"], graph.queries[q]["slide"]
        while (
            work.cursors[q]["closing"] < work.cursors[q]["opening"]
            and graph.windows[work.cursors[q]["closing"]] * slide + within <= time
        ):
            _close(graph, work, output, q, bulk)
        while (
            work.cursors[q]["opening"] < last
            and graph.windows[work.cursors[q]["opening"]] * slide <= time
        ):
            work.cursors[q]["opening"] += 1
        if work.cursors[q]["closing"] < work.cursors[q]["opening"]:
            border = min(border, graph.windows[work.cursors[q]["closing"]] * slide + within)
            work.ledger[Ledger.OPEN] += 1
        if work.cursors[q]["opening"] < last:
            border = min(border, graph.windows[work.cursors[q]["opening"]] * slide)
    if bulk:
        _clear_all(graph, work)
    return border


def close_all(graph, work, output):
    """Close all open windows; return 0."""
    for q in range(work.cursors.size):
        while work.cursors[q]["closing"] < work.cursors[q]["opening"]:
            _close(graph, work, output, q, True)
    _clear_all(graph, work)
    return 0


@inlined
def _all_close(graph, work, time):
    """Return whether all open windows end at or before a timestamp."""
    for q in range(work.cursors.size):
        opening = work.cursors[q]["opening"]
        if (
            work.cursors[q]["closing"] < opening
            and graph.windows[opening - 1] * graph.queries[q]["slide"] + graph.queries[q]["within"]
            > time
        ):
            return False
    return True


@inlined
def _clear_all(graph, work):
    """Clear the rows of all states and the total; the members have expired."""
    for row in range(work.total + 1):
        clear_lanes(graph, work.lanes, row, 0, work.cursors.size)


@inlined
def _close(graph, work, output, q, bulk):
    """Write the oldest window of a query, and clear its lane unless all will be cleared."""
    row, lane = work.cursors[q]["closing"], work.cursors[q]["lane"]
    width, outgrown = graph.queries[q]["width"], False
    for j in range(graph.queries[q]["longs_of"]):
        place = graph.queries[q]["long_start"] + j * width + lane
        copy_count(output.lanes.counts, row, j, work.lanes.counts, work.total, place)
        outgrown |= work.over[place]
        work.over[place] = False
    for j in range(graph.queries[q]["doubles_of"]):
        place = graph.queries[q]["double_start"] + j * width + lane
        output.lanes.sums[row, j] = work.lanes.sums[work.total, place]
        output.lanes.exponents[row, j] = work.lanes.exponents[work.total, place]
        outgrown |= overflows(work.lanes.counts, work.lanes.sums[work.total, place])
    for j in range(graph.queries[q]["ranks_of"]):
        place = graph.queries[q]["rank_start"] + j * width + lane
        output.lanes.ranks[row, j] = work.lanes.ranks[work.total, place]
    output.outgrown[row] = outgrown
    if not bulk:
        clear_window(graph, work.lanes, work.total, q, lane)
        for s in range(work.stores.size):
            clear_window(graph, work.lanes, s, q, lane)
            for m in range(work.stores[s]["head"], work.stores[s]["tail"]):
                clear_window(graph, work.lanes, work.stores[s]["base"] + m, q, lane)
    work.cursors[q]["closing"] += 1
    work.cursors[q]["lane"] = lane + 1 if lane + 1 < width else 0


@inlined
def _expire(graph, work, p, time):
    """Drop members and entries from before all windows that are open at a timestamp."""
    queries, oldest = work.cursors.size, _FOREVER
    for q in range(queries):
        last = graph.window_start[p * queries + q + 1]
        within, slide = graph.queries[q]["within"], graph.queries[q]["slide"]
        window = work.cursors[q]["closing"]
        while window < last and graph.windows[window] * slide + within <= time:
            window += 1
        if window < last and graph.windows[window] * slide <= time:
            oldest = min(oldest, graph.windows[window] * slide)
    oldest = min(oldest, time)
    for s in range(work.stores.size):
        start = work.stores[s]["start"]
        while (
            work.stores[s]["head"] < work.stores[s]["tail"]
            and graph.times[work.block.entries[start + work.stores[s]["head"]]] < oldest
        ):
            work.stores[s]["head"] += 1
        if work.stores[s]["head"] == work.stores[s]["tail"]:
            work.stores[s]["head"] = work.stores[s]["tail"] = 0
    low, end = work.ledger[Ledger.LOW], graph.offsets[p + 1]
    while low < end and graph.times[low] < oldest:
        low += 1
    work.ledger[Ledger.LOW] = low
