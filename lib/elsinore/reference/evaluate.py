"""Expressions over one event or an adjacent pair, by the rules of `query/expressions.py`.

NULL is None; truth is True, False or None (unknown). Longs and timestamps are int within 64 bits,
doubles are IEEE 754.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from elsinore.catalog.stream import AttributeType
from elsinore.query.expressions import Applied, BoundExpression, Constant, Field
from elsinore.reference.event import Event
from elsinore.timeline import DAY, HOUR

_DOUBLE = AttributeType.DOUBLE
_INT64 = range(-(2**63), 2**63)

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(condition: BoundExpression, event: Event, following: Event | None = None) -> bool:
    """Whether a condition is *true*; unknown lets nothing pass."""
    return evaluate(condition, event, following) is True


def evaluate(expression: BoundExpression, event: Event, following: Event | None = None) -> Any:
    """The value of an expression read from an event, and from the one that follows it."""

    def inner(operand: BoundExpression) -> Any:
        return evaluate(operand, event, following)

    match expression:
        case Constant(value):
            return value
        case Field(attribute=attribute, following=later):
            source = following if later else event
            assert source is not None, "an edge predicate needs a pair of events"
            return source.value(attribute)
        case Applied():
            return _applied(expression, inner)


def _applied(expression: Applied, inner: Callable[[BoundExpression], Any]) -> Any:
    match expression:
        case Applied(sign, (left, right)) if sign in _COMPARE:
            return _compare(sign, _meet(left, right, inner))
        case Applied("+" | "-" | "*" | "/" | "%" as sign, (left, right), kind):
            return _arithmetic(sign, inner(left), inner(right), kind)
        case Applied("neg", (operand,)):
            value = inner(operand)
            return None if value is None else _fitted(-value)
        case Applied("AND", parts):
            return _all(inner(part) for part in parts)
        case Applied("OR", parts):
            return _not(_all(_not(inner(part)) for part in parts))
        case Applied("NOT", (operand,)):
            return _not(inner(operand))
        case Applied("IS NULL", (operand,)):
            return inner(operand) is None
        case Applied("LIKE", (operand, Constant(str(pattern)), Constant(str() | None as escape))):
            return like(inner(operand), pattern, escape)
    values = [inner(operand) for operand in expression.operands]
    doubles = expression.type is _DOUBLE
    return call(expression.name, [_double(v) for v in values] if doubles else values)


def _all(truths: Any) -> bool | None:
    """AND of SQL: one false decides, else one unknown."""
    found = list(truths)
    if any(truth is False for truth in found):
        return False
    return None if any(truth is None for truth in found) else True


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _meet(
    left: BoundExpression, right: BoundExpression, inner: Callable[[BoundExpression], Any]
) -> tuple[Any, Any]:
    """Both sides of a comparison; where one is a double, the other becomes one (rounded)."""
    values = inner(left), inner(right)
    if _DOUBLE in (left.type, right.type) and left.type is not right.type:
        return _double(values[0]), _double(values[1])
    return values


def _double(value: Any) -> float | None:
    return None if value is None else float(value)


def _compare(sign: str, sides: tuple[Any, Any]) -> bool | None:
    if any(side is None or side != side for side in sides):
        return None
    return _COMPARE[sign](*sides)


def _arithmetic(sign: str, left: Any, right: Any, kind: AttributeType) -> Any:
    if left is None or right is None:
        return None
    if kind is _DOUBLE:
        return _double_arithmetic(sign, float(left), float(right))
    return _long_arithmetic(sign, left, right)


def _double_arithmetic(sign: str, left: float, right: float) -> float | None:
    if sign in "/%" and right == 0:
        return None
    if sign == "%":  # IEEE has no remainder of an infinity, where fmod raises
        return math.nan if math.isinf(left) else math.fmod(left, right)
    return _COMBINE[sign](left, right)


def _long_arithmetic(sign: str, left: int, right: int) -> int | None:
    if sign != "%":
        return _fitted(_COMBINE[sign](left, right))
    if right == 0:
        return None
    remainder = abs(left) % abs(right)  # of division towards zero: the dividend's sign
    return -remainder if left < 0 else remainder


def _fitted(value: Any) -> Any:
    """NULL for a long or timestamp beyond 64 bits."""
    return value if isinstance(value, float) or value in _INT64 else None


def call(name: str, values: Sequence[Any]) -> Any:
    """The value of a function; None is NULL. Numbers are of one type where a double is among them.

    >>> call("least", [None, 2, 3]), call("weekday", [0])
    (2, 4)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    match name:
        case "abs":
            return _fitted(abs(first))
        case "least":
            numbers = [value for value in known if value == value]
            return min(numbers) if numbers else first
        case "greatest":
            odd = [value for value in known if value != value]
            return odd[0] if odd else max(known)
        case "coalesce":
            return first
        case "lower":
            return first.lower()
        case "upper":
            return first.upper()
        case "hour":
            return first // HOUR % 24
        case "weekday":  # the first of January 1970 was a Thursday
            return (first // DAY + 3) % 7 + 1


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
