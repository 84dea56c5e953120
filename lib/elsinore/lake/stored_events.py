"""The events of a Delta table at a version, where Arrow can read them without Spark."""

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
from elsinore.lake.delta_log import (
    BUCKET,
    DELETION_VECTORS,
    PLAIN_READER,
    buckets_of,
    open_table,
)
from elsinore.lake.event_files import (
    Bucket,
    EventFile,
    attributes_read,
    event_table,
    events_in_order,
)
from elsinore.lake.regions import day_of
from elsinore.lake.table_features import how_to_remove
from elsinore.query.bound import Workload
from elsinore.sharing.observe import EventCounts, event_types
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import DAY, EPOCH, HOUR, MICROSECOND, MILLISECOND, Interval, instant_of

#: Features under which files have the columns of the table.
_READABLE = frozenset({DELETION_VECTORS, "v2Checkpoint", "vacuumProtocolCheck"})

#: Events that a profile is measured from, at most: some 2 s for the workload of flights. They are
#: the last ones, all of a stretch of time: bursts and pairs need the neighbours of an event, and
#: what is to come is most like what was last.
PROFILED = 100_000

#: Bytes of an event that has many attributes.
_EVENT = 100


class NotPlainError(DataError):
    """Only Spark can read a table: its files need not contain exactly its rows."""


def files_of(root: Path, version: int | None, interval: Interval | None) -> tuple[EventFile, ...]:
    """The files of a table laid out like `events` that can hold events of an interval, or all.

    They are in the order of their first events. Without a version it is the latest.

    Raises:
        NotPlainError: its log asks more of readers than to read Parquet files.
        SetupError: delta-rs cannot open it; the field `features` names the features.
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
    if interval is not None:  # files are few of those of years
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
    """A file's times are those of its statistics, which are optional, or of its day."""
    day = DAY * (action["partition.event_day"] - EPOCH.date()).days
    first, last = action.get("min.event_time"), action.get("max.event_time")
    return EventFile(
        str(root / unquote(action["path"])),
        action["size_bytes"],
        day if first is None else instant_of(first),
        # Statistics are cut to milliseconds (Delta's protocol, per-file statistics).
        day + DAY - MICROSECOND if last is None else instant_of(last) + MILLISECOND,
        bucket,
    )


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """The events of an interval that the queries of a workload name, in a table at a version."""

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
        """The events of an interval, or all, of a table laid out like `events`, at a version.

        Raises:
            DataError: its files cannot be read without Spark, or it holds no events at all.
        """
        files = files_of(table, version, interval)
        if interval is None:
            if not files:
                raise DataError(f"{table} has no events", hint="ingest events: `elsinore ingest`")
            interval = Interval(files[0].first, max(file.last for file in files) + 1)
        return cls(workload, interval, files)

    def bytes_in(self, interval: Interval) -> float:
        """The bytes of an interval, as if files were even inside."""
        return sum(file.bytes_in(interval) for file in self.files)

    def statistics(self) -> Statistics:
        """Counts of all events; in memory are the files whose times overlap."""
        counts = EventCounts(self.workload)
        self.count(self.interval, counts)
        return counts.statistics(self.interval)

    def count(self, interval: Interval, counts: EventCounts) -> None:
        """Count the events of a part of the interval."""
        for batch in self._batches(interval, counts.attributes):
            counts.add(batch)

    def last(self, number: int = PROFILED) -> tuple[EventTable, Interval]:
        """All events of the last stretch of the interval that holds at most so many."""
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
