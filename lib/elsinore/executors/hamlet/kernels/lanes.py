"""Rows of lanes and the operations of the Hamlet kernels on them, at every precision level.

The operations match `rows`, with a lane in place of a count, a sum or a rank. A lane that outgrows
its precision level is flagged and continues from 0, so nothing wraps; its window is recomputed.
"""

from __future__ import annotations

import numpy as np

from elsinore.numbers.compiled import inlined, outlined
from elsinore.numbers.rows import LIMIT, clear_count
from elsinore.numbers.wide import add_scaled, add_wide


@outlined
def _mark(values, over):
    for v in range(values.size):
        if values[v] > LIMIT or values[v] < -LIMIT:
            values[v] = 0
            over[v] = True


@outlined
def _add_limbs(target, source, over):
    for v in range(target.shape[0]):
        if add_wide(target[v], source[v]):
            over[v] = True
            for limb in range(target.shape[1]):
                target[v, limb] = 0


@outlined
def _add_longs(target, trow, source, srow, low, high, over):
    if target.ndim == 2:
        mine, more = target[trow, low:high], source[srow, low:high]
        seen = np.int64(0)
        for v in range(mine.size):
            total = mine[v] + more[v]
            mine[v] = total
            seen |= total ^ (total >> 63)
        if seen > LIMIT:
            _mark(mine, over[low:high])
    else:
        _add_limbs(target[trow, low:high], source[srow, low:high], over[low:high])


@outlined
def _add_doubles(longs, target, exponents, trow, source, other, srow, low, high):
    for d in range(low, high):
        if longs.ndim == 2:
            target[trow, d] += source[srow, d]
        else:
            target[trow, d], exponents[trow, d] = add_scaled(
                target[trow, d], exponents[trow, d], source[srow, d], other[srow, d]
            )


@outlined
def _lower(target, trow, source, srow, low, high):
    for x in range(low, high):
        target[trow, x] = min(target[trow, x], source[srow, x])


@inlined
def add_lanes(graph, target, trow, source, srow, a, b, over):
    """Add the lanes of queries `a` to `b - 1` of row `srow` to row `trow`."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    _add_longs(target.counts, trow, source.counts, srow, low, high, over)
    low, high = graph.queries[a]["double_start"], graph.queries[b]["double_start"]
    if low < high:
        _add_doubles(
            target.counts, target.sums, target.exponents, trow, source.sums,
            source.exponents, srow, low, high,
        )  # fmt: skip
    low, high = graph.queries[a]["rank_start"], graph.queries[b]["rank_start"]
    if low < high:
        _lower(target.ranks, trow, source.ranks, srow, low, high)


@outlined
def _add_long_rows(longs, row, base, hits, low, high, over):
    if longs.ndim == 2:
        mine, flags = longs[row, low:high], over[low:high]
        for h in range(hits.size):
            more = longs[base + hits[h], low:high]
            seen = np.int64(0)
            for v in range(mine.size):
                total = mine[v] + more[v]
                mine[v] = total
                seen |= total ^ (total >> 63)
            if seen > LIMIT:
                _mark(mine, flags)
    else:
        for h in range(hits.size):
            _add_limbs(longs[row, low:high], longs[base + hits[h], low:high], over[low:high])


@inlined
def add_rows(graph, lanes, row, base, hits, a, b, over):
    """Add the lanes of queries `a` to `b - 1` of rows `base + hits` to row `row`."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    _add_long_rows(lanes.counts, row, base, hits, low, high, over)
    low, high = graph.queries[a]["double_start"], graph.queries[b]["double_start"]
    if low < high:
        for h in range(hits.size):
            _add_doubles(
                lanes.counts, lanes.sums, lanes.exponents, row, lanes.sums,
                lanes.exponents, base + hits[h], low, high,
            )  # fmt: skip
    low, high = graph.queries[a]["rank_start"], graph.queries[b]["rank_start"]
    if low < high:
        for h in range(hits.size):
            _lower(lanes.ranks, row, lanes.ranks, base + hits[h], low, high)


@outlined
def _zero(longs, row, low, high):
    if longs.ndim == 2:
        mine = longs[row, low:high]
        for v in range(mine.size):
            mine[v] = 0
    else:
        wide = longs[row, low:high]
        for v in range(wide.shape[0]):
            for limb in range(wide.shape[1]):
                wide[v, limb] = 0


@outlined
def _zero_rest(doubles, exponents, ranks, row, low, high, first, after, no_rank):
    for d in range(low, high):
        doubles[row, d] = 0.0
        exponents[row, d] = 0
    for x in range(first, after):
        ranks[row, x] = no_rank


@inlined
def clear_lanes(graph, lanes, row, a, b):
    """Set the lanes of queries `a` to `b - 1` to "no trend"."""
    _zero(lanes.counts, row, graph.queries[a]["long_start"], graph.queries[b]["long_start"])
    low, high = graph.queries[a]["double_start"], graph.queries[b]["double_start"]
    first, after = graph.queries[a]["rank_start"], graph.queries[b]["rank_start"]
    if low < high or first < after:
        _zero_rest(
            lanes.sums, lanes.exponents, lanes.ranks, row, low, high, first, after,
            graph.no_rank,
        )  # fmt: skip


@inlined
def clear_window(graph, lanes, row, q, lane):
    """Set the lane of one window of a query to "no trend" in one row."""
    width = graph.queries[q]["width"]
    for j in range(graph.queries[q]["longs_of"]):
        clear_count(lanes.counts, row, graph.queries[q]["long_start"] + j * width + lane)
    for j in range(graph.queries[q]["doubles_of"]):
        lanes.sums[row, graph.queries[q]["double_start"] + j * width + lane] = 0.0
        lanes.exponents[row, graph.queries[q]["double_start"] + j * width + lane] = 0
    for j in range(graph.queries[q]["ranks_of"]):
        lanes.ranks[row, graph.queries[q]["rank_start"] + j * width + lane] = graph.no_rank


@inlined
def overflows(longs, value):
    """Return whether a double needs the next precision level, which has wide exponents."""
    if longs.ndim == 2:
        return not np.isfinite(value)
    return False


@outlined
def _any_long(longs, row, low, high):
    if longs.ndim == 2:
        mine = longs[row, low:high]
        seen = np.int64(0)
        for v in range(mine.size):
            seen |= mine[v]
        return seen != 0
    wide = longs[row, low:high]
    bits = np.uint64(0)
    for v in range(wide.shape[0]):
        for limb in range(wide.shape[1]):
            bits |= wide[v, limb]
    return bits != np.uint64(0)


@inlined
def any_lane(graph, longs, row, a, b):
    """Return whether any count of queries `a` to `b - 1` in a row is not 0."""
    return _any_long(longs, row, graph.queries[a]["long_start"], graph.queries[b]["long_start"])
