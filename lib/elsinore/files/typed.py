"""A column of raw values made into one typed Arrow array, with the values that would not fit.

Times of every spelling become int64 microseconds, or ticks of no unit. Of JSON, whose lines are
parsed here, nothing is coerced that it tells apart.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES
from elsinore.files.read_lines import TOO_LONG, fault_in
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
#: Spellings that Arrow parses as `parse_instant` does; anything else is read value by value.
_PLAIN_ISO = {
    r"^[1-9]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?Z$": pa.timestamp("us", "UTC"),
    r"^[1-9]\d{3}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d{1,6})?)?$": pa.timestamp("us"),
}


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
    """The event times that are taken for real.

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


def doubt_of_unit(value: object) -> str:
    """In which unit a number would be a time that is taken for real, to be said after a fault.

    >>> doubt_of_unit("1740996000000"), doubt_of_unit("noon")
    ('; is it in ms? then say so by unit: ms', '')
    """
    text = str(value)
    for unit, length in NUMBER_LENGTHS.items() if _DIGITS.fullmatch(text[:30]) else ():
        if unit.is_calendar and plausible_times(unit).contains(int(float(text[:30]) * length)):
            return f"; is it in {unit}? then say so by unit: {unit}"
    return ""


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
    for pattern, kind in _PLAIN_ISO.items():
        # None: there are only NULLs.
        if pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False:
            # A 30th of February or the like is found below.
            with suppress(pa.ArrowInvalid):
                return Typed(texts.cast(kind).cast(pa.int64()), [])
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
        return Fault(wrong, f"{shown(text)} is not an ISO 8601 instant{doubt_of_unit(text)}")
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


# ---- JSON: lines as records, and their values


#: Objects and arrays inside one another. Events are flat; a limit of our own keeps the outcome
#: from depending on how deep the interpreter's stack happens to be.
MAX_DEPTH = 64
#: Longer numbers are beyond every double and long; and Python refuses to read very long ones.
_MAX_DIGITS = 400

#: What to say of a list where an event should be.
ARRAY = "a list is not an object; a line is one event (`jq -c '.[]'` makes them)"
_raw_decode = json.JSONDecoder().raw_decode
#: Brackets outside of strings; a string may be without its end. Nothing here backtracks.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
_DIGITS = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
#: Python types that Arrow takes as they are, if a column holds no others.
_NATURAL: dict[AttributeType, set[type]] = {
    AttributeType.STRING: {str, type(None)},
    AttributeType.LONG: {int, type(None)},
    AttributeType.DOUBLE: {int, float, type(None)},
    AttributeType.BOOLEAN: {bool, type(None)},
}


def parse_json(line: str) -> dict[str, Any] | Fault:
    """The object that a line holds.

    Refused are, beside what is no JSON: anything but an object, keys that occur twice (which value
    is meant is anyone's guess), and nesting beyond `MAX_DEPTH`. `NaN` and `Infinity` are read as
    numbers: a double may be NaN, and where they are wrong the attribute can be named.
    """
    # Nearly all lines are flat and have `":` once for each key and nowhere else; that is cheap to
    # see, and it rules out deep nesting and doubled keys. All others take the careful way.
    if "[" in line or line.count("{") != 1 or '" ' in line or '"\t' in line or '"\r' in line:
        return _parse_carefully(line)
    try:
        record, end = _raw_decode(line)
    except ValueError:
        return _parse_carefully(line)
    if type(record) is not dict or end != len(line) or line.count('":') != len(record):
        return _parse_carefully(line)
    return record


def whole_number(digits: str) -> int:
    """An integer of any length, as far as it matters: what no double can hold becomes 1e400."""
    if len(digits) <= _MAX_DIGITS:
        return int(digits)
    return -(10**_MAX_DIGITS) if digits.startswith("-") else 10**_MAX_DIGITS


class _RepeatedKey(ValueError):
    pass


def _parse_carefully(line: str) -> dict[str, Any] | Fault:
    if _is_deeper(line, MAX_DEPTH):
        return _refusal(line, Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH}")
    try:
        record = json.loads(line, object_pairs_hook=_unique, parse_int=whole_number)
    except json.JSONDecodeError as error:
        if line.lstrip().startswith("["):
            return _refusal(line, Reason.NOT_AN_OBJECT, ARRAY)
        return _refusal(line, Reason.BAD_JSON, f"{error.msg} at column {error.colno}")
    except _RepeatedKey as error:
        return _refusal(line, Reason.BAD_JSON, str(error))
    if not isinstance(record, dict):
        text = ARRAY if isinstance(record, list) else f"{shown(record)} is not an object"
        return _refusal(line, Reason.NOT_AN_OBJECT, text)
    return record


def _refusal(line: str, code: Reason, text: str) -> Fault:
    match fault_in(line):
        case Reason.LINE_TOO_LONG:
            return Fault(Reason.LINE_TOO_LONG, TOO_LONG)
        case Reason.BAD_ENCODING:
            return Fault(Reason.BAD_ENCODING, "the line is not UTF-8")
    return Fault(code, text)


def _is_deeper(line: str, limit: int) -> bool:
    if line.count("[") + line.count("{") <= limit:
        return False
    depth = 0
    for token in _TOKEN.finditer(line):
        match token[0][0]:
            case "[" | "{":
                depth += 1
                if depth > limit:
                    return True
            case "]" | "}":
                depth -= 1
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = Counter(key for key, _ in pairs)
        twice = keys.most_common(1)[0][0]
        raise _RepeatedKey(f"key {shown(twice)} occurs twice")
    return record


def json_values(values: list[Any], kind: AttributeType, *, quoted: bool = False) -> Typed:
    """A column of JSON values as an attribute's type.

    Strings are strings and booleans booleans; a whole number is fine as a double; a number with a
    fraction of zero is fine as a long while doubles are exact (up to 2^53); timestamps are ISO
    8601 text. A double may be NaN; infinite ones are left to `check_limits`.

    Args:
        values: None where a record has no value or null.
        kind: the type to give them.
        quoted: whether numbers and booleans may stand in quotes.
    """
    if quoted and kind in _SPELLED:
        values = [_SPELLED[kind](value) if type(value) is str else value for value in values]
    kinds = set(map(type, values))
    if kind is AttributeType.TIMESTAMP:
        return _iso_column(values, kinds, Reason.WRONG_TYPE)
    if kinds <= _NATURAL[kind]:
        try:
            return Typed(one_chunk(pa.array(values, ARROW_TYPES[kind])), [])
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            pass  # Too long for a long, or not text: find out which.
    return type_each(values, ARROW_TYPES[kind], _CONVERTERS[kind])


def json_times(values: list[Any], unit: TimeUnit, *, quoted: bool = False) -> Typed:
    """A column of event times, in microseconds (or ticks); `quoted` as for `json_values`."""
    if unit is TimeUnit.ISO:
        return _iso_column(values, set(map(type, values)), Reason.BAD_TIME)
    if quoted:
        values = [number_in(value) if type(value) is str else value for value in values]
    return numeric_times(values, unit)


def json_ids(values: list[Any]) -> Typed:
    """A column of event ids: text, or integers written as text; an empty id counts as missing."""
    kinds = set(map(type, values))
    if kinds <= {str} and "" not in values:
        return json_values(values, AttributeType.STRING)
    return type_each([None if value == "" else value for value in values], pa.string(), _id)


def _iso_column(values: list[Any], kinds: set[type], wrong: Reason) -> Typed:
    faults: list[tuple[int, Fault]] = []
    texts = values
    if not kinds <= {str, type(None)} or not all(map(str.isascii, filter(None, values))):
        # No instant is spelled beyond ASCII, and Arrow takes no lone surrogates.
        texts = [value if isinstance(value, str) and value.isascii() else None for value in values]
        faults = [
            (
                index,
                Fault(wrong, f"{shown(value)} is not an ISO 8601 instant{doubt_of_unit(value)}"),
            )
            for index, (value, text) in enumerate(zip(values, texts, strict=True))
            if value is not None and text is None
        ]
    typed = iso_instants(one_chunk(pa.array(texts, pa.string())), wrong)
    return Typed(typed.array, sorted(faults + typed.faults))


def _wrong(value: Any, noun: str) -> Fault:
    return Fault(Reason.WRONG_TYPE, f"{shown(value)} is not a {noun}")


def _no_number(value: Any, noun: str) -> Fault:
    fault = _wrong(value, noun)
    quoted = isinstance(value, str) and _DIGITS.fullmatch(value)
    return fault._replace(text=f"{fault.text}; {_QUOTED}") if quoted else fault


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _string(value: Any) -> str | Fault:
    if not isinstance(value, str):
        return _wrong(value, "string")
    try:
        value.encode()
    except UnicodeEncodeError:
        return Fault(Reason.BAD_ENCODING, f"{shown(value)} is not valid Unicode")
    return value


def _id(value: Any) -> str | Fault:
    return _string(str(value) if isinstance(value, int) and _is_number(value) else value)


def _long(value: Any) -> int | Fault:
    if not _is_number(value):
        return _no_number(value, "long")
    if isinstance(value, float):
        if not math.isfinite(value):
            return Fault(Reason.NOT_FINITE, f"{shown(value)} is not finite")
        if not value.is_integer() or abs(value) > EXACT_IN_DOUBLE:
            return _wrong(value, "whole number for sure")
        return int(value)
    if not MIN_LONG <= value <= MAX_LONG:
        return Fault(Reason.WRONG_TYPE, f"{shown(value)} does not fit 64 bits")
    return int(value)


def _double(value: Any) -> float | Fault:
    try:
        return float(value) if _is_number(value) else _no_number(value, "double")
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _boolean(value: Any) -> bool | Fault:
    return value if isinstance(value, bool) else _wrong(value, "boolean")


# ---- numbers and booleans spelled in text

_QUOTED = "it stands in quotes; quoted_numbers: true in the schema allows that"
#: Spellings that Arrow parses as Python does; it takes hexadecimal integers too.
PLAIN_LONG = r"^-?[0-9]{1,18}$"
PLAIN_DOUBLE = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(PLAIN_DOUBLE[1:-1])
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_BOOLEANS = {"true": True, "false": False}


def boolean_in(text: str | None) -> bool | str | None:
    """The boolean that a text spells, or the text itself; None if it is empty."""
    return _BOOLEANS.get(text.lower(), text) if text else None


def number_in(text: str | None) -> int | float | str | None:
    """The number that a text spells, or the text itself, for the rules of JSON to refuse."""
    if not text:
        return None
    if _WHOLE.fullmatch(text):
        return whole_number(text)
    if _NUMBER.fullmatch(text) or _SPECIAL.fullmatch(text):
        return float(text)
    return text


_SPELLED: dict[AttributeType, Callable[[str], Any]] = {
    AttributeType.LONG: number_in,
    AttributeType.DOUBLE: number_in,
    AttributeType.BOOLEAN: boolean_in,
}
_CONVERTERS: dict[AttributeType, Callable[[Any], Any]] = {
    AttributeType.STRING: _string,
    AttributeType.LONG: _long,
    AttributeType.DOUBLE: _double,
    AttributeType.BOOLEAN: _boolean,
}
