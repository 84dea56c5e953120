"""Windows of a calendar against windows of a fixed length."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, events_of, medians, stream_of, workload_of
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.library.results import answer
from elsinore.timeline import DAY, TimeUnit, parse_instant
from elsinore.zones import zone_of

EVENTS, ROUNDS = 1_000_000, 5
STREAM = replace(stream_of(["A", "B"], "v"), time_unit=TimeUnit.MICROSECONDS)
ZONE = "America/New_York"
#: Windows of a calendar, and the fixed ones with which they are compared.
CLAUSES = {
    "day": (f"WITHIN 1 day IN '{ZONE}'", "WITHIN 1 day"),
    "week, by days": (f"WITHIN 1 week SLIDE 1 day IN '{ZONE}'", "WITHIN 7 days SLIDE 1 day"),
    "month": (f"WITHIN 1 month IN '{ZONE}'", "WITHIN 30 days"),
    "span per day": (f"SPAN 1 hour PER 1 day IN '{ZONE}'", "SPAN 1 hour PER 1 day"),
}


def _year() -> EventTable:
    """Events of 2024 in the order of time."""
    dice, first = np.random.default_rng(1), parse_instant("2024-01-01")
    times = first + np.sort(dice.integers(0, 366 * DAY, EVENTS))
    kinds, values = dice.integers(0, 2, EVENTS), dice.integers(0, 10**6, EVENTS)
    return events_of(STREAM, kinds, times=times, v=values)


@benchmark(
    "calendar-windows",
    "Windows of a calendar take the time of windows of a fixed length",
    f"SEQ(A, B), COUNT(*) and SUM(A.v), {EVENTS:,} events of 2024, New York, auto",
    "times the time of fixed windows",
    at_most=1.05,
)
def windows() -> Measured:
    """The largest ratio."""
    events = _year()
    _check(events)
    rows: list[dict[str, float | str]] = []
    for name, both in CLAUSES.items():
        texts = [f"RETURN COUNT(*), SUM(A.v) PATTERN SEQ(A, B) {clause}" for clause in both]
        ways = {
            kind: auto(workload_of(STREAM, [text]), events)
            for kind, text in zip(("calendar", "fixed"), texts, strict=True)
        }
        for way in ways.values():
            way()
        seconds = medians(ways, ROUNDS)
        ratio = seconds["calendar"] / seconds["fixed"]
        rows.append({"windows": name, "calendar, ms": seconds["calendar"] * 1_000,
                     "fixed, ms": seconds["fixed"] * 1_000, "ratio": ratio})  # fmt: skip
    return Measured(
        max(float(row["ratio"]) for row in rows),
        "the number of events of each day, by their local times",
        tuple(rows),
    )


def _check(events: EventTable) -> None:
    """Compare the number of events per day with a count of local dates."""
    text = f"RETURN COUNT(*) PATTERN A WITHIN 1 day IN '{ZONE}'"
    found = answer(workload_of(STREAM, [text]), events)
    times = np.asarray(events.table[TIME_COLUMN])[np.asarray(events.table["_type"]) == 0]
    hours, places = np.unique(times // (DAY // 24), return_inverse=True)
    zone = zone_of(ZONE)
    offsets = np.array([zone.offset(hour * (DAY // 24)) for hour in hours.tolist()])
    _, counts = np.unique((times + offsets[places]) // DAY, return_counts=True)
    assert [row.values[0][1] for row in found] == counts.tolist()
