"""The trends behind a published result, built by the two-step reference; without a JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from elsinore.catalog.stream import AttributeType
from elsinore.errors import BudgetError, DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable, arrow_schema
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.syntax import Conjunction
from elsinore.reference.budget import Budget, Meter
from elsinore.reference.event import read_events
from elsinore.reference.keys import Keys
from elsinore.reference.match import Matcher
from elsinore.reference.trends import Trend, group_of, trend_of
from elsinore.results.published import group_text
from elsinore.spark.why import Why, read_version
from elsinore.timeline import EPOCH, Instant

#: Windows with more events are not searched: the reference holds each as an object.
MAX_EVENTS = 20_000
#: Steps of the search, some microseconds each.
STEPS = 200_000


@dataclass(frozen=True, slots=True)
class TrendEvent:
    """One event of a trend; `id` is None in a stream without ids."""

    type: str
    time: int
    id: str | None


@dataclass(frozen=True, slots=True)
class Trends:
    """Trends of a result.

    Attributes:
        listed: the first ones by time, or the first found where there are too many to build.
        count: how many there are in all; None where that is not known.
        reason: why not all could be built; None where they could.
    """

    listed: tuple[tuple[TrendEvent, ...], ...]
    count: int | None
    reason: str | None

    @property
    def left_out(self) -> int | None:
        """How many are not listed; None where that is not known."""
        return None if self.count is None else self.count - len(self.listed)


def trends_of(lake: Path, workload: Workload, found: Why, *, limit: int) -> Trends:
    """Build the trends of a result from the very version of the events that it was computed from.

    Args:
        lake: folder of the Delta tables.
        workload: the queries; where they do not hold the result's, nothing is built.
        found: the result.
        limit: how many trends to list.
    """
    published = found.values.get("COUNT(*)")
    known = published if isinstance(published, int) else None
    query = workload.by_name.get(found.query)
    if query is None or query.fingerprint != found.query_fingerprint:
        return Trends((), known, "the workload at hand has another query of this name, or none")
    if isinstance(query.pattern, Conjunction):
        return Trends((), known, "the query counts pairs of trends")
    if found.publication is None:
        return Trends((), known, "nothing says which version of the events was read")
    try:
        rows = _events(lake, found)
    except DataError as error:
        return Trends((), known, str(error))
    if rows.num_rows > MAX_EVENTS:
        return Trends((), known, f"the window holds more than {MAX_EVENTS} events")
    rows = _of_group(query, rows, json.loads(found.group))
    return _search(query, workload, rows, found, limit, known)


def _search(
    query: BoundQuery, workload: Workload, rows: pa.Table, found: Why, limit: int, known: int | None
) -> Trends:
    table = EventTable(workload.schema, _columns(workload, rows))
    meter = Meter(query.name, Budget(STEPS))
    meter.window = found.window_start // query.window.slide
    keys = Keys(query, workload.schema)
    matcher = Matcher(query, keys, read_events(query, table), meter)
    built: dict[Trend, None] = {}
    reason = None
    try:
        for match in matcher.trends(query.pattern):
            if _group_text(query, group_of(query, match.values)) == found.group:
                built.setdefault(trend_of(match))
    except BudgetError:
        reason = f"there are more trends than {STEPS} steps can build"
    events = _by_row(rows)
    listed = [tuple(events[row] for row in trend) for trend in built]
    if reason is None:
        listed.sort(key=lambda trend: [(event.time, event.id or "") for event in trend])
    count = len(built) if reason is None else known
    return Trends(tuple(listed[:limit]), count, reason)


def _events(lake: Path, found: Why) -> pa.Table:
    """The window's events; at most one more than are searched."""
    assert found.publication is not None
    first, last = (
        EPOCH + timedelta(microseconds=t) for t in (found.window_start, found.window_end)
    )
    time, day = ds.field("event_time"), ds.field("event_day")
    inside = (day >= first.date()) & (day <= last.date()) & (time >= first) & (time < last)
    return read_version(lake, "events", inside, found.publication.events_version)


def _of_group(query: BoundQuery, rows: pa.Table, group: Mapping[str, Any]) -> pa.Table:
    """Without the events that belong to another group for certain."""
    for key in query.group_keys:
        free = {p.type for p in query.positions if p.index not in key.positions}
        bound = sorted(query.event_types - free)
        wanted = group[str(key.group_label)]
        column = rows[key.attribute]
        if key.type is AttributeType.TIMESTAMP:
            texts = [None if v is None else str(Instant(v)) for v in _micros(column).to_pylist()]
            column = pa.array(texts, pa.string())
        same = column.is_null() if wanted is None else pc.fill_null(pc.equal(column, wanted), False)
        is_bound = pc.is_in(rows["event_type"], value_set=pa.array(bound, pa.string()))
        rows = rows.filter(pc.or_(pc.invert(is_bound), same))
    return rows


def _columns(workload: Workload, rows: pa.Table) -> pa.Table:
    """Rows of the table `events` as the columns of `arrow_schema`."""
    schema = workload.schema
    codes = [schema.type_codes[name] for name in rows["event_type"].to_pylist()]
    columns = {
        TIME_COLUMN: _micros(rows["event_time"]),
        TYPE_COLUMN: pa.array(codes, pa.int32()),
    }
    for name, kind in schema.attributes.items():
        stored = rows[name]
        columns[name] = _micros(stored) if kind is AttributeType.TIMESTAMP else stored
    return pa.table(columns, schema=arrow_schema(schema))


def _micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())


def _by_row(rows: pa.Table) -> list[TrendEvent]:
    columns = rows["event_type"], _micros(rows["event_time"]), rows["event_id"]
    return [TrendEvent(*row) for row in zip(*(c.to_pylist() for c in columns), strict=True)]


def _group_text(query: BoundQuery, group: tuple[Any, ...]) -> str:
    labelled = []
    for key, value in zip(query.group_keys, group, strict=True):
        instant = key.type is AttributeType.TIMESTAMP and value is not None
        labelled.append((str(key.group_label), Instant(value) if instant else value))
    return group_text(tuple(labelled))
