"""Opens and closes the windows of a sharable set as time goes on."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_lanes import clear_lanes, clear_window, copy_long, set_one
from elsinore.kernels.hamlet_work import Ledger

FOREVER = np.iinfo(np.int64).max


@inlined
def begin_partition(graph, work, p):
    """Forget all that was before; every lane is clear, since all windows were closed."""
    queries = work.cursors.size
    for q in range(queries):
        cursor = work.cursors[q]
        cursor["opening"] = cursor["closing"] = graph.window_start[p * queries + q]
        cursor["lane"] = 0
    for store in work.stores:
        store["head"] = store["tail"] = 0
    work.ledger[Ledger.GRAPHLET_STATE] = -1
    work.ledger[Ledger.LOW] = graph.offsets[p]


def pass_border(graph, work, lanes, output, p, time):
    """Close and open windows up to an instant; the next instant at which one closes or opens.

    Called by address; `FOREVER` closes all.
    """
    all_close = _expire(graph, work, p, time)
    for q in range(work.cursors.size):
        cursor = work.cursors[q]
        while cursor["closing"] < cursor["opening"] and _end(graph, q, cursor["closing"]) <= time:
            _close(graph, work, lanes, output, q, all_close)
    if all_close:
        for row in range(work.total + 1):
            clear_lanes(graph, lanes, row, 0, work.cursors.size)
    return _open(graph, work, lanes, p, time)


@inlined
def _begin(graph, q, window):
    return graph.windows[window] * graph.queries[q]["slide"]


@inlined
def _end(graph, q, window):
    return _begin(graph, q, window) + graph.queries[q]["within"]


@inlined
def _expire(graph, work, p, time):
    """Let go of members, and of entries, that no window holds that is open at an instant.

    Returns whether no window stays open.
    """
    queries, oldest, all_close = work.cursors.size, FOREVER, True
    for q in range(queries):
        window, last = work.cursors[q]["closing"], graph.window_start[p * queries + q + 1]
        while window < last and _end(graph, q, window) <= time:
            window += 1
        all_close &= window >= work.cursors[q]["opening"]
        if window < last and _begin(graph, q, window) <= time:
            oldest = min(oldest, _begin(graph, q, window))
    oldest = min(oldest, time)
    for store in work.stores:
        start = store["start"]
        while (
            store["head"] < store["tail"]
            and graph.times[work.entries[start + store["head"]]] < oldest
        ):
            store["head"] += 1
        if store["head"] == store["tail"]:
            store["head"] = store["tail"] = 0
    low, end = work.ledger[Ledger.LOW], graph.offsets[p + 1]
    while low < end and graph.times[low] < oldest:
        low += 1
    work.ledger[Ledger.LOW] = low
    return all_close


@inlined
def _open(graph, work, lanes, p, time):
    """Open windows up to an instant; the next one at which a window closes or opens."""
    queries, border, opened = work.cursors.size, FOREVER, 0
    for q in range(queries):
        cursor, query = work.cursors[q], graph.queries[q]
        last = graph.window_start[p * queries + q + 1]
        while cursor["opening"] < last and _begin(graph, q, cursor["opening"]) <= time:
            lane = cursor["lane"] + cursor["opening"] - cursor["closing"]
            lane -= query["width"] if lane >= query["width"] else 0
            set_one(lanes.longs, work.starts, query["long_start"] + lane)
            cursor["opening"] += 1
        if cursor["closing"] < cursor["opening"]:
            border = min(border, _end(graph, q, cursor["closing"]))
            opened += 1
        if cursor["opening"] < last:
            border = min(border, _begin(graph, q, cursor["opening"]))
    work.ledger[Ledger.OPEN] = opened
    return border


@inlined
def _close(graph, work, lanes, output, q, all_close):
    """Write out the oldest window of a query, and clear its lane unless all will be cleared."""
    cursor, query, rows = work.cursors[q], graph.queries[q], output.rows
    row, lane, width, outgrown = cursor["closing"], cursor["lane"], query["width"], False
    for j in range(query["longs_of"]):
        place = query["long_start"] + j * width + lane
        copy_long(rows.counts, row, j, lanes.longs, work.total, place)
        outgrown |= lanes.over[place]
        lanes.over[place] = False
    for j in range(query["doubles_of"]):
        place = query["double_start"] + j * width + lane
        total = lanes.doubles[work.total, place]
        rows.sums[row, j] = total
        rows.exponents[row, j] = lanes.exponents[work.total, place]
        if lanes.longs.ndim == 2:  # above the first rung exponents are wide
            outgrown |= not np.isfinite(total)
    for j in range(query["ranks_of"]):
        place = query["rank_start"] + j * width + lane
        rows.ranks[row, j] = lanes.ranks[work.total, place]
    output.outgrown[row] = outgrown
    if not all_close:
        for other in range(work.total + 1):
            clear_window(graph, lanes, other, q, lane)
        for store in work.stores:
            for m in range(store["head"], store["tail"]):
                clear_window(graph, lanes, store["base"] + m, q, lane)
    cursor["closing"] += 1
    cursor["lane"] = lane + 1 if lane + 1 < width else 0
