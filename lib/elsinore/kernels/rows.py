"""Rows of carriers, and what propagation does with them, on every rung of the exact ladder.

On the first rung counts are int64 and sums plain doubles; above it counts are `wide` limbs and sums
scaled doubles, so that neither wraps nor overflows. Which of the two is known when the kernels are
compiled: one row of counts has one dimension, or two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

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


@njit(cache=True)
def clear(rows, row, no_rank):  # type: ignore[no-untyped-def]
    """Set one row to "no trend"."""
    rows.counts[row] = 0
    rows.sums[row] = 0.0
    rows.exponents[row] = 0
    rows.ranks[row] = no_rank


@njit(cache=True)
def has_trend(counts):  # type: ignore[no-untyped-def]
    """Whether one row of counts counts any trend."""
    if counts.ndim == 1:
        return counts[0] != 0
    return not is_zero(counts[0])


@njit(cache=True)
def start_trend(counts):  # type: ignore[no-untyped-def]
    """Let one row of zero counts count the trend that starts here."""
    if counts.ndim == 1:
        counts[0] = 1
    else:
        counts[0, 0] = 1


@njit(cache=True)
def _add_counts(counts, more):  # type: ignore[no-untyped-def]
    over = False
    for k in range(counts.shape[0]):
        if counts.ndim == 1:
            counts[k] += more[k]
            over |= counts[k] > LIMIT or counts[k] < -LIMIT
        else:
            over |= add_wide(counts[k], more[k])
    return over


@njit(cache=True)
def _add_sums(counts, sums, exponents, more, more_exponents):  # type: ignore[no-untyped-def]
    for m in range(sums.size):
        if counts.ndim == 1:
            sums[m] += more[m]
        else:
            sums[m], exponents[m] = add_scaled(sums[m], exponents[m], more[m], more_exponents[m])


@njit(cache=True)
def add_row(target, row, source, other):  # type: ignore[no-untyped-def]
    """Add a row of `source` to a row of `target`; True if a count outgrew its width."""
    _add_sums(
        target.counts[row],
        target.sums[row],
        target.exponents[row],
        source.sums[other],
        source.exponents[other],
    )
    for x in range(target.ranks.shape[1]):
        target.ranks[row, x] = min(target.ranks[row, x], source.ranks[other, x])
    return _add_counts(target.counts[row], source.counts[other])


@njit(cache=True)
def _own_counts(counts, weights, entry, limb_scratch):  # type: ignore[no-untyped-def]
    over = False
    for k in range(weights.shape[0]):
        weight = weights[k, entry]
        if weight == 0:
            continue
        if counts.ndim == 1:
            if abs(np.float64(weight) * np.float64(counts[0])) > 2.0**61:
                over = True
            else:
                counts[k + 1] += weight * counts[0]
                over |= counts[k + 1] > LIMIT or counts[k + 1] < -LIMIT
        else:
            over |= add_product(counts[k + 1], counts[0], weight, limb_scratch)
    return over


@njit(cache=True)
def _own_sums(counts, sums, exponents, weights, entry):  # type: ignore[no-untyped-def]
    if counts.ndim == 1:
        for m in range(sums.size):
            if weights[m, entry] != 0.0:
                sums[m] += weights[m, entry] * counts[0]
    elif sums.size:
        trends, exponent = to_scaled(counts[0])
        for m in range(sums.size):
            if weights[m, entry] != 0.0:
                fraction, shift = normal(weights[m, entry], 0)
                product, places = normal(fraction * trends, shift + exponent)
                sums[m], exponents[m] = add_scaled(sums[m], exponents[m], product, places)


@njit(cache=True)
def add_own(graph, entry, rows, row, limb_scratch):  # type: ignore[no-untyped-def]
    """Add what an entry itself contributes for each trend that ends at it; True if outgrown."""
    _own_sums(rows.counts[row], rows.sums[row], rows.exponents[row], graph.sum_weights, entry)
    for x in range(rows.ranks.shape[1]):
        rows.ranks[row, x] = min(rows.ranks[row, x], graph.ranks[x, entry])
    return _own_counts(rows.counts[row], graph.count_weights, entry, limb_scratch)
