"""The parts of tables that a run may rewrite, as typed values.

Each says its conditions once: any of some conjunctions. Arrow takes them as an expression, Delta as
SQL text, in which a quote can reach beyond its literal: `sql` alone writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import ClassVar, Self

import pyarrow.compute as pc
from pyarrow.parquet import filters_to_expression

from elsinore.errors import EngineError
from elsinore.timeline import (
    DAY,
    EPOCH,
    Interval,
    hour_label,
    hours_of,
    parse_hour,
    require_whole_hours,
    stretches,
)

#: Texts that hours, runs, steps and workloads are named by.
_PLAIN = re.compile(r"[A-Za-z0-9_-]*")

#: A column, an operator, and a value, or several for `in`.
Condition = tuple[str, str, str | date | Sequence[date]]

#: Any of some conjunctions.
Conditions = Sequence[Sequence[Condition]]


@dataclass(frozen=True, slots=True)
class _HourRange:
    """What belongs to some whole hours: an interval's, and others rewritten in the same commit.

    Raises:
        ParameterError: an interval does not begin and end at whole hours.
    """

    interval: Interval
    also: tuple[Interval, ...] = ()
    column: ClassVar[str]
    #: The column of data tables with the hour's day, by which they are partitioned.
    day: ClassVar[str]

    def __post_init__(self) -> None:
        for interval in self.intervals:
            require_whole_hours(interval)

    @classmethod
    def of(cls, hours: Iterable[int]) -> Self:
        """Some hours, at least one."""
        first, *also = stretches(hours)
        return cls(first, tuple(also))

    def joined(self, others: Iterable[Interval]) -> Self:
        """These hours and others."""
        return replace(self, also=(*self.also, *others))

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """All of its hours, those of `interval` first."""
        return (self.interval, *self.also)

    @property
    def labels(self) -> list[str]:
        """The labels of its hours."""
        return [hour_label(hour) for part in self.intervals for hour in hours_of(part)]

    def conditions(self, *, by_day: bool = False) -> Conditions:
        """Any of these conjunctions.

        Of a table by day they name the days as well, as conflict checks need, and nothing else
        where the hours are whole days: other days' files are not opened.
        """
        found = []
        for interval in self.intervals:
            first, last = interval.start, interval.end - 1
            days = _between(self.day, day_of(first), day_of(last)) if by_day else []
            is_whole = interval.start % DAY == 0 and interval.end % DAY == 0
            hours = _between(self.column, hour_label(first), hour_label(last))
            found.append(days if days and is_whole else days + hours)
        return found

    def expression(self, *, by_day: bool) -> pc.Expression:
        """The conditions for Arrow."""
        return filters_to_expression(self.conditions(by_day=by_day))


def _between(column: str, first: str | date, last: str | date) -> list[Condition]:
    return [(column, ">=", first), (column, "<=", last)]


class Hours(_HourRange):
    """Results of the windows whose last instant lies in some whole hours."""

    column, day = "window_end_hour", "window_end_day"


class Landings(_HourRange):
    """What the landing-zone files of some whole hours brought."""

    column, day = "file_hour", "file_day"


def of_workload(hours: Hours, workload: str) -> Conditions:
    """What is said of the results of some hours for one workload, by its fingerprint."""
    own: Condition = ("workload_fingerprint", "=", workload)
    return [[*part, own] for part in hours.conditions()]


def of_step(interval: Interval, step: str, workload: str = "") -> Conditions:
    """The figures of one step of a run, for the workload of a fingerprint, or for none if empty.

    Raises:
        ParameterError: the interval does not begin and end at whole hours.
    """
    require_whole_hours(interval)
    named = {"run_key": run_key(interval), "step": step, "workload_fingerprint": workload}
    return [[(column, "=", value) for column, value in named.items()]]


def sql(conditions: Conditions) -> str:
    """Any of some conjunctions as SQL; EngineError: a text could reach beyond its literal."""
    every = [
        " AND ".join(f"{column} {operator} {_literal(value)}" for column, operator, value in part)
        for part in conditions
    ]
    return every[0] if len(every) == 1 else " OR ".join(f"({part})" for part in every)


def _literal(value: str | date | Sequence[date]) -> str:
    if isinstance(value, date):
        return f"DATE'{value}'"
    if not isinstance(value, str):
        return f"({', '.join(map(_literal, value))})"
    if not _PLAIN.fullmatch(value):
        raise EngineError(f"{value!r} cannot be used in a condition")
    return f"'{value}'"


def day_of(instant: int) -> date:
    """The day (UTC) of an instant."""
    return (EPOCH + timedelta(microseconds=instant)).date()


def run_key(interval: Interval) -> str:
    """The name of a run: its first hour and its end hour (exclusive), joined by an underscore.

    >>> run_key(Interval(0, 7_200_000_000))
    '1970-01-01T00_1970-01-01T02'
    """
    return f"{hour_label(interval.start)}_{hour_label(interval.end)}"


def step_command(step: str, interval: Interval) -> str:
    """Return the command that runs a step of the pipeline for an interval, for hints.

    >>> step_command("ingest", Interval(0, 7_200_000_000))
    '`elsinore ingest --start 1970-01-01T00:00 --end 1970-01-01T02:00`'
    """
    start, end = hour_label(interval.start), hour_label(interval.end)
    return f"`elsinore {step} --start {start}:00 --end {end}:00`"


def interval_of(key: str) -> Interval:
    """The interval of a `run_key`."""
    start, end = key.split("_")
    return Interval(parse_hour(start), parse_hour(end))


def parts_of(interval: Interval, ended: Mapping[str, float]) -> list[str]:
    """The run keys that tell of an interval, of some with when each ended: its own, or its slices.

    Slices lie in the interval and do not overlap; of those that begin together it is the longest.
    They stand for a run of the whole where there is none, or where all of them are newer than it
    and leave no hour out.
    """
    own, found = run_key(interval), list[str]()
    start, end = own.split("_")
    starts, ends = [end], [start]
    for key in sorted(sorted(ended.keys() - {own}, reverse=True), key=lambda k: k.split("_")[0]):
        first, last = key.split("_")
        if ends[-1] <= first and last <= end:
            found.append(key)
            starts.insert(-1, first)
            ends.append(last)
    newer = starts == ends and min(ended[key] for key in found) > ended.get(own, -1)
    return found if newer or own not in ended else [own]
