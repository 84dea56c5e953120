"""A column of raw values made into one typed Arrow array, with the values that would not fit.

Times of every spelling become int64 microseconds, or ticks of no unit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES
from elsinore.files.rejection import Fault, Reason, shown
from elsinore.timeline import (
    MAX_INSTANT,
    MIN_INSTANT,
    NUMBER_LENGTHS,
    TICKS,
    Interval,
    TimeUnit,
    parse_instant,
)

#: Integers that a double holds without a doubt: beyond, `9007199254740993.0` reads as ...992.
EXACT_IN_DOUBLE = 2**53
MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1
#: The spelling that Arrow parses as `parse_instant` does; anything else is read value by value.
_PLAIN_ISO = r"^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"


class Typed(NamedTuple):
    """Values of one field.

    Attributes:
        array: as long as the raw column; NULL where the value is missing or faulty.
        faults: (index into the column, fault) of each value that is there and cannot be used.
    """

    array: pa.Array
    faults: list[tuple[int, Fault]]


def type_each(values: list[Any], arrow_type: pa.DataType, convert: Callable[[Any], Any]) -> Typed:
    """Convert value by value, the slow way that can name each fault.

    Args:
        values: raw values, None where missing.
        arrow_type: type of the array.
        convert: gives the value as `arrow_type` takes it, or a `Fault`.
    """
    good: list[Any] = []
    faults: list[tuple[int, Fault]] = []
    for index, value in enumerate(values):
        outcome = None if value is None else convert(value)
        if isinstance(outcome, Fault):
            faults.append((index, outcome))
            outcome = None
        good.append(outcome)
    return Typed(one_chunk(pa.array(good, arrow_type)), faults)


def nothing(kind: AttributeType, length: int) -> Typed:
    """A field that no record has."""
    return Typed(pa.nulls(length, ARROW_TYPES[kind]), [])


def one_chunk(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Arrow splits very long columns of text; the parts as one."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


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
    factor = NUMBER_LENGTHS[unit]
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
