"""Operations of propagation on rows of accumulators, at every precision level.

At the first level, counts are int64 and sums are plain doubles. At wider levels, counts are `wide`
limbs and sums are scaled doubles, so neither overflows. Kernels are compiled separately for both
cases: the counts of all rows have two dimensions, or three. Arrays are passed whole, with a row
number, because a view of each row would take time.
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

#: Maximum of a stored 64-bit value, so that the sum of two never overflows. Larger values are
#: computed at the next precision level.
LIMIT = 2**62 - 1


class Rows(NamedTuple):
    """R rows of accumulators: C counts (see `graph.Lanes`), M sums, E extremes.

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


def rows_for(graph: Graph, rows: int, limbs: int) -> Rows:
    """Return rows of zeros for the accumulators of a graph."""
    return make_rows(rows, *widths_of(graph), limbs)


def totals_for(graph: Graph, rows: int, limbs: int) -> Rows:
    """Return rows of zeros for the totals of a graph's trends."""
    counts, sums, extremes = widths_of(graph)
    counts = counts if graph.lanes is None else graph.lanes.finished
    return make_rows(rows, counts, sums, extremes, limbs)


def widths_of(graph: Graph) -> tuple[int, int, int]:
    """Return the numbers of counts, sums and extremes of a row."""
    counts = 1 + graph.count_weights.shape[0] if graph.lanes is None else graph.lanes.columns
    return counts, graph.sum_weights.shape[0], graph.ranks.shape[0]


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
def _add_count(counts, row, k, more, other, column):
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
def has_trend(lanes, counts, row):
    """Return whether a row of counts counts a trend of any query."""
    for k in range(1 if lanes is None else counts.shape[1]):  # noqa: SIM110 (as in `wide`)
        if counts_any(counts, row, k):
            return True
    return False


@inlined
def start_trends(lanes, state, counts, row):
    """Count the trends that start at a state in a row of zero counts."""
    if lanes is None:
        start_trend(counts, row, 0)
    else:
        for place in range(lanes.start_from[state], lanes.start_from[state + 1]):
            start_trend(counts, row, lanes.starts[place])


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
        over |= _add_count(target.counts, row, k, source.counts, other, k)
    return over


@inlined
def _add_listed(target, row, source, other, columns, first, after):
    """Add a row as `add_row` does, but only some columns.

    Each item of `columns`, from `first` to before `after`, is a pair of columns of both rows.
    """
    add_others(target.counts, target, row, source, other)
    over = False
    for place in range(first, after):
        column, more = columns[place, 0], columns[place, 1]
        over |= _add_count(target.counts, row, column, source.counts, other, more)
    return over


@inlined
def add_over(lanes, link, target, row, source, other):
    """Add a row as `add_row` does, over a transition."""
    if lanes is None:
        return add_row(target, row, source, other)
    first, after = lanes.link_from[link], lanes.link_from[link + 1]
    return _add_listed(target, row, source, other, lanes.links, first, after)


@inlined
def add_ended(lanes, state, target, row, source, other):
    """Add the trends that end at an END state to a total; return as `add_row`."""
    if lanes is None:
        return add_row(target, row, source, other)
    first, after = lanes.end_from[state], lanes.end_from[state + 1]
    return _add_listed(target, row, source, other, lanes.ends, first, after)


@inlined
def _own_counts(lanes, state, counts, row, weights, entry, limb_scratch):
    over = False
    if lanes is None:
        for k in range(weights.shape[0]):
            over |= _own_count(counts, row, k + 1, 0, weights[k, entry], limb_scratch)
    else:
        for k in range(counts.shape[1]):
            if lanes.weights[state, k] >= 0:
                weight = weights[lanes.weights[state, k], entry]
                over |= _own_count(counts, row, k, lanes.trends[state, k], weight, limb_scratch)
    return over


@inlined
def _own_count(counts, row, k, trend, weight, limb_scratch):
    if weight == 0:
        return False
    return weigh_count(counts, row, k, counts, row, trend, weight, limb_scratch)


@inlined
def add_own(graph, entry, rows, row, limb_scratch):
    """Add the weights of an entry for each trend that ends at it; return as `add_row`."""
    for m in range(graph.sum_weights.shape[0]):
        if graph.sum_weights[m, entry] != 0.0:
            weight = graph.sum_weights[m, entry]
            weigh_sum(rows.sums, rows.exponents, row, m, rows.counts, row, 0, weight)
    for x in range(rows.ranks.shape[1]):
        rows.ranks[row, x] = min(rows.ranks[row, x], graph.ranks[x, entry])
    lanes, state, weights = graph.lanes, graph.states[entry], graph.count_weights
    return _own_counts(lanes, state, rows.counts, row, weights, entry, limb_scratch)
