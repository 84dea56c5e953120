"""A lake of flights for the tests of results: real events put into the table `events` directly."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, Self
from unittest.mock import ANY

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import write_deltalake

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import AttributeType
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.output.finish import finish
from elsinore.files.read_events import read_events
from elsinore.generate.flights import generate_flights
from elsinore.ledger.staged import Staged
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.parse import parse_workload
from elsinore.results.row import Bounds, ResultRow, within
from elsinore.settings import Settings
from elsinore.store.regions import Hours, sql
from elsinore.store.tables import STAGED, Lake
from elsinore.timeline import Interval
from tests.data_tables import create_tables, laid_out
from tests.long_rows import to_long
from tests.property.compare import greta

#: What the lake holds: the day before the blizzard of 2013-02-08 closed the airports, and it.
FIRST, LAST = datetime(2013, 2, 7, 18, tzinfo=UTC), datetime(2013, 2, 8, 21, tzinfo=UTC)

#: Keys that all events carry, that one type lacks, and none; with and without groups.
QUERIES = """
QUERY chains
RETURN carrier, COUNT(*), AVG(D.dep_delay), MAX(D.dep_delay)
PATTERN Departure D+
WHERE [tailnum] AND D.dep_delay < NEXT(D).dep_delay
GROUP-BY carrier
WITHIN 6 hours SLIDE 1 hour;

QUERY chances
RETURN origin, carrier, COUNT(*), SUM(D.dep_delay)
PATTERN SEQ(Weather W, Cancellation C, Departure D)
WHERE [origin]
GROUP-BY origin, C.carrier
WITHIN 1 hour SLIDE 30 minutes;

QUERY storms
RETURN COUNT(*), MIN(W.visib)
PATTERN SEQ(Weather W, Cancellation C)
WITHIN 1 hour;
"""

_TIMESTAMP = pa.timestamp("us", tz="UTC")


def hours(start: str, end: str) -> Interval:
    """An interval of 2013-02-08 from two hours, as in `hours("15", "18")`."""
    return Interval.parse(f"2013-02-08T{start}:00", f"2013-02-08T{end}:00")


def flights_lake(settings: Settings) -> tuple[Lake, EventTable]:
    """The lake of a new home, with flights; and the same events as read from their files."""
    lake, events = Lake.open(settings), flight_events()
    create_tables(lake)
    put_events(lake, events)
    return lake, events


@cache
def flight_events() -> EventTable:
    """The flights as `elsinore run` reads them from the raw files."""
    with TemporaryDirectory() as folder:
        generate_flights(Path(folder), start=FIRST, end=LAST)
        schema = load_schema(Settings().schema_file)
        return read_events([Path(folder)], schema, max_error_rate=0.0)[0]


def put_events(
    lake: Lake, events: EventTable, *, mode: Literal["append", "overwrite"] = "append"
) -> None:
    """Write events into the lake."""
    write_deltalake(str(lake.path("events")), event_rows(lake, events), mode=mode)


def event_rows(lake: Lake, events: EventTable) -> pa.Table:
    """Events as rows of the table `events`."""
    schema = events.schema
    time = events.table[TIME_COLUMN].cast(_TIMESTAMP)
    names = pa.array([event_type.name for event_type in schema.types])
    count = len(events)
    columns = {
        "event_id": pa.array([f"e{n}" for n in range(count)]),
        "event_type": names.take(events.table[TYPE_COLUMN].combine_chunks()),
        "event_time": time,
        "file_hour": pc.strftime(time, format="%Y-%m-%dT%H"),
        "file": pa.array(["events.jsonl"] * count),
        "record_number": pa.array(range(1, count + 1), pa.int64()),
    }
    for name, kind in schema.attributes.items():
        column = events.table[name]
        columns[name] = column.cast(_TIMESTAMP) if kind is AttributeType.TIMESTAMP else column
    declared = lake.schema("events").arrow()
    return laid_out(pa.table(columns), lake.stream).select(declared.names).cast(declared)


def workload(lake: Lake, text: str) -> Workload:
    """Queries over the lake's stream."""
    return bind_workload(parse_workload(text, "<test>"), lake.stream)


def computed(queries: Workload, events: EventTable, owned: Interval) -> list[dict[str, object]]:
    """The results of a slice without Spark: all events in one table, as sorted rows."""
    rows = (row for query in queries.queries for row in greta(query, events, owned))
    return as_staged(queries, rows)


def as_staged(asked: Workload, found: Iterable[ResultRow]) -> list[dict[str, object]]:
    """Results as `staged` has them; a double equals all within its bounds."""
    rows = [*found]
    long = to_long(asked, rows).to_pylist()
    every = (bounds for row in rows for bounds in row.bounds or (None,) * len(row.values))
    for each, bounds in zip(long, every, strict=True):
        if bounds is not None:
            each["value"] = _Rounded.of(each["value"], bounds)
            each["log2"] = ANY  # it follows from the value
    return sorted_results(long)


class _Rounded(float):
    """A double that equals all within the bounds of rounding."""

    bounds: Bounds

    @classmethod
    def of(cls, value: float, bounds: Bounds) -> Self:
        made = cls(value)
        made.bounds = bounds
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and within(other, self.bounds)

    __hash__ = None  # type: ignore[assignment]


def staged(lake: Lake, owned: Interval, table: str = STAGED) -> list[dict]:
    """The rows of a table of results in some hours, in the same shape."""
    found = lake.rows(table, Hours(owned).expression(by_day=True))
    for name in ("window_start", "window_end"):
        at = found.column_names.index(name)
        found = found.set_column(at, name, found[name].cast(pa.int64()))
    found = found.drop_columns(["window_end_day", "query_fingerprint"])
    return sorted_results(found.to_pylist())


def sorted_results(rows: list[dict]) -> list[dict]:
    """In one order."""
    return sorted(
        rows,
        key=lambda row: (
            row["query"],
            row["group_key"],
            row["window_start"],
            row["step"] or 0,
            row["aggregate"],
        ),
    )


def answers(asked: Workload, events: EventTable, owned: Interval) -> list[ResultRow]:
    """The right results of a slice."""
    return [
        row
        for query in asked.queries
        for row in finish(asked, aggregate_query(query, events, owned=owned))
    ]


def stage(lake: Lake, asked: Workload, found: Iterable[ResultRow], owned: Interval) -> Staged:
    """Make these the staged results of a slice; return what the ledger says of them."""
    fingerprints = {query.name: query.fingerprint for query in asked.queries}
    rows = [
        row | {"query_fingerprint": fingerprints[row["query"]]}
        for row in to_long(asked, found).to_pylist()
    ]
    stage_rows(lake, rows, owned)
    return latest_staged(lake, asked)


def latest_staged(lake: Lake, asked: Workload) -> Staged:
    """Return what the ledger says of the latest staged results, of queries over the events."""
    own = workload_fingerprint(asked)
    return Staged(lake.version(STAGED), lake.version("events"), "p", own)


def stage_rows(lake: Lake, rows: list[dict], owned: Interval) -> None:
    """Put rows of staged results in place of those of a slice; days follow from the hours."""
    days = [
        row | {"window_end_day": date.fromisoformat(row["window_end_hour"][:10])} for row in rows
    ]
    table = pa.Table.from_pylist(days, schema=lake.schema(STAGED).arrow())
    where = sql(Hours(owned).conditions(by_day=True))
    write_deltalake(str(lake.path(STAGED)), table, mode="overwrite", predicate=where)


def staged_rows(lake: Lake, owned: Interval) -> list[dict]:
    """The rows of staged results as they are, for `stage_rows`."""
    found = lake.rows(STAGED, Hours(owned).expression(by_day=True))
    return found.drop_columns(["window_end_day"]).to_pylist()
