"""The files of which nothing landed, since they were damaged, empty or no text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from elsinore.files.rejection import OF_FILES
from elsinore.lake.regions import Landings
from elsinore.quality.lake import read_rows
from elsinore.timeline import Interval


@dataclass(frozen=True, slots=True)
class UnusableFile:
    """A file that went to quarantine whole: its path below the landing zone, and what it is."""

    file: str
    reason: str


def read_unusable_files(lake: Path, interval: Interval) -> tuple[UnusableFile, ...]:
    """Those of the landings of an interval, by path.

    Raises:
        DataError: the table cannot be read.
    """
    columns = ["file", "position", "reason"]
    landed = Landings(interval).expression(by_day=True)
    found = read_rows(lake, "quarantine", columns=columns, where=landed, reason_code=OF_FILES)
    whole = found.filter(pc.field("position") == 0).sort_by("file")
    return tuple(
        UnusableFile(row["file"], row["reason"].removeprefix(f"{row['file']} "))
        for row in whole.to_pylist()
    )
