"""Small histories with late, corrected, duplicated and withdrawn events, many of them in one lake.

A history is of four hours, here 10 to 13. `FINAL` is what their files contain in the end, `EARLIER`
what some of them contained before. Each history has its own ids and begins a number of hours later,
so one ingest makes a step of all histories.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elsinore.ingest.tables import IngestTables
from elsinore.timeline import HOUR, format_instant, hour_label, parse_instant
from tests.ingest.landing_zone import departure, fates, hour, put, rows

FIRST, END = 10, 14

#: Records of a file by hour.
Files = Mapping[int, Sequence[Any]]

FINAL: Files = {
    10: (departure(1, 5), departure(2, 20), departure(3, 40), "broken"),
    # d1 is corrected; d5 comes an hour late.
    11: (departure(4, 5, 11), departure(1, 6, dep_delay=9), departure(5, 50)),
    # d2 and d4 come again, d5 is corrected.
    12: (departure(6, 1, 12), departure(2, 20), departure(4, 5, 11), departure(5, 50, dep_delay=7)),
    # The corrected d1 comes again, d3 is moved by hours.
    13: (departure(1, 6, dep_delay=9), departure(7, 30, 13), departure(3, 10, 12)),
}

EARLIER: Files = {
    10: (departure(1, 5), departure(9, 15)),
    12: (departure(6, 1, 12, dep_delay=1), departure(8, 30, 12), departure(7, 31, 12)),
    13: (departure(2, 21), departure(5, 50, dep_delay=8), "worse", "worst"),
}

#: What remains, worked out by hand: of each event id the last record by hour and record number.
EVENTS = [
    ("d1", "13", 1, 9),
    ("d2", "12", 2, 5),
    ("d3", "13", 3, 5),
    ("d4", "12", 3, 5),
    ("d5", "12", 4, 7),
    ("d6", "12", 1, 5),
    ("d7", "13", 2, 5),
]
#: Hour, records, accepted, duplicates, superseded, quarantined.
FATES = [("10", 4, 0, 1, 2, 1), ("11", 3, 0, 2, 1, 0), ("12", 4, 4, 0, 0, 0), ("13", 3, 3, 0, 0, 0)]


@dataclass(frozen=True)
class Step:
    """Some hours are ingested; `earlier` are those of them whose files have other records yet."""

    hours: range
    earlier: frozenset[int] = frozenset()


def order(seed: int) -> list[Step]:
    """A random order: hours run early, again, and overlapping; each at last with its final file."""
    dice = random.Random(seed)
    steps = []
    for _ in range(dice.randint(0, 1)):
        first = dice.randrange(FIRST, END)
        own = range(first, dice.randint(first + 1, END))
        steps.append(Step(own, frozenset(at for at in own if dice.random() < 0.7)))
    cuts = sorted({FIRST, END, *dice.sample(range(FIRST + 1, END), dice.choice((1, 1, 2, 3)))})
    # Pieces may overlap their neighbors.
    last = [
        Step(range(first, min(end + dice.randint(0, 1), END)))
        for first, end in itertools.pairwise(cuts)
    ]
    dice.shuffle(last)
    return steps + last


def later(records: Iterable[Any], hours: int) -> list[Any]:
    """The records of a history that begins some hours later, with its ids."""
    return [
        record if isinstance(record, str)
        else record | {"id": f"{hours}-{record['id']}", "time": time_later(record["time"], hours)}
        for record in records
    ]  # fmt: skip


def time_later(time: str, hours: int) -> str:
    """A timestamp some hours later."""
    return format_instant(parse_instant(time) + hours * HOUR)


def play(
    zone: Path, histories: Mapping[int, Sequence[Step]],
    ingest: Callable[[list[int]], object], *, earlier: Files = EARLIER, final: Files = FINAL,
) -> None:  # fmt: skip
    """Make a step of each history with one ingest, until all have ended.

    `histories` are by the number of hours that they begin later.
    """
    for number in range(max(map(len, histories.values()))):
        starts: list[int] = []
        for hours, steps in histories.items():
            for at in steps[number].hours if number < len(steps) else ():
                records = earlier.get(at, ()) if at in steps[number].earlier else final[at]
                put(zone, hour(at + hours), *later(records, hours))
                starts.append(hour(at + hours))
        ingest(starts)


def assert_final(tables: IngestTables, histories: Iterable[int]) -> None:
    """The tables contain what was worked out by hand, of each history."""
    expected = [
        (f"{hours}-{own}", hour_label(hour(int(at) + hours)), *others)
        for hours in histories for own, at, *others in EVENTS
    ]  # fmt: skip
    found = rows(tables, "events", "event_id", "file_hour", "record_number", "dep_delay")
    assert found == sorted(expected)
    counts = [
        (hour_label(hour(int(at) + hours)), *others) for hours in histories for at, *others in FATES
    ]
    assert fates(tables) == sorted(counts)
    bad = [(hour_label(hour(10 + hours)), 4, "bad_json") for hours in histories]
    assert rows(tables, "quarantine", "file_hour", "record_number", "reason_code") == sorted(bad)
