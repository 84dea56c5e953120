"""Values as JSON has them, made into typed columns; nothing is coerced that JSON tells apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES
from elsinore.files.instants import iso_instants, numeric_times
from elsinore.files.rejection import Fault, Reason, shown
from elsinore.files.typed import (
    EXACT_IN_DOUBLE,
    MAX_LONG,
    MIN_LONG,
    Typed,
    one_chunk,
    type_each,
)
from elsinore.timeline import TimeUnit

#: Python types that Arrow takes as they are, if a column holds no others.
_NATURAL: dict[AttributeType, set[type]] = {
    AttributeType.STRING: {str, type(None)},
    AttributeType.LONG: {int, type(None)},
    AttributeType.DOUBLE: {int, float, type(None)},
    AttributeType.BOOLEAN: {bool, type(None)},
}


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
