"""Compute the results of a query by enumerating every trend, then aggregating."""

from __future__ import annotations

import gc
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from elsinore.catalog.stream import StreamSchema
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.query.steps import step_queries
from elsinore.query.syntax import Conjunction
from elsinore.reference.budget import BUDGET, Meter
from elsinore.reference.calendar_windows import Windows, windows_of
from elsinore.reference.event import Event, read_events
from elsinore.reference.keys import Keys
from elsinore.reference.match import Matcher
from elsinore.reference.measures import measure_trends
from elsinore.reference.outputs import outputs_of
from elsinore.reference.participation import participants
from elsinore.reference.sessions import find_sessions
from elsinore.reference.steps import rows_of_steps
from elsinore.reference.total import Total
from elsinore.reference.totals import totals
from elsinore.reference.trends import Group, count_pairs, matcher_of, trends_by_group
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.timeline import Instant, Interval


def two_step(
    query: BoundQuery,
    events: EventTable,
    *,
    windows: Collection[int] | None = None,
    budget: int = BUDGET,
) -> list[ResultRow]:
    """Return the rows of a query in canonical order.

    Every trend is built, as in the two-step approaches with which GRETA is compared (GRETA, Figure
    1). The cost is exponential in the number of events of a window.

    Args:
        query: the query.
        events: events in any order.
        windows: numbers of the windows to compute; None: every window with an event.
        budget: maximum number of steps, for all windows together.

    Raises:
        BudgetError: the budget is exceeded; with the fields `query`, `window`, `steps`.
        UnsupportedQueryError: a trend can be matched in ways that give different results.
    """
    return answer_windows(query, events, windows, Meter(query.name, budget), enumerate_trends)


#: The aggregates of each group of one window, in the order of `query.aggregates`.
Totals = dict[Group, tuple[Total, ...]]

#: Computes them for the window of a matcher.
Method = Callable[[Matcher], Totals]


def answer_windows(
    query: BoundQuery,
    events: EventTable,
    windows: Collection[int] | None,
    meter: Meter,
    method: Method,
) -> list[ResultRow]:
    """Return the rows of a query, like `two_step`, by any method.

    Args:
        query: the query.
        events: events in any order.
        windows: numbers of the windows to compute; None: every window with an event.
        meter: counts the steps.
        method: computes the aggregates of one window.

    Raises:
        BudgetError: see `two_step`.
        UnsupportedQueryError: the method does not support the query.
    """
    if query.steps:
        every = (
            answer_windows(step, events, windows, meter, method) for step in step_queries(query)
        )
        return sorted_rows(rows_of_steps(query, [*every]))
    keys = Keys(query, events.schema)
    rows: list[ResultRow] = []
    with _uncollected():
        for number, bounds, own in _windows(query, events, windows):
            meter.window, meter.start = number, _told(bounds.start, events.schema)
            meter.spend()
            found = method(matcher_of(query, keys, own, meter, bounds))
            rows += _rows(query, events.schema, bounds, found, len(own))
    return sorted_rows(rows)


def _windows(
    query: BoundQuery, events: EventTable, windows: Collection[int] | None
) -> Iterator[tuple[int, Interval, list[Event]]]:
    """Yield the number and the bounds of each window, and the events on which its rows depend.

    Sessions are numbered by the times of their first events; sessions can have equal numbers.
    """
    if query.window.session is not None:
        for session in find_sessions(query, read_events(query, events)):
            number = session.bounds.start
            if windows is None or number in windows:
                yield number, session.bounds, session.events
        return
    ordered = read_events(query, events if windows is None else _reach(query, events, windows))
    its = windows_of(query)
    for number in _numbers(its, ordered, windows):
        extent = its.extent(number)
        first = bisect_left(ordered, extent.start, key=lambda event: event.time)
        end = bisect_left(ordered, extent.end, key=lambda event: event.time)
        yield number, its.bounds(number), ordered[first:end]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable Python's garbage collection, because a search creates no reference cycles.

    It took a third of the time of the checks of a run.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def enumerate_trends(matcher: Matcher) -> Totals:
    """Return the aggregates of a window by building every trend, or pair of trends, in it."""
    query = matcher.query
    if isinstance(query.pattern, Conjunction):  # its only aggregate is COUNT(*)
        return {group: totals(query, n, {}) for group, n in count_pairs(matcher).items()}
    found = {}
    for group, trends in trends_by_group(matcher).items():
        matches = trends.matches
        times = Counter((step.event, step.position) for one in matches for step in one.steps())
        every = participants([*matches, *trends.others]) if query.participating else ()
        measured = measure_trends(query, matches)
        found[group] = totals(query, len(matches), times, every, measured)
    return found


def _reach(query: BoundQuery, events: EventTable, windows: Collection[int]) -> EventTable:
    """Return the events from the start of the first window to the end of the last."""
    if not windows:
        return events.between(0, 0)
    its = windows_of(query)
    extents = [its.extent(number) for number in windows if its.exists(number)]
    if not extents:
        return events.between(0, 0)
    return events.between(min(e.start for e in extents), max(e.end for e in extents))


def _numbers(its: Windows, events: list[Event], windows: Collection[int] | None) -> Iterator[int]:
    """Yield the windows that exist in ascending order, one at a time to save memory."""
    yield from filter(its.exists, _all_numbers(its, events, windows))


def _all_numbers(
    its: Windows, events: list[Event], windows: Collection[int] | None
) -> Iterator[int]:
    if windows is not None:
        yield from sorted(set(windows))
        return
    done: int | None = None  # the first window without an earlier event
    for event in events:  # in the order of time
        indices = its.indices(event.time)
        yield from indices if done is None else range(max(indices.start, done), indices.stop)
        done = indices.stop


def _rows(
    query: BoundQuery, schema: StreamSchema, bounds: Interval, found: Totals, events: int
) -> list[ResultRow]:
    rows = []
    start, end = _told(bounds.start, schema), _told(bounds.end, schema)
    for group, aggregated in found.items():
        outputs = outputs_of(query, aggregated, group, events)
        if outputs is not None:
            values = tuple(one.value for one in outputs)
            named = tuple(zip(query.value_names, values, strict=True))
            uncertain = tuple(one.bounds for one in outputs)
            rows.append(ResultRow(query.name, query.labelled(group), start, end, named, uncertain))
    return rows


def _told(bound: int, schema: StreamSchema) -> int:
    """Return a bound of a window as in result rows."""
    return Instant(bound) if schema.time_unit.is_calendar else bound
