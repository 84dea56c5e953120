"""Positions of times on a clock whose days or months have equal lengths.

Windows of a calendar have different lengths: days have 23 or 25 hours, months 28 to 31 days. The
**position** of a time is `number * LENGTH + (time - start)`, where `number` and `start` are those
of the day or month that contains the time. So all days have the same number of positions, of which
most days use a part. Positions keep the order of times, and equal times have equal positions. A
window of n days is `[k * n * LENGTH, (k + 1) * n * LENGTH)` in positions, a window of fixed length.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np

from elsinore import zones
from elsinore.timeline import DAY, HOUR


class Part(StrEnum):
    """The parts of a calendar of which windows consist."""

    DAY = "day"
    MONTH = "month"


#: More than the length of any part: a day is repeated if a country crosses the date line.
_LENGTHS = {Part.DAY: 64 * HOUR, Part.MONTH: 34 * DAY}
#: The months of a year.
_MONTHS = 12


@dataclass(frozen=True, slots=True)
class CalendarClock:
    """The days or months of a zone.

    Attributes:
        zone: the name of the zone.
        part: the parts.
        first: the day or month since January 1970 whose number is 0; -3 for Monday, 29 December
            1969.
        offset: how long after midnight parts begin on the local clock, in microseconds.
    """

    zone: str
    part: Part
    first: int = 0
    offset: int = 0

    @property
    def length(self) -> int:
        """Return the number of positions of each part."""
        return _LENGTHS[self.part]

    def start(self, number: int) -> int:
        """Return the timestamp at which a part begins.

        If its start does not exist on the local clock, this is the first timestamp after the gap.
        If it exists twice, this is the earlier one.
        """
        return _start(self, number)

    def number(self, time: int) -> int:
        """Return the number of the part that contains a timestamp."""
        near = int(self._near(np.array([time], np.int64))[0])
        return max(n for n in range(near - 2, near + 3) if self.start(n) <= time)

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
        near = np.unique(self._near(times))
        numbers = np.unique(near[:, None] + np.arange(-2, 3))
        starts = np.array([self.start(number) for number in numbers.tolist()], np.int64)
        found = np.searchsorted(starts, times, side="right") - 1
        return numbers[found] * self.length + times - starts[found]

    def _near(self, times: np.ndarray) -> np.ndarray:
        """Return the number of the part in UTC, which differs from the local one by at most 1."""
        days = (times - self.offset) // DAY
        if self.part is Part.DAY:
            return days - self.first
        year, month, _ = zones.civil_of(days)
        return (year - 1970) * _MONTHS + month - 1 - self.first


@lru_cache(maxsize=100_000)
def _start(clock: CalendarClock, number: int) -> int:
    days = number + clock.first
    if clock.part is Part.MONTH:
        year, month = divmod(days, _MONTHS)
        days = zones.days_of(1970 + year, month + 1, 1)
    return zones.zone_of(clock.zone).first(days * DAY + clock.offset)
