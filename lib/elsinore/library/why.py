"""The trends, events and values behind a result, from the events themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from elsinore.catalog.stream import AttributeType
from elsinore.errors import ParameterError
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.files.typed import EXACT_IN_DOUBLE
from elsinore.library.arguments import quoted, require_whole
from elsinore.library.participants import list_participants, participant_lines
from elsinore.library.session_events import SessionEvents, sessions_of_group
from elsinore.library.shown import Shown
from elsinore.library.told_events import event_words, told_trends
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.print_query import count_of
from elsinore.query.steps import query_of_step
from elsinore.query.syntax import Conjunction
from elsinore.reference.trends import Trend, list_trends
from elsinore.results.published import group_text
from elsinore.results.row import nearest_double
from elsinore.timeline import (
    MAX_INSTANT,
    MIN_INSTANT,
    Interval,
    format_instant,
    instant_of,
    parse_instant,
)

_LONGS = range(-(2**63), 2**63)


class Why(Shown):
    """The trends of a query and group in a window, built one by one by the two-step reference.

    Attributes:
        count: how many there are; None where they are too many to build.
        reason: why `count` is None.
        trends: the first ones by time, a list each of its events: `type`, `time` and the attributes
            that the query reads.
        participants: the events and values behind EACH, DISTINCT and the keys of a step; see
            `library.participants.list_participants`.
    """

    def __init__(
        self,
        workload: Workload,
        events: EventTable,
        query: str,
        group: Mapping[str, Any],
        window: str | int | date,
        limit: int,
        step: int | None = None,
    ) -> None:
        asked = workload.by_name.get(query)
        if asked is None:
            known = ", ".join(workload.by_name)
            raise ParameterError(f"unknown query {query!r}", hint=f"use one of {known}")
        bound = query_of_step(asked, step)
        require_whole("limit", limit, 0)
        calendar = workload.schema.time_unit.is_calendar
        self._keys = {key.attribute for key in bound.keys}
        values = _group_of(bound, group)
        if bound.window.session is None:
            at = _window_at(bound, window, calendar=calendar)
            read = bound.window.extent(bound.window.number_at(at.start))
            inside = events.between(read.start, read.end)
        else:
            at, inside = _session_at(bound, events, values, window, calendar=calendar)
        self._window = str(at) if calendar else f"[{at.start}, {at.end})"
        texts = [group_text(bound.labelled(each)) for each in (values, _null_for_nan(values))]
        name = f"{query} step {step or len(asked.steps)}" if asked.steps else query
        self._title = f"{name} {texts[0]}" if values else name
        self.count: int | None = None
        self.trends: list[list[dict[str, Any]]] = []
        self.participants: list[dict[str, Any]] = []
        self.reason: str | None = "the query counts pairs of trends"
        if isinstance(bound.pattern, Conjunction):
            return
        text = texts[0]
        found, self.reason = _trends_of(bound, inside, at, text)
        if not found and texts[1] != text:
            text = texts[1]
            found, self.reason = _trends_of(bound, inside, at, text)
        self.count = len(found) if self.reason is None else None
        times = inside.table[TIME_COLUMN].to_numpy()
        found = sorted(found, key=lambda trend: [int(times[row]) for row in trend])[:limit]
        self.trends = told_trends(bound, inside, found)
        self.participants = list_participants(
            bound, inside, at, lambda held: group_text(bound.labelled(held)) == text, limit
        )

    def print(self, console: Console) -> None:
        """Print a line a trend."""
        count = "" if self.count is None else f": {count_of(self.count, 'trend')}"
        console.print(Text(f"{self._title} in {self._window}{count}", "bold"))
        for trend in self.trends:
            words = (event_words(event, self._keys) for event in trend)
            console.print(Text(f"  {' -> '.join(words)}"))
        left = (self.count or 0) - len(self.trends)
        if left or self.reason:
            console.print(Text(f"  {self.reason or f'and {left:,} more'}"))
        for heading, lines in participant_lines(self.participants, self._keys):
            console.print(Text(heading, "bold"))
            for line in lines:
                console.print(Text(f"  {line}"))


def _trends_of(
    query: BoundQuery, events: EventTable, window: Interval, group: str
) -> tuple[list[Trend], str | None]:
    """Trends of the group that has a text; see `list_trends`."""
    return list_trends(
        query, events, window, lambda held: group_text(query.labelled(held)) == group
    )


# ---- what callers give


#: Number of starts of sessions that a hint names.
_NEAREST = 3


def _session_at(
    query: BoundQuery, events: EventTable, group: list[Any], start: object, *, calendar: bool
) -> SessionEvents:
    """The session of a group that starts at an instant or tick, with its events."""
    try:
        at = _given_start(start, calendar=calendar)
    except (ValueError, OverflowError) as error:
        example = "as in 2013-02-08T10:05:23" if calendar else "as a whole number"
        raise ParameterError(str(error), hint=f"pass the start of a session, {example}") from error
    every = sessions_of_group(query, events, group)
    for one in every:
        if one.bounds.start == at:
            return one
    name = format_instant if calendar else str
    nearest = sorted(every, key=lambda one: abs(one.bounds.start - at))[:_NEAREST]
    starts = [name(one.bounds.start) for one in sorted(nearest, key=lambda one: one.bounds.start)]
    raise ParameterError(
        f"no session of {query.name} with this group starts at {name(at)}",
        hint=f"use {' or '.join(starts)}" if starts else "use a group with events",
    )


def _given_start(start: object, *, calendar: bool) -> int:
    """The instant or tick of a start; ValueError, OverflowError: it is none."""
    given = _plain(start)
    ticks = not calendar or isinstance(given, int | float)  # microseconds will do, too
    at = _typed(given, AttributeType.LONG if ticks else AttributeType.TIMESTAMP)
    if at is None:
        raise ValueError(f"no window starts at {quoted(given)}")
    return int(at)


def _window_at(query: BoundQuery, start: object, *, calendar: bool) -> Interval:
    """The window of a query that starts at an instant or tick."""
    try:
        at = _given_start(start, calendar=calendar)
        window = query.window.bounds(query.window.number_at(at))
        least, most = (MIN_INSTANT, MAX_INSTANT) if calendar else (_LONGS[0], _LONGS[-1])
        # The last windows of year 9999 end after it.
        last = window.start if calendar else window.end
        if window.start < least or last > most:
            raise ValueError(f"no window starts at {quoted(_plain(start))}")
    except (ValueError, OverflowError) as error:
        example = "as in 2013-02-08T10:00" if calendar else "as a whole number"
        raise ParameterError(str(error), hint=f"pass the window's start, {example}") from error
    if at != window.start:
        name = format_instant if calendar else str
        raise ParameterError(
            f"no window of {query.name} starts at {name(at)}",
            hint=f"use the window that starts at {name(window.start)}",
        )
    return window


def _group_of(query: BoundQuery, group: object) -> list[Any]:
    """The values of a group in the order of GROUP-BY, as events hold them."""
    keys = {str(key.group_label): key for key in query.group_keys}
    if not isinstance(group, Mapping) or group.keys() != keys.keys():
        hint = (
            f"pass a value for each of {', '.join(keys)}" if keys else "pass {}: it has no groups"
        )
        raise ParameterError(f"{quoted(group)} is not a group of {query.name}", hint=hint)
    try:
        return [_typed(_plain(group[name]), key.type) for name, key in keys.items()]
    except (ValueError, OverflowError) as error:
        kinds = ", ".join(f"{name} is a {key.type}" for name, key in keys.items())
        raise ParameterError(str(error), hint=kinds) from error


def _null_for_nan(values: list[Any]) -> list[Any]:
    """Doubles that are NaN as NULL: so pandas has them."""
    return [None if value != value else value for value in values]


def _plain(value: Any) -> Any:
    """A value of NumPy, pandas or Arrow as Python's; ValueError, OverflowError: it has none."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if isinstance(value, np.datetime64):
        value = pd.Timestamp(value)  # not an integer, as `item` gives of nanoseconds
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime(warn=False)  # its years go on after 9999
    if isinstance(value, np.generic):
        value = value.item()
    return None if value is pd.NaT or value is pd.NA else value


def _typed(value: Any, kind: AttributeType) -> Any:
    """A value as events hold it, NULL as None; ValueError: it is none of the type."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind, value:
        case AttributeType.DOUBLE, _ if is_number:
            return nearest_double(value)
        case (_, None) | (_, float()) if value is None or value != value:
            return None
        case AttributeType.LONG, float() if value % 1 == 0 and abs(value) > EXACT_IN_DOUBLE:
            raise ValueError(f"{value!r} may have been rounded: take it from the table")
        case AttributeType.LONG, _ if is_number and value % 1 == 0 and int(value) in _LONGS:
            return int(value)
        case (AttributeType.STRING, str()) | (AttributeType.BOOLEAN, bool()):
            return value
        case AttributeType.TIMESTAMP, str() | date():
            return _instant(value)
    raise ValueError(f"{quoted(value)} is not a {kind}")


def _instant(value: str | date) -> int:
    """Microseconds of a text, day or moment; ValueError: it is none, or is beyond the year 9999."""
    if isinstance(value, str):
        at = parse_instant(value)
    else:
        at = instant_of(value if isinstance(value, datetime) else datetime.combine(value, time()))
    if not MIN_INSTANT <= at <= MAX_INSTANT:
        raise ValueError(f"{quoted(value)} is not in the years 1 to 9999 of UTC")
    return at
