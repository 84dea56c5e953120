"""Evaluate expressions over an event or an adjacent pair, by the rules of `query/expressions.py`.

NULL is None. A truth value is True, False or None (unknown). Longs and timestamps are int within 64
bits, doubles are IEEE 754.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from elsinore.catalog.stream import AttributeType
from elsinore.query import expressions
from elsinore.query.expressions import (
    EXTRACT_PARTS,
    Applied,
    BoundExpression,
    Constant,
    Field,
)
from elsinore.reference import functions
from elsinore.reference.event import Event
from elsinore.results.row import nearest_double

_DOUBLE = AttributeType.DOUBLE
_INT64 = range(-(2**63), 2**63)

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
#: Comparisons of two values that are not NULL, by sign.
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


#: Evaluates an expression for an event and, for a pair, the event that follows it.
Reader = Callable[[Event, Event | None], Any]


def reader(expression: BoundExpression, *, exact: bool = False) -> Reader:
    """Return an expression as a function, to evaluate it for many events.

    Args:
        expression: the expression.
        exact: integers may have any size; otherwise they are NULL beyond 64 bits.
    """
    match expression:
        case Constant(value):
            return lambda event, following: value
        case Field(attribute=attribute, following=False):
            return lambda event, following: event.value(attribute)
        case Field(attribute=attribute):
            return lambda event, following: _second(following).value(attribute)
        case Applied():
            combine = _applied(expression, _same if exact else _fitted)
            operands = [reader(one, exact=exact) for one in expression.operands]
            return lambda event, following: combine([read(event, following) for read in operands])
    raise AssertionError(f"{expression} is no expression")


def size_of(expression: BoundExpression) -> int:
    """Return the number of nodes of an expression; its evaluation time is proportional."""
    if isinstance(expression, Applied):
        return 1 + sum(map(size_of, expression.operands))
    return 1


def _second(following: Event | None) -> Event:
    assert following is not None, "an edge predicate needs a pair of events"
    return following


def _applied(expression: Applied, fitted: Callable[[Any], Any]) -> Callable[[Sequence[Any]], Any]:
    """Return a function from the values of the operands to the value of an expression."""
    match expression:
        case Applied(sign, (left, right)) if sign in COMPARE:
            # If one side is a double, the other is converted to a double (rounded).
            meet = _DOUBLE in (left.type, right.type) and left.type is not right.type
            return lambda sides: _compare(sign, *(map(_double, sides) if meet else sides))
        case Applied("+" | "-" | "*" | "/" | "%" as sign, _, kind):
            return lambda values: fitted(_arithmetic(sign, values[0], values[1], kind))
        case Applied("neg"):
            return lambda values: None if values[0] is None else fitted(-values[0])
        case Applied("AND"):
            return conjunction
        case Applied("OR"):
            return lambda truths: negation(conjunction([negation(truth) for truth in truths]))
        case Applied("NOT"):
            return lambda values: negation(values[0])
        case Applied("IS NULL"):
            return lambda values: values[0] is None
        case Applied("LIKE", (_, Constant(str(pattern)), Constant(str() | None as escape))):
            return lambda values: like(values[0], pattern, escape)
        case Applied("CASE", _, kind):
            return lambda values: case(values, doubles=kind is _DOUBLE)
        case Applied("nullif", (left, right)):
            meet = _DOUBLE in (left.type, right.type) and left.type is not right.type
            return lambda pair: (
                None if _compare("=", *(map(_double, pair) if meet else pair)) else pair[0]
            )
    name, kind = expression.name, expression.type
    if (function := function_of(expression)) is not None:
        return lambda values: fitted(function(values))
    doubles = kind is _DOUBLE
    return lambda values: fitted(call(name, list(map(_double, values)) if doubles else values))


def function_of(expression: Applied) -> Callable[[Sequence[Any]], Any] | None:
    """Return a function of strings, timestamps or one number, given the values of its operands.

    None for other functions, whose operands are of one kind.
    """
    name = expression.name
    match expression:
        case Applied("regexp_like", (_, Constant(str(pattern)))):
            return lambda values: functions.regexp_like(values[0], pattern)
        case Applied("concat"):
            return functions.concat
        case Applied(expressions.COMBINATION):
            return lambda values: None if None in values else tuple(values)
        case Applied("date_trunc"):
            return lambda values: functions.date_trunc(values[0], values[1], _zone(values[2:]))
        case Applied() if name in EXTRACT_PARTS:
            return lambda values: functions.extract(name, values[0], _zone(values[1:]))
        case Applied("abs" | "coalesce" | "greatest" | "least" | "lower" | "upper"):
            return None
    return lambda values: functions.function_value(name, values)


def _zone(values: Sequence[Any]) -> str | None:
    return values[0] if values else None


def case(values: Sequence[Any], *, doubles: bool) -> Any:
    """Return the result of the first condition that is true, or the last value."""
    for condition, result in zip(values[:-1:2], values[1::2], strict=False):
        if condition is True:
            return _double(result) if doubles else result
    return _double(values[-1]) if doubles else values[-1]


def conjunction(truths: Sequence[bool | None]) -> bool | None:
    """Return SQL's AND: False if one part is False, else None if one part is None."""
    if any(truth is False for truth in truths):
        return False
    return None if any(truth is None for truth in truths) else True


def negation(truth: bool | None) -> bool | None:
    """Return SQL's NOT: None if the operand is None."""
    return None if truth is None else not truth


def _double(value: Any) -> float | None:
    return None if value is None else nearest_double(value)


def _compare(sign: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None or left != left or right != right:
        return None
    return COMPARE[sign](left, right)


def _arithmetic(sign: str, left: Any, right: Any, kind: AttributeType) -> Any:
    if left is None or right is None:
        return None
    if kind is _DOUBLE:
        return _double_arithmetic(sign, nearest_double(left), nearest_double(right))
    return _long_arithmetic(sign, left, right)


def _double_arithmetic(sign: str, left: float, right: float) -> float | None:
    if sign in "/%" and right == 0:
        return None
    if sign == "%":  # the remainder of an infinity is NaN in IEEE 754, but fmod raises an error
        return math.nan if math.isinf(left) else math.fmod(left, right)
    return _COMBINE[sign](left, right)


def _long_arithmetic(sign: str, left: int, right: int) -> int | None:
    if sign != "%":
        return _COMBINE[sign](left, right)
    if right == 0:
        return None
    remainder = abs(left) % abs(right)  # division rounds towards zero: the sign of the dividend
    return -remainder if left < 0 else remainder


def _fitted(value: Any) -> Any:
    """Return the value, or NULL if a long or timestamp does not fit 64 bits."""
    return value if not isinstance(value, int) or value in _INT64 else None


def _same(value: Any) -> Any:
    return value


def call(name: str, values: Sequence[Any]) -> Any:
    """Return the value of a function; None is NULL.

    If one value is a double, all must be doubles.

    >>> call("least", [None, 2, 3]), call("upper", ["a"])
    (2, 'A')
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    match name:
        case "abs":
            return abs(first)
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


def like(text: str | None, pattern: str, escape: str | None) -> bool | None:
    """Return whether a string matches a LIKE pattern as a whole.

    >>> like("50% off", "50!% %", "!"), like("50 % off", "50!% %", "!")
    (True, False)
    """
    if text is None:
        return None
    places = {0}  # positions in the text that the pattern may reach so far
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
