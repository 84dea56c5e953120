"""Find one trend behind a published result, for the time line of a report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from elsinore.integers import integer_of
from elsinore.ledger.fold import Fold
from elsinore.ledger.results import publication_of
from elsinore.quality.lake import TopResult
from elsinore.quality.result_trends import build_trends
from elsinore.quality.stories import Story
from elsinore.query.bound import BoundQuery, Workload
from elsinore.settings import LakePath
from elsinore.timeline import Interval, instant_of, parse_instant
from elsinore.windows import owning_hour
from elsinore.wording import visible

#: Results with a larger count are skipped: building the trends would take longer than the report.
MOST_TRENDS = 500
#: Results that are tried until one has a trend of several events.
_TRIES = 4
#: Events of a trend that are listed.
MOST_EVENTS = 12


class ExampleEvent(NamedTuple):
    """An event of the trend: its place in the window (0 to 1), its time, type and attributes."""

    place: float
    time: str
    type: str
    values: str


class ExampleTrend(NamedTuple):
    """One trend of a result.

    Attributes:
        query: name of the query.
        group: the result's group, as JSON.
        window: the result's window.
        trends: how many trends the result counts.
        events: the first events of the trend, at most `MOST_EVENTS`.
        more: how many events follow.
    """

    query: str
    group: str
    window: Interval
    trends: int
    events: tuple[ExampleEvent, ...]
    more: int


def find_example(
    lake: LakePath, state: Fold, workload: Workload, stories: Iterable[Story]
) -> ExampleTrend | None:
    """Build the trends of a few small results; return the longest trend of the first one.

    A trend of several events is preferred. None if no result is small enough, or if its events are
    no longer stored.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    single = None
    for bound, top in islice(_candidates(workload, stories), _TRIES):
        hour = owning_hour(instant_of(top.window_end) + bound.window.ahead)
        result = {
            "query": bound.name,
            "query_fingerprint": bound.fingerprint,
            "group_key": top.group_key,
            "window_start": top.window_start,
            "window_end": top.window_end,
            "step": None,
        }
        trends, cut, _ = build_trends(lake, state, workload, result, publication_of(state, hour))
        if trends and cut is None:
            example = _example(bound, top, trends)
            if len(example.events) > 1:
                return example
            single = single or example
    return single


def _candidates(
    workload: Workload, stories: Iterable[Story]
) -> Iterator[tuple[BoundQuery, TopResult]]:
    """Yield each story's largest result that is small enough; only of queries as they ran."""
    for story in stories:
        if not story.text:
            continue
        for top in story.tops:
            query = workload.by_name[story.query]
            counted = [top.value_of(name)[1] for name in query.size_names]
            if all(
                0 < integer_of(digits or "0") <= MOST_TRENDS for digits in (*counted, top.exact)
            ):
                yield query, top
                break


def _example(query: BoundQuery, top: TopResult, trends: list[list[dict[str, Any]]]) -> ExampleTrend:
    """Return the longest of some trends as an example."""
    trend = max(trends, key=len)
    times = [parse_instant(str(event["time"])) for event in trend]
    # With a span, events can be before the period of the trend, or after it.
    start = min(instant_of(top.window_start), *times)
    window = Interval(start, max(instant_of(top.window_end), max(times) + 1))
    keys = {key.attribute for key in query.keys} & set(json.loads(top.group_key))
    shown = tuple(_event(event, window, keys) for event in trend[:MOST_EVENTS])
    more = len(trend) - len(shown)
    return ExampleTrend(query.name, top.group_key, window, len(trends), shown, more)


def _event(event: Mapping[str, Any], window: Interval, keys: set[str]) -> ExampleEvent:
    """Return an event without the attributes of the group, which all events share."""
    own = {
        name: visible(str(value))
        for name, value in event.items()
        if name not in {"type", "time", "id", *keys} and value is not None
    }
    at = parse_instant(str(event["time"]))
    place = (at - window.start) / (window.end - window.start)
    values = ", ".join(f"{name} {value}" for name, value in own.items())
    return ExampleEvent(place, str(event["time"])[:19].replace("T", " "), event["type"], values)
