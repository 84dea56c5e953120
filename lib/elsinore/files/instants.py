"""Times as raw events write them, made into int64 microseconds (or ticks), column by column."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.files.rejection import Fault, Reason, shown
from elsinore.files.typed import EXACT_IN_DOUBLE, MAX_LONG, MIN_LONG, Typed, type_each
from elsinore.timeline import (
    MAX_INSTANT,
    MICROSECOND,
    MILLISECOND,
    MIN_INSTANT,
    SECOND,
    TICKS,
    Interval,
    TimeUnit,
    parse_instant,
)

_FACTORS = {
    TimeUnit.SECONDS: SECOND,
    TimeUnit.MILLISECONDS: MILLISECOND,
    TimeUnit.MICROSECONDS: MICROSECOND,
    TimeUnit.INTEGER: 1,
}

#: The spelling that Arrow parses as `parse_instant` does; anything else is read value by value.
_PLAIN_ISO = r"^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


def plausible_times(unit: TimeUnit) -> Interval:
    """The event times that are taken for real, unless a caller says otherwise.

    Years 1900 to 2199. Times written as numbers begin in 1971: read in too fine a unit (seconds
    as milliseconds, or as microseconds) today's times fall into the first weeks of 1970, read in
    too coarse a unit they fall after 2200; so each mix-up of s, ms, us and ns is caught. Integer
    ticks have no unit; they are those of `timeline.TICKS`.
    """
    match unit:
        case TimeUnit.INTEGER:
            return TICKS
        case TimeUnit.ISO:
            return Interval.parse("1900-01-01", "2200-01-01")
    return Interval.parse("1971-01-01", "2200-01-01")


def ticks_text(times: Interval) -> str:
    """An interval of integer times, for people.

    >>> ticks_text(Interval(-3, 5))
    '-3 to 4'
    """
    return f"{times.start} to {times.end - 1}"


def iso_instants(texts: pa.Array, wrong: Reason) -> Typed:
    """Microseconds since the epoch of ISO 8601 texts, as `timeline.parse_instant` reads them.

    Args:
        texts: string array.
        wrong: the code under which a text that is no instant is reported.
    """
    plain = pc.all(pc.match_substring_regex(texts, _PLAIN_ISO)).as_py()
    if plain is not False:  # None: there are only NULLs
        try:
            return Typed(texts.cast(pa.timestamp("us", "UTC")).cast(pa.int64()), [])
        except pa.ArrowInvalid:
            pass  # A 30th of February or the like: find out which.
    known: dict[str, int | Fault] = {}

    def convert(text: str) -> int | Fault:
        if text not in known:
            known[text] = _iso_instant(text, wrong)
        return known[text]

    return type_each(texts.to_pylist(), pa.int64(), convert)


def _iso_instant(text: str, wrong: Reason) -> int | Fault:
    try:
        # Digits of other scripts are digits to Python.
        instant = parse_instant(text) if text.isascii() else None
    except ValueError:
        instant = None
    if instant is None:
        return Fault(wrong, f"{shown(text)} is not an ISO 8601 instant")
    # An offset can carry a time out of the years that can be written.
    if not MIN_INSTANT <= instant <= MAX_INSTANT:
        return Fault(wrong, f"{shown(text)} is not in the years 1 to 9999")
    return instant


def numeric_times(values: list[Any], unit: TimeUnit) -> Typed:
    """Times of numbers counted in `unit` (not ISO); fractions are rounded to the microsecond."""
    factor = _FACTORS[unit]
    if set(map(type, values)) <= {int, type(None)}:
        try:
            return Typed(pc.multiply_checked(pa.array(values, pa.int64()), factor), [])
        except (pa.ArrowInvalid, OverflowError):
            pass  # Some do not fit: find out which.
    return type_each(values, pa.int64(), lambda value: _numeric_time(value, unit, factor))


def _numeric_time(value: Any, unit: TimeUnit, factor: int) -> int | Fault:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Fault(Reason.BAD_TIME, f"{shown(value)} is not a number")
    if isinstance(value, float):
        if not math.isfinite(value):
            return Fault(Reason.BAD_TIME, f"{shown(value)} is not finite")
        if not unit.is_calendar:
            if not value.is_integer() or abs(value) > EXACT_IN_DOUBLE:
                return Fault(Reason.BAD_TIME, f"{shown(value)} is not a whole number of ticks")
            return int(value)
        scaled = value * factor
        value = round(scaled) if math.isfinite(scaled) else MAX_LONG + 1
    else:
        value *= factor
    if not MIN_LONG <= value <= MAX_LONG:
        rule = "does not fit 64 bits" if unit.is_calendar else f"is not in {ticks_text(TICKS)}"
        return Fault(Reason.TIME_OUT_OF_RANGE, f"{shown(value)} {rule}")
    return value
