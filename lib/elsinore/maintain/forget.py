"""Erase a key: every raw record, event and result with some attribute values, and their files.

Records go first, from raw files and `raw_events`; a refresh then removes their events, which makes
published hours stale. Finally all old versions of the tables go. Each part finds what is left to
do, so an interrupted erasure is completed by another call.
"""

from __future__ import annotations

import shutil
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.ingest.changed_hours import record_changed_hours
from elsinore.ingest.collect import ASIDE, COLLECTED, INGESTED, SPOOL
from elsinore.ingest.landing_zone import LandingFile, all_files, blank_lines
from elsinore.ingest.refresh import refresh
from elsinore.ingest.tables import EVENTS, QUARANTINE, RAW, IngestTables, of_file_hours
from elsinore.lake.answered import answered_by
from elsinore.lake.cached_hours import drop_cached_hours
from elsinore.ledger.fold import fold
from elsinore.ledger.results import stale
from elsinore.ledger.rows import hours_from
from elsinore.maintain.erase_history import erase_history
from elsinore.maintain.find_key import GROUP, Found, Removed, events_of, find_key
from elsinore.maintain.key import Key
from elsinore.maintain.pages import drop_pages
from elsinore.maintain.recorded_files import STEP, FileState, RecordedFiles
from elsinore.maintain.tables import VALIDATIONS, OwnTables
from elsinore.places import is_here
from elsinore.publish.tables import RESULTS, STAGED, of_result_hours
from elsinore.safe_files import remove_tree, remove_unfinished
from elsinore.settings import Settings
from elsinore.store.regions import Hours
from elsinore.timeline import parse_hour


def require_data(settings: Settings, stream: StreamSchema) -> None:
    """Refuse a home that never had events, because the user probably means another one.

    Raises:
        DataError: it has neither raw files nor tables.
    """
    raw = settings.stream_lake / RAW
    if not DeltaTable.is_deltatable(str(raw)) and not all_files(settings.landing, stream.sources):
        raise DataError(
            f"nothing to erase: {settings.lake} has neither raw files nor the table {RAW}",
            hint="this may be the wrong ELSINORE_HOME; set it to the directory of the events",
        )


def forget(
    spark: SparkSession, settings: Settings, key: Key, *, run: str, dry_run: bool = False
) -> tuple[dict[str, Removed], int]:
    """Erase a key, and every file that may still contain it.

    No other process may read or write the tables at the same time: it would lose files. After an
    interruption, another call completes the erasure.

    Args:
        spark: A session of Spark.
        settings: The settings of the stream.
        key: The key.
        run: Name of the run, for the history of the tables.
        dry_run: Remove nothing.

    Returns:
        The removed data by table or directory (or the data to remove, for `dry_run`), and the
        number of published hours that became stale.

    Raises:
        DataError: a raw file cannot be searched.
        ConflictError: another process ingested events or changed a raw file: call it again.
    """
    every = [OwnTables.open(spark, own) for own in settings.with_results()]
    found = find_key(every, settings, key)
    if dry_run:
        return found.removed({}), 0
    of_stream = every[0]
    before = fold(of_stream.ledger.read())
    stale_before = _stale_hours(of_stream, settings)
    _erase_records(of_stream, found, run)
    raw_version = refresh(of_stream.ingest, run=run).raw_version
    # Events whose raw records were removed after their retention period.
    _delete(of_stream.ingest, EVENTS, events_of(of_stream.ingest, key, found.raw).toArrow(), run)
    record_changed_hours(
        of_stream.ingest, of_stream.ledger, before, raw_version, step=STEP, run=run
    )
    for own in every:
        for table in (STAGED, RESULTS, VALIDATIONS):
            _delete_groups(own, table, found.groups[own.shown_as(table)], run)
        drop_cached_hours(own.lake.root)  # their rows name values of keys
    drop_pages(settings, key, found.pages)
    files = dict[str, int]()
    for own in every:
        files |= erase_history(own, key, run=run)
    return found.removed(files), _stale_hours(of_stream, settings) - stale_before


def _erase_records(own: OwnTables, found: Found, run: str) -> None:
    """Remove the records from raw files, `raw_events` and `quarantine`."""
    recorded = RecordedFiles.read(own.ledger, own.ingest.stream.name, run)
    hours = {parse_hour(file.landing) for file in found.files}
    recorded.begin(hours)
    rewritten: dict[FileState, LandingFile] = {
        (file.name, file.size, file.changed): blank_lines(file, positions)
        for file, positions in found.files.items()
    }
    _drop_spools(own.settings)
    for table, places in ((RAW, found.raw), (QUARANTINE, found.quarantine)):
        _delete(own.ingest, table, places, run)
        hours.update(hours_from(places["file_hour"]).tolist())
    recorded.end(own.ingest, hours, rewritten, found.zone)


def _drop_spools(settings: Settings) -> None:
    """Remove records that a killed process left on their way to their hours."""
    aside = settings.local / settings.stream / ASIDE
    for folder in (*aside.glob(f"{INGESTED}*"), aside / SPOOL):
        shutil.rmtree(folder, ignore_errors=True)
    if is_here(zone := settings.landing):
        # Earlier releases stored these records in the landing zone.
        for folder in (*zone.glob(f"{INGESTED}*"), zone / COLLECTED / SPOOL):
            remove_tree(folder, zone)
        remove_unfinished(zone)


def _delete(tables: IngestTables, table: str, places: pa.Table, run: str) -> None:
    """Delete the rows at some positions; for events, with their days."""
    if not len(places):
        return
    if table == EVENTS:
        days = F.col("event_day").isin([F.lit(day) for day in _values(places, "event_day")])
    else:
        days = of_file_hours(map(parse_hour, _values(places, "file_hour")))
    rows = _source(tables.store.spark, places)
    tables.store.delete(table, rows, on=_same(days, places), note={"run": run})


def _delete_groups(own: OwnTables, table: str, groups: pa.Table, run: str) -> None:
    """Delete the rows of some groups of some hours."""
    if not len(groups):
        return
    hours = _values(groups, GROUP[0])
    if table != VALIDATIONS:
        keys = groups.select(GROUP)
        condition = _same(of_result_hours(map(parse_hour, hours)), keys)
        note = {"run": run, "hours": hours}
        own.results.store.delete(
            table, _source(own.results.store.spark, keys), on=condition, note=note
        )
        return
    where = Hours.of(map(parse_hour, hours))
    rows = own.lake.rows(table, where.expression(by_day=False))
    others = rows.filter(
        pc.invert(pc.is_in(rows["group_key"].cast(pa.string()), groups["group_key"]))
    )
    own.lake.record(table, others.to_pylist(), where=where.conditions(), run=run)


def _values(rows: pa.Table, column: str) -> list[Any]:
    return sorted(set(rows[column].to_pylist()))


def _source(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return rows as the source of a deletion."""
    return spark.createDataFrame(rows.rename_columns([f"_{name}" for name in rows.column_names]))


def _same(condition: Column, rows: pa.Table) -> Column:
    """Return the condition that a row of a table is one of some rows; see `_source`."""
    for name in rows.column_names:
        condition = condition & (F.col(name) == F.col(f"_{name}"))
    return condition


def _stale_hours(own: OwnTables, settings: Settings) -> int:
    """Return the number of stale hours, of all workloads that have results and are valid."""
    known = {one.workload for one in settings.with_results()}
    rows, count = own.ledger.read(), 0
    for one in answered_by(settings.of_workload("")):
        if one.name in known:
            state = fold(rows, settings.of_workload(one.name).workload_name)
            reach = max(query.window.hours_back for query in one.workload.queries)
            count += len(stale(state, reach))
    return count
