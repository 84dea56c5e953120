"""Lakes with a table of events that delta-rs writes: for tests of what reads it without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake

from elsinore.catalog.stream import AttributeType
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.files.read_events import read_events
from elsinore.lake.event_files import bucket_numbers
from elsinore.ledger.event_changes import EventChanges
from elsinore.settings import Settings
from elsinore.store.delta_log import BUCKET
from elsinore.store.tables import Lake

_TIMESTAMP = pa.timestamp("us", tz="UTC")


def settings_of(home: Path, buckets: str = "") -> Settings:
    """Settings of a new home, with the schema of flights, and with buckets if they are given."""
    settings = Settings(home=home)
    if not buckets:
        return settings
    text, file = settings.schema_file.read_text(encoding="utf-8"), home / "flights.yaml"
    file.write_text(text.replace("\ntypes:", f"\nbuckets: {buckets}\ntypes:"), encoding="utf-8")
    return settings.model_copy(update={"schema_file": file})


def new_lake(settings: Settings) -> Lake:
    """A new lake with empty tables of records and of events."""
    lake = Lake.open(settings)
    lake.create_records()
    declared = lake.schema("events")
    DeltaTable.create(
        str(lake.path("events")), declared.arrow(), partition_by=declared.partition_by,
        configuration=declared.properties, raise_if_key_not_exists=False,
    )  # fmt: skip
    return lake


def add_events(lake: Lake, events: EventTable) -> int:
    """Append events in one commit; return its version."""
    time = events.table[TIME_COLUMN].cast(_TIMESTAMP)
    names = pa.array([event_type.name for event_type in events.schema.types])
    columns = {
        "event_day": time.cast(pa.date32()),
        "event_id": pa.array([f"e{number}" for number in range(len(events))]),
        "event_type": names.take(events.table[TYPE_COLUMN].combine_chunks()),
        "event_time": time,
        "file_hour": pc.strftime(time, format="%Y-%m-%dT%H"),
        "file": pa.array(["events.jsonl"] * len(events)),
        "record_number": pa.array(range(1, len(events) + 1), pa.int64()),
    }
    for name, kind in events.schema.attributes.items():
        column = events.table[name]
        columns[name] = column.cast(_TIMESTAMP) if kind is AttributeType.TIMESTAMP else column
    if laid := lake.stream.buckets:
        numbers = bucket_numbers(pa.table(columns), laid.by, laid.number)
        columns[BUCKET] = pa.array(numbers.astype(np.int64))
    declared = lake.schema("events").arrow()
    rows = pa.table(columns).select(declared.names).cast(declared)
    write_deltalake(str(lake.path("events")), rows, mode="append")
    return lake.version("events")


def add_records(lake: Lake, folder: Path, *records: dict[str, Any]) -> int:
    """Append the events of JSON records in one commit; return its version."""
    path = folder / "records.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    events, _ = read_events([path], lake.stream, max_error_rate=0.0)
    return add_events(lake, events)


def changes(recorded: int, *hours: int) -> EventChanges:
    """What a ledger records: some hours changed at the last recorded version, others never."""
    return EventChanges(np.array(sorted(hours), np.int64), np.full(len(hours), recorded), recorded)
