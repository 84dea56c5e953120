"""Operations of propagation on rows of accumulators, at every precision level.

At the first level, counts are int64 and sums are plain doubles. At wider levels, counts are `wide`
limbs and sums are scaled doubles, so neither overflows. Kernels are compiled separately for both
cases: the counts of all rows have two dimensions, or three. Arrays are passed whole, with a row
number, because a view of each row would take time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.numbers.compiled import inlined
from elsinore.numbers.wide import (
    add_product,
    add_scaled,
    add_wide,
    is_zero,
    normal,
    to_scaled,
)

#: Maximum of a stored 64-bit value, so that the sum of two never overflows. Larger values are
#: computed at the next precision level.
LIMIT = 2**62 - 1


class Rows(NamedTuple):
    """R rows of accumulators: C counts, M sums, E extremes.

    Attributes:
        counts: int64[R, C], or uint64[R, C, L] in two's complement.
        sums, exponents: float64[R, M] and int64[R, M]; `sum * 2**exponent`.
        ranks: int64[R, E], the smallest rank so far.
    """

    counts: np.ndarray
    sums: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray


def make_rows(
    rows: int, counts: int, sums: int, extremes: int, limbs: int, no_rank: int = 0
) -> Rows:
    """Return rows of zeros and of `no_rank`; with 1 limb, of the first precision level."""
    shape = (rows, counts) if limbs == 1 else (rows, counts, limbs)
    return Rows(
        np.zeros(shape, np.int64 if limbs == 1 else np.uint64),
        np.zeros((rows, sums)),
        np.zeros((rows, sums), np.int64),
        np.full((rows, extremes), no_rank, np.int64),
    )


def widened_rows(rows: Rows, limbs: int) -> Rows:
    """Return the same rows with counts of more limbs, at least 2."""
    counts = rows.counts.view(np.uint64).reshape(*rows.counts.shape[:2], -1)
    wide = np.empty((*rows.counts.shape[:2], limbs), np.uint64)
    wide[..., : counts.shape[2]] = counts
    negative = counts[..., -1:].view(np.int64) < 0
    wide[..., counts.shape[2] :] = np.where(negative, ~np.uint64(0), np.uint64(0))
    return rows._replace(counts=wide)


# ---- one count of a row


@inlined
def clear_count(counts, row, k):
    """Set a count to 0."""
    if counts.ndim == 2:
        counts[row, k] = 0
    else:
        for limb in range(counts.shape[2]):
            counts[row, k, limb] = 0


@inlined
def copy_count(target, row, k, source, other, j):
    """Set a count to the value of another."""
    if target.ndim == 2:
        target[row, k] = source[other, j]
    else:
        for limb in range(target.shape[2]):
            target[row, k, limb] = source[other, j, limb]


@inlined
def start_trend(counts, row, k):
    """Set a cleared count to 1."""
    if counts.ndim == 2:
        counts[row, k] = 1
    else:
        counts[row, k, 0] = 1


@inlined
def counts_any(counts, row, k):
    """Return whether a count is not 0."""
    if counts.ndim == 2:
        return counts[row, k] != 0
    return not is_zero(counts[row, k])


@inlined
def add_count(counts, row, k, more, other, column):
    """Add another count to a count; return True if it outgrew its width."""
    if counts.ndim == 3:
        return add_wide(counts[row, k], more[other, column])
    total = counts[row, k] + more[other, column]
    counts[row, k] = total
    return total > LIMIT or total < -LIMIT


@inlined
def weigh_count(counts, row, k, source, other, trend, weight, limb_scratch):
    """Add `weight` times a count of trends to a count; return whether it outgrew its width."""
    if counts.ndim == 3:
        return add_product(counts[row, k], source[other, trend], weight, limb_scratch)
    trends = source[other, trend]
    if abs(np.float64(weight) * np.float64(trends)) > 2.0**61:
        return True
    total = counts[row, k] + weight * trends
    counts[row, k] = total
    return total > LIMIT or total < -LIMIT


@inlined
def weigh_sum(sums, exponents, row, m, counts, other, trend, weight):
    """Add `weight` times a count of trends to a sum of doubles."""
    if counts.ndim == 2:
        sums[row, m] += weight * counts[other, trend]
    else:
        trends, exponent = to_scaled(counts[other, trend])
        fraction, shift = normal(weight, 0)
        product, places = normal(fraction * trends, shift + exponent)
        sums[row, m], exponents[row, m] = add_scaled(
            sums[row, m], exponents[row, m], product, places
        )


# ---- rows


@inlined
def clear(rows, row, no_rank):
    """Set one row to "no trend"."""
    for k in range(rows.counts.shape[1]):
        clear_count(rows.counts, row, k)
    for m in range(rows.sums.shape[1]):
        rows.sums[row, m] = 0.0
        rows.exponents[row, m] = 0
    for x in range(rows.ranks.shape[1]):
        rows.ranks[row, x] = no_rank


@inlined
def copy_row(target, row, source, other):
    """Set a row of `target` to a row of `source`."""
    for k in range(target.counts.shape[1]):
        copy_count(target.counts, row, k, source.counts, other, k)
    for m in range(target.sums.shape[1]):
        target.sums[row, m] = source.sums[other, m]
        target.exponents[row, m] = source.exponents[other, m]
    for x in range(target.ranks.shape[1]):
        target.ranks[row, x] = source.ranks[other, x]


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
    """Add everything except the counts to a row of `target`.

    `counts` may be any counts of the same precision level.
    """
    _add_sums(counts, target, row, source, other)
    for x in range(target.ranks.shape[1]):
        target.ranks[row, x] = min(target.ranks[row, x], source.ranks[other, x])


@inlined
def add_row(target, row, source, other):
    """Add a row of `source` to a row of `target`; return whether a count outgrew its width."""
    add_others(target.counts, target, row, source, other)
    over = False
    for k in range(target.counts.shape[1]):
        over |= add_count(target.counts, row, k, source.counts, other, k)
    return over
