"""Time zones of the tz database, and the calendar.

The package `tzdata` has the zones, so results do not depend on the machine.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from io import BytesIO
from typing import Any
from zoneinfo import ZoneInfo

from elsinore.timeline import (
    DAY,
    EPOCH,
    HOUR,
    MAX_INSTANT,
    MICROSECOND,
    MIN_INSTANT,
    MINUTE,
    SECOND,
)
from elsinore.wording import suggest

#: Units of a fixed length, in microseconds.
FIXED = {"second": SECOND, "minute": MINUTE, "hour": HOUR, "day": DAY}
#: The month in which a month, a quarter or a year begins is found by its length in months.
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
#: Offsets are looked up in the years 1 to 9999 of all zones.
_FIRST, _LAST = MIN_INSTANT + 2 * DAY, MAX_INSTANT - 2 * DAY


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Return the names of all zones, by their names in lower case."""
    text = files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return {name.lower(): name for name in text.split()}


def version() -> str:
    """Return the version of the tz database, such as 2025b."""
    return str(import_module("tzdata").IANA_VERSION)


def zone_named(written: str) -> tuple[str | None, str]:
    """Return the name of a zone in its own spelling, or None and a hint."""
    names = _names()
    name = names.get(written.lower())
    if name is not None:
        return name, ""
    city = written.lower().replace(" ", "_")
    alike = sorted(name for name in names.values() if name.lower().rpartition("/")[2] == city)
    if alike:
        return None, f"did you mean {alike[0]}?"
    hint = suggest(written, list(names.values()))
    return None, hint or "write a name of the tz database, as in 'Europe/Berlin'"


# ---- the calendar: for integers and for arrays of integers


def civil_of(days: Any) -> tuple[Any, Any, Any]:
    """Return year, month and day of days since 1970, of the proleptic Gregorian calendar."""
    shifted = days + 719_468  # days since 1 March of year 0
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    after_december = month // 10
    return year + era * 400 + after_december, month + 3 - 12 * after_december, day


def days_of(year: Any, month: Any, day: Any) -> Any:
    """Return the days since 1970 of a date; the inverse of `civil_of`."""
    before_march = (14 - month) // 12
    year = year - before_march
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + 12 * before_march - 3) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def unit_start(unit: str, local: Any) -> Any:
    """Return the start of the unit that contains a local time, as local time.

    Args:
        unit: one of `TRUNCATE_UNITS`.
        local: microseconds since 1970 on a local clock.
    """
    if unit in FIXED:
        return local // FIXED[unit] * FIXED[unit]
    days = local // DAY
    if unit == "week":  # 1 January 1970 was a Thursday
        return (days - (days + 3) % 7) * DAY
    year, month, _ = civil_of(days)
    length = _MONTHS[unit]
    return days_of(year, (month - 1) // length * length + 1, 1) * DAY


# ---- zones


@dataclass(frozen=True)
class Zone:
    """A time zone."""

    name: str
    info: ZoneInfo
    spread: int = 0  #: largest minus smallest offset of all times, in microseconds

    def offset(self, instant: int) -> int:
        """Return the microseconds by which local time is ahead of UTC."""
        moment = EPOCH + timedelta(microseconds=min(max(instant, _FIRST), _LAST))
        offset = moment.astimezone(self.info).utcoffset()
        assert offset is not None
        return offset // timedelta(microseconds=MICROSECOND)

    def change(self, before: int, after: int) -> int:
        """Return the first timestamp with the offset of `after`, if there is one change between."""
        wanted = self.offset(after)
        while after - before > 1:
            middle = (before + after) // 2
            if self.offset(middle) == wanted:
                after = middle
            else:
                before = middle
        return after

    def began(self, unit: str, instant: int) -> int:
        """Return the timestamp at which the local unit that contains a timestamp began.

        A day or a longer unit begins when the local clock first shows its start, or skips it. An
        hour or a shorter unit also begins when the clock changes, so both hours of a clock that is
        set back are separate.
        """
        offset = self.offset(instant)
        local = unit_start(unit, instant + offset)
        if unit in FIXED and unit != "day":
            return self._later_start(local - offset, instant)
        return self.first(local)

    def _later_start(self, start: int, instant: int) -> int:
        if self.offset(start) == self.offset(instant):
            return start
        return self.change(start, instant)

    def first(self, local: int) -> int:
        """Return the first timestamp at which the local clock shows a time, or a later one."""
        offsets = {self.offset(local + days * DAY) for days in (-1, 0, 1)}
        candidates = sorted(local - offset for offset in offsets)
        for instant in candidates:
            if instant + self.offset(instant) == local:
                return instant
        return self.change(candidates[0], candidates[-1])


@lru_cache(maxsize=64)
def zone_of(name: str) -> Zone:
    """Return a zone by its name, which `zone_named` has returned."""
    data = files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    offsets = [*_offsets(data)]
    spread = (max(offsets) - min(offsets)) * SECOND
    return Zone(name, ZoneInfo.from_file(BytesIO(data), key=name), spread)


#: The header of a file of a zone: its counts of data (RFC 8536, section 3.1).
_HEADER = struct.Struct(">20x6I")


def _offsets(data: bytes) -> Iterator[int]:
    """Yield the offsets of the local time types in the file of a zone, in seconds."""
    uts, stds, leaps, times, types, characters = _HEADER.unpack_from(data)
    first = _HEADER.size + times * 5 + types * 6 + characters + leaps * 8 + stds + uts
    *_, times, types, _ = _HEADER.unpack_from(data, first)  # with times of 64 bits
    for number in range(types):
        yield struct.unpack_from(">i", data, first + _HEADER.size + times * 9 + number * 6)[0]
