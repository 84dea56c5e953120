"""The windows of a query by definition, also of a calendar.

A window of a calendar begins when the local clock first shows its start. Python's dates and
`zoneinfo` find this time from the clauses of the query.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import Protocol

from elsinore.query import syntax
from elsinore.query.bound import BoundQuery
from elsinore.timeline import DAY, EPOCH, Interval
from elsinore.zones import zone_of

_MICROSECOND = timedelta(microseconds=1)
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_FIXED = {
    "microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6,
    "hour": 3_600 * 10**6, "day": DAY, "week": 7 * DAY,
}  # fmt: skip
#: Days, months and weeks count from here on the local clock: from Thursday and from Monday.
_FIRST = EPOCH.replace(tzinfo=None)
_MONDAY = _FIRST - timedelta(days=3)
#: After these years, dates and weekdays repeat.
_CYCLE = 400


class Windows(Protocol):
    """The windows, or the periods, of a query."""

    def bounds(self, number: int) -> Interval:
        """Return the time range of a window."""

    def extent(self, number: int) -> Interval:
        """Return the time range on whose events the rows of a window depend."""

    def indices(self, instant: int) -> range:
        """Return the numbers of the windows whose rows may depend on an event at a time."""

    def exists(self, number: int) -> bool:
        """Return whether no later window begins at the same time, because a day was skipped."""


class _Fixed:
    """Windows of a fixed length."""

    def __init__(self, query: BoundQuery) -> None:
        self.bounds = query.window.bounds
        self.extent = query.window.extent
        self.indices = query.window.indices

    def exists(self, number: int) -> bool:
        return True


def windows_of(query: BoundQuery) -> Windows:
    """Return the windows or periods of a query."""
    source = query.source
    step = source.span.period if source.span else source.within
    assert isinstance(step, syntax.Duration)
    unit = _unit(step)
    is_day = unit == "day" and source.zone is None
    if unit not in (*_DAYS, *_MONTHS) or (is_day and _unit(source.slide or step) != "week"):
        return _Fixed(query)
    return _Calendar(query, step)


class _Calendar:
    """Windows of a calendar. They begin at multiples of SLIDE, or of PER, on the local clock."""

    def __init__(self, query: BoundQuery, within: syntax.Duration) -> None:
        source, self._window = query.source, query.window
        slide = source.slide or within
        assert isinstance(slide, syntax.Duration)
        self._zone = zone_of(source.zone.name).info if source.zone else UTC
        self._by_months = _unit(within) in _MONTHS
        units = _MONTHS if self._by_months else _DAYS
        self._within, self._slide = (int(d.amount) * units[_unit(d)] for d in (within, slide))
        self._first = _MONDAY if _unit(slide) == "week" else _FIRST
        self._months, self._offset = 0, timedelta(0)
        if isinstance(source.offset, syntax.Duration):
            if _unit(source.offset) in _MONTHS:
                self._months = int(source.offset.amount) * _MONTHS[_unit(source.offset)]
            else:
                micros = float(source.offset.amount) * _FIXED[_unit(source.offset)]
                self._offset = timedelta(microseconds=round(micros))
        # Numbers of windows that are equally long count from the first window since 1970.
        begins = (self._first - _FIRST + self._offset) // timedelta(days=self._slide)
        self._further = 0 if query.window.clock else -begins
        self._boundary = cache(self._find_boundary)

    def bounds(self, number: int) -> Interval:
        return Interval(*self._borders(number))

    def extent(self, number: int) -> Interval:
        start, end = self._borders(number)
        return Interval(start - self._window.back, end + self._window.ahead)

    def exists(self, number: int) -> bool:
        return self._borders(number)[0] < self._borders(number + 1)[0]

    def indices(self, instant: int) -> range:
        after = instant + self._window.back
        length = self._slide * (30 if self._by_months else 1) * DAY
        last = instant // length
        while self._borders(last)[0] <= after:
            last += 1
        while self._borders(last - 1)[0] > after:
            last -= 1
        first = last
        while self._borders(first - 1)[1] + self._window.ahead > instant:
            first -= 1
        return range(first, last)

    def _borders(self, number: int) -> tuple[int, int]:
        units = (number + self._further) * self._slide
        return self._boundary(units), self._boundary(units + self._within)

    def _find_boundary(self, units: int) -> int:
        """Return the time at which the local clock shows some days or months since the first."""
        if self._by_months:
            year, month = divmod(self._months + units, 12)
            cycles = year // _CYCLE
            local = datetime(1970 + year % _CYCLE, month + 1, 1, tzinfo=UTC).replace(tzinfo=None)
        else:
            days = timedelta(days=units) + (self._first - _FIRST)
            cycles, rest = divmod(days.days, 146_097)
            local = _FIRST + timedelta(days=rest)
        cycles, local = _near_its_rules(cycles, local)
        return _instant(local + self._offset, self._zone) + cycles * 146_097 * DAY


def _near_its_rules(cycles: int, local: datetime) -> tuple[int, datetime]:
    """Return a date without cycles of 400 years, if Python has such a date."""
    while cycles and 2 < local.year + (1 if cycles > 0 else -1) * _CYCLE < 9_998:
        forward = 1 if cycles > 0 else -1
        local, cycles = local + timedelta(days=146_097) * forward, cycles - forward
    return cycles, local


def _instant(local: datetime, zone: tzinfo) -> int:
    """Return the first time at which a clock shows a date, or a later one if it skips the date."""
    for fold in (0, 1):
        found = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        if _shown(found, zone) == local:
            return (found - EPOCH) // _MICROSECOND
    before, after = (
        (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) - EPOCH) // _MICROSECOND
        for fold in (1, 0)
    )
    while after - before > 1:
        middle = (before + after) // 2
        if _shown(EPOCH + middle * _MICROSECOND, zone) < local:
            before = middle
        else:
            after = middle
    return after


def _shown(instant: datetime, zone: tzinfo) -> datetime:
    """Return what a clock shows at a time."""
    return instant.astimezone(zone).replace(tzinfo=None, fold=0)


def _unit(duration: syntax.Duration | syntax.Parameter) -> str:
    assert isinstance(duration, syntax.Duration)
    return (duration.unit or "").removesuffix("s")
