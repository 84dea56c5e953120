"""Write raw events and quarantine of some hours, as a function of their files only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.files.rejection import checked_records, invalid_records
from elsinore.ingest.decode_records import RAW_SCHEMA, decode_files
from elsinore.ingest.event_keys import event_key
from elsinore.ingest.landing_zone import LandingFile
from elsinore.ingest.tables import QUARANTINE, RAW, IngestTables, of_file_hours
from elsinore.timeline import hour_label, parse_hour

#: Bytes of a part: a task decodes it in some seconds. Unpacked files are about five times as large.
_PART, _PACKED = 32_000_000, 5
#: Bytes of records that this process decodes, because tasks would take longer to start.
_MOST_LOCAL_BYTES = 4_000_000
#: Bytes of a record, about.
_RECORD = 100


@dataclass(frozen=True)
class HourCounts:
    """Counts of the files of an hour.

    Attributes:
        files, bytes: Number of files, and their size.
        records: Number of records; a rejected file counts as one.
        reasons: Number of rejected records by reason code.
        first_event, last_event: The earliest and the latest event time, in microseconds since 1970;
            None without an event.
    """

    files: int = 0
    bytes: int = 0
    records: int = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    first_event: int | None = None
    last_event: int | None = None

    @property
    def rejected(self) -> int:
        """Number of records in quarantine."""
        return sum(self.reasons.values())


@dataclass(frozen=True)
class Written:
    """The result of writing some hours, by label.

    Attributes:
        hours: The counts of the hours that were written.
        refused: Why the others were left as they were.
    """

    hours: Mapping[str, HourCounts]
    refused: Mapping[str, str] = field(default_factory=dict)


def write_raw(
    tables: IngestTables, files: Sequence[LandingFile], hours: Collection[int], *, run: str,
    max_error_rate: float = 1.0, optional: Collection[int] = (),
) -> Written:  # fmt: skip
    """Replace the rows of some hours in `quarantine` and `raw_events` by the files' records.

    The result depends only on the files, so the call can be repeated at any time. An hour without
    files has no rows afterwards.

    Args:
        tables: The tables.
        files: All files of these hours.
        hours: First instants of the hours, at least one, in microseconds since 1970.
        run: Name of the run, for the history of the tables.
        max_error_rate: Share of rejected records above which only `quarantine` is written.
        optional: Hours that do not count for this share: if too many records of such an hour are
            rejected, the hour stays as it was.

    Raises:
        DataError: the share of rejected records is too large, or a file cannot be read.
        ConflictError: other writers won each time.
    """
    store = tables.store
    store.plan_for(sum(map(unpacked_size, files)) // _RECORD, tables.cores)
    here = _decoded_here(files, tables.stream)
    if here is not None:
        rows = store.spark.createDataFrame(here, from_arrow_schema(RAW_SCHEMA))
        return _replace(tables, with_key(rows, tables), _counts(_count_here(here), files, hours),
                        run=run, max_error_rate=max_error_rate, optional=optional)  # fmt: skip
    # In memory, the cached batches of some million records do not fit the heap.
    rows = with_key(_decoded_in_tasks(tables, files), tables).persist(StorageLevel.DISK_ONLY)
    try:
        return _replace(tables, rows, _counts(_count(rows), files, hours),
                        run=run, max_error_rate=max_error_rate, optional=optional)  # fmt: skip
    finally:
        rows.unpersist()


def _replace(
    tables: IngestTables, rows: DataFrame, counts: Mapping[str, HourCounts], *, run: str,
    max_error_rate: float, optional: Collection[int],
) -> Written:  # fmt: skip
    """Replace the rows of the counted hours; see `write_raw`."""
    refused = _refused(counts, max_error_rate, optional)
    kept = {label: one for label, one in counts.items() if label not in refused}
    own = {label: one for label, one in kept.items() if parse_hour(label) not in optional}
    error = _too_bad(own, max_error_rate)
    _replace_quarantine(tables, rows, own if error else kept, run)
    if error:
        raise error
    _replace_raw(tables, rows, kept, run)
    return Written(kept, refused)


def _replace_raw(
    tables: IngestTables, rows: DataFrame, counts: Mapping[str, HourCounts], run: str
) -> None:
    """Replace the rows of the counted hours in `raw_events`."""
    if counts:
        where = of_file_hours(map(parse_hour, counts))
        own = rows.select(tables.store.columns(RAW)).where(where)
        tables.store.replace(RAW, own, where, {"run": run})


def _replace_quarantine(
    tables: IngestTables, rows: DataFrame, counts: Mapping[str, HourCounts], run: str
) -> None:
    """Replace the rows of the counted hours in `quarantine`, if there are rows or were some."""
    if not counts:
        return
    store, where = tables.store, of_file_hours(map(parse_hour, counts))
    if any(of_hour.rejected for of_hour in counts.values()) or _has_rejected(tables, counts):
        bad = rows.where("reason_code IS NOT NULL").select(store.columns(QUARANTINE)).where(where)
        # The row of a whole file has a mark for decoders in place of a record.
        of_record = F.when(F.col("record_number") > 0, F.col("record")).otherwise("")
        bad = bad.withColumn("record", of_record)
        store.replace(QUARANTINE, bad, where, {"run": run})


def _has_rejected(tables: IngestTables, counts: Collection[str]) -> bool:
    """Return whether some hours have rows in `quarantine`."""
    if not tables.store.count(QUARANTINE, "file_hour", min(counts), max(counts)):
        return False
    rows = tables.store.read(QUARANTINE).where(of_file_hours(map(parse_hour, counts)))
    return bool(rows.limit(1).collect())


def _decoded_here(files: Sequence[LandingFile], stream: StreamSchema) -> pa.Table | None:
    """Return a row per record of small files, decoded in this process; None if they are large."""
    if sum(map(unpacked_size, files)) > _MOST_LOCAL_BYTES:
        return None
    batches, size = list[pa.RecordBatch](), 0
    number = pa.RecordBatch.from_pydict({"id": [0]})
    for batch in decode_files([files], stream)(iter([number])):
        batches.append(batch)
        size += batch.nbytes
        if size > _MOST_LOCAL_BYTES:  # a packed file can contain more than its size suggests
            return None
    return pa.Table.from_batches(batches, RAW_SCHEMA)


def _decoded_in_tasks(tables: IngestTables, files: Sequence[LandingFile]) -> DataFrame:
    """Return a row per record of files, decoded by tasks."""
    parts = pack(files, tables.cores)
    numbers = tables.store.spark.range(0, len(parts), numPartitions=max(1, len(parts)))
    decode = decode_files(parts, tables.stream)
    return numbers.mapInArrow(decode, from_arrow_schema(RAW_SCHEMA))


def with_key(rows: DataFrame, tables: IngestTables) -> DataFrame:
    """Return rows of `RAW_SCHEMA` with the key, for both tables."""
    key = F.when(F.col("reason_code").isNull(), event_key(tables.stream))
    return rows.withColumn("event_key", key)


def pack(files: Sequence[LandingFile], cores: int) -> list[list[LandingFile]]:
    """Return files in parts of about equal size, a part per task; files of a part are neighbors.

    >>> files = [LandingFile("h", f"{n}.jsonl", "", 30_000_000, 0) for n in range(4)]
    >>> [len(part) for part in pack(files, 2)]
    [1, 1, 1, 1]
    """
    total = sum(map(unpacked_size, files))
    most = max(1, min(_PART, -(-total // cores))) if total > _PART // 4 else total + 1
    parts, size = list[list[LandingFile]](), most + 1
    for file in files:
        if size + unpacked_size(file) > most:
            parts, size = [*parts, []], 0
        parts[-1].append(file)
        size += unpacked_size(file)
    return parts


def unpacked_size(file: LandingFile) -> int:
    """Return about how many bytes of records a file has."""
    return file.size * (_PACKED if file.name.endswith((".gz", ".zst")) else 1)


def stored_counts(tables: IngestTables, hours: Collection[int]) -> dict[str, HourCounts]:
    """Return the counts of some hours from `raw_events`, with the stored files but not their size.

    Args:
        tables: The tables.
        hours: First instants of the hours.
    """
    if not hours:
        return {}
    rows = tables.store.read(RAW).where(of_file_hours(hours))
    rows = rows.select("file_hour", "file", "reason_code", "event_time").persist()
    try:
        counts = _counts(_count(rows), (), hours)
        of_hour = rows.groupBy("file_hour").agg(F.count_distinct("file").alias("files")).collect()
    finally:
        rows.unpersist()
    files = {row.file_hour: row.files for row in of_hour}
    return {label: replace(one, files=files.get(label, 0)) for label, one in counts.items()}


def _count(rows: DataFrame) -> pa.Table:
    """Return the number of records, and the first and the last time, by hour and reason code."""
    return rows.groupBy("file_hour", "reason_code").agg(
        F.count("*").alias("records"), F.min("event_time").alias("first"),
        F.max("event_time").alias("last"),
    ).toArrow()  # fmt: skip


def _count_here(rows: pa.Table) -> pa.Table:
    """Return the same as `_count`."""
    aggregates = [([], "count_all"), ("event_time", "min"), ("event_time", "max")]
    counted = rows.group_by(["file_hour", "reason_code"]).aggregate(aggregates)
    return counted.rename_columns(["file_hour", "reason_code", "records", "first", "last"])


def _counts(
    counted: pa.Table, files: Sequence[LandingFile], hours: Collection[int]
) -> dict[str, HourCounts]:
    """Return the counts of each hour from the table of `_count`."""
    sizes: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    for file in files:
        sizes[file.landing] += file.size
        numbers[file.landing] += 1
    records: Counter[str] = Counter()
    reasons: dict[str, dict[str, int]] = defaultdict(dict)
    times = {}
    for name in ("first", "last"):
        column = counted.column_names.index(name)
        counted = counted.set_column(column, name, counted[name].cast(pa.int64()))
    for row in counted.to_pylist():
        records[row["file_hour"]] += row["records"]
        if row["reason_code"] is None:
            times[row["file_hour"]] = row["first"], row["last"]
        else:
            reasons[row["file_hour"]][row["reason_code"]] = row["records"]
    return {
        label: HourCounts(
            numbers[label], sizes[label], records[label], reasons[label],
            *times.get(label, (None, None)),
        )
        for label in map(hour_label, sorted(hours))
    }  # fmt: skip


def _refused(
    counts: Mapping[str, HourCounts], allowed: float, optional: Collection[int]
) -> dict[str, str]:
    """Return the optional hours of which too large a share was rejected, with the reason."""
    errors = {
        label: _too_bad({label: of_hour}, allowed)
        for label, of_hour in counts.items() if parse_hour(label) in optional
    }  # fmt: skip
    return {label: error.message for label, error in errors.items() if error}


def _too_bad(counts: Mapping[str, HourCounts], allowed: float) -> DataError | None:
    """Return the error of hours if too large a share of their records was rejected."""
    bad = {label: invalid_records(of_hour.reasons) for label, of_hour in counts.items()}
    records = sum(checked_records(of_hour.records, of_hour.reasons) for of_hour in counts.values())
    if sum(bad.values()) <= allowed * records:
        return None
    worst = max(bad, key=lambda label: bad[label])
    return DataError(
        f"{sum(bad.values())} of {records} records are invalid, more than the allowed share of "
        f"{allowed:g}; most in {worst}: {dict(counts[worst].reasons)}",
        hint='read their reasons: `elsinore sql "SELECT * FROM quarantine"`',
        records=records,
        bad=sum(bad.values()),
    )
