"""Compute the values of RETURN of a row, and whether HAVING keeps it.

Integers are Python's, so they are exact at any size. A value that depends on a sum of doubles has
bounds, because other computations of the sum round at each step.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import BoundOutput, BoundQuery
from elsinore.query.expressions import Applied, BoundExpression, Constant, GroupValue, Slot
from elsinore.reference.evaluate import (
    COMPARE,
    call,
    case,
    conjunction,
    function_of,
    like,
    negation,
)
from elsinore.reference.total import Total
from elsinore.results.row import Bounds, Value, nearest_double
from elsinore.timeline import MAX_INSTANT, MIN_INSTANT

_DOUBLE, _TIMESTAMP = AttributeType.DOUBLE, AttributeType.TIMESTAMP
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


#: Functions that are not monotone in each operand, so that bounds of operands say nothing.
_NOT_MONOTONE = frozenset(["%", "CASE", "nullif", "power", "round"])


class Output(NamedTuple):
    """A value of RETURN; `bounds` is None if it is exact."""

    value: Value
    bounds: Bounds | None = None


#: The values of the aggregates of a row, and of its grouping attributes.
Row = tuple[Sequence[Output], Sequence[Any]]


def outputs_of(
    query: BoundQuery, totals: Sequence[Total], group: Sequence[Any], events: int
) -> tuple[Output, ...] | None:
    """Return the values of a row, in the order of RETURN; None if HAVING drops the row.

    Args:
        query: the query.
        totals: the aggregates, in the order of `query.aggregates`.
        group: the values of the grouping attributes, in the order of GROUP-BY.
        events: number of events in the window.
    """
    row = [Output(total.value, total.bounds(events)) for total in totals], group
    return outputs_of_row(query, row)


def outputs_of_row(query: BoundQuery, row: Row) -> tuple[Output, ...] | None:
    """Return the values of a row, like `outputs_of`, if the bounds of its aggregates are known."""
    if query.having is not None and _evaluated(query.having, row).value is not True:
        return None
    found = (_evaluated(output.expression, row) for output in query.outputs)
    return tuple(
        one._replace(value=_as_time(output, one.value)) if isinstance(one.value, int) else one
        for output, one in zip(query.outputs, found, strict=True)
    )


def _as_time(output: BoundOutput, value: int) -> Value:
    """Return an integer as a timestamp or a length of time, if it is one."""
    if output.is_duration and not -(2**63) <= value < 2**63:
        return None
    return value if output.time_class is None else output.time_class(value)


def _evaluated(expression: BoundExpression, row: Row) -> Output:
    match expression:
        case Constant(value):
            return Output(value + 0.0 if isinstance(value, float) else value)
        case Slot(number):
            return row[0][number]
        case GroupValue(number):
            return Output(row[1][number])
        case Applied():
            operands = [_evaluated(operand, row) for operand in expression.operands]
            compute = partial(_value, expression)
            value = compute([operand.value for operand in operands])
            return Output(value, _bounds(expression, value, operands))
    raise AssertionError(f"{expression} is not an expression of a row")


def _value(expression: Applied, values: Sequence[Any]) -> Any:
    """Return the value of an operator or a function, given the values of its operands."""
    match expression:
        case Applied(sign) if sign in COMPARE:
            left, right = values
            if left is None or right is None or left != left or right != right:
                return None
            return COMPARE[sign](left, right)
        case Applied("+" | "-" | "*" | "/" | "%" as sign, _, kind):
            if None in values:
                return None
            return _arithmetic(sign, values[0], values[1], kind)
        case Applied("neg"):
            return None if values[0] is None else 0 - values[0]
        case Applied("AND"):
            return conjunction(values)
        case Applied("OR"):
            return negation(conjunction([negation(value) for value in values]))
        case Applied("NOT"):
            return negation(values[0])
        case Applied("IS NULL"):
            return values[0] is None
    return _of_function(expression, values)


def _of_function(expression: Applied, values: Sequence[Any]) -> Any:
    match expression:
        case Applied("LIKE", (_, Constant(str(pattern)), Constant(str() | None as escape))):
            return like(values[0], pattern, escape)
        case Applied("abs"):
            return None if values[0] is None else abs(values[0])
        case Applied("CASE", _, kind):
            return case(values, doubles=kind is _DOUBLE)
        case Applied("nullif"):
            left, right = values
            return None if right is not None and left == right else left
    if (function := function_of(expression)) is not None:
        return function(values)
    doubles = expression.type is _DOUBLE
    return call(expression.name, [_double(value) for value in values] if doubles else values)


def _double(value: Any) -> float | None:
    return None if value is None else nearest_double(value)


def _arithmetic(sign: str, left: Any, right: Any, kind: AttributeType) -> Any:
    if sign in "/%" and right == 0:
        return None
    if sign == "/":
        return quotient(left, right)
    if kind is _DOUBLE:
        left, right = nearest_double(left), nearest_double(right)
        if sign == "%":
            return math.nan if math.isinf(left) else math.fmod(left, right) + 0.0
        return _COMBINE[sign](left, right) + 0.0
    if sign == "%":  # the sign of the dividend
        remainder = abs(left) % abs(right)
        return -remainder if left < 0 else remainder
    value = _COMBINE[sign](left, right)
    in_range = MIN_INSTANT <= value <= MAX_INSTANT
    return None if kind is _TIMESTAMP and not in_range else value


def quotient(left: int | float, right: int | float) -> float:
    """Return the double nearest to the exact quotient of two numbers, the second not zero.

    >>> quotient(10**400, 4 * 10**400), quotient(1, -3.0)
    (0.25, -0.3333333333333333)
    """
    if left != left or right != right or (abs(left) == math.inf and abs(right) == math.inf):
        return math.nan
    if abs(right) == math.inf:
        return 0.0
    if abs(left) == math.inf:
        return math.inf if (left > 0) == (right > 0) else -math.inf
    return nearest_double(Fraction(left) / Fraction(right))


# ---- bounds


def _bounds(expression: Applied, value: Any, operands: Sequence[Output]) -> Bounds | None:
    """Return the range of a double whose operands have bounds; None if it is exact.

    The functions of doubles are monotone in each operand, wherever the other operands are within
    their bounds, except for divisors on both sides of zero, `abs` of a value on both sides of zero,
    and the functions of `_NOT_MONOTONE`.
    """
    if not isinstance(value, float) or all(operand.bounds is None for operand in operands):
        return None
    ranges = [one.bounds or (one.value, one.value) for one in operands]
    spans_zero = [one.bounds is not None and one.bounds[0] <= 0 <= one.bounds[1]
                  for one in operands]  # fmt: skip
    if expression.name in _NOT_MONOTONE or (expression.name == "/" and spans_zero[1]):
        return -math.inf, math.inf
    ends = [_value(expression, chosen) for chosen in product(*ranges)]
    ends += [0.0] if expression.name == "abs" and spans_zero[0] else []
    if any(end is None or end != end for end in [*ends, value]):
        return (math.nan, math.nan) if value != value else (-math.inf, math.inf)
    return math.nextafter(min(ends), -math.inf), math.nextafter(max(ends), math.inf)
