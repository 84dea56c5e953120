"""Run a template of a query with a span.

Without conditions on pairs of events, `kernels.span_products` takes the same time per event for
any span. If a count needs more than 64 bits, its period is computed again. So are all periods of
other templates: `climb` aggregates the trends of one anchor at a time (`input.kernels.anchors`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from elsinore.executors.aggregates import accumulators_of, needs_pairs_of_events
from elsinore.executors.graph.climb import climb
from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.span_counts import count_spans
from elsinore.executors.graph.kernels.span_products import (
    PeriodRows,
    Periods,
    SpanGraph,
    aggregate_spans,
    make_period_rows,
    make_span_work,
    measure_spans,
)
from elsinore.executors.graph.wide_spans import wide_counts
from elsinore.executors.input.anchors import anchored
from elsinore.executors.input.conditions import Order
from elsinore.executors.input.entries import Entries, StateEntries
from elsinore.executors.input.numbering import numbered
from elsinore.executors.input.periods import period_numbers, period_table
from elsinore.executors.input.weights import Extremes
from elsinore.executors.output.window_rows import WindowRows
from elsinore.executors.row_bound import require_few_windows
from elsinore.numbers.rows import Rows, make_rows
from elsinore.query.bound import BoundQuery
from elsinore.template.template import ALWAYS, Template
from elsinore.timeline import Interval

#: The number of a query, and a state of its template.
Place = tuple[int, int]


class Graphed(NamedTuple):
    """The graph of a template over some events."""

    placed: StateEntries  #: the events at the states
    graph: Graph  #: the graph over these entries
    orders: tuple[tuple[int, Order], ...]  #: the transitions whose condition is one comparison
    extremes: list[Extremes]  #: the values of the ranks, by extreme


#: Maximum number of states with a successor of templates whose trends `count_spans` counts.
FEW = 2
#: Number of events of a span for which there is room at first.
ROOM = 1 << 16


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
        directed = _directed(query, template)
        if any(accumulators_of(query).weighed) or len(_followed(directed)) > FEW:
            rows, outgrown = _products(query, graphed().graph, graphed().placed.offsets, owned)
        else:
            rows, outgrown = _counts(query, directed, entries, owned)
        yield [rows.where(~outgrown).with_trend()]
        if not outgrown.any():
            return
        chosen = rows.keys[outgrown, :2]
        if not any(accumulators_of(query).weighed):
            yield [_wide_counts(query, graphed(), owned, chosen)]
            return
    placed, graph, orders, _ = graphed()
    for windows in anchored(query, template, placed, owned):
        if chosen is not None:
            windows = windows[_is_among(windows[:, 2:4], chosen)]
        if windows.shape[0]:
            yield climb(graph, windows, orders)


def is_linear(template: Template) -> bool:
    """Return whether a template has no conditions on pairs of events and no NOT."""
    floors = (*template.starts.values(), *template.bars.values(), *template.ends.values())
    return not (
        template.guards
        or template.ways_out
        or any(floor is not None for floor in floors)
        or any(arrow.condition != ALWAYS or arrow.closes for arrow in template.transitions)
    )


def _counts(
    query: BoundQuery, template: Template, entries: Entries[Place], owned: Interval | None
) -> tuple[WindowRows, np.ndarray]:
    """Return the numbers of trends of all periods, and as bool[R] which of them need more bits.

    `template` is `_directed`.
    """
    masks = _masks(template, entries.classes, int(entries.codes.max(initial=-1)) + 1)
    times, codes, offsets = _meant(entries, masks)
    size, periods = _periods(query, times, offsets, owned)
    if periods.sign < 0:
        times, codes, offsets = -times[::-1], codes[::-1].copy(), times.size - offsets[::-1]
    rows, totals = make_period_rows(size), make_rows(size, 1, 0, 0, 1)
    outgrown = np.zeros(size, np.bool_)
    room = ROOM
    while room:  # it is 0 when all events have found room
        rows.place[3], totals.counts[:], outgrown[:] = 0, 0, False
        front = np.empty((room, 2), np.int64)
        given = masks, times, codes, offsets, periods, front, rows, totals.counts, outgrown
        needed = count_spans(*given)
        room = max(4 * room, needed) if needed else 0
    return _rows(rows, totals, outgrown, periods, offsets)


def _meant(entries: Entries[Place], masks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the times, the classes and the offsets of events.

    If most events can be in a trend, they are all events, without a copy. Otherwise, they are only
    the events that can be in a trend.
    """
    is_meant: np.ndarray = np.any(masks, axis=1)
    kept = np.flatnonzero(is_meant[entries.codes])
    if 2 * kept.size > entries.times.size:
        return entries.times, entries.codes, entries.offsets
    return entries.times[kept], entries.codes[kept], np.searchsorted(kept, entries.offsets)


def _masks(template: Template, classes: Sequence[frozenset[Place]], codes: int) -> np.ndarray:
    """Return the masks of event classes that `count_spans` reads, for `codes` classes or more."""
    followed = _followed(template)
    before: dict[int, list[int]] = {state: [] for state in range(len(template.states))}
    for arrow in template.transitions:
        before[arrow.later].append(followed.index(arrow.earlier) + 1)
    masks = np.zeros((max(codes, len(classes)), 9), np.int64)
    for row, places in zip(masks, classes, strict=False):
        for _, state in places:
            for place in [*before[state], *([0] if state in template.starts else [])]:
                if state in followed:
                    row[2 * place + followed.index(state)] = -1
                row[6 + place] += state in template.ends
    return masks


def _followed(template: Template) -> list[int]:
    """Return the states that another state, or the same one, can follow."""
    return sorted({arrow.earlier for arrow in template.transitions})


def _directed(query: BoundQuery, template: Template) -> Template:
    """Return the template of trends that end at the event that decides on their period."""
    if query.window.span is None or not query.window.span.by_first:
        return template
    turned = (replace(t, earlier=t.later, later=t.earlier) for t in template.transitions)
    return replace(template, transitions=tuple(turned), starts=template.ends, ends=template.starts)


def _periods(
    query: BoundQuery, times: np.ndarray, offsets: np.ndarray, owned: Interval | None
) -> tuple[int, Periods]:
    """Return a bound on the number of periods of all partitions, and the form kernels read.

    Raises:
        QueryError: they are more than `row_bound.MOST_WINDOWS`.
    """
    window = query.window
    assert window.span is not None
    sizes = np.diff(offsets)
    held = np.flatnonzero(sizes)
    first, last = times[offsets[held]], times[offsets[held + 1] - 1]
    # One more can exceed 64 bits.
    further = period_numbers(window, last) - period_numbers(window, first)
    size = int((np.minimum(further, sizes[held] - 1) + 1).sum())
    require_few_windows(query, size)
    sign = -1 if window.span.by_first else 1
    table = period_table(window, times)
    return size, Periods(window.span.length, table, sign, *window.owned(owned))


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
    _, periods = _periods(query, graph.times, offsets, owned)
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
    return replace(rows, counts=counts)


def _is_among(keys: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return which keys are among others, as bool[R]; keys are int64[*, 2]."""
    both = np.concatenate([chosen, keys])
    numbers, _ = numbered(both.T, both.shape[0])
    return np.isin(numbers[chosen.shape[0] :], numbers[: chosen.shape[0]])


def _products(
    query: BoundQuery, graph: Graph, offsets: np.ndarray, owned: Interval | None
) -> tuple[WindowRows, np.ndarray]:
    """Return the totals of all periods, and as bool[R] which of them need more bits."""
    size, periods = _periods(query, graph.times, offsets, owned)
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
