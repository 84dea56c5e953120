"""Rows of carriers, and what propagation does with them, on every rung of the exact ladder.

On the first rung counts are int64 and sums plain doubles; above it counts are `wide` limbs and sums
scaled doubles, so that neither wraps nor overflows. Which of the two is known when the kernels are
compiled: the counts of all rows have two dimensions, or three. The arrays are passed whole, with a
row number, which saves making a view of each row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined
from elsinore.kernels.graph import Graph
from elsinore.kernels.wide import (
    add_product,
    add_scaled,
    add_wide,
    is_zero,
    normal,
    to_scaled,
)

#: No 64-bit value kept exceeds this, so the sum of two never wraps; then the next rung takes over.
LIMIT = 2**62 - 1


class Rows(NamedTuple):
    """R rows of carriers: 1 + K counts (the first counts trends), M sums, E extremes.

    Attributes:
        counts: int64[R, 1 + K], or uint64[R, 1 + K, L] in two's complement.
        sums, exponents: float64[R, M] and int64[R, M]; `sum * 2**exponent`.
        ranks: int64[R, E], the smallest rank met.
    """

    counts: np.ndarray
    sums: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray


def make_rows(rows: int, counts: int, sums: int, extremes: int, limbs: int) -> Rows:
    """Rows of zeros; 1 limb means the first rung."""
    shape = (rows, counts) if limbs == 1 else (rows, counts, limbs)
    return Rows(
        np.zeros(shape, np.int64 if limbs == 1 else np.uint64),
        np.zeros((rows, sums)),
        np.zeros((rows, sums), np.int64),
        np.zeros((rows, extremes), np.int64),
    )


def rows_for(graph: Graph, rows: int, limbs: int) -> Rows:
    """Rows of zeros for the carriers of a graph."""
    sides = graph.count_weights, graph.sum_weights, graph.ranks
    counts, sums, extremes = (side.shape[0] for side in sides)
    return make_rows(rows, 1 + counts, sums, extremes, limbs)


def widened_rows(rows: Rows, limbs: int) -> Rows:
    """The same rows with counts of more limbs; at least 2."""
    counts = rows.counts.view(np.uint64).reshape(*rows.counts.shape[:2], -1)
    wide = np.empty((*rows.counts.shape[:2], limbs), np.uint64)
    wide[..., : counts.shape[2]] = counts
    negative = counts[..., -1:].view(np.int64) < 0
    wide[..., counts.shape[2] :] = np.where(negative, ~np.uint64(0), np.uint64(0))
    return rows._replace(counts=wide)


@inlined
def _clear_counts(counts, row):
    for k in range(counts.shape[1]):
        if counts.ndim == 2:
            counts[row, k] = 0
        else:
            for limb in range(counts.shape[2]):
                counts[row, k, limb] = 0


@inlined
def clear(rows, row, no_rank):
    """Set one row to "no trend"."""
    _clear_counts(rows.counts, row)
    for m in range(rows.sums.shape[1]):
        rows.sums[row, m] = 0.0
        rows.exponents[row, m] = 0
    for x in range(rows.ranks.shape[1]):
        rows.ranks[row, x] = no_rank


@inlined
def _copy_counts(counts, row, more, other):
    for k in range(counts.shape[1]):
        if counts.ndim == 2:
            counts[row, k] = more[other, k]
        else:
            for limb in range(counts.shape[2]):
                counts[row, k, limb] = more[other, k, limb]


@inlined
def copy_row(target, row, source, other):
    """Make a row of `target` a copy of a row of `source`."""
    _copy_counts(target.counts, row, source.counts, other)
    for m in range(target.sums.shape[1]):
        target.sums[row, m] = source.sums[other, m]
        target.exponents[row, m] = source.exponents[other, m]
    for x in range(target.ranks.shape[1]):
        target.ranks[row, x] = source.ranks[other, x]


@inlined
def has_trend(counts, row):
    """Whether one row of counts counts any trend."""
    if counts.ndim == 2:
        return counts[row, 0] != 0
    return not is_zero(counts[row, 0])


@inlined
def start_trend(counts, row):
    """Let one row of zero counts count the trend that starts here."""
    if counts.ndim == 2:
        counts[row, 0] = 1
    else:
        counts[row, 0, 0] = 1


@inlined
def _add_counts(counts, row, more, other):
    over = False
    for k in range(counts.shape[1]):
        if counts.ndim == 2:
            total = counts[row, k] + more[other, k]
            counts[row, k] = total
            over |= total > LIMIT or total < -LIMIT
        else:
            over |= add_wide(counts[row, k], more[other, k])
    return over


@inlined
def _add_sums(counts, target, row, source, other):
    for m in range(target.sums.shape[1]):
        if counts.ndim == 2:
            target.sums[row, m] += source.sums[other, m]
        else:
            target.sums[row, m], target.exponents[row, m] = add_scaled(
                target.sums[row, m],
                target.exponents[row, m],
                source.sums[other, m],
                source.exponents[other, m],
            )


@inlined
def add_others(counts, target, row, source, other):
    """Add what is not a count to a row of `target`; `counts` are anyone's of the rung."""
    _add_sums(counts, target, row, source, other)
    for x in range(target.ranks.shape[1]):
        target.ranks[row, x] = min(target.ranks[row, x], source.ranks[other, x])


@inlined
def add_row(target, row, source, other):
    """Add a row of `source` to a row of `target`; True if a count outgrew its width."""
    add_others(target.counts, target, row, source, other)
    return _add_counts(target.counts, row, source.counts, other)


@inlined
def _own_counts(counts, row, weights, entry, limb_scratch):
    over = False
    for k in range(weights.shape[0]):
        weight = weights[k, entry]
        if weight == 0:
            continue
        if counts.ndim == 2:
            trends = counts[row, 0]
            if abs(np.float64(weight) * np.float64(trends)) > 2.0**61:
                over = True
            else:
                total = counts[row, k + 1] + weight * trends
                counts[row, k + 1] = total
                over |= total > LIMIT or total < -LIMIT
        else:
            over |= add_product(counts[row, k + 1], counts[row, 0], weight, limb_scratch)
    return over


@inlined
def _own_sums(counts, rows, row, weights, entry):
    if counts.ndim == 2:
        for m in range(weights.shape[0]):
            if weights[m, entry] != 0.0:
                rows.sums[row, m] += weights[m, entry] * counts[row, 0]
    elif weights.shape[0]:
        trends, exponent = to_scaled(counts[row, 0])
        for m in range(weights.shape[0]):
            if weights[m, entry] != 0.0:
                fraction, shift = normal(weights[m, entry], 0)
                product, places = normal(fraction * trends, shift + exponent)
                rows.sums[row, m], rows.exponents[row, m] = add_scaled(
                    rows.sums[row, m], rows.exponents[row, m], product, places
                )


@inlined
def add_own(graph, entry, rows, row, limb_scratch):
    """Add what an entry itself contributes for each trend that ends at it; True if outgrown."""
    _own_sums(rows.counts, rows, row, graph.sum_weights, entry)
    for x in range(rows.ranks.shape[1]):
        rows.ranks[row, x] = min(rows.ranks[row, x], graph.ranks[x, entry])
    return _own_counts(rows.counts, row, graph.count_weights, entry, limb_scratch)
