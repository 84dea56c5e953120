"""Lines of JSON as records, and their values made into typed columns.

Nothing is coerced that JSON tells apart.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES
from elsinore.files.read_lines import fault_in
from elsinore.files.rejection import Fault, Reason, shown
from elsinore.files.typed import (
    EXACT_IN_DOUBLE,
    MAX_LONG,
    MIN_LONG,
    Typed,
    iso_instants,
    numeric_times,
    one_chunk,
    type_each,
)
from elsinore.timeline import TimeUnit

#: Objects and arrays inside one another. Events are flat; a limit of our own keeps the outcome
#: from depending on how deep the interpreter's stack happens to be.
MAX_DEPTH = 64
#: Longer numbers are beyond every double and long; and Python refuses to read very long ones.
_MAX_DIGITS = 400

_raw_decode = json.JSONDecoder().raw_decode
#: Brackets outside of strings; a string may be without its end. Nothing here backtracks.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
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
        return _refusal(line, Reason.BAD_JSON, f"{error.msg} at column {error.colno}")
    except _RepeatedKey as error:
        return _refusal(line, Reason.BAD_JSON, str(error))
    if not isinstance(record, dict):
        return _refusal(line, Reason.NOT_AN_OBJECT, f"{shown(record)} is not an object")
    return record


def _refusal(line: str, code: Reason, text: str) -> Fault:
    match fault_in(line):
        case Reason.LINE_TOO_LONG:
            return Fault(Reason.LINE_TOO_LONG, "the line is too long")
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


def json_values(values: list[Any], kind: AttributeType) -> Typed:
    """A column of JSON values as an attribute's type.

    Strings are strings and booleans booleans; a whole number is fine as a double; a number with a
    fraction of zero is fine as a long while doubles are exact (up to 2^53); timestamps are ISO
    8601 text. A double may be NaN; infinite ones are left to `check_limits`.

    Args:
        values: None where a record has no value or null.
        kind: the type to give them.
    """
    kinds = set(map(type, values))
    if kind is AttributeType.TIMESTAMP:
        return _iso_column(values, kinds, Reason.WRONG_TYPE)
    if kinds <= _NATURAL[kind]:
        try:
            return Typed(one_chunk(pa.array(values, ARROW_TYPES[kind])), [])
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            pass  # Too long for a long, or not text: find out which.
    return type_each(values, ARROW_TYPES[kind], _CONVERTERS[kind])


def json_times(values: list[Any], unit: TimeUnit) -> Typed:
    """A column of event times, in microseconds (or ticks)."""
    if unit is TimeUnit.ISO:
        return _iso_column(values, set(map(type, values)), Reason.BAD_TIME)
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
            (index, Fault(wrong, f"{shown(value)} is not an ISO 8601 instant"))
            for index, (value, text) in enumerate(zip(values, texts, strict=True))
            if value is not None and text is None
        ]
    typed = iso_instants(one_chunk(pa.array(texts, pa.string())), wrong)
    return Typed(typed.array, sorted(faults + typed.faults))


def _string(value: Any) -> str | Fault:
    if not isinstance(value, str):
        return Fault(Reason.WRONG_TYPE, f"{shown(value)} is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        return Fault(Reason.BAD_ENCODING, f"{shown(value)} is not valid Unicode")
    return value


def _id(value: Any) -> str | Fault:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _string(value)


def _long(value: Any) -> int | Fault:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Fault(Reason.WRONG_TYPE, f"{shown(value)} is not a long")
    if isinstance(value, float):
        if not math.isfinite(value):
            return Fault(Reason.NOT_FINITE, f"{shown(value)} is not finite")
        if not value.is_integer() or abs(value) > EXACT_IN_DOUBLE:
            return Fault(Reason.WRONG_TYPE, f"{shown(value)} is not a whole number for sure")
        return int(value)
    if not MIN_LONG <= value <= MAX_LONG:
        return Fault(Reason.WRONG_TYPE, f"{shown(value)} does not fit 64 bits")
    return value


def _double(value: Any) -> float | Fault:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Fault(Reason.WRONG_TYPE, f"{shown(value)} is not a double")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _boolean(value: Any) -> bool | Fault:
    if not isinstance(value, bool):
        return Fault(Reason.WRONG_TYPE, f"{shown(value)} is not a boolean")
    return value


_CONVERTERS: dict[AttributeType, Callable[[Any], Any]] = {
    AttributeType.STRING: _string,
    AttributeType.LONG: _long,
    AttributeType.DOUBLE: _double,
    AttributeType.BOOLEAN: _boolean,
}
