"""Read event files directly with Arrow, in the order of time.

This module runs in Python workers and uses neither Spark nor Delta.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import ConflictError, DataError, storage_error
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN, EventTable, arrow_schema
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.syntax import Semantics
from elsinore.row_hashes import row_hashes
from elsinore.sorting import ascending
from elsinore.timeline import HOUR, MAX_INSTANT, Interval, instant_of
from elsinore.windows import joint_reach

#: Maximum number of events per batch.
_BATCH = 100_000
#: Bytes of a row group: Elsinore writes 250,000 rows (`store.spark_tables`) of about 25 bytes.
_GROUP_BYTES = 6_250_000
#: The type of strings that are read: each distinct value is stored once.
_TEXTS = pa.dictionary(pa.int32(), pa.string())
_INSTANT = pa.timestamp("us", tz="UTC")

_Item = TypeVar("_Item")


class Bucket(NamedTuple):
    """A share of all events by the values of attributes; equal values are in the same bucket."""

    keys: tuple[str, ...]  #: the attributes
    number: int  #: number of the bucket, from 0
    of: int  #: number of buckets

    def holds(self, file: EventFile) -> bool | None:
        """Return True if it has all events of a file, False if none, and None if unknown."""
        laid = file.bucket
        if laid is None or laid.keys != self.keys:
            return None
        return laid.number % self.of == self.number

    def rows(self, table: pa.Table) -> pa.Table:
        """Return the rows of a table that are in the bucket."""
        return table.filter(pa.array(bucket_numbers(table, self.keys, self.of) == self.number))


def bucket_numbers(table: pa.Table, keys: Sequence[str], of: int) -> np.ndarray:
    """Return the bucket number per row; stored files depend on it, so it must never change."""
    return row_hashes(table, keys) % np.uint64(of)


@dataclass(frozen=True, slots=True)
class EventFile:
    """One file of events.

    Attributes:
        path: The file.
        size: Its bytes.
        first: A lower bound of the event times.
        last: An upper bound of the event times.
        bucket: The bucket of all events; None: the table has no buckets.
        kept: Mask of the rows that are not deleted; None: all. Rows after its end are not deleted.
    """

    path: str
    size: int
    first: int
    last: int
    bucket: Bucket | None = None
    kept: pa.BooleanArray | None = field(default=None, compare=False, repr=False)

    def overlaps(self, interval: Interval) -> bool:
        """Return whether the file can have events of an interval."""
        return self.first < interval.end and interval.start <= self.last

    def bytes_in(self, interval: Interval) -> float:
        """Estimate the bytes of an interval, as if events were evenly distributed."""
        return self.bytes_before(interval.end) - self.bytes_before(interval.start)

    def bytes_read(self, interval: Interval) -> float:
        """Estimate the bytes that are read for an interval; whole row groups are read."""
        return min(self.size, self.bytes_in(interval) + _GROUP_BYTES)

    def bytes_before(self, instant: int) -> float:
        """Estimate the bytes before a timestamp, as if events were evenly distributed."""
        length = self.last + 1 - self.first
        return self.size * min(max((instant - self.first) / length, 0.0), 1.0)


class Share(NamedTuple):
    """A share of the events of files, and the files that can have events of it."""

    files: tuple[EventFile, ...]
    bucket: Bucket | None  #: None: all events

    @property
    def is_laid_out(self) -> bool:
        """True if the files have only events of this share, as they are laid out by bucket."""
        return self.bucket is not None and all(map(self.bucket.holds, self.files))

    @property
    def portion(self) -> float:
        """The estimated portion of the events of the files that are in this share."""
        return 1.0 if self.bucket is None or self.is_laid_out else 1 / self.bucket.of

    def in_turn(self) -> list[tuple[EventFile, ...]]:
        """Return the files in independent parts, which can be read one after another.

        If the files are laid out by buckets, these are the parts. Each part is in the order of
        time. Memory is needed for only one part at a time.
        """
        if not self.is_laid_out:
            return [self.files]
        parts = defaultdict(list)
        for file in self.files:
            parts[file.bucket].append(file)
        return [tuple(part) for part in parts.values()]


def shares(files: Sequence[EventFile], keys: tuple[str, ...], number: int) -> list[Share]:
    """Split the events of files into shares; equal values of `keys` are in the same share.

    If the table is laid out by some of these keys, each share has whole buckets, and there are at
    most as many shares as buckets. Otherwise each share has all files.

    Args:
        files: The files.
        keys: The attributes; without any there is one share of all events.
        number: Number of shares.
    """
    laid = files[0].bucket if files else None
    if laid is not None and set(laid.keys) <= set(keys):
        keys, of = laid.keys, min(number, laid.of)
    elif keys and number > 1:
        of = number
    else:
        return [Share(tuple(files), None)]
    parts = [Bucket(keys, each, of) for each in range(of)]
    return [Share(tuple(f for f in files if part.holds(f) is not False), part) for part in parts]


def hour_shares(
    hours: Sequence[int], files: Sequence[EventFile], keys: tuple[str, ...], cores: int
) -> list[tuple[int, Share]]:
    """Split the events of hours into work for all cores; split hours if they are fewer."""
    number = max(cores // max(len(hours), 1), 1)
    found = []
    for hour in hours:
        inside = [file for file in files if file.overlaps(Interval(hour, hour + HOUR))]
        found += [(hour, share) for share in shares(inside, keys, number)]
    return found


def events_in_order(
    files: Sequence[EventFile],
    interval: Interval,
    schema: StreamSchema,
    types: Collection[str],
    attributes: Sequence[str],
    bucket: Bucket | None = None,
    *,
    ahead: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield the events of an interval in the order of time.

    Files are read by row groups. Events are yielded as soon as no remaining row group can have
    earlier ones. So memory holds only row groups whose times overlap.

    Args:
        files: The files.
        interval: The interval.
        schema: The schema of the events.
        types: Only events of these types.
        attributes: The attributes to read.
        bucket: Only events of this bucket; None: all. Its keys must be among the attributes, unless
            the files are laid out by the bucket.
        ahead: Read the next row group in a thread, for processes with a free core.

    Returns:
        Batches with `_time`, `_type` and the attributes.

    Raises:
        ConflictError: A file is missing, because another process removed it meanwhile.
        DataError: A file is damaged.
    """
    of_types = (code if name in types else None for name, code in schema.type_codes.items())
    codes = pa.array(of_types, pa.int32())
    names = pa.array(list(schema.type_codes))
    waiting, left = list[pa.Table](), 0
    groups = _row_groups(files, interval, schema, attributes)
    for file, stored, until in _read_ahead(groups) if ahead else groups:
        table = _events(stored, interval, schema, attributes, names, codes)
        waiting.append(table if bucket is None or bucket.holds(file) else bucket.rows(table))
        # If row groups overlap, the remaining events are not sorted again after each row group.
        if sum(table.num_rows for table in waiting) >= max(_BATCH, 2 * left):
            merged = _sorted(waiting)
            ready = int(np.searchsorted(np.asarray(merged[TIME_COLUMN]), until))
            yield from merged.slice(0, ready).to_batches(max_chunksize=_BATCH)
            waiting, left = [merged.slice(ready)], merged.num_rows - ready
    if waiting:
        yield from _sorted(waiting).to_batches(max_chunksize=_BATCH)


def _read_ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """Yield items while a thread reads the next one."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


#: The number of all row groups of a file that has not been opened.
_ALL = -1


def _row_groups(
    files: Sequence[EventFile], interval: Interval, schema: StreamSchema, attributes: Sequence[str]
) -> Iterator[tuple[EventFile, pa.Table, int]]:
    """Yield row groups by their first timestamps, with the file and the next first timestamp.

    If a file has several row groups, only row groups that overlap the interval are read.
    """
    ahead = [(file.first, number, _ALL) for number, file in enumerate(files)]
    heapify(ahead)
    while ahead:
        _, number, group = heappop(ahead)
        with _damage_told(files[number]), _opened(files[number], schema, attributes) as parquet:
            if group == _ALL and parquet.num_row_groups != 1:
                for span, group in _spans(parquet.metadata, files[number]):
                    if span.overlaps(interval):
                        heappush(ahead, (span.first, number, group))
                continue
            there = set(parquet.schema_arrow.names)
            columns = ["event_time", "event_type", *(name for name in attributes if name in there)]
            table = parquet.read_row_group(max(group, 0), columns, use_threads=False)
            table = _without_deleted(table, files[number].kept, parquet.metadata, max(group, 0))
        yield files[number], table, ahead[0][0] if ahead else MAX_INSTANT + 1


def _without_deleted(
    rows: pa.Table, kept: pa.BooleanArray | None, metadata: pq.FileMetaData, group: int
) -> pa.Table:
    """Return the rows of a row group that are not deleted."""
    if kept is None:
        return rows
    own = kept.slice(sum(metadata.row_group(at).num_rows for at in range(group)), rows.num_rows)
    return rows.filter(pa.concat_arrays([own, pa.repeat(True, rows.num_rows - len(own))]))


def _spans(metadata: pq.FileMetaData, file: EventFile) -> Iterator[tuple[EventFile, int]]:
    """Yield a file with the time range of each row group, and the number of the row group.

    A row group without statistics has the time range of the file.
    """
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = map(group.column, range(group.num_columns))
        times = next(column for column in columns if column.path_in_schema == "event_time")
        known = times.statistics if times.is_stats_set else None
        if known is None or not known.has_min_max or not isinstance(known.min, datetime):
            yield file, number
        else:
            first, last = instant_of(known.min), instant_of(known.max)
            yield replace(file, first=first, last=last), number


def _events(
    table: pa.Table,
    interval: Interval,
    schema: StreamSchema,
    attributes: Sequence[str],
    names: pa.Array,
    codes: pa.Array,
) -> pa.Table:
    """Return the events of stored rows, in the same order."""
    times = micros(table["event_time"])
    kinds = _codes(table["event_type"], names, codes)
    columns = {TIME_COLUMN: times, TYPE_COLUMN: kinds}
    for name in attributes:
        kind = schema.attributes[name]
        if name not in table.column_names:  # the file is older than the attribute
            text = kind is AttributeType.STRING
            columns[name] = pa.nulls(table.num_rows, _TEXTS if text else ARROW_TYPES[kind])
        else:
            instant = kind is AttributeType.TIMESTAMP
            columns[name] = micros(table[name]) if instant else table[name]
    inside = pc.and_(pc.greater_equal(times, interval.start), pc.less(times, interval.end))
    wanted = pc.and_(inside, pc.is_valid(kinds))
    found = pa.table(columns)
    return found if pc.all(wanted).as_py() else found.filter(wanted)


@contextmanager
def _damage_told(file: EventFile) -> Iterator[None]:
    """Raise errors of a missing or damaged file as errors of Elsinore, and others unchanged."""
    try:
        yield
    except FileNotFoundError as error:
        raise ConflictError(f"an event file was removed during the run: {file.path}") from error
    except (pa.ArrowInvalid, OSError) as error:
        if storage_error(error) or getattr(error, "errno", None):  # not a problem of the file
            raise
        hint = "restore the file, or ingest its hour again: `elsinore ingest`"
        problem = f"cannot read the event file {file.path}: {error}"
        raise DataError(problem, hint=hint) from error


def _opened(file: EventFile, schema: StreamSchema, attributes: Sequence[str]) -> pq.ParquetFile:
    strings = [name for name in attributes if schema.attributes[name] is AttributeType.STRING]
    try:
        return pq.ParquetFile(
            file.path, read_dictionary=["event_type", *strings], coerce_int96_timestamp_unit="us"
        )
    except KeyError:  # the file is older than a string attribute
        there = set(pq.read_schema(file.path).names)
        return _opened(file, schema, [name for name in attributes if name in there])


def micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return timestamps as int64 microseconds since the epoch."""
    return column.cast(_INSTANT).cast(pa.int64())


def _codes(kinds: pa.ChunkedArray, names: pa.Array, codes: pa.Array) -> pa.ChunkedArray:
    """Return the codes of event types; NULL for types that are not read."""
    chunks = []
    for chunk in kinds.chunks:
        meaning = codes.take(pc.index_in(chunk.dictionary, names))
        chunks.append(meaning.take(chunk.indices))
    return pa.chunked_array(chunks, pa.int32())


def _sorted(tables: Sequence[pa.Table]) -> pa.Table:
    """Join tables and sort their events by time; usually they are already sorted."""
    table = pa.concat_tables(tables, promote_options="permissive")
    times = np.asarray(table[TIME_COLUMN])
    if bool((times[1:] >= times[:-1]).all()):
        return table
    return table.unify_dictionaries().combine_chunks().take(ascending(times))


def types_read(workload: Workload, queries: Iterable[BoundQuery]) -> frozenset[str]:
    """Return the event types that can affect the trends of queries."""
    return frozenset().union(
        *(
            workload.schema.by_name
            if query.semantics is Semantics.CONTIGUOUS
            else query.event_types
            if query.window.session is None
            else query.window.session.types
            for query in queries
        )
    )


def attributes_read(queries: Iterable[BoundQuery]) -> list[str]:
    """Return the sorted attributes that keys, predicates and aggregates of queries read."""
    return sorted(frozenset().union(*(query.attributes_read for query in queries)))


def event_table(schema: StreamSchema, table: pa.Table) -> EventTable:
    """Return stored events as an event table; columns that were not read are NULL."""
    columns = {
        field.name: _as(table[field.name], field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in arrow_schema(schema)
    }
    return EventTable(schema, pa.table(columns))


def _as(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if pa.types.is_dictionary(column.type) else column.cast(kind)


def reach_of(queries: Iterable[BoundQuery], owned: Interval) -> Interval:
    """Return the time range of all windows of queries that end in an interval."""
    return joint_reach((query.window for query in queries), owned)
