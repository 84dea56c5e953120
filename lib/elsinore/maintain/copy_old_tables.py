"""Copy the tables of a lake of release 0.2 into new tables of this release.

Spark copies the tables of data. Raw records are decoded again, because release 0.2 stored only
their text. The tables of records are small, and pass through this process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import SetupError
from elsinore.files.rejection import Reason
from elsinore.ingest.decode_records import RAW_SCHEMA, STORED, Batches, raw_rows
from elsinore.ingest.landing_zone import decode_again
from elsinore.ingest.tables import EVENTS, EVENTS_FROM, QUARANTINE, RAW, RAW_FROM, IngestTables
from elsinore.ingest.write_raw import with_key
from elsinore.ledger.run_metrics import read_metrics
from elsinore.maintain.tables import METRICS, VALIDATIONS
from elsinore.publish.tables import DAY_COLUMN, HOUR_COLUMN, RESULTS, STAGED, ResultTables
from elsinore.settings import LakeFolders, LakePath
from elsinore.store.delta_log import read_rows
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import Lake

#: Tables of release 0.2 with other names.
OLD_RESULTS, OLD_STAGED = "trend_aggregates", "trend_aggregates_staged"

#: Tables that each workload had for itself.
_OF_WORKLOAD = frozenset({
    OLD_RESULTS, OLD_STAGED, "history", "publications", "run_metrics", "validations",
})  # fmt: skip

#: New names of columns.
_OF_FILES = {
    "landing_day": "file_day", "landing": "file_hour", "position": "record_number",
    "line": "record",
}  # fmt: skip
_OF_RESULTS = {"owned_day": DAY_COLUMN, "owned_hour": HOUR_COLUMN}

#: Steps of `run_metrics` that recorded states of hours, which are in the ledger now.
_STATES = ("tried", "missed", "failed")
#: The new name of the step `land`, and of its metrics.
_LAND, _INGEST = "land", "ingest"
_OF_METRICS = {
    "lines": "records", "quarantined": "bad_records", "duplicates": "repeated",
    "landings": "hours", "late_landings": "late_hours",
}  # fmt: skip

#: The position of a record.
_PLACE = ["file_hour", "file", "record_number"]
_NOTE = {"run": "migrate"}


class OldFolders(LakeFolders):
    """Directories of the tables of release 0.2 of a stream and of a further workload."""

    def __truediv__(self, table: str) -> Path:
        """Return the directory of a table."""
        return (self.results if table in _OF_WORKLOAD else self.stream) / table


def copy_events(tables: IngestTables, old: Path) -> int:
    """Copy the events as they are; return the version of `events` that has them.

    Raises:
        SetupError: the events lack a column that cannot be NULL.
    """
    store = tables.store
    rows = _renamed(_read(store, old / EVENTS), _OF_FILES)
    number = rows.count()
    store.plan_for(number, tables.cores)
    schema = store.schema(EVENTS)
    columns = [
        F.col(name) if name in rows.columns else _null(name, column.nullable)
        for name, column in schema.columns.items()
    ]
    shaped = _by_partition(rows.select(columns), store, number, schema.partition_by)
    store.append(EVENTS, shaped.sortWithinPartitions(*schema.partition_by, "event_time"), _NOTE)
    return store.version(EVENTS)


def _null(name: str, is_nullable: bool) -> Any:
    if not is_nullable:
        raise SetupError(
            f"the table {EVENTS} of release 0.2 has no column {name}",
            hint="restore the schema of its last run, migrate, and change the schema again",
        )
    return F.lit(None).alias(name)


def set_borders(tables: IngestTables, old: Path, landings: pa.Table) -> None:
    """Note the first days of events and raw records that retention left.

    A refresh of all keys then neither restores the events before, nor deletes events whose raw
    records were removed.
    """
    properties = {}
    if "kept_from" in landings.column_names:
        first = pc.max(landings["kept_from"]).as_py()
        if first is not None:
            properties[EVENTS_FROM] = first.date().isoformat()
    hours = _read(tables.store, old / RAW).select("landing").distinct().toArrow()["landing"]
    had = landings.filter(pc.greater(landings["lines"], 0))["landing"]
    removed = had.filter(pc.invert(pc.is_in(had, pa.array(hours.to_pylist(), pa.string()))))
    if last := pc.max(removed).as_py():
        day = date.fromisoformat(last[:10]) + timedelta(days=1)
        properties[RAW_FROM] = day.isoformat()
    if properties:
        tables.store.set_properties(EVENTS, properties, _NOTE)


def copy_raw(tables: IngestTables, old: Path, modified: Mapping[str, int]) -> None:
    """Decode the raw records again, and write `raw_events` and `quarantine`.

    A record that release 0.2 rejected stays rejected, for the same reason. Superseded records were
    in quarantine, too; now they are ordinary records, and the winner follows from all of them.

    Args:
        tables: The new tables.
        old: The directory of the old tables.
        modified: When each file was modified, in microseconds since 1970.
    """
    store = tables.store
    stored = _renamed(_read(store, old / RAW), _OF_FILES).select(*STORED)
    bad = _renamed(_read(store, old / QUARANTINE), _OF_FILES)
    bad = bad.where(F.col("reason_code") != Reason.SUPERSEDED.value)
    number = stored.count()
    store.plan_for(number, tables.cores)
    reasons = bad.select(*_PLACE, "reason_code", "reason")
    decode = _decode_stored(tables.stream, modified)
    decoded = stored.join(reasons, _PLACE, "left").select(*STORED, "reason_code", "reason")
    rows = with_key(decoded.mapInArrow(decode, from_arrow_schema(RAW_SCHEMA)), tables)
    rows = rows.persist(StorageLevel.DISK_ONLY)  # as in `write_raw`
    try:
        for table in (RAW, QUARANTINE):
            own = rows if table == RAW else rows.where("reason_code IS NOT NULL")
            own = own.select(store.columns(table))
            if table == QUARANTINE:  # its records can be stored longer
                alone = bad.join(stored.select(*_PLACE), _PLACE, "left_anti")
                own = own.unionByName(alone.select(store.columns(table)))
            store.append(table, _by_partition(own, store, number, ["file_day"]), _NOTE)
    finally:
        rows.unpersist()


def _decode_stored(
    stream: StreamSchema, modified: Mapping[str, int]
) -> Callable[[Batches], Batches]:
    """Return the function that decodes stored records in tasks; see `raw_rows`."""

    def decode(batches: Batches) -> Batches:
        times = defaultdict(int, modified)
        for batch in batches:
            stored = pa.Table.from_batches([batch])
            scanned = decode_again(stored.select(STORED), stream)
            rejected = stored["reason_code"].is_valid()
            for name in ("reason_code", "reason"):
                at = scanned.column_names.index(f"_{name}")
                texts = pc.if_else(rejected, stored[name], scanned[f"_{name}"])
                scanned = scanned.set_column(at, f"_{name}", texts)
            for part in scanned.combine_chunks().to_batches():
                yield raw_rows(part, stream, times)

    return decode


def counts_of_files(tables: IngestTables) -> dict[str, dict[str, Any]]:
    """Return by file hour the counts of `raw_events`, with the columns of ingested hours."""
    rows = tables.store.read(RAW).groupBy("file_hour").agg(
        F.count("*").alias("records"), F.count("reason_code").alias("bad_records"),
        F.min("event_time").alias("first_event"), F.max("event_time").alias("last_event"),
    )  # fmt: skip
    return {row.pop("file_hour"): row for row in rows.toArrow().to_pylist()}


def event_hours(tables: IngestTables) -> list[int]:
    """Return the hours that have events, ascending, in microseconds since 1970."""
    hour = F.unix_micros(F.date_trunc("hour", "event_time")).alias("hour")
    rows = tables.store.read(EVENTS).select(hour).distinct().orderBy("hour")
    return [int(hour) for hour in rows.toArrow()["hour"].to_pylist()]


def copy_results(tables: ResultTables, old: LakePath) -> None:
    """Copy published results, also to the staged results of the days that were staged.

    Results that were staged and not published are left out: the next run computes them.
    """
    store = tables.store
    rows = _renamed(_read(store, old / OLD_RESULTS), _OF_RESULTS)
    rows = rows.withColumn("type", F.lit(None).cast("string"))
    rows = rows.withColumn("step", F.lit(None).cast("long")).select(store.columns(RESULTS))
    number = rows.count()
    store.plan_for(number, tables.cores)
    first = _read(store, old / OLD_STAGED).agg(F.min("owned_day").alias("day")).collect()[0].day
    own = rows.where(F.lit(False) if first is None else F.col(DAY_COLUMN) >= F.lit(first))
    for table, some in ((RESULTS, rows), (STAGED, own)):
        by_day = _by_partition(some, store, number, [DAY_COLUMN])
        store.append(table, by_day.sortWithinPartitions(DAY_COLUMN, HOUR_COLUMN), _NOTE)


def copy_records(lake: Lake, old: LakePath) -> None:
    """Copy the tables of records of a workload, and of the stream with the main workload."""
    found = {VALIDATIONS: read_rows(old, VALIDATIONS), METRICS: _metrics(old)}
    if "plans" in lake.own:
        found["plans"] = read_rows(old, "plans")
    for table, rows in found.items():
        names = [_OF_RESULTS.get(name, name) for name in rows.column_names]
        rows, schema = rows.rename_columns(names), lake.schema(table).arrow()
        for field in schema:
            if field.name not in rows.column_names:  # of an earlier release
                rows = rows.append_column(field, pa.nulls(len(rows), field.type))
        lake.commit(table, [rows.select(schema.names).cast(schema)], _NOTE)


def _metrics(old: LakePath) -> pa.Table:
    """Return the metrics with their new names, without the states of hours."""
    rows = read_metrics(old, ~pc.field("step").isin(_STATES))
    is_ingest = pc.equal(rows["step"].cast(pa.string()), _LAND)
    metrics = rows["metric"].cast(pa.string())
    renamed = metrics
    for before, after in _OF_METRICS.items():
        renamed = pc.if_else(pc.equal(metrics, before), after, renamed)
    columns = {
        "step": pc.if_else(is_ingest, _INGEST, rows["step"].cast(pa.string())),
        "metric": pc.if_else(is_ingest, renamed, metrics),
    }
    for name, column in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, column)
    return rows


def _read(store: SparkTables, table: Path) -> DataFrame:
    return store.spark.read.format("delta").load(str(table))


def _renamed(rows: DataFrame, names: Mapping[str, str]) -> DataFrame:
    return rows.withColumnsRenamed({n: new for n, new in names.items() if n in rows.columns})


def _by_partition(rows: DataFrame, store: SparkTables, number: int, by: list[str]) -> DataFrame:
    """Return rows so that one task writes each partition of the table."""
    return rows.coalesce(1) if store.is_small(number) else rows.repartition(*by)
