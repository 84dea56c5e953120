"""Rows of lanes, and what the Hamlet kernels do with runs of them, on every rung of the ladder.

On the first rung longs are int64 and doubles plain; above it longs have L limbs (`wide`) and
doubles an exponent of their own (`rows` tells the same story for greta). A lane that outgrows its
rung is marked and goes on from zero, so that nothing wraps; its window is worked out again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.rows import LIMIT
from elsinore.kernels.wide import add_scaled, add_wide, is_zero


class Lanes(NamedTuple):
    """R rows of lanes.

    Attributes:
        longs: int64[R, V], or uint64[R, V, L] in two's complement.
        doubles, exponents: float64[R, W], int64[R, W]; `double * 2**exponent`.
        ranks: int64[R, X], the smallest met.
    """

    longs: np.ndarray
    doubles: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray


def make_lanes(rows: int, widths: tuple[int, int, int], limbs: int, no_rank: int) -> Lanes:
    """Rows of "no trend"; `widths` are V, W and X, one limb means the first rung."""
    longs, doubles, ranks = widths
    shape = (rows, longs) if limbs == 1 else (rows, longs, limbs)
    return Lanes(
        np.zeros(shape, np.int64 if limbs == 1 else np.uint64),
        np.zeros((rows, doubles)),
        np.zeros((rows, doubles), np.int64),
        np.full((rows, ranks), no_rank, np.int64),
    )


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
    """Add the lanes of queries `a` to `b - 1` of one row to those of another."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    _add_longs(target.longs, trow, source.longs, srow, low, high, over)
    low, high = graph.queries[a]["double_start"], graph.queries[b]["double_start"]
    if low < high:
        _add_doubles(
            target.longs, target.doubles, target.exponents, trow, source.doubles,
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
    """Add the lanes of queries `a` to `b - 1` of rows `base + hits` to those of another row."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    _add_long_rows(lanes.longs, row, base, hits, low, high, over)
    low, high = graph.queries[a]["double_start"], graph.queries[b]["double_start"]
    if low < high:
        for h in range(hits.size):
            _add_doubles(
                lanes.longs, lanes.doubles, lanes.exponents, row, lanes.doubles,
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
    _zero(lanes.longs, row, graph.queries[a]["long_start"], graph.queries[b]["long_start"])
    low, high = graph.queries[a]["double_start"], graph.queries[b]["double_start"]
    first, after = graph.queries[a]["rank_start"], graph.queries[b]["rank_start"]
    if low < high or first < after:
        _zero_rest(
            lanes.doubles, lanes.exponents, lanes.ranks, row, low, high, first, after,
            graph.no_rank,
        )  # fmt: skip


@inlined
def clear_window(graph, lanes, row, q, lane):
    """Set one window's lane of a query to "no trend" in one row."""
    width = graph.queries[q]["width"]
    for j in range(graph.queries[q]["longs_of"]):
        place = graph.queries[q]["long_start"] + j * width + lane
        _zero(lanes.longs, row, place, place + 1)
    for j in range(graph.queries[q]["doubles_of"]):
        lanes.doubles[row, graph.queries[q]["double_start"] + j * width + lane] = 0.0
        lanes.exponents[row, graph.queries[q]["double_start"] + j * width + lane] = 0
    for j in range(graph.queries[q]["ranks_of"]):
        lanes.ranks[row, graph.queries[q]["rank_start"] + j * width + lane] = graph.no_rank


@inlined
def copy_long(target, trow, place, source, srow, lane):
    """Make one long lane a copy of another."""
    if target.ndim == 2:
        target[trow, place] = source[srow, lane]
    else:
        for limb in range(target.shape[2]):
            target[trow, place, limb] = source[srow, lane, limb]


@inlined
def set_one(longs, row, lane):
    """Let a cleared lane be 1."""
    if longs.ndim == 2:
        longs[row, lane] = 1
    else:
        longs[row, lane, 0] = 1


@inlined
def overflows(longs, value):
    """Whether a double asks for the next rung, where exponents are wide."""
    if longs.ndim == 2:
        return not np.isfinite(value)
    return False


@inlined
def counts_any(longs, row, lane):
    """Whether a lane counts any trend."""
    if longs.ndim == 2:
        return longs[row, lane] != 0
    return not is_zero(longs[row, lane])


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
    """Whether any lane of queries `a` to `b - 1` holds anything."""
    return _any_long(longs, row, graph.queries[a]["long_start"], graph.queries[b]["long_start"])
