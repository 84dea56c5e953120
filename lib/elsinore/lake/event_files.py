"""Reads files of events straight into Arrow, in the order of time, and what queries read of them.

Nothing here knows Spark or Delta: it runs in Python workers.
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
from elsinore.engine.sorting import ascending
from elsinore.errors import ConflictError, DataError, storage_error
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN, EventTable, arrow_schema
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.syntax import Semantics
from elsinore.row_hashes import row_hashes
from elsinore.timeline import HOUR, MAX_INSTANT, Interval, instant_of
from elsinore.windows import joint_reach

#: Events of a batch, at most.
_BATCH = 100_000
#: Bytes of a row group: our sessions write 250,000 rows (`store.spark_tables`), and an event has
#: about 25 bytes.
_GROUP_BYTES = 6_250_000
#: How texts are read: as many values as there are different ones.
_TEXTS = pa.dictionary(pa.int32(), pa.string())
_INSTANT = pa.timestamp("us", tz="UTC")

_Item = TypeVar("_Item")


class Bucket(NamedTuple):
    """A share of all events, by the values of some attributes; equal values lie in one."""

    keys: tuple[str, ...]  #: the attributes
    number: int  #: which one
    of: int  #: of how many

    def holds(self, file: EventFile) -> bool | None:
        """Whether it has all events of a file (True), none (False), or any of them (None)."""
        laid = file.bucket
        if laid is None or laid.keys != self.keys:
            return None
        return laid.number % self.of == self.number

    def rows(self, table: pa.Table) -> pa.Table:
        """The rows of a table that are in it."""
        return table.filter(pa.array(bucket_numbers(table, self.keys, self.of) == self.number))


def bucket_numbers(table: pa.Table, keys: Sequence[str], of: int) -> np.ndarray:
    """Of each row the number of its bucket. Files are laid out by it: it must stay what it is."""
    return row_hashes(table, keys) % np.uint64(of)


@dataclass(frozen=True, slots=True)
class EventFile:
    """One file of events and its bytes; no event is earlier than `first`, or later than `last`.

    All are of `bucket`, if the table is laid out by buckets. `kept` says which of its rows are not
    deleted; None: all. Rows after its end are not deleted.
    """

    path: str
    size: int
    first: int
    last: int
    bucket: Bucket | None = None
    kept: pa.BooleanArray | None = field(default=None, compare=False, repr=False)

    def overlaps(self, interval: Interval) -> bool:
        """Return whether it can hold events of an interval."""
        return self.first < interval.end and interval.start <= self.last

    def bytes_in(self, interval: Interval) -> float:
        """Its bytes in an interval, as if it were even inside."""
        return self.bytes_before(interval.end) - self.bytes_before(interval.start)

    def bytes_read(self, interval: Interval) -> float:
        """Its bytes that are read for an interval: whole row groups, in the order of time."""
        return min(self.size, self.bytes_in(interval) + _GROUP_BYTES)

    def bytes_before(self, instant: int) -> float:
        """Its bytes before an instant, as if it were even inside."""
        length = self.last + 1 - self.first
        return self.size * min(max((instant - self.first) / length, 0.0), 1.0)


class Share(NamedTuple):
    """A share of the events of some files, and the files that hold any of it."""

    files: tuple[EventFile, ...]
    bucket: Bucket | None  #: None: all events

    @property
    def is_laid_out(self) -> bool:
        """Return whether its files are those of some buckets, and hold nothing else."""
        return self.bucket is not None and all(map(self.bucket.holds, self.files))

    @property
    def portion(self) -> float:
        """How much of the events of its files it is, as if these were even."""
        return 1.0 if self.bucket is None or self.is_laid_out else 1 / self.bucket.of

    def in_turn(self) -> list[tuple[EventFile, ...]]:
        """Its files in parts that have nothing to do with each other: by buckets, if laid out so.

        One after another they take no more memory than one, and each is in the order of time.
        """
        if not self.is_laid_out:
            return [self.files]
        parts = defaultdict(list)
        for file in self.files:
            parts[file.bucket].append(file)
        return [tuple(part) for part in parts.values()]


def shares(files: Sequence[EventFile], keys: tuple[str, ...], number: int) -> list[Share]:
    """All events of some files in so many shares, so that equal values of `keys` lie in one.

    Where a table is laid out by some of these keys, each has whole buckets, and there are no more
    shares than buckets; otherwise each has all files. Without keys there is one.
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
    """The events of some hours as work for cores: in shares where hours are fewer than these."""
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
    """The events of some types in an interval: `_time`, `_type` and attributes, ascending in time.

    Only those of a bucket, if there is one; its keys are among the attributes, unless the files are
    laid out by it.

    Files are read by row groups, and events let go when no row group that is still to be read can
    hold earlier ones: in memory are those whose times overlap. With `ahead` a thread reads the next
    row group meanwhile: for a process that has a core to spare.

    Raises:
        ConflictError: a file is gone, since another process cleaned the table up meanwhile.
        DataError: a file is damaged.
    """
    of_types = (code if name in types else None for name, code in schema.type_codes.items())
    codes = pa.array(of_types, pa.int32())
    names = pa.array(list(schema.type_codes))
    waiting, left = list[pa.Table](), 0
    groups = _row_groups(files, interval, schema, attributes)
    for file, stored, until in _read_ahead(groups) if ahead else groups:
        table = _events(stored, interval, schema, attributes, names, codes)
        waiting.append(table if bucket is None or bucket.holds(file) else bucket.rows(table))
        # Where row groups overlap, those that are left are not sorted again for each.
        if sum(table.num_rows for table in waiting) >= max(_BATCH, 2 * left):
            merged = _sorted(waiting)
            ready = int(np.searchsorted(np.asarray(merged[TIME_COLUMN]), until))
            yield from merged.slice(0, ready).to_batches(max_chunksize=_BATCH)
            waiting, left = [merged.slice(ready)], merged.num_rows - ready
    if waiting:
        yield from _sorted(waiting).to_batches(max_chunksize=_BATCH)


def _read_ahead(items: Iterator[_Item]) -> Iterator[_Item]:
    """Each, while the next is on its way."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item


#: Stands for all row groups of a file that has not been opened.
_ALL = -1


def _row_groups(
    files: Sequence[EventFile], interval: Interval, schema: StreamSchema, attributes: Sequence[str]
) -> Iterator[tuple[EventFile, pa.Table, int]]:
    """Row groups by their first instants, each with its file, and when what is to come begins.

    Of a file of several row groups only those that can hold events of the interval.
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
    """The row groups of a file, as parts of it; one without statistics may hold all its times."""
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
    """The events of stored rows, in their order."""
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
    """Raises what a file comes to that is gone or damaged; other errors stay as they are."""
    try:
        yield
    except FileNotFoundError as error:
        raise ConflictError(f"an event file was removed during the run: {file.path}") from error
    except (pa.ArrowInvalid, OSError) as error:
        if storage_error(error) or getattr(error, "errno", None):  # of the machine, not of the file
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
    except KeyError:  # of a text that the file is older than
        there = set(pq.read_schema(file.path).names)
        return _opened(file, schema, [name for name in attributes if name in there])


def micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Instants as int64 microseconds since the epoch."""
    return column.cast(_INSTANT).cast(pa.int64())


def _codes(kinds: pa.ChunkedArray, names: pa.Array, codes: pa.Array) -> pa.ChunkedArray:
    """Codes of event types; NULL for those that nobody asks for."""
    chunks = []
    for chunk in kinds.chunks:
        meaning = codes.take(pc.index_in(chunk.dictionary, names))
        chunks.append(meaning.take(chunk.indices))
    return pa.chunked_array(chunks, pa.int32())


def _sorted(tables: Sequence[pa.Table]) -> pa.Table:
    """All their events by time, as they are already as a rule."""
    table = pa.concat_tables(tables, promote_options="permissive")
    times = np.asarray(table[TIME_COLUMN])
    if bool((times[1:] >= times[:-1]).all()):
        return table
    return table.unify_dictionaries().combine_chunks().take(ascending(times))


def types_read(workload: Workload, queries: Iterable[BoundQuery]) -> frozenset[str]:
    """The event types that can affect the trends of some queries."""
    return frozenset().union(
        *(
            workload.schema.by_name
            if query.semantics is Semantics.CONTIGUOUS
            else query.event_types
            for query in queries
        )
    )


def attributes_read(queries: Iterable[BoundQuery]) -> list[str]:
    """The attributes that keys, predicates and aggregates of some queries read, in order."""
    return sorted(frozenset().union(*(query.attributes_read for query in queries)))


def event_table(schema: StreamSchema, table: pa.Table) -> EventTable:
    """Events as read from the lake; a column that was not read is NULL throughout."""
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
    """An interval, and before it what the windows of some queries that end in it can hold."""
    return joint_reach((query.window for query in queries), owned)
