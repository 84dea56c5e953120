"""The files of which nothing landed, since they were damaged, empty or no text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from elsinore.files.rejection import OF_FILES
from elsinore.quality.lake import read_rows


@dataclass(frozen=True, slots=True)
class UnusableFile:
    """A file that went to quarantine whole: its path below the landing zone, and what it is."""

    file: str
    reason: str


def read_unusable_files(lake: Path, hours: Sequence[str]) -> tuple[UnusableFile, ...]:
    """Those of some hours of landing, by path.

    Raises:
        DataError: the table cannot be read.
    """
    columns = ["file", "position", "reason"]
    found = read_rows(lake, "quarantine", columns=columns, landing=hours, reason_code=OF_FILES)
    whole = found.filter(pc.field("position") == 0).sort_by("file")
    return tuple(
        UnusableFile(row["file"], row["reason"].removeprefix(f"{row['file']} "))
        for row in whole.to_pylist()
    )
