"""Engines that are wrong on purpose, each in one way that engines go wrong in.

A mutant answers one of the queries below: by other text than was asked (`asked`), over other events
than there are (`read`), or with its results spoilt (`spoil`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.events import TIME_COLUMN, EventTable
from elsinore.results.row import ResultRow, Value
from elsinore.timeline import HOUR, MINUTE, SECOND, Instant

#: Edge predicates, SEQ over two keys, NOT, counts of hundreds of bits, both stricter semantics.
QUERIES = {
    "chains": """RETURN carrier, COUNT(*), COUNT(D), SUM(D.dep_delay), AVG(D.dep_delay),
                        MIN(D.dep_delay), MAX(D.dep_delay)
PATTERN Departure D+ WHERE [tailnum] AND D.dep_delay < NEXT(D).dep_delay
GROUP-BY carrier WITHIN 6 hours SLIDE 1 hour""",
    "chances": """RETURN origin, carrier, COUNT(*), SUM(D.dep_delay)
PATTERN SEQ(Weather W, Cancellation C, Departure D) WHERE [origin]
GROUP-BY origin, C.carrier WITHIN 1 hour SLIDE 30 minutes""",
    "late_twice": """RETURN origin, COUNT(*), MIN(D2.dep_delay)
PATTERN SEQ(Departure D1, NOT Weather W, Departure D2)
WHERE [origin] AND D1.dep_delay > 30 AND D2.dep_delay > 30
GROUP-BY origin WITHIN 12 hours SLIDE 1 hour""",
    "runs": """RETURN origin, COUNT(*), COUNT(D), AVG(D.dep_delay), MAX(D.dep_delay)
PATTERN Departure D+ GROUP-BY origin WITHIN 18 hours SLIDE 1 hour""",
    "rising": """RETURN origin, COUNT(*), COUNT(D)
PATTERN Departure D+ WHERE [origin] AND D.dep_delay < NEXT(D).dep_delay AND D.dep_delay >= 60
GROUP-BY origin WITHIN 2 hours SLIDE 30 minutes""",
    "first_chance": """RETURN carrier, COUNT(*), MIN(D.dep_delay)
PATTERN SEQ(Cancellation C, Departure D) WHERE [carrier, origin]
GROUP-BY carrier WITHIN 6 hours SLIDE 1 hour SEMANTICS skip-till-next-match""",
    "unbroken": """RETURN origin, COUNT(*), COUNT(D), SUM(D.dep_delay)
PATTERN Departure D+ WHERE [origin] AND D.dep_delay > 0
GROUP-BY origin WITHIN 2 hours SLIDE 30 minutes SEMANTICS contiguous""",
}

Rows = list[ResultRow]


@dataclass(frozen=True)
class Mutant:
    """One wrong engine.

    Attributes:
        name: what is wrong; also the name of its query.
        query: which of `QUERIES` it answers.
        asked: a part of the query's text, and what it takes it for.
        read: the events that it sees of those that there are.
        spoil: what it makes of the right results.
    """

    name: str
    query: str
    asked: tuple[str, str] = ("", "")
    read: Callable[[EventTable], EventTable] = lambda events: events
    spoil: Callable[[Rows], Rows] = lambda rows: rows

    @property
    def right_text(self) -> str:
        return f"QUERY {self.name} {QUERIES[self.query]};"

    @property
    def wrong_text(self) -> str:
        assert self.asked[0] in self.right_text, self.name
        return self.right_text.replace(*self.asked) if self.asked[0] else self.right_text


def _values(change: Callable[[str, Value], Value]) -> Callable[[Rows], Rows]:
    """Results with each value changed that `change` changes, given its label."""
    return lambda rows: [
        replace(row, values=tuple((label, change(label, value)) for label, value in row.values))
        for row in rows
    ]


def _counts(change: Callable[[int], int]) -> Callable[[Rows], Rows]:
    return _values(
        lambda label, value: (
            change(value) if label.startswith("COUNT") and isinstance(value, int) else value
        )
    )


def _only(number: int, spoil: Callable[[Rows], Rows]) -> Callable[[Rows], Rows]:
    """A spoiler at work on one result alone."""
    return lambda rows: [*rows[:number], *spoil(rows[number : number + 1]), *rows[number + 1 :]]


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _rows_changed(change: Callable[[dict[str, Any]], None]) -> Callable[[Rows], Rows]:
    """Results with the values of each, by label, changed."""

    def spoil(rows: Rows) -> Rows:
        spoilt = []
        for row in rows:
            values = dict(row.values)
            change(values)
            spoilt.append(replace(row, values=tuple(values.items())))
        return spoilt

    return spoil


def _by_trends(values: dict[str, Any]) -> None:
    """AVG divided by the number of trends instead of the number of events in them."""
    values["AVG(D.dep_delay)"] *= values["COUNT(D)"] / values["COUNT(*)"]


def _sums_of_largest(values: dict[str, Any]) -> None:
    """SUM as if each event counted once and there were one alone."""
    values["SUM(D.dep_delay)"] = values["MAX(D.dep_delay)"]


def _extremes_exchanged(values: dict[str, Any]) -> None:
    low, high = "MIN(D.dep_delay)", "MAX(D.dep_delay)"
    values[low], values[high] = values[high], values[low]


def _groups_exchanged(rows: Rows) -> Rows:
    """Each result under the group of the one before in the same window."""
    windows: dict[int, Rows] = {}
    for row in rows:
        windows.setdefault(row.window_start, []).append(row)
    return [
        replace(row, group=other.group)
        for members in windows.values()
        for row, other in zip(members, [*members[-1:], *members[:-1]], strict=True)
    ]


def _later(rows: Rows) -> Rows:
    """Each result in the window after its own, an hour on, as far as the run owns that."""
    slide, last = HOUR, max(row.window_end for row in rows)
    return [
        replace(
            row,
            window_start=Instant(row.window_start + slide),
            window_end=Instant(row.window_end + slide),
        )
        for row in rows
        if row.window_end + slide <= last
    ]


def _invented(rows: Rows) -> Rows:
    """A result of a carrier that does not exist."""
    return [*rows, replace(rows[0], group=(("carrier", "ZZ"),))]


def _shifted(by: int) -> Callable[[EventTable], EventTable]:
    return lambda events: _timed(events, pc.add(events.table[TIME_COLUMN], by))


def _ties_broken(events: EventTable) -> EventTable:
    """Events of one instant one after another, as in a stream without ties."""
    return _timed(events, pc.add(events.table[TIME_COLUMN], pa.array(range(len(events)))))


def _rounded_times(events: EventTable) -> EventTable:
    """Times to five minutes."""
    time = np.asarray(events.table[TIME_COLUMN])
    return _timed(events, pa.array(time // (5 * MINUTE) * (5 * MINUTE)))


def _timed(events: EventTable, times: pa.Array) -> EventTable:
    at = events.table.column_names.index(TIME_COLUMN)
    return EventTable(events.schema, events.table.set_column(at, TIME_COLUMN, times))


def _without_every_tenth(events: EventTable) -> EventTable:
    return EventTable(events.schema, events.table.filter(pa.array(np.arange(len(events)) % 10 > 0)))


def _with_every_tenth_twice(events: EventTable) -> EventTable:
    """As if removing duplicates had not worked, one second later to be no tie."""
    again = EventTable(events.schema, events.table.take(pa.array(range(0, len(events), 10))))
    later = _shifted(SECOND)(again).table.cast(events.table.schema)
    return EventTable(events.schema, pa.concat_tables([events.table, later]))


def _without_the_past(events: EventTable) -> EventTable:
    """As if a slice had not read back as far as its windows reach."""
    last = pc.max(events.table[TIME_COLUMN]).as_py()
    recent = pc.greater_equal(events.table[TIME_COLUMN], last - 8 * HOUR)
    return EventTable(events.schema, events.table.filter(recent))


_EDGE = " AND D.dep_delay < NEXT(D).dep_delay"

MUTANTS = (
    # What a query asks, misunderstood.
    Mutant("not_ignored", "late_twice", ("NOT Weather W, ", "")),
    Mutant("edge_predicate_ignored", "chains", (_EDGE, "")),
    Mutant("edge_predicate_not_strict", "rising", ("< NEXT", "<= NEXT")),
    Mutant("edge_predicate_backwards", "chains", ("< NEXT", "> NEXT")),
    Mutant("equivalence_ignored", "chains", ("[tailnum] AND ", "")),
    Mutant("kleene_once", "runs", ("Departure D+", "Departure D")),
    Mutant("local_predicate_ignored", "unbroken", (" AND D.dep_delay > 0", "")),
    Mutant("local_predicate_not_strict", "unbroken", ("> 0", ">= 0")),
    Mutant("any_match_for_next", "first_chance", ("SEMANTICS skip-till-next-match", "")),
    Mutant("any_match_for_contiguous", "unbroken", ("SEMANTICS contiguous", "")),
    Mutant("first_event_forgotten", "chances", ("SEQ(Weather W, ", "SEQ(")),
    # What there is to read, misread.
    Mutant("equal_times_adjacent", "runs", read=_ties_broken),
    Mutant("times_rounded", "runs", read=_rounded_times),
    Mutant("window_closed_at_its_end", "runs", read=_shifted(-1)),
    Mutant("events_lost", "runs", read=_without_every_tenth),
    Mutant("events_twice", "runs", read=_with_every_tenth_twice),
    Mutant("look_back_too_short", "runs", read=_without_the_past),
    # What was found, miscounted.
    Mutant("counts_off_by_one", "runs", spoil=_counts(lambda n: n + 1)),
    Mutant("counts_saturate_at_64_bits", "runs", spoil=_counts(lambda n: min(n, 2**63 - 1))),
    Mutant("counts_wrap_at_64_bits", "runs", spoil=_counts(_wrapped)),
    Mutant("counts_become_doubles", "runs", spoil=_counts(lambda n: int(float(n)))),
    Mutant("counts_lose_the_last_bit", "chains", spoil=_counts(lambda n: n >> 1 << 1)),
    Mutant("sums_without_multiplicity", "chains", spoil=_rows_changed(_sums_of_largest)),
    Mutant("average_by_trends", "runs", spoil=_rows_changed(_by_trends)),
    Mutant("average_of_single_precision", "runs",
           spoil=_values(lambda _, v: float(np.float32(v)) if isinstance(v, float) else v)),
    Mutant("average_nan", "runs", spoil=_values(lambda _, v: nan if isinstance(v, float) else v)),
    Mutant("average_infinite", "runs",
           spoil=_values(lambda _, v: inf if isinstance(v, float) else v)),
    Mutant("average_missing", "runs",
           spoil=_values(lambda _, v: None if isinstance(v, float) else v)),
    Mutant("extremes_exchanged", "chains", spoil=_rows_changed(_extremes_exchanged)),
    # Where it belongs, misplaced.
    Mutant("windows_a_slide_late", "runs", spoil=_later),
    Mutant("groups_exchanged", "runs", spoil=_groups_exchanged),
    Mutant("no_results", "chains", spoil=lambda _: []),
    # Wrong in one window of one query.
    Mutant("one_count_off_by_one", "chains", spoil=_only(7, _counts(lambda n: n + 1))),
    Mutant("one_huge_count_off_by_one", "runs",
           spoil=_only(3, _counts(lambda n: n - 1))),
    Mutant("one_row_missing", "chains", spoil=_only(11, lambda _: [])),
    Mutant("one_row_too_many", "chains", spoil=_invented),
    Mutant("one_average_nan", "runs",
           spoil=_only(3, _values(lambda _, v: nan if isinstance(v, float) else v))),
)  # fmt: skip
