"""The trends behind a result, from the events themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from elsinore.catalog.stream import AttributeType
from elsinore.errors import ParameterError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.library.shown import Shown
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.print_query import count_of
from elsinore.query.syntax import Conjunction
from elsinore.reference.trends import Trend, list_trends
from elsinore.results.published import group_text, same_group
from elsinore.timeline import Interval, format_instant, instant_of, parse_instant

#: What each event has.
_OF_EVENT = frozenset({"type", "id", "time"})


class Why(Shown):
    """The trends of a query and group in a window, built one by one by the two-step reference.

    Attributes:
        count: how many there are; None where they are too many to build.
        reason: why `count` is None.
        trends: the first ones by time, a list each of its events: `type`, `time` and the attributes
            that the query reads.
    """

    def __init__(
        self,
        workload: Workload,
        events: EventTable,
        query: str,
        group: Mapping[str, Any],
        window: str | int | datetime,
        limit: int,
    ) -> None:
        bound = workload.by_name.get(query)
        if bound is None:
            known = ", ".join(workload.by_name)
            raise ParameterError(f"there is no query {query!r}", hint=f"there are {known}")
        calendar = workload.schema.time_unit.is_calendar
        self._keys = {key.attribute for key in bound.keys}
        at = _window_at(bound, window, calendar=calendar)
        self._window = str(at) if calendar else f"[{at.start}, {at.end})"
        self._title = f"{query} {group_text(tuple(group.items()))}" if group else query
        self.count: int | None = None
        self.trends: list[list[dict[str, Any]]] = []
        self.reason: str | None = "the query counts pairs of trends"
        if isinstance(bound.pattern, Conjunction):
            return
        wanted = {name: _plain(value) for name, value in group.items()}
        if wanted.keys() != {key.group_label for key in bound.group_keys}:
            names = ", ".join(str(key.group_label) for key in bound.group_keys)
            hint = f"it groups by {names}" if names else "it has no groups: give {}"
            raise ParameterError(f"{wanted} is no group of {query}", hint=hint)
        inside = events.between(at.start, at.end)
        found, self.reason = list_trends(
            bound, inside, at,
            lambda held: same_group(group_text(bound.labelled(held)), wanted),
        )  # fmt: skip
        self.count = len(found) if self.reason is None else None
        times = inside.table[TIME_COLUMN].to_numpy()
        found = sorted(found, key=lambda trend: [int(times[row]) for row in trend])[:limit]
        self.trends = told_trends(bound, inside, found)

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


def event_words(event: Mapping[str, Any], keys: Collection[str]) -> str:
    """An event of `told_trends` in a line, without the keys, which its whole trend has."""
    shown = (f"{n}={v}" for n, v in event.items() if n not in (*_OF_EVENT, *keys))
    place = (event["type"], event.get("id"), str(event["time"]))
    return " ".join([*filter(None, place), *shown])


def _window_at(query: BoundQuery, start: str | int | datetime, *, calendar: bool) -> Interval:
    """The window of a query that starts at an instant or tick."""
    try:
        at = parse_instant(start) if isinstance(start, str) else start
    except ValueError as error:
        raise ParameterError(str(error), hint="give the window's start") from error
    at = instant_of(at) if isinstance(at, datetime) else int(at)
    if at % query.window.slide:
        before = query.window.bounds(at // query.window.slide).start
        name = format_instant if calendar else str
        raise ParameterError(
            f"no window of {query.name} starts at {name(at)}", hint=f"one starts at {name(before)}"
        )
    return query.window.bounds(at // query.window.slide)


def _plain(value: Any) -> Any:
    """A value of NumPy, pandas or Arrow as Python's; instants as in result rows."""
    for name in ("as_py", "to_pydatetime", "item"):
        if hasattr(value, name):
            value = getattr(value, name)()
    return format_instant(instant_of(value)) if isinstance(value, datetime) else value


def told_trends(
    query: BoundQuery, events: EventTable, trends: Collection[Trend], ids: Sequence[str | None] = ()
) -> list[list[dict[str, Any]]]:
    """Trends as their events: type, time, what the query reads, and of `ids`, if there are any.

    An attribute that is called type, time or id is left out: the event's own stand there.
    """
    rows = sorted({row for trend in trends for row in trend})
    instants = {
        n for n, kind in events.schema.attributes.items() if kind is AttributeType.TIMESTAMP
    }
    instants |= {TIME_COLUMN} if events.schema.time_unit.is_calendar else set()
    names = [TYPE_COLUMN, TIME_COLUMN, *sorted(query.attributes_read)]
    taken = events.table.select(names).take(pa.array(rows, pa.int64())).to_pylist()
    told = {}
    for row, values in zip(rows, taken, strict=True):
        kind = events.schema.types[values[TYPE_COLUMN]]
        values |= {n: format_instant(v) for n in instants if (v := values.get(n)) is not None}
        shown = kind.by_name.keys() - _OF_EVENT
        own = {name: value for name, value in values.items() if name in shown}
        told[row] = {"type": kind.name, "time": values[TIME_COLUMN], **own}
        if ids:
            told[row]["id"] = ids[row]
    return [[told[row] for row in trend] for trend in trends]
