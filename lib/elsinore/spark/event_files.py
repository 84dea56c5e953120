"""The files of a table of events at one version, where Arrow can read them without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import pyarrow as pa

from elsinore.errors import DataError
from elsinore.spark.tables import Lake
from elsinore.timeline import DAY, EPOCH, MICROSECOND, MILLISECOND, Interval

#: Delta's first reader version: plain Parquet files and the log. Later ones are column mapping (2)
#: and named features (3), deletion vectors among them, under which a file is not what it seems.
_PLAIN_READER = 1


@dataclass(frozen=True, slots=True)
class EventFile:
    """One file of events.

    Attributes:
        path: where it is.
        size: bytes.
        first, last: no event is earlier, none is later; microseconds.
    """

    path: str
    size: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class EventFiles:
    """The files that hold the events of an interval, at a version.

    Attributes:
        files: which; empty where the table cannot be read directly.
        refusal: why it cannot; None where it can.
    """

    files: tuple[EventFile, ...]
    refusal: str | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def readable(self) -> tuple[EventFile, ...]:
        """The files.

        Raises:
            DataError: they are not to be read directly.
        """
        if self.refusal is not None:
            raise DataError(
                f"the files of events cannot be read: {self.refusal}",
                hint="validation reads plain Parquet files; rewrite the table without the feature",
            )
        return self.files


def event_files(lake: Lake, version: int, interval: Interval) -> EventFiles:
    """The files of `events` at a version that can hold events of an interval.

    What the table's log asks of readers beyond plain Parquet files makes a refusal.
    """
    return files_of(lake.path("events"), version, interval)


def files_of(root: Path, version: int | None, interval: Interval | None) -> EventFiles:
    """The same of any table that is laid out like `events`; None: the latest, and all files."""
    table = deltalake.DeltaTable(str(root), version=version)
    protocol = table.protocol()
    if protocol.min_reader_version != _PLAIN_READER:
        features = ", ".join(protocol.reader_features or ()) or "none named"
        return EventFiles((), f"its reader version is {protocol.min_reader_version} ({features})")
    actions = pa.table(table.get_add_actions(flatten=True))
    names = ["path", "size_bytes", "partition.event_day", "min.event_time", "max.event_time"]
    known = [name for name in names if name in actions.column_names]
    found = []
    for action in actions.select(known).to_pylist():
        if "://" in action["path"] or action["path"].startswith("/"):
            return EventFiles((), "some of its files lie elsewhere")
        file = _file(root, action)
        if interval is None or (file.first < interval.end and file.last >= interval.start):
            found.append(file)
    return EventFiles(tuple(sorted(found, key=lambda file: (file.first, file.path))))


def _file(root: Path, action: dict[str, Any]) -> EventFile:
    """A file's times are those of its statistics, which are optional, or of its day."""
    day = _day(action["partition.event_day"])
    first, last = action.get("min.event_time"), action.get("max.event_time")
    return EventFile(
        str(root / unquote(action["path"])),
        action["size_bytes"],
        day if first is None else _micros(first),
        # Statistics are cut to milliseconds (Delta's protocol, per-file statistics).
        day + DAY - MICROSECOND if last is None else _micros(last) + MILLISECOND,
    )


def _day(day: date) -> int:
    return _micros(datetime(day.year, day.month, day.day, tzinfo=UTC))


def _micros(moment: datetime) -> int:
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
