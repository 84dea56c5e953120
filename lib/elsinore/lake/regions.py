"""The parts of tables that a run may rewrite, as typed values.

A predicate is SQL text to Delta, so that a quote in it can reach beyond its literal. These values
are made from intervals alone, never from text, and spell their literals themselves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from elsinore.errors import EngineError
from elsinore.timeline import DAY, EPOCH, Interval, hour_label, hours_of, require_whole_hours

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")


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

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """All of its hours, those of `interval` first."""
        return (self.interval, *self.also)

    @property
    def labels(self) -> list[str]:
        """The labels of its hours."""
        return [hour_label(hour) for part in self.intervals for hour in hours_of(part)]

    def rows_by_day(
        self, table: ds.Dataset, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Their rows in a table by day, a day at a time, in order; other files are not opened."""
        where = self.expression(by_day=True)
        found = defaultdict(list)
        for file in table.get_fragments(where):
            found[ds.get_partition_keys(file.partition_expression)[self.day]].append(file)
        for day in sorted(found):
            yield pa.concat_tables(
                file.to_table(table.schema, columns and list(columns), where) for file in found[day]
            )

    def predicate(self, *, by_day: bool = False) -> str:
        """The condition as SQL.

        Of a table by day it names the days as well, as conflict checks need, and nothing else where
        the hours are whole days.
        """
        return _any_of(self._range(interval, by_day) for interval in self.intervals)

    def _range(self, interval: Interval, by_day: bool) -> str:
        first, last = hour_label(interval.start), hour_label(interval.end - 1)
        hours = f"{self.column} >= '{first}' AND {self.column} <= '{last}'"
        if not by_day:
            return hours
        start, end = day_of(interval.start), day_of(interval.end - 1)
        days = f"{self.day} >= DATE'{start}' AND {self.day} <= DATE'{end}'"
        whole = interval.start % DAY == 0 and interval.end % DAY == 0
        return days if whole else f"{days} AND {hours}"

    def expression(self, *, by_day: bool) -> pc.Expression:
        """The condition for Arrow; of a table by day other days' files are not opened."""
        found = pc.scalar(False)
        for interval in self.intervals:
            first, last = interval.start, interval.end - 1
            inside = _between(self.column, hour_label(first), hour_label(last))
            if by_day:
                inside = inside & _between(self.day, day_of(first), day_of(last))
            found = found | inside
        return found


def _between(column: str, first: str | date, last: str | date) -> pc.Expression:
    return (pc.field(column) >= pc.scalar(first)) & (pc.field(column) <= pc.scalar(last))


class Hours(_HourRange):
    """Results of the windows whose last instant lies in some whole hours."""

    column, day = "owned_hour", "owned_day"


class Landings(_HourRange):
    """What the landing-zone files of some whole hours brought."""

    column, day = "landing", "landing_day"


@dataclass(frozen=True, slots=True)
class OfWorkload:
    """What is said of the results of some hours for one workload, by its fingerprint.

    Raises:
        EngineError: that is no fingerprint.
    """

    hours: Hours
    workload: str

    def __post_init__(self) -> None:
        _require_fingerprint(self.workload)

    def predicate(self) -> str:
        """The condition as SQL."""
        return f"({self.hours.predicate()}) AND workload_fingerprint = '{self.workload}'"

    def expression(self) -> pc.Expression:
        """The condition for Arrow."""
        of_workload = pc.field("workload_fingerprint") == self.workload
        return self.hours.expression(by_day=False) & of_workload


@dataclass(frozen=True, slots=True)
class RunStep:
    """The figures of one step of a run, for the workload of a fingerprint or, if empty, for none.

    Raises:
        EngineError: the step's name is no plain identifier, or that is no fingerprint.
    """

    interval: Interval
    step: str
    workload: str = ""

    def __post_init__(self) -> None:
        require_whole_hours(self.interval)
        if not _IDENTIFIER.fullmatch(self.step):
            raise EngineError(f"{self.step!r} cannot name a step")
        if self.workload:
            _require_fingerprint(self.workload)

    def predicate(self) -> str:
        """The condition as SQL."""
        return (
            f"run_key = '{run_key(self.interval)}' AND step = '{self.step}' "
            f"AND workload_fingerprint = '{self.workload}'"
        )


Region = Hours | Landings | OfWorkload | RunStep


def predicate_of(regions: Iterable[Region]) -> str:
    """The condition of all of some regions as SQL."""
    return _any_of(region.predicate() for region in regions)


def _any_of(conditions: Iterable[str]) -> str:
    every = list(conditions)
    return every[0] if len(every) == 1 else " OR ".join(f"({condition})" for condition in every)


def _require_fingerprint(text: str) -> None:
    if not _FINGERPRINT.fullmatch(text):
        raise EngineError(f"{text!r} is no fingerprint")


def day_of(instant: int) -> date:
    """The day (UTC) of an instant."""
    return (EPOCH + timedelta(microseconds=instant)).date()


def run_key(interval: Interval) -> str:
    """The name of a run: its first hour and its end hour (exclusive), joined by an underscore.

    >>> run_key(Interval(0, 7_200_000_000))
    '1970-01-01T00_1970-01-01T02'
    """
    return f"{hour_label(interval.start)}_{hour_label(interval.end)}"


def cover(keys: list[str], start: str, end: str) -> list[str]:
    """Run keys that follow each other from `start` on and do not pass `end`; the longest first.

    >>> cover(["00_01", "00_02", "01_02", "02_03"], "00", "03")
    ['00_02', '02_03']
    """
    found: list[str] = []
    while nexts := [k for k in keys if k.startswith(f"{start}_") and k.split("_")[1] <= end]:
        found.append(max(nexts))
        start = found[-1].split("_")[1]
    return found
