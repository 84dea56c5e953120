"""The parts of tables that a run may rewrite, as typed values.

A predicate is SQL text to Delta, so that a quote in it can reach beyond its literal. These values
are made from intervals alone, never from text, and spell their literals themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

import pyarrow.compute as pc

from elsinore.errors import EngineError
from elsinore.timeline import Interval, hour_label, require_whole_hours

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class _HourRange:
    """The partitions of some whole hours.

    Attributes:
        interval: the hours.
        also: further hours that are rewritten in the same commit.

    Raises:
        ParameterError: an interval does not begin and end at whole hours.
    """

    interval: Interval
    also: tuple[Interval, ...] = ()
    column: ClassVar[str]

    def __post_init__(self) -> None:
        for interval in self.intervals:
            require_whole_hours(interval)

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """All of its hours, those of `interval` first."""
        return (self.interval, *self.also)

    @property
    def first(self) -> str:
        """Label of the first hour of `interval`."""
        return hour_label(self.interval.start)

    @property
    def last(self) -> str:
        """Label of the last hour of `interval`, inclusive."""
        return hour_label(self.interval.end - 1)

    def predicate(self) -> str:
        """The condition as SQL; it names the partition column, as conflict checks need."""
        ranges = [
            f"{self.column} >= '{hour_label(interval.start)}' "
            f"AND {self.column} <= '{hour_label(interval.end - 1)}'"
            for interval in self.intervals
        ]
        return ranges[0] if len(ranges) == 1 else " OR ".join(f"({part})" for part in ranges)

    def expression(self) -> pc.Expression:
        """The condition for `Lake.rows`."""
        column, found = pc.field(self.column), pc.scalar(False)
        for interval in self.intervals:
            first, last = hour_label(interval.start), hour_label(interval.end - 1)
            found = found | ((column >= first) & (column <= last))
        return found


class Hours(_HourRange):
    """Results of the windows whose last instant lies in some whole hours."""

    column = "owned_hour"


class Landings(_HourRange):
    """What the landing-zone files of some whole hours brought."""

    column = "landing"


@dataclass(frozen=True, slots=True)
class RunStep:
    """The figures of one step of a run.

    Raises:
        EngineError: the step's name is no plain identifier.
    """

    interval: Interval
    step: str
    column: ClassVar[str] = "run_key"

    def __post_init__(self) -> None:
        require_whole_hours(self.interval)
        if not _IDENTIFIER.fullmatch(self.step):
            raise EngineError(f"{self.step!r} cannot name a step")

    def predicate(self) -> str:
        """The condition as SQL."""
        return f"run_key = '{run_key(self.interval)}' AND step = '{self.step}'"


Region = Hours | Landings | RunStep


def run_key(interval: Interval) -> str:
    """The name of a run: its first hour and its end hour (exclusive), joined by an underscore.

    >>> run_key(Interval(0, 7_200_000_000))
    '1970-01-01T00_1970-01-01T02'
    """
    return f"{hour_label(interval.start)}_{hour_label(interval.end)}"
