"""Convert a raw column to a typed Arrow array, and report the values that are invalid.

A raw column is an Arrow column, or a list of parsed JSON values with None for missing ones. Times
of every format become int64 microseconds, or ticks without a unit. Whole numbers and booleans in a
string column become their JSON text, so that CSV, JSON and Parquet agree. Other JSON types are not
converted. In Arrow columns, integers of any width are longs, integers, floats and decimals are
doubles, and a date is its midnight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from functools import cache, partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES
from elsinore.files.advice import how_to_write, odd_column
from elsinore.files.rejection import Fault, Reason, shown
from elsinore.results.row import nearest_double
from elsinore.timeline import (
    DAY,
    MAX_INSTANT,
    MICROSECOND,
    MILLISECOND,
    MIN_INSTANT,
    NUMBER_LENGTHS,
    SECOND,
    TICKS,
    Interval,
    TimeUnit,
    parse_instant,
)

Column: TypeAlias = pa.Array | list[Any]

#: Integers that a double holds without a doubt: 2^53 may have been `9007199254740993.0`.
EXACT_IN_DOUBLE = 2**53 - 1
#: The same for narrower floats, of columns in Arrow.
_EXACT_IN = {pa.float16(): 2**11 - 1, pa.float32(): 2**24 - 1}
MIN_LONG, MAX_LONG = -(2**63), 2**63 - 1
#: Longer numbers are beyond every double and long; and Python refuses to read very long ones.
_MAX_DIGITS = 400
#: Microseconds in one unit of a timestamp column; nanoseconds are cut off.
_SCALES = {"s": SECOND, "ms": MILLISECOND, "us": MICROSECOND}
#: Spellings that Arrow parses as `parse_instant` does; anything else is read value by value.
#: Offsets stop at 17:59 here, and none may carry a time out of the years 1 to 9999.
_PLAIN_ISO = {
    r"^[1-9]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?Z$": pa.timestamp("us", "UTC"),
    r"^[1-9]\d{3}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d{1,6})?)?$": pa.timestamp("us"),
    r"^[1-8]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-](0\d|1[0-7])(:?[0-5]\d)?)$": (
        pa.timestamp("us", "UTC")
    ),
}
#: Likely times of numbers. No number is a likely time in two of the units s, ms and us.
LIKELY = Interval.parse("1971-01-01", "2400-01-01")
#: Days since 30 December 1899, as spreadsheets count them: 1954 to 2119.
_EXCEL_DAYS = range(20_000, 80_000)
#: Spellings that Arrow parses as Python does; it takes hexadecimal integers too.
_PLAIN_LONG = r"^-?[0-9]{1,18}$"
_PLAIN_DOUBLE = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
#: `(?i:false)` would match the long s of old books, too.
_PLAIN_BOOLEAN = "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$"
_DIGITS = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(_PLAIN_DOUBLE[1:-1])
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_BOOLEANS = {"true": True, "false": False}


class Typed(NamedTuple):
    """Values of one field."""

    array: pa.Array  #: as long as the raw column; missing and invalid values are NULL
    #: the index and the error of each invalid value.
    faults: list[tuple[int, Fault]]


class _Rule(NamedTuple):
    """How the values of a field are read."""

    arrow: pa.DataType  #: the type of the result
    #: converts a column as a whole, if possible; the flag allows quoted numbers.
    natural: Callable[[pa.Array, bool], Typed | None]
    convert: Callable[[Any], Any]  #: converts one value; returns None if missing, or a `Fault`
    spell: Callable[[str], Any] | None = None  #: parses a string if numbers may be quoted
    wrong: Reason = Reason.WRONG_TYPE  #: the reason for a column of another type
    noun: str = ""  #: the name of such a column in messages


def type_values(column: Column, kind: AttributeType, *, quoted: bool = False) -> Typed:
    """Return a column of raw values as an attribute's type.

    A string may be a whole number (5 or 5.0 is "5") or a boolean ("true"). A double may be a whole
    number or NaN; `check_limits` checks for infinity. A long may be a number with a fraction of
    zero if doubles are exact there (below 2^53) and it has no exponent. Timestamps are ISO 8601
    text, or Arrow's. If `quoted`, numbers and booleans may be text: plain decimals without blanks
    around them, `nan`, `inf`, `true` and `false`, all in any case; an empty string is NULL.
    """
    return _typed(column, _RULES[kind], quoted)


def type_times(column: Column, unit: TimeUnit, *, quoted: bool = False) -> Typed:
    """Return a column as event times; timestamps of Arrow have their own unit.

    Numbers (in strings, too, if `quoted`) have the unit `unit`; fractions are rounded to the
    microsecond.
    """
    is_iso, wrong = unit is TimeUnit.ISO, Reason.BAD_TIME

    def natural(column: pa.Array, quoted: bool) -> Typed | None:
        of = column.type
        if is_instant(of) and unit.is_calendar:
            return _micros(column, wrong)
        if is_iso:
            return iso_instants(column, wrong) if types.is_string(of) else None
        spelt = quoted and types.is_string(of) and _all_match(column, _PLAIN_LONG)
        if spelt or types.is_integer(of):
            with suppress(pa.ArrowInvalid):  # some do not fit: find out which
                longs = column.cast(pa.int64())
                return Typed(pc.multiply_checked(longs, NUMBER_LENGTHS[unit]), [])
        return None

    convert = partial(_iso_instant, wrong=wrong) if is_iso else partial(_numeric_time, unit=unit)
    spell = None if is_iso else _number_in
    return _typed(column, _Rule(pa.int64(), natural, convert, spell, wrong, "not a time"), quoted)


def type_ids(column: Column) -> Typed:
    """Return a column as event ids: text, or whole numbers as text; an empty id is missing."""
    return _typed(column, _Rule(pa.string(), _natural_ids, _id, noun="not an id"), quoted=False)


def _natural_ids(column: pa.Array, quoted: bool) -> Typed | None:
    if types.is_string(column.type):
        told = _unicode(column)
        empty = pc.equal(told.array, "")
        return Typed(pc.if_else(empty, pa.scalar(None, pa.string()), told.array), told.faults)
    return _digits_of(column)


def _digits_of(column: pa.Array) -> Typed | None:
    """Return whole numbers as decimal text; None if the column has other values."""
    of = column.type
    if types.is_floating(of):  # pandas stores integers with NULL as doubles
        doubles = column.cast(pa.float64())
        exact = pc.less_equal(pc.abs(doubles), float(_EXACT_IN.get(of, EXACT_IN_DOUBLE)))
        whole = pc.and_(exact, pc.equal(doubles, pc.floor(doubles)))
        if pc.all(whole).as_py() is False:
            return None
        column = doubles.cast(pa.int64())
    elif not types.is_integer(of):
        return None
    return Typed(column.cast(pa.string()), [])


def _typed(column: Column, rule: _Rule, quoted: bool) -> Typed:
    """Convert a column by a rule, as a whole if possible, otherwise value by value."""
    values = column if isinstance(column, list) else None
    whole: Any = column if values is None else None
    if values is not None:
        if quoted and rule.spell:
            values = [rule.spell(value) if type(value) is str else value for value in values]
        kinds = set(map(type, values)) - {type(None)}
        if WrittenNumber in kinds and rule.arrow == pa.float64():
            values = [float(v) if type(v) is WrittenNumber else v for v in values]
            kinds = kinds - {WrittenNumber} | {float}
        if kinds <= {int, float} or kinds in ({str}, {bool}):
            # Some values may exceed a long or be invalid strings: then they are found below.
            with suppress(pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
                whole = one_chunk(pa.array(values))
        elif str in kinds:  # value by value, timestamps would take too long
            texts = [value if type(value) is str else None for value in values]
            others = [None if type(value) is str else value for value in values]
            one, other = (_typed(part, rule, quoted=False) for part in (texts, others))
            return Typed(pc.coalesce(one.array, other.array), sorted(one.faults + other.faults))
    if whole is not None and types.is_null(whole.type):
        return Typed(pa.nulls(len(whole), rule.arrow), [])
    if whole is not None and (found := rule.natural(whole, quoted)) is not None:
        return found
    if values is not None:
        return _type_each(values, rule.arrow, rule.convert)
    if is_plain(whole.type):
        return _typed(_python_values(whole), rule, quoted)
    present = np.flatnonzero(pc.is_valid(whole).to_numpy(zero_copy_only=False))
    fault = Fault(rule.wrong, odd_column(whole.type, rule.noun))
    return Typed(pa.nulls(len(whole), rule.arrow), [(int(index), fault) for index in present])


def one_chunk(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Join the chunks of a column; Arrow splits very long string columns."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _type_each(values: list[Any], arrow_type: pa.DataType, convert: Callable[[Any], Any]) -> Typed:
    """Convert value by value (None where missing), the slow way that can name each fault.

    `convert` gives the value as `arrow_type` takes it, or a `Fault`.
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


# ---- columns that are Arrow's


def _natural(kind: AttributeType, column: pa.Array, quoted: bool) -> Typed | None:
    """Convert a column without a check of single values; None if a check is needed."""
    of = column.type
    is_text = types.is_string(of)
    spells = quoted and is_text
    match kind:
        case AttributeType.STRING if is_text:
            return _unicode(column)
        case AttributeType.STRING if types.is_boolean(of):
            column = column.cast(pa.string())
        case AttributeType.STRING:
            return _digits_of(column)
        case AttributeType.BOOLEAN if types.is_boolean(of):
            pass
        case AttributeType.BOOLEAN if spells and _all_match(column, _PLAIN_BOOLEAN):
            column = pc.equal(pc.ascii_lower(column), "true")
        case AttributeType.LONG if (types.is_integer(of) and of != pa.uint64()) or (
            spells and _all_match(column, _PLAIN_LONG)
        ):
            column = column.cast(pa.int64())
        case AttributeType.DOUBLE if types.is_decimal(of):
            column = column.cast(pa.string()).cast(pa.float64())  # its own cast is off by a bit
        case AttributeType.DOUBLE if _is_number_type(of) or (
            spells and _all_match(column, _PLAIN_DOUBLE)
        ):
            column = column.cast(pa.float64(), safe=False)
        case AttributeType.TIMESTAMP if is_instant(of):
            return _micros(column, Reason.WRONG_TYPE)
        case AttributeType.TIMESTAMP if is_text:
            return iso_instants(column, Reason.WRONG_TYPE)
        case _:
            return None
    # Adding zero makes -0.0 plain 0.0: as a group or key the two would differ.
    return Typed(pc.add(column, 0.0) if kind is AttributeType.DOUBLE else column, [])


def _unicode(column: pa.Array) -> Typed:
    """Validate a string column; other programs can write bytes that are not UTF-8."""
    with suppress(pa.ArrowInvalid):
        column.validate(full=True)
        return Typed(column, [])
    as_bytes = column.cast(pa.binary()).to_pylist()
    texts = [None if raw is None else raw.decode("utf-8", "surrogateescape") for raw in as_bytes]
    return _type_each(texts, pa.string(), _string)


def _is_number_type(of: pa.DataType) -> bool:
    return types.is_integer(of) or types.is_floating(of) or types.is_decimal(of)


def is_instant(of: pa.DataType) -> bool:
    """Return whether the values say a time themselves."""
    return types.is_timestamp(of) or types.is_date(of)


def is_plain(of: pa.DataType) -> bool:
    """Return whether the values are such as JSON has."""
    return _is_number_type(of) or types.is_string(of) or types.is_boolean(of) or types.is_null(of)


def _all_match(texts: pa.Array, pattern: str) -> bool:
    """Return whether all texts do; true where there are only NULLs."""
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _python_values(column: pa.Array) -> list[Any]:
    values = column.to_pylist()
    if most := _EXACT_IN.get(column.type):
        return [v if v is None or abs(v) <= most else NarrowNumber(v, most) for v in values]
    if not types.is_decimal(column.type):
        return values
    return [plain_number(value) if isinstance(value, Decimal) else value for value in values]


def plain_number(value: Decimal) -> int | float:
    """Return a decimal as a JSON number: an integer if it is whole, otherwise a double."""
    whole = value.to_integral_value()
    return int(whole) if whole == value else float(value)


def _micros(column: pa.Array, wrong: Reason) -> Typed:
    """Return timestamps and dates as microseconds since the epoch.

    Digits beyond the microsecond are cut off here.
    """
    of = column.type
    missing = pc.is_null(column).to_numpy(zero_copy_only=False)
    width = pa.int32() if types.is_date32(of) else pa.int64()
    counts = column.cast(width).cast(pa.int64()).fill_null(0).to_numpy()
    if types.is_timestamp(of) and of.unit == "ns":
        counts, scale = counts // 1_000, 1
    else:
        scale = _SCALES[of.unit] if types.is_timestamp(of) else MILLISECOND
        scale = DAY if types.is_date32(of) else scale
    # Compared before they are scaled: afterwards they may have overflowed.
    outside = (counts < MIN_INSTANT // scale) | (counts > MAX_INSTANT // scale)
    micros = np.where(outside, 0, counts) * scale
    fault = Fault(wrong, "the time is not in the years 1 to 9999")
    faults = [(int(index), fault) for index in np.flatnonzero(outside)]
    return Typed(pa.array(micros, pa.int64(), mask=missing | outside), faults)


# ---- times


def time_numbers(instants: pa.Array, unit: TimeUnit) -> list[int | float | None]:
    """Return timestamps as the numbers of a unit, None for NULL and invalid ones."""
    length = NUMBER_LENGTHS[unit]
    micros = type_times(instants, unit).array.to_pylist()
    return [m if m is None else m // length if m % length == 0 else m / length for m in micros]


def likely_unit(value: object) -> TimeUnit | None:
    """Return the unit in which a number, or its text, most likely is a time."""
    text = str(value)[:30]
    if _DIGITS.fullmatch(text):
        for unit, length in NUMBER_LENGTHS.items():
            if unit.is_calendar and LIKELY.contains(int(float(text) * length)):
                return unit
    return None


def doubt_of_unit(value: object) -> str:
    """Return a guess about a number that is not a time of its unit, to append to an error.

    >>> doubt_of_unit("1740996000000"), doubt_of_unit("noon")
    ('; if it is in ms, set unit: ms', '')
    """
    if unit := likely_unit(value):
        return f"; if it is in {unit}, set unit: {unit}"
    if re.fullmatch(r"1[0-9]{18}", str(value)):
        return "; if it is in nanoseconds, divide it by 1000 and set unit: us"
    if re.fullmatch(r"[0-9]{5}(\.[0-9]+)?", str(value)) and int(str(value)[:5]) in _EXCEL_DAYS:
        return "; if it is an Excel date, format the column as yyyy-mm-dd hh:mm:ss and save it"
    return ""


def ticks_text(times: Interval) -> str:
    """Return a readable text of an interval of integer times.

    >>> ticks_text(Interval(-3, 5))
    '-3 to 4'
    """
    return f"{times.start} to {times.end - 1}"


def iso_instants(texts: pa.Array, wrong: Reason) -> Typed:
    """Return the microseconds since the epoch of ISO 8601 strings, as `timeline.parse_instant`.

    A string that is not a timestamp is rejected with the code `wrong`.
    """
    for pattern, kind in _PLAIN_ISO.items():
        if _all_match(texts, pattern):
            # A 30th of February or the like is found below.
            with suppress(pa.ArrowInvalid):
                return Typed(texts.cast(kind).cast(pa.int64()), [])
    convert = cache(partial(_iso_instant, wrong=wrong))
    return _type_each(texts.to_pylist(), pa.int64(), convert)


def _iso_instant(value: Any, wrong: Reason) -> int | Fault:
    problem = f"{shown(value)} is not an ISO 8601 timestamp"
    is_text = isinstance(value, str)
    if is_text:
        try:
            return parse_instant(value)
        except ValueError as error:
            if not _DIGITS.fullmatch(value[:30]):
                return Fault(wrong, str(error))
    doubt = doubt_of_unit(value) if wrong is Reason.BAD_TIME else ""
    return Fault(wrong, f"{problem}{doubt or how_to_write(str(value), 'instant')}")


def _numeric_time(value: Any, unit: TimeUnit) -> int | Fault:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Fault(Reason.BAD_TIME, f"{shown(value)} is not a number{_instead_of_number(value)}")
    if isinstance(value, float):
        if not math.isfinite(value):
            return Fault(Reason.BAD_TIME, f"{shown(value)} is not finite")
        if not unit.is_calendar:
            if not value.is_integer() or abs(value) > EXACT_IN_DOUBLE:
                return Fault(Reason.BAD_TIME, f"{_written(value)} is not a whole number of ticks")
            return int(value)
        scaled = value * NUMBER_LENGTHS[unit]
        value = round(scaled) if math.isfinite(scaled) else MAX_LONG + 1
    else:
        value *= NUMBER_LENGTHS[unit]
    if not MIN_LONG <= value <= MAX_LONG:
        rule = "does not fit 64 bits" if unit.is_calendar else f"is not in {ticks_text(TICKS)}"
        return Fault(Reason.TIME_OUT_OF_RANGE, f"{shown(value)} {rule}")
    return value


def _instead_of_number(value: Any) -> str:
    """Return what to change if a time should be a number and is not."""
    if not isinstance(value, str):
        return ""
    if _NUMBER.fullmatch(value[:40]):
        return "; remove the quotes, or set quoted_numbers: true in the schema"
    if re.match(r"\d{4}-?\d\d-?\d\d", value):
        return "; if it is ISO 8601, set unit: iso"
    return ""


# ---- single values


def _wrong(value: Any, noun: str) -> Fault:
    text = value if isinstance(value, str) else shown(value)
    return Fault(Reason.WRONG_TYPE, f"{shown(value)} is not a {noun}{how_to_write(text, noun)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _string(value: Any) -> str | Fault:
    """Return a string, or the JSON text of a boolean or a whole number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if _is_number(value):
        return _number_as_text(value)
    if not isinstance(value, str):
        return _wrong(value, "string")
    try:
        value.encode()
    except UnicodeEncodeError:
        return Fault(Reason.BAD_ENCODING, f"{shown(value)} is not valid Unicode")
    return value


def _number_as_text(value: float) -> str | Fault:
    if isinstance(value, int):
        return str(value) if abs(value) < 10**_MAX_DIGITS else _wrong(value, "string")
    whole = _exact_integer(value)
    if isinstance(whole, Fault):
        return whole._replace(text=f"{whole.text}; write strings in quotes")
    return str(whole)


def _id(value: Any) -> str | Fault | None:
    if value == "":
        return None
    return _wrong(value, "string") if isinstance(value, bool) else _string(value)


#: Problem of a number such as 1.5 in an attribute of type long.
_FRACTION = "is not a whole number"


def _exact_integer(value: float) -> int | Fault:
    """Return the integer that was written with a fraction of zero."""
    text = _written(value)
    if "e" in text.lower() and isinstance(value, WrittenNumber):
        problem = "has an exponent and may have lost digits, as in a spreadsheet"
        return Fault(Reason.WRONG_TYPE, f"{text} {problem}; export the column as strings")
    if not math.isfinite(value):
        return Fault(Reason.NOT_FINITE, f"{text} is not finite")
    if not value.is_integer():
        return Fault(Reason.WRONG_TYPE, f"{text} {_FRACTION}")
    if isinstance(value, NarrowNumber):
        problem = f"may have lost digits: its column is exact up to {value.most}"
        return Fault(Reason.WRONG_TYPE, f"{text} {problem}; write 64-bit integers")
    if abs(value) > EXACT_IN_DOUBLE:
        problem = "may have lost digits: fractions are exact up to 9007199254740991.0"
        return Fault(Reason.WRONG_TYPE, f"{text} {problem}; write it without a fraction")
    return int(value)


def _written(value: float) -> str:
    """Return a number as written in its file, if that is known."""
    return shown(value.text if isinstance(value, WrittenNumber) else value).strip("'")


def _long(value: Any) -> int | Fault:
    if isinstance(value, str) and isinstance(written := _number_in(value), WrittenNumber):
        return _whole_long(written)
    if not _is_number(value):
        return _wrong(value, "long")
    if isinstance(value, float):
        return _whole_long(value)
    if not MIN_LONG <= value <= MAX_LONG:
        return Fault(Reason.WRONG_TYPE, f"{shown(value)} does not fit 64 bits")
    return int(value)


def _whole_long(value: float) -> int | Fault:
    """Return the integer of a number; the error of a fraction suggests the type double."""
    whole = _exact_integer(value)
    if isinstance(whole, Fault) and whole.text.endswith(_FRACTION):
        return whole._replace(text=f"{whole.text}; declare the attribute as double in the schema")
    return whole


def _double(value: Any) -> float | Fault:
    return nearest_double(value) if _is_number(value) else _wrong(value, "double")


def _boolean(value: Any) -> bool | Fault:
    return value if isinstance(value, bool) else _wrong(value, "boolean")


class NarrowNumber(float):
    """Number of a float of 16 or 32 bits that can be a rounded integer, or is NaN or infinite."""

    most: int  #: up to this, such a float holds all integers

    def __new__(cls, value: float, most: int) -> NarrowNumber:
        """Return a number with its bound."""
        number = super().__new__(cls, value)
        number.most = most
        return number


class WrittenNumber(float):
    """Number whose text matters if an integer is wanted: with an exponent, or too large."""

    text: str


def decimal_number(text: str) -> float:
    """Return a number with a fraction or an exponent, with its text if that may be needed."""
    value = float(text)
    if "e" not in text and "E" not in text and abs(value) <= EXACT_IN_DOUBLE:
        return value
    written = WrittenNumber(value)
    written.text = text
    return written


def whole_number(digits: str) -> int:
    """Parse an integer of any length; values beyond all doubles are limited to 1e400."""
    if len(digits) <= _MAX_DIGITS:
        return int(digits)
    return -(10**_MAX_DIGITS) if digits.startswith("-") else 10**_MAX_DIGITS


def _boolean_in(text: str) -> bool | str | None:
    """Return the boolean in a string, or the string if it is invalid; None if it is empty."""
    return _BOOLEANS.get(text.lower(), text) if text else None


def _number_in(text: str) -> int | float | str | None:
    """Return the number in a string, or the string if it is invalid; None if it is empty."""
    if not text:
        return None
    if _WHOLE.fullmatch(text):
        return whole_number(text)
    if _NUMBER.fullmatch(text):
        return decimal_number(text)
    return float(text) if _SPECIAL.fullmatch(text) else text


def spelled(text: str, kind: AttributeType | None) -> Any:
    """Return the JSON value of a CSV cell; a string that is not a value of its type stays one.

    >>> spelled("7.0", AttributeType.LONG), spelled("x", AttributeType.LONG), spelled("", None)
    (7.0, 'x', None)
    """
    spell = _RULES[kind].spell if kind else None
    value = spell(text) if spell else text or None
    return text if kind is AttributeType.LONG and isinstance(value, WrittenNumber) else value


_RULES = {
    kind: _Rule(ARROW_TYPES[kind], partial(_natural, kind), convert, spell, noun=f"not a {kind}")
    for kind, convert, spell in (
        (AttributeType.STRING, _string, None),
        (AttributeType.LONG, _long, _number_in),
        (AttributeType.DOUBLE, _double, _number_in),
        (AttributeType.BOOLEAN, _boolean, _boolean_in),
        (AttributeType.TIMESTAMP, partial(_iso_instant, wrong=Reason.WRONG_TYPE), None),
    )
}
