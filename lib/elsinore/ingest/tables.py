"""The tables that ingest writes, with what a step must know of their stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import ORDER, StreamSchema
from elsinore.errors import SchemaError
from elsinore.settings import Settings
from elsinore.store.hour_condition import of_hours
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import load_tables

RAW, QUARANTINE, EVENTS = "raw_events", "quarantine", "events"

#: Properties of `events`: days before which events, and raw records by the hour of their file, were
#: removed after their retention period.
EVENTS_FROM, RAW_FROM = "elsinore.keptFrom", "elsinore.rawKeptFrom"

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
        schemas = load_tables(settings.tables_dir, stream)
        store = SparkTables.open(spark, settings.stream_lake, schemas)
        return cls(store, stream, settings.spark_cores)

    def create(self) -> tuple[str, ...]:
        """Create the tables that are missing, and add nullable columns that are missing.

        A new attribute is NULL in existing events.

        Returns:
            The names of the columns that were added to `events`.

        Raises:
            SchemaError: existing events have no value of a new attribute that is required.
            SetupError: a table does not fit its declaration, or has other ids or buckets.
            ConflictError: other writers won each time.
        """
        for table in (RAW, QUARANTINE):
            self.store.create(table)
        return self.store.create(EVENTS, _NEW, before_adding=self.require_optional)

    def require_optional(self, names: Sequence[str]) -> None:
        """Raise SchemaError if existing events need a value in one of some new columns."""
        required = [
            f"{kind.name}.{name}"
            for kind in self.stream.types
            for name in names
            if name in kind.by_name and not kind.by_name[name].nullable
            and self.store.read(EVENTS).where(F.col("event_type") == kind.name).head(1)
        ]  # fmt: skip
        if required:
            hint = "declare it with nullable: true"
            if ORDER in names:
                hint = "remove time.then, or use a new ELSINORE_HOME and replay"
            raise SchemaError(
                f"existing events have no {', '.join(required)}, which the schema requires",
                hint=hint,
            )


def of_file_hours(hours: Iterable[int]) -> Column:
    """Return the condition on `file_day` and `file_hour` of some hours; see `of_hours`."""
    return of_hours("file_day", "file_hour", hours)
