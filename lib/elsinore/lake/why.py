"""What leads to a published result: its values, what they were computed from, and its trends.

Read from the tables without a JVM; trends are built by the two-step reference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import BudgetError, DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.lake.event_files import event_table, micros
from elsinore.lake.provenance import PUBLISHED, Publication, read_publications
from elsinore.lake.sample import Place, group_json
from elsinore.lake.validate import MAX_EVENTS, may_matter
from elsinore.query.bound import Workload
from elsinore.query.syntax import Conjunction
from elsinore.reference.budget import Budget, Meter
from elsinore.reference.event import read_events
from elsinore.reference.keys import Keys
from elsinore.reference.match import Matcher
from elsinore.reference.trends import Trend, group_of, trend_of
from elsinore.timeline import EPOCH

_INSTANT = pa.timestamp("us", tz="UTC")

#: How many of the groups that there are an error names.
_NAMED = 5

#: Steps of the search, some microseconds each.
STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Checked:
    """What the reference has checked; values, that is, aggregates of results.

    Attributes:
        values: checked in the whole hour.
        mismatches: of these, how many differ.
        skipped: values of the hour whose check was given up.
        own: checked of the very result.
    """

    values: int
    mismatches: int
    skipped: int
    own: int


@dataclass(frozen=True, slots=True)
class Why:
    """One published result and where it comes from.

    Attributes:
        query, query_fingerprint: the query's name, and which text of it was run.
        group: the group as its canonical JSON object.
        window_start, window_end: microseconds since the epoch.
        owned_hour: the hour whose run computed it.
        values: the published values by aggregate; integers in full, None where there is none.
        publication: where the hour's results come from; None where a killed run never said.
        finder: the algorithm that found the plan; None where the plan is not stored.
        checked: what was validated of the hour.
    """

    query: str
    query_fingerprint: str
    group: str
    window_start: int
    window_end: int
    owned_hour: str
    values: Mapping[str, int | float | None]
    publication: Publication | None
    finder: str | None
    checked: Checked


def why(lake: Path, query: str, group: Mapping[str, Any], window_start: int) -> Why:
    """Find a published result and what leads to it.

    Args:
        lake: folder of the Delta tables.
        query: the query's name.
        group: the group; values may be given as text whatever their type.
        window_start: microseconds since the epoch.

    Raises:
        DataError: there is no such result, or a table is missing or damaged.
    """
    rows = _rows(lake, query, group, window_start)
    first = rows[0]
    hour = first["owned_hour"]
    publication = read_publications(lake, [hour]).get(hour)
    return Why(
        query=query,
        query_fingerprint=first["query_fingerprint"],
        group=first["group_key"],
        window_start=window_start,
        window_end=(first["window_end"] - EPOCH) // timedelta(microseconds=1),
        owned_hour=hour,
        values={row["aggregate"]: _value(row) for row in rows},
        publication=publication,
        finder=_finder(lake, publication.plan_fingerprint) if publication else None,
        checked=_checked(lake, first),
    )


def read_version(lake: Path, table: str, where: ds.Expression, version: int | None) -> pa.Table:
    """Rows of a table at a version; None: the latest.

    Raises:
        DataError: the table or the version is missing, or files of it are.
    """
    try:
        found = DeltaTable(str(lake / table), version=version)
        return found.to_pyarrow_dataset().to_table(filter=where)
    except (DeltaError, OSError, pa.ArrowException) as error:
        at = "" if version is None else f" at version {version}"
        raise DataError(f"cannot read the table {table}{at}: {error}") from error


def same_group(canonical: str, wanted: Mapping[str, Any]) -> bool:
    """Whether a group key is the group that was asked for.

    >>> same_group('{"carrier": "UA", "hub": 7}', {"hub": "7", "carrier": "UA"})
    True
    """
    held = json.loads(canonical)
    return {name: _text(value) for name, value in held.items()} == {
        name: _text(value) for name, value in wanted.items()
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _rows(
    lake: Path, query: str, group: Mapping[str, Any], window_start: int
) -> list[dict[str, Any]]:
    start = pa.scalar(window_start, pa.int64()).cast(_INSTANT)
    of_window = (ds.field("query") == query) & (ds.field("window_start") == start)
    rows = read_version(lake, PUBLISHED, of_window, None).to_pylist()
    found = [row for row in rows if same_group(row["group_key"], group)]
    if not found:
        groups = sorted({row["group_key"] for row in rows})
        more = f" and {len(groups) - _NAMED} more" if len(groups) > _NAMED else ""
        named = ", ".join(groups[:_NAMED]) + more if groups else "none of the query at all"
        raise DataError(
            f"nothing is published of query {query} for this group in the window",
            hint=f"published in this window: {named}",
        )
    return sorted(found, key=lambda row: str(row["aggregate"]))


def _value(row: dict[str, Any]) -> int | float | None:
    return int(row["exact"]) if row["exact"] is not None else row["value"]


def _finder(lake: Path, fingerprint: str) -> str | None:
    wanted = (ds.field("kind") == "plan") & (ds.field("fingerprint") == fingerprint)
    found = read_version(lake, "plans", wanted, None)["finder"].to_pylist()
    return str(found[0]) if found else None


def _checked(lake: Path, result: dict[str, Any]) -> Checked:
    of_hour = ds.field("owned_hour") == result["owned_hour"]
    checks = read_version(lake, "validations", of_hour, None).to_pylist()
    made = [check for check in checks if check["status"] == "checked"]
    place = ("query", "group_key", "window_start")
    own = [check for check in made if all(check[name] == result[name] for name in place)]
    wrong = sum(check["mismatch"] for check in made)
    return Checked(len(made), wrong, len(checks) - len(made), len(own))


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
    place = Place(query.name, found.group, found.window_start // query.window.slide)
    events = _event_table(workload.schema, rows)
    matter = may_matter(workload, query, place, events.table)
    rows, events = rows.filter(matter), EventTable(workload.schema, events.table.filter(matter))
    meter = Meter(query.name, Budget(STEPS))
    meter.window = place.window
    keys = Keys(query, workload.schema)
    matcher = Matcher(query, keys, read_events(query, events), meter)
    built: dict[Trend, None] = {}
    reason = None
    try:
        for match in matcher.trends(query.pattern):
            if group_json(query, group_of(query, match.values)) == found.group:
                built.setdefault(trend_of(match))
    except BudgetError:
        reason = f"there are more trends than {STEPS} steps can build"
    told = _by_row(rows)
    listed = [tuple(told[row] for row in trend) for trend in built]
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


def _event_table(schema: StreamSchema, rows: pa.Table) -> EventTable:
    """Rows of the table `events` as the engine reads them."""
    codes = [schema.type_codes[name] for name in rows["event_type"].to_pylist()]
    columns = {TIME_COLUMN: micros(rows["event_time"]), TYPE_COLUMN: pa.array(codes, pa.int32())}
    for name, kind in schema.attributes.items():
        columns[name] = micros(rows[name]) if kind is AttributeType.TIMESTAMP else rows[name]
    return event_table(schema, pa.table(columns))


def _by_row(rows: pa.Table) -> list[TrendEvent]:
    columns = rows["event_type"], micros(rows["event_time"]), rows["event_id"]
    return [TrendEvent(*row) for row in zip(*(c.to_pylist() for c in columns), strict=True)]
