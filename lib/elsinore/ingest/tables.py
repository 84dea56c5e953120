"""The tables that ingest writes, with what a step must know of their stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import SchemaError
from elsinore.lake.tables import load_tables
from elsinore.settings import Settings
from elsinore.store.hour_condition import of_hours
from elsinore.store.spark_tables import SparkTables

RAW, QUARANTINE, EVENTS = "raw_events", "quarantine", "events"

#: The note of a new table of events: no refresh has been committed, none of `raw_events` is in it.
_NEW = {"refresh": 0, "raw": None}


@dataclass(frozen=True)
class IngestTables:
    """The tables of a stream that ingest writes.

    Attributes:
        store: The tables, in a session of Spark.
        stream: The schema of the stream.
        cores: Number of tasks that Spark runs at the same time.
    """

    store: SparkTables
    stream: StreamSchema
    cores: int = 1

    @classmethod
    def open(cls, spark: SparkSession, settings: Settings) -> IngestTables:
        """Return the tables of the stream of the settings.

        Raises:
            SchemaError: the schema of the stream or of a table is invalid, or the stream counts
                time in ticks, which have no hours.
        """
        stream = load_schema(settings.schema_file)
        if not stream.time_unit.is_calendar:
            raise SchemaError(
                f"the stream {stream.name} counts time in ticks; tables are partitioned by day",
                hint="declare a unit such as unit: ms in the schema, or use `elsinore run`",
            )
        schemas = load_tables(settings.root / "schemas" / "next", stream)
        store = SparkTables.open(spark, settings.home / settings.stream / "lake", schemas)
        return cls(store, stream, settings.spark_cores)

    def create(self) -> None:
        """Create the tables that are missing."""
        for table in (RAW, QUARANTINE):
            self.store.create(table)
        self.store.create(EVENTS, _NEW)


def of_file_hours(hours: Iterable[int]) -> Column:
    """Return the condition on `file_day` and `file_hour` of some hours; see `of_hours`."""
    return of_hours("file_day", "file_hour", hours)
