"""A small history with late, corrected, duplicated and withdrawn events, and orders to land it in.

Hours 10 to 13 of a day. `FINAL` is what their files hold in the end, `EARLIER` what some of them
held before.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from elsinore.timeline import Interval
from tests.spark.landing_zone import departure, hours, land, put, rows

FIRST, END = 10, 14

FINAL: Mapping[int, tuple[Any, ...]] = {
    10: (departure(1, 5), departure(2, 20), departure(3, 40), "broken"),
    # d1 is corrected; d5 comes an hour late.
    11: (departure(4, 5, 11), departure(1, 6, dep_delay=9), departure(5, 50)),
    # d2 and d4 come again, d5 is corrected.
    12: (departure(6, 1, 12), departure(2, 20), departure(4, 5, 11), departure(5, 50, dep_delay=7)),
    # The corrected d1 comes again, d3 is moved by hours.
    13: (departure(1, 6, dep_delay=9), departure(7, 30, 13), departure(3, 10, 12)),
}

EARLIER: Mapping[int, tuple[Any, ...]] = {
    10: (departure(1, 5), departure(9, 15)),
    12: (departure(6, 1, 12, dep_delay=1), departure(8, 30, 12), departure(7, 31, 12)),
    13: (departure(2, 21), departure(5, 50, dep_delay=8), "worse", "worst"),
}

#: What is left, worked out by hand: of each event id the last line by (hour, position).
EVENTS = [
    ("d1", "2013-01-01T13", 1, 9),
    ("d2", "2013-01-01T12", 2, 5),
    ("d3", "2013-01-01T13", 3, 5),
    ("d4", "2013-01-01T12", 3, 5),
    ("d5", "2013-01-01T12", 4, 7),
    ("d6", "2013-01-01T12", 1, 5),
    ("d7", "2013-01-01T13", 2, 5),
]
#: Hour, lines, accepted, duplicates, quarantined.
LANDINGS = [
    ("2013-01-01T10", 4, 0, 1, 3),
    ("2013-01-01T11", 3, 0, 2, 1),
    ("2013-01-01T12", 4, 4, 0, 0),
    ("2013-01-01T13", 3, 3, 0, 0),
]
#: Hour, position, reason.
QUARANTINE = [
    ("2013-01-01T10", 1, "superseded"),
    ("2013-01-01T10", 3, "superseded"),
    ("2013-01-01T10", 4, "bad_json"),
    ("2013-01-01T11", 3, "superseded"),
]


@dataclass(frozen=True)
class Step:
    """Some hours are run; `earlier` are those of them whose files hold what they held before."""

    interval: Interval
    earlier: frozenset[int]


def order(seed: int) -> list[Step]:
    """A random order: hours run early, again, and overlapping; each at last with its final file."""
    dice = random.Random(seed)
    steps = []
    for _ in range(dice.randint(0, 1)):
        first = dice.randrange(FIRST, END)
        end = dice.randint(first + 1, END)
        earlier = frozenset(hour for hour in range(first, end) if dice.random() < 0.7)
        steps.append(Step(hours(first, end), earlier))
    cuts = sorted({FIRST, END, *dice.sample(range(FIRST + 1, END), dice.choice((1, 1, 2, 3)))})
    # Pieces may overlap their neighbours.
    last = [
        Step(hours(first, min(end + dice.randint(0, 1), END)), frozenset())
        for first, end in itertools.pairwise(cuts)
    ]
    dice.shuffle(last)
    return steps + last


def write_files(settings: Settings, step: Step) -> None:
    """Put the files of a step's hours into the landing zone."""
    for hour in range(FIRST, END):
        if step.interval.contains(hours(hour, hour + 1).start):
            lines = EARLIER.get(hour, ()) if hour in step.earlier else FINAL[hour]
            put(settings, hour, *lines)


def land_step(lake: Lake, settings: Settings, step: Step) -> None:
    """Land a step's hours, whatever share of their lines is bad."""
    write_files(settings, step)
    land(lake, settings, step.interval)


def assert_final(lake: Lake) -> None:
    """What the tables hold is what was worked out by hand."""
    assert rows(lake, "events", "event_id", "file_hour", "record_number", "dep_delay") == EVENTS
    names = ("file_hour", "lines", "accepted", "duplicates", "quarantined")
    assert rows(lake, "landings", *names) == LANDINGS
    assert rows(lake, "quarantine", "file_hour", "record_number", "reason_code") == QUARANTINE
    stored = [(label, at) for label, lines, *_ in LANDINGS for at in range(1, lines + 1)]
    assert rows(lake, "raw_events", "file_hour", "record_number") == stored
