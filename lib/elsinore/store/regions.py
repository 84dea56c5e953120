"""Typed regions of tables that a run may replace.

A region defines its conditions once, as a disjunction of conjunctions. Arrow needs them as an
expression, and Delta as SQL. Only the function `sql` writes SQL, because it rejects values that
could end their literal.
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

#: Valid names of hours, runs, steps and workloads.
_PLAIN = re.compile(r"[A-Za-z0-9_-]*")

#: A column, an operator, and a value, or several for `in`.
Condition = tuple[str, str, str | date | Sequence[date]]

#: A disjunction of conjunctions: rows must meet all conditions of at least one of them.
Conditions = Sequence[Sequence[Condition]]


@dataclass(frozen=True, slots=True)
class _HourRange:
    """The rows of whole hours: of an interval, and of others that the same commit replaces.

    Raises:
        ParameterError: An interval does not begin and end at whole hours.
    """

    interval: Interval
    also: tuple[Interval, ...] = ()
    column: ClassVar[str]
    #: The column with the day of the hour, by which data tables are partitioned.
    day: ClassVar[str]

    def __post_init__(self) -> None:
        for interval in self.intervals:
            require_whole_hours(interval)

    @classmethod
    def of(cls, hours: Iterable[int]) -> Self:
        """Return the region of hours, at least one."""
        first, *also = stretches(hours)
        return cls(first, tuple(also))

    def joined(self, others: Iterable[Interval]) -> Self:
        """Return the region of these hours and other intervals."""
        return replace(self, also=(*self.also, *others))

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """All intervals; `interval` is the first."""
        return (self.interval, *self.also)

    @property
    def labels(self) -> list[str]:
        """The labels of all hours."""
        return [hour_label(hour) for part in self.intervals for hour in hours_of(part)]

    def conditions(self, *, by_day: bool = False) -> Conditions:
        """Return the conditions of the region.

        Args:
            by_day: The table is partitioned by day. The conditions then include the days, which
                conflict checks need. For whole days they include nothing else, so that files of
                other days are not opened.
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
        """Return the conditions as an Arrow expression; see `conditions`."""
        return filters_to_expression(self.conditions(by_day=by_day))


def _between(column: str, first: str | date, last: str | date) -> list[Condition]:
    return [(column, ">=", first), (column, "<=", last)]


class Hours(_HourRange):
    """Results of the windows whose last timestamp is in whole hours."""

    column, day = "window_end_hour", "window_end_day"


class Landings(_HourRange):
    """Rows from the landing-zone files of whole hours."""

    column, day = "file_hour", "file_day"


def of_workload(hours: Hours, workload: str) -> Conditions:
    """Return the region of one workload, by its fingerprint, and of hours of its results."""
    own: Condition = ("workload_fingerprint", "=", workload)
    return [[*part, own] for part in hours.conditions()]


def of_step(interval: Interval, step: str, workload: str = "") -> Conditions:
    """Return the region of the metrics of one step of a run.

    Args:
        interval: The hours of the run.
        step: Name of the step.
        workload: Fingerprint of the workload; empty: the step belongs to no workload.

    Raises:
        ParameterError: The interval does not begin and end at whole hours.
    """
    require_whole_hours(interval)
    named = {"run_key": run_key(interval), "step": step, "workload_fingerprint": workload}
    return [[(column, "=", value) for column, value in named.items()]]


def sql(conditions: Conditions) -> str:
    """Return conditions as SQL.

    Raises:
        EngineError: A value has characters that could end its literal.
    """
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
    """Return the day (UTC) of a timestamp."""
    return (EPOCH + timedelta(microseconds=instant)).date()


def run_key(interval: Interval) -> str:
    """Return the key of a run: its first hour and its end hour (exclusive), joined by `_`.

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
    """Return the interval of a `run_key`."""
    start, end = key.split("_")
    return Interval(parse_hour(start), parse_hour(end))


def parts_of(interval: Interval, ended: Mapping[str, float]) -> list[str]:
    """Return the run keys whose records describe an interval: its own key, or its slices.

    Slices are runs inside the interval that do not overlap. If several begin at the same hour, the
    longest is used. The slices are returned if the interval has no run of its own, or if all of
    them are newer than this run and they cover all hours.

    Args:
        interval: The interval.
        ended: The end times of runs by run key.
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
