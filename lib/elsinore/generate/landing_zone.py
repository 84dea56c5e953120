"""Raw event files as a landing zone receives them: one gzip JSON-lines file per hour."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from elsinore.timeline import hour_label

#: A middling level: level 9 takes three times as long for one per cent.
_COMPRESSION = 6

#: Called for each file with its path and its number of events.
OnFile = Callable[[Path, int], None]


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
