"""Positions of times on a clock whose parts, such as months, have equal lengths.

Windows of a calendar have different lengths: days have 23 or 25 hours, months 28 to 31 days. A
**part** is a number of consecutive days or months. The **position** of a time is `number * LENGTH +
(time - start)`, with the number and the start of the part that contains the time. So all parts have
the same number of positions, of which most parts use only some. Positions keep the order of times,
and equal times have equal positions. Inside of a part, differences of positions are differences of
times. A window of n parts has a fixed length in positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from elsinore import zones
from elsinore.timeline import DAY, HOUR


class Part(StrEnum):
    """The units of a calendar of which parts consist."""

    DAY = "day"
    MONTH = "month"


#: The months of a year, and of the cycle after which the calendar repeats.
_MONTHS, _CYCLE = 12, 4_800
#: A part has at most this many positions more than its days have microseconds: a day is repeated if
#: a country crosses the date line.
_MORE = 40 * HOUR
#: A zone that skipped a day has offsets that differ by this much.
_SKIPPED = 12 * HOUR
#: Number of consecutive parts whose starts are looked up although some of them have no event.
_FEW = 10_000


@dataclass(frozen=True, slots=True)
class CalendarClock:
    """Parts of equal numbers of days, or of months, of a zone.

    Attributes:
        zone: the name of the zone.
        part: the unit of the parts.
        first: the day or month since January 1970 with which part 0 begins; -3 for Monday, 29
            December 1969.
        offset: how long after midnight parts begin on the local clock, in microseconds.
        count: number of days or months of a part.
    """

    zone: str
    part: Part
    first: int = 0
    offset: int = 0
    count: int = 1

    @property
    def length(self) -> int:
        """Return the number of positions of each part."""
        return self._most_days(1) * DAY + _MORE

    def longest(self, parts: int) -> int:
        """Return a bound on the time that some consecutive parts take, in microseconds.

        >>> CalendarClock("America/New_York", Part.DAY).longest(1) // HOUR
        25
        """
        return self._most_days(parts) * DAY + zones.zone_of(self.zone).spread

    def start(self, number: int) -> int:
        """Return the timestamp at which a part begins.

        If its start does not exist on the local clock, this is the first timestamp after the gap.
        If it exists twice, this is the earlier one.
        """
        return _start(self, number)

    @property
    def may_skip(self) -> bool:
        """Return whether a part can be a day that a country skipped."""
        spread = zones.zone_of(self.zone).spread
        return self.part is Part.DAY and self.count == 1 and spread >= _SKIPPED

    def shown(self, number: int) -> int:
        """Return what the local clock should show when a part begins, in microseconds."""
        days = number * self.count + self.first
        if self.part is Part.MONTH:
            year, month = divmod(days, _MONTHS)
            days = zones.days_of(1970 + year, month + 1, 1)
        return days * DAY + self.offset

    def starts(self, numbers: np.ndarray) -> np.ndarray:
        """Return `start` of each number, as int64[N]."""
        distinct, places = np.unique(numbers, return_inverse=True)
        return np.array([_start(self, number) for number in distinct.tolist()], np.int64)[places]

    def number(self, time: int) -> int:
        """Return the number of the part that contains a timestamp."""
        number = int(self._near(time)) + 2
        while self.start(number) > time:
            number -= 1
        return number

    def position(self, time: int) -> int:
        """Return the position of a timestamp.

        >>> clock = CalendarClock("America/New_York", Part.DAY)
        >>> clock.position(5 * HOUR) // clock.length, clock.position(5 * HOUR) % clock.length
        (0, 0)
        """
        number = self.number(time)
        return number * self.length + time - self.start(number)

    def positions(self, times: np.ndarray) -> np.ndarray:
        """Return the position of each timestamp, as int64[N].

        Only the starts of parts near a time are looked up, however far apart the times are.
        """
        if not times.size:
            return times
        first, last = self.number(int(times.min())), self.number(int(times.max()))
        if last - first <= _FEW:
            numbers = np.arange(first, last + 1)
        else:
            near = np.unique(self._near(times))
            numbers = np.unique(near[:, None] + np.arange(-2, 3))
        starts = self.starts(numbers)
        further = numbers * self.length - starts
        if (times[1:] >= times[:-1]).all():
            borders = np.append(np.searchsorted(times, starts[1:]), times.size)
            return times + np.repeat(further, np.diff(borders, prepend=0))
        return times + further[np.searchsorted(starts, times, side="right") - 1]

    def _near(self, times: np.ndarray | int) -> np.ndarray | int:
        """Return the number of the part in UTC, which differs from the local one by at most 1."""
        days = (times - self.offset) // DAY
        if self.part is Part.MONTH:
            year, month, _ = zones.civil_of(days)
            days = (year - 1970) * _MONTHS + month - 1
        return (days - self.first) // self.count

    def _most_days(self, parts: int) -> int:
        units = self.count * parts
        return units if self.part is Part.DAY else _most_days(units)


@lru_cache(maxsize=1_000)
def _most_days(months: int) -> int:
    """Return the maximum number of days of some consecutive months."""
    firsts = np.arange(_CYCLE)
    return int((_first_days(firsts + months) - _first_days(firsts)).max())


def least_days(months: int) -> int:
    """Return the minimum number of days of some consecutive months.

    >>> least_days(1), least_days(3), least_days(12)
    (28, 89, 365)
    """
    firsts = np.arange(_CYCLE)
    return int((_first_days(firsts + months) - _first_days(firsts)).min())


def _first_days(months: np.ndarray) -> np.ndarray:
    """Return the days since 1970 of the first days of months since January 1970."""
    days: np.ndarray = zones.days_of(1970 + months // _MONTHS, months % _MONTHS + 1, 1)
    return days


@lru_cache(maxsize=100_000)
def _start(clock: CalendarClock, number: int) -> int:
    return zones.zone_of(clock.zone).first(clock.shown(number))
