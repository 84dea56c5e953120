"""Small landing zones of flights written by hand, and the tables after their ingest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from elsinore.ingest.ingest_hours import Ingested, ingest_hours
from elsinore.ingest.landing_zone import LandingFile, landing_files
from elsinore.ingest.record_fates import fate_counts
from elsinore.ingest.tables import IngestTables
from elsinore.timeline import DAY, HOUR, Interval, hour_label, parse_hour

#: The first instant of the first day of these landing zones, a Tuesday of 2013.
START = parse_hour("2013-01-01T00")


def hour(number: int, day: int = 0) -> int:
    """The first instant of an hour of a day, counted from 2013-01-01."""
    return START + day * DAY + number * HOUR


def departure(number: int, minute: int = 0, hour: int = 10, **changes: Any) -> dict[str, Any]:
    """A valid event, the same for the same arguments; `...` removes a field."""
    event = {
        "id": f"d{number}",
        "type": "Departure",
        "time": f"2013-01-01T{hour:02}:{minute:02}:00Z",
        "tailnum": "N1",
        "carrier": "UA",
        "flight": 7,
        "origin": "EWR",
        "dest": "IAH",
        "dep_delay": 5,
        "distance": 1400,
    }
    return {name: value for name, value in (event | changes).items() if value is not ...}


def put(zone: Path, start: int, *records: Any, name: str = "") -> Path:
    """Write the file of an hour; records become JSON, strings stay as they are."""
    label = hour_label(start)
    path = zone / label[:10].replace("-", "/") / f"events-{label}{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def files_of(zone: Path, hours: Iterable[int]) -> list[LandingFile]:
    """The files of some hours."""
    return [
        file
        for start in sorted(hours)
        for file in landing_files(zone, Interval(start, start + HOUR))
    ]


def ingest(tables: IngestTables, zone: Path, hours: Sequence[int], **options: Any) -> Ingested:
    """Ingest the files of some hours."""
    return ingest_hours(tables, files_of(zone, hours), hours, run="test", **options)


def rows(tables: IngestTables, table: str, *columns: str) -> list[tuple[Any, ...]]:
    """Rows of a table in order, as tuples of some columns."""
    return sorted(map(tuple, tables.store.read(table).select(*columns).collect()))


def fates(tables: IngestTables) -> list[tuple[Any, ...]]:
    """Per file hour: records, accepted, duplicates, superseded, quarantined."""
    statement = fate_counts(tables.store.name("raw_events"))
    found = tables.store.spark.sql(statement).drop("file_day").collect()
    return sorted(map(tuple, found))


NewTables = Callable[..., tuple[IngestTables, Path]]
