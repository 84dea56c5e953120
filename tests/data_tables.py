"""Tables of data for quick tests: created and written by delta-rs as Spark does it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import deltalake
import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.lake.event_files import bucket_numbers
from elsinore.ledger.table import Ledger
from elsinore.settings import Settings
from elsinore.store.delta_log import BUCKET
from elsinore.store.tables import Lake

#: The tables that Spark writes.
DATA = ("raw_events", "quarantine", "events", "results_staged", "results")


def create_data_tables(lake: Lake, tables: Iterable[str] = DATA) -> None:
    """Create tables of data, as `SparkTables.create` does."""
    for name in tables:
        schema = lake.schema(name)
        deltalake.DeltaTable.create(
            str(lake.path(name)), schema.arrow(described=True), mode="ignore",
            partition_by=schema.partition_by,
            configuration={**schema.properties, "delta.enableChangeDataFeed": "true"},
            raise_if_key_not_exists=False,
        )  # fmt: skip


def create_tables(lake: Lake) -> None:
    """Create all tables of a lake but the ledger."""
    lake.create_records()
    create_data_tables(lake)


def create_all(settings: Settings) -> Lake:
    """Create all tables of a lake, and return it."""
    lake = Lake.open(settings)
    create_tables(lake)
    Ledger.open(settings).create()
    return lake


def append(lake: Lake, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a table of data; columns that they lack are NULL."""
    declared = lake.schema(table).arrow()
    given = pa.Table.from_pylist(list(rows), schema=declared)
    deltalake.write_deltalake(str(lake.path(table)), given, mode="append")


def laid_out(events: pa.Table, stream: StreamSchema) -> pa.Table:
    """Return events with the columns that say where they are stored."""
    events = events.append_column("event_day", events["event_time"].cast(pa.date32()))
    if stream.buckets is None:
        return events
    numbers = bucket_numbers(events, *stream.buckets).astype(np.int64)
    return events.append_column(BUCKET, pa.array(numbers))
