"""A short history of a small stream: real flights, with what producers do wrong."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random

from elsinore.generate.flights import generate_flights
from elsinore.timeline import Interval

ROOT = Path(__file__).parents[2]

#: Two runs of an hour each; the second one reads back into the first.
FIRST = Interval.parse("2013-02-08T20:00Z", "2013-02-08T21:00Z")
SECOND = Interval.parse("2013-02-08T21:00Z", "2013-02-08T22:00Z")
BOTH = Interval(FIRST.start, SECOND.end)

_NOT_EVENTS = ('{"type": "Departure"', '{"id": "x1", "type": "Teleport", "time": "2013-02-08"}')
#: Of each hour's lines: how many also come with the other hour, and how many come with it alone.
_TWICE, _MOVED = 5, 4


@dataclass(frozen=True)
class Home:
    """Everything that the jobs of one pipeline write, and what they are told."""

    path: Path

    @property
    def lake(self) -> Path:
        return self.path / "lake"

    @property
    def environment(self) -> dict[str, str]:
        """As the operator's task passes it on, with a workload that is quick to run."""
        return {
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "ELSINORE_HOME": str(self.path),
            "ELSINORE_WORKLOAD_FILE": str(Path(__file__).with_name("workload.sase")),
            "ELSINORE_SHUFFLE_PARTITIONS": "2",
            "ELSINORE_SAMPLE_WINDOWS": "12",
            "ELSINORE_MAX_BAD_SHARE": "0.5",
        }


def write_landing_zone(zone: Path) -> None:
    """The raw files of both hours: duplicates, lines that are none, and events out of their hour.

    The same bytes every time.
    """
    start, end = (datetime.fromisoformat(text) for text in str(BOTH)[1:-1].split(", "))
    generate_flights(zone, start=start, end=end)
    files = sorted(zone.rglob("*.jsonl.gz"))
    hours = [gzip.decompress(file.read_bytes()).decode().splitlines() for file in files]
    draw = Random(2013)
    mixed = [list(lines) for lines in hours]
    for number, lines in enumerate(hours):
        chosen = draw.sample(lines, _TWICE + _MOVED)
        mixed[1 - number] += chosen
        for line in chosen[_TWICE:]:
            mixed[number].remove(line)
    for file, lines in zip(files, mixed, strict=True):
        lines += _NOT_EVENTS
        draw.shuffle(lines)
        file.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
