"""Result rows as the long table that people query with SQL: one row per aggregate."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from elsinore.errors import DataError
from elsinore.integers import digits_of, to_json
from elsinore.results.row import Value, nearest_double
from elsinore.timeline import Instant

#: One row per (query, group, step, window, aggregate). `step` is NULL if the query has no steps.
#: `window_end_hour` is the hour of the window's last instant; for a span BY FIRST or with a NOT at
#: the end, of the instant one span later. It is empty for ticks. Bounds are microseconds since the
#: epoch, or ticks. `type` is the `AttributeType` of the value, or `duration`. `value` is the
#: nearest double (infinite beyond the largest, NULL without a value; microseconds for instants and
#: durations), `exact` an integer's digits in full, a string or a boolean, `log2` the size of a
#: value (NULL for zero, NaN and doubles that are infinite).
LONG_SCHEMA = pa.schema(
    [
        pa.field("window_end_hour", pa.string(), False),
        pa.field("query", pa.string(), False),
        pa.field("group_key", pa.string(), False),
        pa.field("step", pa.int64()),
        pa.field("window_start", pa.int64(), False),
        pa.field("window_end", pa.int64(), False),
        pa.field("aggregate", pa.string(), False),
        pa.field("type", pa.string(), False),
        pa.field("value", pa.float64()),
        pa.field("exact", pa.string()),
        pa.field("log2", pa.float64()),
    ]
)


def group_text(group: tuple[tuple[str, Value], ...]) -> str:
    """The column `group_key`: a group as canonical JSON, labels in the order of GROUP-BY.

    >>> group_text((("carrier", "UA"), ("hub", None)))
    '{"carrier": "UA", "hub": null}'
    """
    texts = {name: str(v) if isinstance(v, Instant) else v for name, v in group}
    return json.dumps(texts, ensure_ascii=False)


def group_of(canonical: str) -> dict[str, Any]:
    """Return the group that a group key represents.

    Raises:
        DataError: it is not a JSON object.
    """
    try:
        held = json.loads(canonical)
    except (ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        problem = f"a result has an invalid group: {canonical[:60]}"
        hint = 'list them: `elsinore sql "SELECT DISTINCT group_key FROM results"`'
        raise DataError(problem, hint=hint)
    return held


def same_group(canonical: str, wanted: Mapping[str, Any]) -> bool:
    """Return whether a group key is the group that was asked for.

    >>> same_group('{"carrier": "UA", "hub": 7}', {"hub": "7", "carrier": "UA"})
    True
    >>> same_group('{"hub": "null"}', {"hub": None})
    False
    >>> same_group('{"price": 10.0, "new": true}', {"price": 10, "new": "True"})
    True
    """
    held = group_of(canonical)
    return held.keys() == wanted.keys() and all(
        _is_same(value, wanted[name]) for name, value in held.items()
    )


def _is_same(held: Any, wanted: Any) -> bool:
    """Return whether a value of a group is the one asked for: itself, or a text of it."""
    if isinstance(held, float) and isinstance(wanted, str | int):
        try:
            wanted = float(wanted)
        except (ValueError, OverflowError):
            return False
    if isinstance(held, bool) and isinstance(wanted, str):
        wanted = wanted.lower()
    texts = (v if v is None or isinstance(v, str) else to_json(v) for v in (held, wanted))
    return next(texts) == next(texts)


def numbers_of(value: Value) -> tuple[float | None, str | None, float | None]:
    """The columns `value`, `exact` and `log2` of an aggregate."""
    if value is None:
        return None, None, None
    if isinstance(value, str | bool):
        return None, exact_text(value), None
    assert isinstance(value, int | float)
    exact = digits_of(value) if isinstance(value, int) else None
    if isinstance(value, float):
        return value, exact, math.log2(abs(value)) if value and math.isfinite(value) else None
    return nearest_double(value), exact, math.log2(abs(value)) if value else None


def exact_text(value: str | bool) -> str:
    """Return the column `exact` of a string or a truth value.

    >>> exact_text("True"), exact_text(True)
    ('True', 'true')
    """
    return value if isinstance(value, str) else str(value).lower()


def exact_integers(values: Sequence[int | None]) -> pa.Array:
    """Integers of any size, none of them rounded.

    Returns:
        int64 where all of them fit, else decimal128 of 38 digits, else decimal256 of 76, else the
        digits as text.

    >>> [str(exact_integers([n, None]).type) for n in (-2**63, 2**63, 10**37, 10**75, 10**76)]
    ['int64', 'decimal128(38, 0)', 'decimal128(38, 0)', 'decimal256(76, 0)', 'string']
    """
    held = [value for value in values if value is not None]
    if all(-(2**63) <= value < 2**63 for value in held):
        return pa.array(values, pa.int64())
    longest = max(map(abs, held))
    # Not from Python's integers, which Arrow takes up to 64 bits.
    texts = pa.array([None if value is None else digits_of(value) for value in values], pa.string())
    for digits, kind in ((38, pa.decimal128(38)), (76, pa.decimal256(76))):
        if longest < 10**digits:
            return texts.cast(kind)
    return texts


def shorten_count(digits: str, full: int = 15) -> str:
    """Return a count for a table cell, shortened if it has many digits.

    >>> shorten_count("1234567"), shorten_count("1" + "0" * 20)
    ('1,234,567', '1.00e20 (21 digits)')
    """
    if len(digits) <= full:
        return f"{int(digits):,}"
    return f"{digits[0]}.{digits[1:3]}e{len(digits) - 1} ({len(digits)} digits)"
