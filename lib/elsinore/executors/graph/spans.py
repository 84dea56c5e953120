"""Run a template of a query with a span.

Without conditions on pairs of events, `kernels.span_products` takes the same time per event for
any span. If a count needs more than 64 bits, its period is computed again. If each trend has at
most one pair of events with a comparison, `compared_spans` takes logarithmic time per event. The
trends of other templates are aggregated by `climb`, for one anchor at a time
(`input.kernels.anchors`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from elsinore.executors.aggregates import accumulators_of, needs_pairs_of_events
from elsinore.executors.graph.climb import climb
from elsinore.executors.graph.compared_spans import Comparing, compared_counts, compares
from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.span_products import (
    PeriodRows,
    Periods,
    SpanGraph,
    aggregate_spans,
    make_period_rows,
    make_span_work,
    measure_spans,
)
from elsinore.executors.graph.span_counts import (
    FEW,
    Counted,
    Place,
    bound_on_periods,
    count_trends,
    is_linear,
)
from elsinore.executors.graph.wide_spans import wide_counts
from elsinore.executors.input.anchors import anchored
from elsinore.executors.input.conditions import Order
from elsinore.executors.input.entries import Entries, StateEntries
from elsinore.executors.input.numbering import numbered
from elsinore.executors.input.periods import period_table
from elsinore.executors.input.weights import Extremes
from elsinore.executors.output.window_rows import WindowRows
from elsinore.numbers.rows import Rows, make_rows
from elsinore.query.bound import BoundQuery
from elsinore.template.template import Template
from elsinore.timeline import Interval


class Graphed(NamedTuple):
    """The graph of a template over some events."""

    placed: StateEntries  #: the events at the states
    graph: Graph  #: the graph over these entries
    orders: tuple[tuple[int, Order], ...]  #: the transitions whose condition is one comparison
    extremes: list[Extremes]  #: the values of the ranks, by extreme


def span_parts(
    query: BoundQuery,
    template: Template,
    entries: Entries[Place],
    graphed: Callable[[], Graphed],
    owned: Interval | None,
) -> Iterator[list[WindowRows]]:
    """Yield the totals of the periods with a trend, in parts; a period can occur several times.

    Args:
        query: the query.
        template: one of its templates.
        entries: the events by partition.
        graphed: returns the graph, always the same.
        owned: only periods that end in this interval; None for every period.

    Raises:
        QueryError: more than `row_bound.MOST_WINDOWS` periods contain an event.
    """
    chosen = None
    if is_linear(template) and not needs_pairs_of_events(query):
        counted = Counted(query, template)
        if any(accumulators_of(query).weighed) or len(counted.followed) > FEW:
            rows, outgrown = _products(query, graphed().graph, graphed().placed.offsets, owned)
        else:
            rows, outgrown = count_trends([counted], entries, owned)
        yield [rows.where(~outgrown).with_trend()]
        if not outgrown.any():
            return
        chosen = rows.keys[outgrown, :2]
        if not any(accumulators_of(query).weighed):
            if graphed().graph.times.size:  # otherwise the types of the events form no trend
                yield [_wide_counts(query, graphed(), owned, chosen)]
            return
    placed, graph, orders, _ = graphed()
    if compares(template, dict(orders)) and not any(accumulators_of(query).weighed):
        comparing = Comparing(query, template, graph, placed.offsets, orders)
        yield [compared_counts(comparing, owned)]
        return
    for windows in anchored(query, template, placed, owned):
        if chosen is not None:
            windows = windows[_is_among(windows[:, 2:4], chosen)]
        if windows.shape[0]:
            yield climb(graph, windows, orders)


def _periods(query: BoundQuery, times: np.ndarray, owned: Interval | None) -> Periods:
    """Return the span and the periods of a query in the form that kernels read.

    `times` are the times of its events.
    """
    window = query.window
    assert window.span is not None
    sign = -1 if window.span.by_first else 1
    table = period_table(window, times)
    return Periods(window.span.length, table, sign, *window.owned(owned))


def _rows(
    found: PeriodRows, totals: Rows, outgrown: np.ndarray, periods: Periods, offsets: np.ndarray
) -> tuple[WindowRows, np.ndarray]:
    """Return the rows that a kernel wrote, and which of them need more bits."""
    count = int(found.place[3])
    if periods.sign < 0:  # the partitions are in reverse, too
        found.keys[:, 0] = offsets.size - 2 - found.keys[:, 0]
    rows = WindowRows(found.keys, *totals).where(np.arange(count))
    return rows, outgrown[:count] | ~np.isfinite(rows.sums).all(axis=1)


def _wide_counts(
    query: BoundQuery, graphed: Graphed, owned: Interval | None, chosen: np.ndarray
) -> WindowRows:
    """Return the numbers of trends of some partitions and periods."""
    graph, offsets = graphed.graph, graphed.placed.offsets
    periods = _periods(query, graph.times, owned)
    keys, last = chosen.copy(), offsets.size - 2
    if periods.sign < 0:
        offsets = graph.times.size - offsets[::-1]
        keys[:, 0] = last - keys[:, 0]
    found, counts = wide_counts(
        _span_graph(graph, reverse=periods.sign < 0), offsets, periods, keys
    )
    if periods.sign < 0:
        found[:, 0] = last - found[:, 0]
    owners = np.zeros((found.shape[0], 1), np.int64)
    totals = make_rows(found.shape[0], 1, 0, 0, 1)
    rows = WindowRows(np.concatenate([found, owners], axis=1), *totals)
    return replace(rows, counts=counts).with_trend()


def _is_among(keys: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return which keys are among others, as bool[R]; keys are int64[*, 2]."""
    both = np.concatenate([chosen, keys])
    numbers, _ = numbered(both.T, both.shape[0])
    return np.isin(numbers[chosen.shape[0] :], numbers[: chosen.shape[0]])


def _products(
    query: BoundQuery, graph: Graph, offsets: np.ndarray, owned: Interval | None
) -> tuple[WindowRows, np.ndarray]:
    """Return the totals of all periods, and as bool[R] which of them need more bits."""
    size = bound_on_periods(query, graph.times, offsets)
    periods = _periods(query, graph.times, owned)
    if periods.sign < 0:
        offsets = graph.times.size - offsets[::-1]
    taken = _span_graph(graph, reverse=periods.sign < 0)
    sizes = np.empty(2, np.int64)
    measure_spans(offsets, taken.times, periods.span, sizes)
    counts, sums, extremes = graph.count_weights, graph.sum_weights, graph.ranks
    widths = 1 + counts.shape[0], sums.shape[0], extremes.shape[0]
    rows, totals = make_period_rows(size), make_rows(size, *widths, 1, graph.no_rank)
    outgrown = np.zeros(size, np.bool_)
    work = make_span_work(taken, *sizes.tolist())
    aggregate_spans(taken, offsets, periods, work, rows, totals, outgrown)
    return _rows(rows, totals, outgrown, periods, offsets)


def _span_graph(graph: Graph, *, reverse: bool) -> SpanGraph:
    """Return the parts of a graph that `aggregate_spans` reads.

    In reverse, its partitions and entries are from the last to the first, with negated times.
    """
    if not reverse:
        return SpanGraph(*(getattr(graph, name) for name in SpanGraph._fields))
    earlier = graph.transition_from
    later = np.repeat(np.arange(graph.starts.size), np.diff(graph.transition_start))
    order = np.argsort(earlier, kind="stable")
    starts = np.searchsorted(earlier[order], np.arange(graph.starts.size + 1))
    return SpanGraph(
        times=-graph.times[::-1],
        states=graph.states[::-1].copy(),
        starts=graph.ends,
        ends=graph.starts,
        transition_start=starts.astype(np.int64),
        transition_from=later[order],
        count_weights=graph.count_weights[:, ::-1].copy(),
        sum_weights=graph.sum_weights[:, ::-1].copy(),
        ranks=graph.ranks[:, ::-1].copy(),
        no_rank=graph.no_rank,
    )
