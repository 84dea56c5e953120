"""Rows for the trends of a GRETA graph: of one query, or of several queries in lanes."""

from __future__ import annotations

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.numbers.compiled import inlined
from elsinore.numbers.rows import (
    Rows,
    add_count,
    add_others,
    add_row,
    counts_any,
    make_rows,
    start_trend,
    weigh_count,
    weigh_sum,
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
def _add_listed(target, row, source, other, columns, first, after):
    """Add a row as `add_row` does, but only some columns.

    Each item of `columns`, from `first` to before `after`, is a pair of columns of both rows.
    """
    add_others(target.counts, target, row, source, other)
    over = False
    for place in range(first, after):
        column, more = columns[place, 0], columns[place, 1]
        over |= add_count(target.counts, row, column, source.counts, other, more)
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
