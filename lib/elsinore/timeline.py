"""Integer event time: units, instants as text, half-open intervals.

Time is int64 microseconds since the Unix epoch, UTC; a stream of integer times counts in ticks of
no unit. Nothing here reads a clock.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from elsinore.errors import ParameterError

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: Units of durations in query texts, in microseconds.
UNITS: dict[str, int] = {
    "microsecond": MICROSECOND,
    "millisecond": MILLISECOND,
    "second": SECOND,
    "minute": MINUTE,
    "hour": HOUR,
    "day": DAY,
}

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant_of(moment: datetime) -> int:
    """Microseconds since the epoch; a time without a zone is in UTC."""
    # Airflow's datetimes subtract into a class of their own that cannot be divided.
    return timegm(moment.utctimetuple()) * SECOND + moment.microsecond


#: Instants outside of the years 1 to 9999 cannot be written as text.
MIN_INSTANT = instant_of(datetime.min.replace(tzinfo=UTC))
MAX_INSTANT = instant_of(datetime.max.replace(tzinfo=UTC))


class TimeUnit(StrEnum):
    """How a raw event writes its time; `INTEGER` is ticks of no unit."""

    ISO = "iso"
    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    INTEGER = "integer"

    @property
    def is_calendar(self) -> bool:
        """Whether times are instants (microseconds since the epoch) rather than bare ticks."""
        return self is not TimeUnit.INTEGER


#: Microseconds, or ticks, of the number 1 as a time; ISO times are no numbers.
NUMBER_LENGTHS = {
    TimeUnit.SECONDS: SECOND,
    TimeUnit.MILLISECONDS: MILLISECOND,
    TimeUnit.MICROSECONDS: MICROSECOND,
    TimeUnit.INTEGER: 1,
}

_DURATION = re.compile(r"(\d{1,5}) ([a-z]+?)s?")

_ISO = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?"
    r"\s*(Z|z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?"
)


def parse_instant(text: str) -> int:
    """Microseconds since the epoch of an ISO 8601 date or instant; no offset means UTC.

    Digits beyond the microsecond are cut off.

    Raises:
        ValueError: the text is no such instant.

    >>> parse_instant("1970-01-01T00:00:01.5Z"), parse_instant("1970-01-02 01:00+01:00")
    (1500000, 86400000000)
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an ISO 8601 instant: {text[:40]!r}")
    year, month, day, hour, minute, second, fraction, offset = match.groups()
    moment = datetime(
        int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
        tzinfo=UTC,
    )  # fmt: skip
    micros = instant_of(moment) + int((fraction or "0")[:6].ljust(6, "0"))
    if offset and offset not in "Zz":
        shift = int(offset[1:3]) * HOUR + int(offset[-2:]) * MINUTE
        micros -= shift if offset[0] == "+" else -shift
    return micros


def parse_duration(text: str) -> int:
    """Microseconds of a number below 100,000 of a unit of `UNITS`.

    Raises:
        ValueError: the text is no such duration.

    >>> parse_duration("90 minutes"), parse_duration("1 hour")
    (5400000000, 3600000000)
    """
    match = _DURATION.fullmatch(text)
    if match is None or match[2] not in UNITS:
        raise ValueError(f"not a duration, such as 365 days: {text[:40]!r}")
    return int(match[1]) * UNITS[match[2]]


def format_instant(micros: int) -> str:
    """ISO 8601 text with microseconds and `Z`, as in result rows.

    >>> format_instant(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return f"{(EPOCH + timedelta(microseconds=micros)).isoformat(timespec='microseconds')[:26]}Z"


class Instant(int):
    """Microseconds since the epoch that people read as a point in time, not as a number."""

    def __str__(self) -> str:
        return format_instant(int(self))


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Half-open `[start, end)` in microseconds (or ticks)."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ParameterError(
                "an interval is empty or runs backwards", hint="the end must lie after the start"
            )

    @classmethod
    def parse(cls, start: str, end: str) -> Interval:
        """From two ISO instants; ParameterError: one is none, or the interval is empty."""
        borders = []
        for name, text in (("start", start), ("end", end)):
            try:
                borders.append(parse_instant(text))
            except ValueError as error:
                hint = "write it as 2013-02-08T10:00, in UTC"
                raise ParameterError(f"{name}: {error}", hint=hint) from error
        if borders[0] >= borders[1]:
            raise ParameterError(
                f"the end {end.strip()} is not after the start {start.strip()}",
                hint="the end must lie after the start",
            )
        return cls(*borders)

    @property
    def length(self) -> int:
        """End minus start."""
        return self.end - self.start

    def contains(self, instant: int) -> bool:
        """Whether `start <= instant < end`."""
        return self.start <= instant < self.end

    def split(self, parts: int, *, grain: int) -> tuple[Interval, ...]:
        """At most `parts` consecutive intervals that cover this one, cut at multiples of `grain`.

        >>> Interval(0, 10).split(3, grain=2)
        (Interval(start=0, end=4), Interval(start=4, end=8), Interval(start=8, end=10))
        """
        grains = -(-self.length // grain)
        step = -(-grains // parts) * grain
        starts = range(self.start, self.end, step)
        return tuple(Interval(s, min(s + step, self.end)) for s in starts)

    def __str__(self) -> str:
        return f"[{format_instant(self.start)}, {format_instant(self.end)})"


#: Calendar times that are taken for real.
CALENDAR = Interval.parse("1900-01-01", "2200-01-01")

#: Times that events of a stream of integer times may have: beyond, the arithmetic of windows has no
#: room in 64 bits.
TICKS = Interval(-(2**62), 2**62)


def require_whole_hours(interval: Interval) -> None:
    """Refuse borders that are no whole hours, the unit of replays (ParameterError)."""
    if interval.start % HOUR or interval.end % HOUR:
        raise ParameterError(f"{interval} does not begin and end at whole hours (UTC)")


def hours_of(interval: Interval) -> Iterator[int]:
    """The whole hours (their first instant) of an interval cut at hours."""
    yield from range(interval.start - interval.start % HOUR, interval.end, HOUR)


def stretches(hours: Iterable[int]) -> tuple[Interval, ...]:
    """Hours as intervals, in order, neighbours together.

    >>> [str(part)[1:14] for part in stretches([0, 2 * HOUR, HOUR, 4 * HOUR])]
    ['1970-01-01T00', '1970-01-01T04']
    """
    found: list[Interval] = []
    for hour in sorted(set(hours)):
        if found and found[-1].end == hour:
            found[-1] = Interval(found[-1].start, hour + HOUR)
        else:
            found.append(Interval(hour, hour + HOUR))
    return tuple(found)


def hour_label(instant: int) -> str:
    """The hour that holds an instant, as text that sorts by time and is safe in a path.

    >>> hour_label(1_500_000)
    '1970-01-01T00'
    """
    return format_instant(instant)[:13]


@lru_cache(maxsize=10_000)  # a year has 8,760 hours; to parse one takes 9 us
def parse_hour(label: str) -> int:
    """The first instant of an hour, from its label.

    >>> hour_label(parse_hour("2013-02-08T10"))
    '2013-02-08T10'
    """
    return parse_instant(f"{label}:00Z")
