"""A short history of a small stream: real flights, with what producers do wrong."""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path
from random import Random

from elsinore.generate.flights import generate_flights
from elsinore.places import place as in_place
from elsinore.settings import Settings
from elsinore.timeline import Interval

ROOT = Path(__file__).parents[2]

#: Two runs of an hour each; the second one reads back into the first.
FIRST = Interval.parse("2013-02-08T20:00Z", "2013-02-08T21:00Z")
SECOND = Interval.parse("2013-02-08T21:00Z", "2013-02-08T22:00Z")
BOTH = Interval(FIRST.start, SECOND.end)

_NOT_EVENTS = ('{"type": "Departure"', '{"id": "x1", "type": "Teleport", "time": "2013-02-08"}')
#: Of each hour's lines: how many also come with the other hour, and how many come with it alone.
_TWICE, _MOVED = 5, 4


class Place(Settings):
    """Settings of a small pipeline whose files lie apart from the server that many share.

    Attributes:
        place: the folder of what its jobs write; `home` is the server's.
        run: the run that they belong to.
        zone: of the machine's clock.
        address: in an object store, where raw files and tables lie; empty if below `place`.
    """

    place: Path
    run: str = "faults"
    zone: str = "UTC"
    address: str = ""
    workload_file: Path = Path(__file__).with_name("workload.sase")
    spark_master: str = "local[2,4]"
    shuffle_partitions: int = 2
    sample_windows: int = 12
    max_error_rate: float = 0.5

    @property
    def landing(self) -> Path:
        return in_place(self.address or self.place) / "landing"

    @property
    def stream_lake(self) -> Path:
        return in_place(self.address or self.place) / "lake"

    @property
    def reports(self) -> Path:
        return self.place / "reports"

    @property
    def quality(self) -> Path:
        return self.place / "quality"


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
