"""Functions and LIKE on plain Python values, by the rules of `query/expressions.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elsinore.query.expressions import FunctionName
from elsinore.timeline import DAY, HOUR

_INT64 = range(-(2**63), 2**63)


def call(name: FunctionName, values: Sequence[Any]) -> Any:
    """The value of a function; None is NULL. Numbers are of one type where a double is among them.

    >>> call(FunctionName.LEAST, [None, 2, 3]), call(FunctionName.WEEKDAY, [0])
    (2, 4)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    match name:
        case FunctionName.ABS:
            return _fitted(abs(first))
        case FunctionName.LEAST:
            numbers = [value for value in known if value == value]
            return min(numbers) if numbers else first
        case FunctionName.GREATEST:
            odd = [value for value in known if value != value]
            return odd[0] if odd else max(known)
        case FunctionName.COALESCE:
            return first
        case FunctionName.LOWER:
            return first.lower()
        case FunctionName.UPPER:
            return first.upper()
        case FunctionName.HOUR:
            return first // HOUR % 24
        case FunctionName.WEEKDAY:  # the first of January 1970 was a Thursday
            return (first // DAY + 3) % 7 + 1


def _fitted(value: int | float) -> int | float | None:
    """NULL for a long beyond 64 bits."""
    return value if isinstance(value, float) or value in _INT64 else None


def like(text: str | None, pattern: str, escape: str | None) -> bool | None:
    """Whether a text matches a LIKE pattern as a whole.

    >>> like("50% off", "50!% %", "!"), like("50 % off", "50!% %", "!")
    (True, False)
    """
    if text is None:
        return None
    places = {0}  # how far into the text what was read of the pattern may reach
    literal = False
    for sign in pattern:
        if sign == escape and not literal:
            literal = True
        elif sign == "%" and not literal:
            places = set(range(min(places), len(text) + 1)) if places else places
        else:
            fits = sign == "_" and not literal
            places = {p + 1 for p in places if p < len(text) and (fits or text[p] == sign)}
            literal = False
    return len(text) in places
