"""Integer event time: units, timestamps as strings, half-open intervals.

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
from string import whitespace

from elsinore.errors import ParameterError
from elsinore.instant_advice import EXAMPLE_OFFSET, range_problem, spelling_problem
from elsinore.wording import shown

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

#: Further units of WITHIN, SLIDE and PER, which have no fixed length or no fixed start.
CALENDAR_UNITS = ("week", "month", "quarter", "year")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant_of(moment: datetime) -> int:
    """Return microseconds since the epoch; a time without a zone is in UTC."""
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
        """True if times are timestamps (microseconds since the epoch), not ticks."""
        return self is not TimeUnit.INTEGER


#: Microseconds, or ticks, of the number 1 as a time; ISO times are not numbers.
NUMBER_LENGTHS = {
    TimeUnit.SECONDS: SECOND,
    TimeUnit.MILLISECONDS: MILLISECOND,
    TimeUnit.MICROSECONDS: MICROSECOND,
    TimeUnit.INTEGER: 1,
}

_DURATION = re.compile(r"(\d{1,5}) ([a-z]+?)s?")

_ISO = re.compile(
    r"(\d{4})(-?)(\d\d)\2(\d\d)"
    r"(?:[Tt ](\d\d)(?:(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d+))?)?)?)?"
    r"\s*([Zz]|(?i:utc|gmt)|([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?(\s*(?i:utc|gmt))?)?",
    re.ASCII,
)
#: Largest offset from UTC, in seconds.
_MAX_OFFSET = 18 * 3600


def parse_instant(text: str) -> int:
    """Return microseconds since the epoch of an ISO 8601 date or timestamp.

    A string without an offset is in UTC. Digits beyond the microsecond are cut off. Accepted are
    the extended and the basic format, `T24:00:00`, offsets of hours only, `UTC` or `GMT` as an
    offset, and a blank instead of `T`.

    Raises:
        ValueError: the text is not such a timestamp, or is not in the years 1 to 9999 of UTC. The
            message says what is wrong and gives an example.

    >>> parse_instant("1970-01-01T00:00:01.5Z"), parse_instant("1970-01-02 01:00+01:00")
    (1500000, 86400000000)
    """
    spelled = text.strip(whitespace)
    match = _ISO.fullmatch(spelled)
    if match is None or (match[5] is None and match[12] is not None and match[13] is None):
        raise _not_an_instant(text, spelling_problem(spelled))
    year, _, month, day, hour, _, minute, second, fraction = match.groups()[:9]
    at_midnight = hour == "24" and not int((minute or "") + (second or "") + (fraction or "") or 0)
    try:
        moment = datetime(
            int(year), int(month), int(day), 0 if at_midnight else int(hour or 0),
            int(minute or 0), int(second or 0), tzinfo=UTC,
        )  # fmt: skip
    except ValueError as error:
        raise _not_an_instant(text, range_problem(*match.group(1, 3, 4, 5, 7, 8))) from error
    micros = instant_of(moment) + int((fraction or "")[:6].ljust(6, "0"))
    micros += DAY * at_midnight - _offset(match, text)
    if not MIN_INSTANT <= micros <= MAX_INSTANT:
        raise ValueError(f"{shown(text)} is not in the years 1 to 9999 of UTC")
    return micros


def _not_an_instant(text: str, problem: str) -> ValueError:
    return ValueError(f"{shown(text)} is not an ISO 8601 timestamp: {problem}")


def _offset(match: re.Match[str], text: str) -> int:
    """Return the microseconds by which a timestamp is ahead of UTC.

    Raises:
        ValueError: it is further from UTC than any zone, or its parts contradict one another.
    """
    sign, *parts, name = match.groups()[10:]
    if sign is None:
        return 0
    hours, minutes, seconds = (int(part or 0) for part in parts)
    length = (hours * 60 + minutes) * 60 + seconds
    if minutes > 59 or seconds > 59:
        raise _not_an_instant(
            text, f"minutes of an offset go from 00 to 59, as in {EXAMPLE_OFFSET}"
        )
    if length > _MAX_OFFSET:
        raise _not_an_instant(text, f"offsets go from -18:00 to +18:00, as in {EXAMPLE_OFFSET}")
    if name and length:
        raise _not_an_instant(text, f"its offset is not {name.strip()}; leave the name out")
    return (length if sign == "+" else -length) * SECOND


def parse_duration(text: str) -> int:
    """Return the microseconds of a duration: a number below 100,000 and a unit of `UNITS`.

    Raises:
        ValueError: the string is not a duration.

    >>> parse_duration("90 minutes"), parse_duration("1 hour")
    (5400000000, 3600000000)
    """
    match = _DURATION.fullmatch(text)
    if match is None or match[2] not in UNITS:
        raise ValueError(f"not a duration: {text[:40]!r}; write it as 365 days")
    return int(match[1]) * UNITS[match[2]]


#: 400 years of the Gregorian calendar, after which its days repeat.
_CYCLE = 146_097 * DAY


def format_instant(micros: int) -> str:
    """Return ISO 8601 text with microseconds and `Z`, as in result rows.

    Borders of windows may lie outside of the years 1 to 9999. They have the expanded form of
    ISO 8601: a sign and at least four digits, and year 0 before year 1.

    >>> format_instant(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    >>> format_instant(MAX_INSTANT + 1)
    '+10000-01-01T00:00:00.000000Z'
    """
    if MIN_INSTANT <= micros <= MAX_INSTANT:
        moment = EPOCH + timedelta(microseconds=micros)
        return f"{moment.isoformat(timespec='microseconds')[:26]}Z"
    cycles = (micros - MIN_INSTANT) // _CYCLE
    moment = EPOCH + timedelta(microseconds=micros - cycles * _CYCLE)
    year = moment.year + 400 * cycles
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04}{moment.isoformat(timespec='microseconds')[4:26]}Z"


_EXPANDED = re.compile(r"([+]\d{5,6}|-\d{4,6}|0000)(-\d\d-\d\dT[\d:.]+Z)", re.ASCII)


def parse_border(text: str) -> int:
    """Return the microseconds of a timestamp or a window border of `format_instant`.

    Raises:
        ValueError: the text is neither.

    >>> parse_border(format_instant(MAX_INSTANT + 1)) == MAX_INSTANT + 1
    True
    """
    if (match := _EXPANDED.fullmatch(text)) is None:
        return parse_instant(text)
    cycles, year = divmod(int(match[1]) - 1, 400)
    return parse_instant(f"{year + 1:04}{match[2]}") + cycles * _CYCLE


class Instant(int):
    """Microseconds since the epoch that people read as a point in time, not as a number."""

    def __str__(self) -> str:
        return format_instant(int(self))


class Length(int):
    """Microseconds that people read as a length of time, not as a number."""

    def __str__(self) -> str:
        return format_length(int(self))


def format_length(micros: int) -> str:
    """Return a length of time in days, hours, minutes and seconds.

    >>> format_length(90 * MINUTE), format_length(-DAY - 250_000), format_length(0)
    ('1 h 30 min', '-1 d 0.25 s', '0 s')
    """
    rest, parts = abs(micros), []
    for name, size in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        number, rest = divmod(rest, size)
        parts += [f"{number} {name}"] if number else []
    if rest or not parts:
        seconds = f"{rest // SECOND}.{rest % SECOND:06}".rstrip("0").rstrip(".")
        parts.append(f"{seconds} s")
    return ("-" if micros < 0 else "") + " ".join(parts)


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """Half-open `[start, end)` in microseconds (or ticks)."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ParameterError(
                "a time range is empty or ends before it starts",
                hint="write an end after the start",
            )

    @classmethod
    def parse(cls, start: str, end: str) -> Interval:
        """Parse two ISO 8601 timestamps.

        Raises:
            ParameterError: a timestamp is invalid, or the interval is empty.
        """
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
                hint="write an end after the start",
            )
        return cls(*borders)

    @property
    def length(self) -> int:
        """End minus start."""
        return self.end - self.start

    def contains(self, instant: int) -> bool:
        """Return whether `start <= instant < end`."""
        return self.start <= instant < self.end

    def split(self, parts: int, *, grain: int) -> tuple[Interval, ...]:
        """Split into at most `parts` consecutive intervals, of multiples of `grain`.

        >>> Interval(0, 10).split(3, grain=2)
        (Interval(start=0, end=4), Interval(start=4, end=8), Interval(start=8, end=10))
        """
        grains = -(-self.length // grain)
        step = -(-grains // parts) * grain
        starts = range(self.start, self.end, step)
        return tuple(Interval(s, min(s + step, self.end)) for s in starts)

    def __str__(self) -> str:
        return f"[{format_instant(self.start)}, {format_instant(self.end)})"


#: Times that events of a stream with a calendar may have: the years 1 to 9999.
CALENDAR = Interval(MIN_INSTANT, MAX_INSTANT + 1)

#: Times that events of a stream of integer times may have: beyond, the arithmetic of windows has no
#: room in 64 bits.
TICKS = Interval(-(2**62), 2**62)


def require_whole_hours(interval: Interval) -> None:
    """Raise ParameterError unless a range has whole hours, the unit of replays."""
    if interval.start % HOUR or interval.end % HOUR:
        raise ParameterError(
            f"{interval} does not begin and end at whole hours (UTC)",
            hint="write whole hours, as in 2013-02-08T10:00",
        )


def hours_of(interval: Interval) -> Iterator[int]:
    """Yield the start timestamps of the hours that an interval overlaps."""
    yield from range(interval.start - interval.start % HOUR, interval.end, HOUR)


def stretches(hours: Iterable[int]) -> tuple[Interval, ...]:
    """Join hours to sorted intervals of consecutive hours.

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
    """Return the hour of a timestamp as a string that sorts by time and is safe in a path.

    >>> hour_label(1_500_000)
    '1970-01-01T00'
    """
    return format_instant(instant)[:13]


@lru_cache(maxsize=10_000)  # a year has 8,760 hours; to parse one takes 9 us
def parse_hour(label: str) -> int:
    """Return the start timestamp of an hour from its label.

    >>> hour_label(parse_hour("2013-02-08T10"))
    '2013-02-08T10'
    """
    return parse_instant(f"{label}:00Z")
