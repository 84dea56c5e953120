"""Add the values of events to the lanes of their rows: weighted counts, sums and extremes."""

from __future__ import annotations

import numpy as np

from elsinore.executors.hamlet.kernels.graph import DOUBLE, LONG
from elsinore.numbers.compiled import inlined, outlined
from elsinore.numbers.rows import LIMIT, clear_count, counts_any, weigh_count, weigh_sum
from elsinore.numbers.wide import multiply

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_ROOM = 2.0**61


@outlined
def weigh_longs(target, trow, place, source, srow, counts, width, weight, over, limbs):
    """Add `weight` times `width` lanes of counts to as many integer lanes.

    Lanes that outgrow their width are cleared and flagged in `over`.
    """
    for i in range(width):
        if weigh_count(target, trow, place + i, source, srow, counts + i, weight, limbs):
            clear_count(target, trow, place + i)
            over[place + i] = True


@outlined
def weigh_doubles(sums, exponents, trow, place, source, srow, counts, width, weight):
    """Add `weight` times `width` lanes of counts to as many lanes of doubles."""
    for i in range(width):
        if counts_any(source, srow, counts + i):
            weigh_sum(sums, exponents, trow, place + i, source, srow, counts + i, weight)


@outlined
def lower_lanes(ranks, trow, place, source, srow, counts, width, rank):
    """Lower lanes of ranks to `rank` if the corresponding count is not 0."""
    for i in range(width):
        if counts_any(source, srow, counts + i):
            ranks[trow, place + i] = min(ranks[trow, place + i], rank)


@inlined
def add_weighted(graph, o, weights, place, lanes, row, source, over, limbs):
    """Add to row `row` what the trends of row `source` gain by row `o` of `graph.owns`.

    `weights` are integers, doubles and ranks, indexed by column and `place`.
    """
    longs, doubles, ranks = weights
    q, j, column = graph.owns[o]["query"], graph.owns[o]["index"], graph.owns[o]["column"]
    counts, width, kind = (
        graph.queries[q]["long_start"],
        graph.queries[q]["width"],
        graph.owns[o]["kind"],
    )
    if kind == LONG:
        weight, lane = longs[column, place], counts + j * width
        if weight != 0:
            weigh_longs(
                lanes.counts, row, lane, lanes.counts, source, counts, width, weight, over, limbs
            )
    elif kind == DOUBLE:
        value, lane = doubles[column, place], graph.queries[q]["double_start"] + j * width
        if value != 0.0:
            weigh_doubles(
                lanes.sums, lanes.exponents, row, lane, lanes.counts, source, counts, width, value
            )
    else:
        rank, lane = ranks[column, place], graph.queries[q]["rank_start"] + j * width
        lower_lanes(lanes.ranks, row, lane, lanes.counts, source, counts, width, rank)


@outlined
def _mark_large(target, source, limit, over):
    for v in range(source.size):
        if source[v] > limit or source[v] < -limit:
            target[v] = 0
            over[v] = True


@outlined
def multiply_longs(target, trow, source, srow, low, high, factor, over):
    """Set lanes to `factor` times the lanes of another row; `factor` is from 0 to below 2**61."""
    if target.ndim == 2:
        mine, more = target[trow, low:high], source[srow, low:high]
        limit = LIMIT // max(factor, 1)
        seen = False
        for v in range(mine.size):
            seen |= more[v] > limit or more[v] < -limit
            mine[v] = more[v] * factor
        if seen:
            _mark_large(mine, more, limit, over[low:high])
    else:
        for lane in range(low, high):
            if multiply_wide(target[trow, lane], source[srow, lane], factor):
                over[lane] = True
                clear_count(target, trow, lane)


@outlined
def multiply_wide(target, source, factor):
    """Set `target = source * factor`, uint64[L]; return True if it may need more limbs.

    The numbers are in two's complement, and `factor` is not negative. Modulo `2**(64 L)` the sign
    needs no special case. The top limb shows whether the product fits.
    """
    size = source.size
    short = np.uint64(factor)
    carry = _ZERO
    for i in range(size):
        high, low = multiply(source[i], short)
        total = low + carry
        carry = high + (_ONE if total < low else _ZERO)
        target[i] = total
    top = np.float64(np.int64(source[size - 1]))
    return (abs(top) + 1.0) * np.float64(factor) > _ROOM
