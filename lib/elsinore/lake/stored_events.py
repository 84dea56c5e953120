"""Read the events of a Delta table at a version with Arrow, without Spark, if possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.lake.event_files import (
    Bucket,
    EventFile,
    attributes_read,
    event_table,
    events_in_order,
)
from elsinore.query.bound import Workload
from elsinore.sharing.observe import EventCounts, event_types
from elsinore.sharing.statistics import Statistics
from elsinore.store.delta_log import (
    BUCKET,
    DELETION_VECTORS,
    PLAIN_READER,
    buckets_of,
    open_table,
)
from elsinore.store.regions import day_of
from elsinore.store.table_features import how_to_remove
from elsinore.timeline import DAY, EPOCH, HOUR, MICROSECOND, MILLISECOND, Interval, instant_of

#: Features of tables whose files Arrow can read: the files have the columns of the table.
_READABLE = frozenset({DELETION_VECTORS, "v2Checkpoint", "vacuumProtocolCheck"})

#: Maximum number of events of a profile: about 2 s for the workload of flights. These are all
#: events of a time range, because bursts and pairs need the neighbors of an event. The time range
#: is the latest, because future events are most similar to it.
PROFILED = 100_000

#: Estimated bytes of an event with many attributes.
_EVENT = 100


class NotPlainError(DataError):
    """Only Spark can read a table, because its files may not contain exactly its rows."""


def files_of(root: Path, version: int | None, interval: Interval | None) -> tuple[EventFile, ...]:
    """Return the files of a table with the layout of `events`, by their first timestamps.

    Args:
        root: The directory of the table.
        version: The version; None: the latest one.
        interval: Only files that can have events of this interval; None: all.

    Raises:
        NotPlainError: The files cannot be read as plain Parquet files.
        SetupError: delta-rs cannot open the table; the field `features` lists the features.
    """
    table = open_table(root, version)
    protocol = table.protocol()
    features_used = frozenset(protocol.reader_features or ())
    is_readable = features_used and features_used <= _READABLE
    if protocol.min_reader_version != PLAIN_READER and not is_readable:
        features = ", ".join(sorted(features_used)) or "none named"
        refusal = f"its reader version is {protocol.min_reader_version} ({features})"
        fix = how_to_remove(root, sorted((features_used - _READABLE) or ["columnMapping"]))
        raise _not_plain(root, refusal, fix)
    actions = table.files()
    if interval is not None:  # a table of years has many files
        days = pc.field("partition.event_day")
        first, last = day_of(interval.start), day_of(interval.end - 1)
        actions = actions.filter((days >= pa.scalar(first)) & (days <= pa.scalar(last)))
    layout = buckets_of(table)
    names = ["path", "size_bytes", "min.event_time", "max.event_time"]
    names += ["partition.event_day", f"partition.{BUCKET}"]
    known = [name for name in names if name in actions.column_names]
    found, kept = [], table.kept_rows()
    for action in actions.select(known).to_pylist():
        if "://" in action["path"] or action["path"].startswith("/"):
            raise _not_plain(root, "some of its files are outside of its directory")
        bucket = layout and Bucket(layout.by, action[f"partition.{BUCKET}"], layout.number)
        file = _file(root, action, bucket)
        file = replace(file, kept=kept.get(file.path))
        if interval is None or file.overlaps(interval):
            found.append(file)
    return tuple(sorted(found, key=lambda file: (file.first, file.path)))


def _not_plain(
    root: Path, refusal: str, hint: str = "copy the table, and pass the copy to the command"
) -> NotPlainError:
    return NotPlainError(f"the files of {root} cannot be read without Spark: {refusal}", hint=hint)


def _file(root: Path, action: dict[str, Any], bucket: Bucket | None) -> EventFile:
    """Return a file with the time range of its statistics, or of its day if it has none."""
    day = DAY * (action["partition.event_day"] - EPOCH.date()).days
    first, last = action.get("min.event_time"), action.get("max.event_time")
    return EventFile(
        str(root / unquote(action["path"])),
        action["size_bytes"],
        day if first is None else instant_of(first),
        # Statistics are truncated to milliseconds (Delta's protocol, per-file statistics).
        day + DAY - MICROSECOND if last is None else instant_of(last) + MILLISECOND,
        bucket,
    )


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """The events of an interval that the queries of a workload read, in a table at a version."""

    workload: Workload
    interval: Interval
    files: tuple[EventFile, ...]

    @classmethod
    def of(
        cls,
        table: Path,
        workload: Workload,
        interval: Interval | None = None,
        *,
        version: int | None = None,
    ) -> Self:
        """Return the events of a table with the layout of `events`.

        Args:
            table: The directory of the table.
            workload: The queries.
            interval: The interval; None: all events.
            version: The version; None: the latest one.

        Raises:
            DataError: The files cannot be read without Spark, or `interval` is None and the table
                is empty.
        """
        files = files_of(table, version, interval)
        if interval is None:
            if not files:
                raise DataError(f"{table} has no events", hint="ingest events: `elsinore ingest`")
            interval = Interval(files[0].first, max(file.last for file in files) + 1)
        return cls(workload, interval, files)

    def bytes_in(self, interval: Interval) -> float:
        """Estimate the bytes of an interval, as if events were evenly distributed in files."""
        return sum(file.bytes_in(interval) for file in self.files)

    def statistics(self) -> Statistics:
        """Count all events and return the statistics.

        Memory holds only row groups whose times overlap.
        """
        counts = EventCounts(self.workload)
        self.count(self.interval, counts)
        return counts.statistics(self.interval)

    def count(self, interval: Interval, counts: EventCounts) -> None:
        """Add the events of a part of the interval to `counts`."""
        for batch in self._batches(interval, counts.attributes):
            counts.add(batch)

    def last(self, number: int = PROFILED) -> tuple[EventTable, Interval]:
        """Return the latest events and their time range, at most `number` events."""
        stretch = Interval(self._start_of_last(number), self.interval.end)
        batches = [*self._batches(stretch, attributes_read(self.workload.queries))] or [
            pa.table({})
        ]
        events = pa.concat_tables(batches, promote_options="permissive")
        return event_table(self.workload.schema, events), stretch

    def _start_of_last(self, number: int) -> int:
        start, end = self.interval.start, self.interval.end
        length = HOUR
        while length > MILLISECOND and self.bytes_in(Interval(end - length, end)) > _EVENT * number:
            length //= 4
        while True:
            stretch = Interval(max(start, end - length), end)
            times = [np.asarray(batch[TIME_COLUMN]) for batch in self._batches(stretch, ())]
            if (size := sum(map(len, times))) > number:
                return int(np.concatenate(times)[size - number - 1]) + 1
            if stretch.start == start:
                return start
            length *= 4

    def _batches(self, interval: Interval, attributes: Sequence[str]) -> Iterator[pa.Table]:
        files = [file for file in self.files if file.overlaps(interval)]
        schema, types = self.workload.schema, event_types(self.workload)
        for batch in events_in_order(files, interval, schema, types, attributes, ahead=True):
            yield pa.Table.from_batches([batch])
