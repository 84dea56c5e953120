"""Decode records in Spark's Python workers: files to rows of `raw_events`, records to events.

The functions take and yield Arrow batches, and have all that they need as arguments: a worker of a
cluster needs this package, and no settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.files.rejection import Fault
from elsinore.files.versions import VERSION_TYPE, record_versions
from elsinore.ingest.landing_zone import LandingFile, decode_again, scan_files
from elsinore.row_hashes import row_hashes

Batches = Iterator[pa.RecordBatch]

#: Rows of `raw_events` without their key, which Spark computes, and with the reason of rejection.
RAW_SCHEMA = pa.schema(
    {
        "file_day": pa.date32(),
        "file_hour": pa.string(),
        "file": pa.string(),
        "record_number": pa.int64(),
        "record": pa.string(),
        "event_id": pa.string(),
        "event_time": pa.timestamp("us", tz="UTC"),
        "event_version": VERSION_TYPE,
        "content_hash": pa.int64(),
        "reason_code": pa.string(),
        "reason": pa.string(),
    }
)

#: Columns of records that are decoded again.
STORED = ("file_hour", "file", "record_number", "record")

#: Parts of records that equal records agree in.
_CONTENT = ("event_type", "event_time")
_MICROSECONDS = 1_000
#: The latest time of modification: producers can set any time.
_LATEST = 2**63 - 1


def decode_files(
    parts: Sequence[Sequence[LandingFile]], stream: StreamSchema
) -> Callable[[Batches], Batches]:
    """Return the function that decodes files in tasks; a row `id` of its input is a part's number.

    It yields batches of `RAW_SCHEMA`, one row per record.
    """

    def decode(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch["id"].to_pylist():
                modified = {
                    file.name: min(file.changed // _MICROSECONDS, _LATEST) for file in parts[number]
                }
                for scanned in scan_files(parts[number], stream):
                    yield raw_rows(scanned, stream, modified)

    return decode


def raw_rows(
    scanned: pa.RecordBatch, stream: StreamSchema, modified: Mapping[str, int]
) -> pa.RecordBatch:
    """Return rows of `RAW_SCHEMA`.

    Args:
        scanned: Rows of `scanned_schema`.
        stream: The schema of the stream.
        modified: When the files were modified, by name, in microseconds since 1970.
    """
    is_event = pc.is_null(scanned["_reason_code"])
    codes, reasons = scanned["_reason_code"], scanned["_reason"]
    versions, faults = _versions(scanned, is_event, stream, modified)
    if faults:
        bad = pa.array([row in faults for row in range(scanned.num_rows)])
        told = [faults.get(row) for row in range(scanned.num_rows)]
        codes = pc.if_else(bad, pa.array([f and f.code.value for f in told], pa.string()), codes)
        reasons = pc.if_else(bad, pa.array([f and f.text for f in told], pa.string()), reasons)
        is_event = pc.and_(is_event, pc.invert(bad))
    hashes = content_hashes(scanned, [*_CONTENT, *stream.attributes])
    columns = {
        "file_day": pc.utf8_slice_codeunits(scanned["file_hour"], 0, 10).cast(pa.date32()),
        "file_hour": scanned["file_hour"],
        "file": scanned["file"],
        "record_number": scanned["record_number"],
        "record": scanned["_record"],
        "event_id": pc.if_else(is_event, scanned["event_id"], None),
        "event_time": pc.if_else(is_event, scanned["event_time"], None),
        "event_version": pc.if_else(is_event, versions, None),
        "content_hash": pc.if_else(is_event, hashes, None),
        "reason_code": codes,
        "reason": reasons,
    }
    return pa.record_batch(columns, schema=RAW_SCHEMA)


def _versions(
    scanned: pa.RecordBatch, is_event: pa.Array, stream: StreamSchema, modified: Mapping[str, int]
) -> tuple[pa.Array, dict[int, Fault]]:
    """Return the version of each record, NULL without one, and errors by row."""
    if stream.by_modification:
        files = scanned["file"].dictionary_encode()
        times = pa.array([modified[name] for name in files.dictionary.to_pylist()], pa.int64())
        return times.take(files.indices).cast(pa.decimal128(19)).cast(VERSION_TYPE), {}
    if stream.version_field is None:
        return pa.nulls(scanned.num_rows, VERSION_TYPE), {}
    versions, faults = record_versions(scanned["_record"].to_pylist(), stream)
    events = is_event.to_pylist()
    return versions, {row: fault for row, fault in faults.items() if events[row]}


def content_hashes(rows: pa.RecordBatch, names: Iterable[str]) -> pa.Array:
    """Return an int64 per row, equal for rows with equal values.

    NULL adds nothing, so an attribute that is added to the schema changes no hash of older records.
    """
    table = pa.Table.from_batches([rows])
    total = np.zeros(table.num_rows, np.uint64)
    for name in names:
        salt = pd.util.hash_array(np.array([name], object))[0]
        mixed = pd.util.hash_array(row_hashes(table, [name]) ^ salt)
        total += np.where(table[name].is_valid().to_numpy(), mixed, np.uint64(0))
    return pa.array(total.view(np.int64))


def decode_winners(
    stream: StreamSchema, schema: pa.Schema, bucket: str
) -> Callable[[Batches], Batches]:
    """Return the function that decodes the records of winners to rows of `events` in tasks.

    Args:
        stream: The schema of the stream.
        schema: The columns of `events`, and others that are passed on.
        bucket: Name of the column with the bucket, if the stream has buckets.
    """

    def decode(batches: Batches) -> Batches:
        for batch in batches:
            stored = pa.Table.from_batches([batch]).select(STORED)
            stored = stored.rename_columns(["file_hour", "file", "record_number", "record"])
            events = decode_again(stored, stream)
            _require_events(events)
            columns = {"file_hour": events["file_hour"], "record_number": events["record_number"]}
            columns["event_day"] = events["event_time"].cast(pa.date32())
            if stream.buckets is not None:
                numbers = row_hashes(events, stream.buckets.by) % np.uint64(stream.buckets.number)
                columns[bucket] = pa.array(numbers.astype(np.int64))
            own = {name: events[name] for name in schema.names if name in events.column_names}
            passed = {n: batch[n] for n in schema.names if n not in columns and n not in own}
            everything = {**own, **passed, **columns}
            rows = pa.table({name: everything[name] for name in schema.names}).cast(schema)
            yield from rows.combine_chunks().to_batches()

    return decode


def _require_events(rows: pa.Table) -> None:
    """Refuse records that were events when they were ingested, and are invalid now."""
    bad = rows.filter(pc.is_valid(rows["_reason_code"]))
    if bad.num_rows:
        hour, reason = bad["file_hour"][0].as_py(), bad["_reason"][0].as_py()
        raise DataError(
            f"{bad.num_rows} stored records no longer fit the schema, as of {hour}: {reason}",
            hint=f"restore the schema, or replay the hour: `elsinore replay --start {hour}`",
        )
