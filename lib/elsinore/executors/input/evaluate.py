"""Evaluate expressions over single events, one column at a time.

The rules of `query/expressions.py` apply: three-valued logic, NaN compares as NULL, undefined
arithmetic is NULL, and `/` divides doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.executors.input import functions
from elsinore.executors.input.columns import Column, EventColumns, in_one_dictionary
from elsinore.numbers.arithmetic import long_columns
from elsinore.query.expressions import EXTRACT_PARTS, Applied, BoundExpression, Constant, Field

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_CALCULATE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
}
_COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def evaluate(expression: BoundExpression, columns: EventColumns, rows: np.ndarray) -> Column:
    """Return the values of an expression for the events at `rows`."""
    return work_out(expression, lambda field: columns.column(field.attribute).take(rows), rows.size)


def values_of(expression: BoundExpression, columns: EventColumns) -> Column:
    """Return the values of an expression for all events, computed once."""

    def make() -> Column:
        return work_out(expression, lambda f: columns.column(f.attribute), columns.times.size)

    return columns.once((Column, expression), make)


def work_out(
    expression: BoundExpression,
    read: Callable[[Field], Column],
    size: int,
    misfits: list[np.ndarray] | None = None,
) -> Column:
    """Return `size` values of an expression.

    Args:
        expression: the expression.
        read: returns the values of an attribute.
        size: number of values.
        misfits: receives a bool[size] per operation: whether an integer exceeds 64 bits, which is
            NULL here.
    """
    match expression:
        case Constant():
            return _constant(expression, size)
        case Field():
            return read(expression)
        case Applied("CASE", operands, kind):
            conditions = [work_out(one, read, size, misfits) for one in operands[:-1:2]]
            return _case(
                conditions, operands, kind, partial(work_out, read=read, size=size), misfits
            )
        case Applied():
            return _applied(
                expression, lambda operand: work_out(operand, read, size, misfits), misfits
            )
    raise AssertionError(f"{expression} is not an expression of events")


def _applied(
    expression: Applied,
    inner: Callable[[BoundExpression], Column],
    misfits: list[np.ndarray] | None,
) -> Column:
    match expression:
        case Applied("+" | "-" | "*" | "/" | "%" as operator, (left, right), kind):
            return _arithmetic(operator, inner(left), inner(right), kind, misfits)
        case Applied("neg", (operand,), kind):
            value = inner(operand)
            if kind is _DOUBLE:
                return Column(-value.values, value.known)
            zero = Column(np.zeros_like(value.values), np.ones_like(value.known))
            return _arithmetic("-", zero, value, kind, misfits)
        case Applied("AND", parts):
            return _all([inner(part) for part in parts])
        case Applied("OR", parts):
            return _inverse(_all([_inverse(inner(part)) for part in parts]))
        case Applied("NOT", (operand,)):
            return _inverse(inner(operand))
        case Applied("IS NULL", (operand,)):
            known = inner(operand).known
            return Column(~known, np.ones_like(known))
        case Applied(operator, (left, right)) if operator in _COMPARE:
            return _comparison(operator, left, right, inner)
    if (found := _with_constants(expression, inner)) is not None:
        return found
    operands = [inner(operand) for operand in expression.operands]
    values = functions.call(expression.name, operands, expression.type)
    if misfits is not None and expression.type is _LONG and expression.name in ("abs", "round"):
        misfits.append(np.logical_and.reduce([o.known for o in operands]) & ~values.known)
    return values


def _with_constants(
    expression: Applied, inner: Callable[[BoundExpression], Column]
) -> Column | None:
    """Return the values of a function of which not every operand is a column, or None."""
    match expression:
        case Applied("LIKE", (operand, Constant(str(pattern)), Constant(str() | None as escape))):
            return functions.like(inner(operand), pattern, escape)
        case Applied("nullif", (left, right)):
            equal, first = _comparison("=", left, right, inner), inner(left)
            known = first.known & ~(equal.known & equal.values)
            return Column(first.values, known, first.dictionary)
        case Applied("regexp_like", (operand, Constant(str(pattern)))):
            return functions.regexp_like(inner(operand), pattern)
        case Applied("date_trunc", (Constant(str(unit)), operand, *zone)):
            return functions.date_trunc(unit, inner(operand), functions.zone_name(zone))
        case Applied(part, (operand, *zone)) if part in EXTRACT_PARTS:
            return functions.extract(part, inner(operand), functions.zone_name(zone))
    return None


def _case(
    conditions: list[Column],
    operands: tuple[BoundExpression, ...],
    kind: AttributeType,
    compute: Callable[..., Column],
    misfits: list[np.ndarray] | None,
) -> Column:
    """Return the result of the first condition that is true, or the last operand."""
    left = np.ones_like(conditions[0].known)
    taken = []
    for condition in conditions:
        taken.append(left & condition.values & condition.known)
        left = left & ~taken[-1]
    taken.append(left)
    results = []
    for rows, expression in zip(taken, [*operands[1:-1:2], operands[-1]], strict=True):
        own: list[np.ndarray] | None = None if misfits is None else []
        results.append(compute(expression, misfits=own))
        if misfits is not None and own is not None:
            misfits += [each & rows for each in own]
    results = functions.alike(results, kind)
    values, known = results[0].values, results[0].known
    for rows, result in zip(taken[1:], results[1:], strict=True):
        values = np.where(rows, result.values, values)
        known = np.where(rows, result.known, known)
    return Column(values, known, results[0].dictionary)


def _constant(constant: Constant, size: int) -> Column:
    known = np.full(size, constant.value is not None)
    match constant.type:
        case AttributeType.STRING:
            dictionary = pa.array([constant.value or ""], pa.string())
            return Column(np.zeros(size, np.int64), known, dictionary)
        case AttributeType.DOUBLE:
            return Column(np.full(size, constant.value or 0.0, np.float64), known)
        case AttributeType.BOOLEAN:
            return Column(np.full(size, bool(constant.value)), known)
    return Column(np.full(size, constant.value or 0, np.int64), known)


def _all(truths: list[Column]) -> Column:
    """Return SQL's AND: false if one part is false, else NULL if one part is NULL."""
    false = np.zeros_like(truths[0].known)
    known = np.ones_like(false)
    for truth in truths:
        false |= truth.known & ~truth.values
        known &= truth.known
    return Column(~false, known | false)


def _inverse(truth: Column) -> Column:
    return Column(~truth.values, truth.known)


def _comparison(
    operator: str,
    left: BoundExpression,
    right: BoundExpression,
    inner: Callable[[BoundExpression], Column],
) -> Column:
    both = isinstance(left, Constant) and isinstance(right, Constant)
    plain = not both and left.type is not AttributeType.STRING
    sides = [  # NumPy compares all values with one constant
        _constant(side, 1) if plain and isinstance(side, Constant) else inner(side)
        for side in (left, right)
    ]
    if left.type is AttributeType.STRING:
        sides = in_one_dictionary(sides)
    values = [side.values for side in sides]
    known = sides[0].known & sides[1].known
    if _DOUBLE in (left.type, right.type):
        values = [value.astype(np.float64) for value in values]
        known &= ~np.isnan(values[0]) & ~np.isnan(values[1])
    return Column(_COMPARE[operator](values[0], values[1]), known)


def _arithmetic(
    operator: str,
    left: Column,
    right: Column,
    kind: AttributeType,
    misfits: list[np.ndarray] | None,
) -> Column:
    known = left.known & right.known
    if kind is not _DOUBLE:
        if _all_fit(operator, left.values, right.values):
            return Column(_CALCULATE[operator](left.values, right.values), known)
        values, fits = long_columns(operator, left.values, right.values)
        if misfits is not None and operator != "%":
            misfits.append(known & ~fits)
        return Column(values, known & fits)
    a, b = left.values.astype(np.float64), right.values.astype(np.float64)
    with np.errstate(all="ignore"):
        values = _CALCULATE[operator](a, b)
    return Column(values, known & (b != 0) if operator in ("/", "%") else known)


def _all_fit(operator: str, left: np.ndarray, right: np.ndarray) -> bool:
    """Return whether all results of `+ - *` fit 64 bits, by the largest operands.

    NumPy is then much faster than checks of each result.
    """
    one, other = map(_largest, (left, right))
    return (operator == "*" and one * other < 2**63) or (
        operator in ("+", "-") and one + other < 2**63
    )


def _largest(values: np.ndarray) -> int:
    """Return the largest absolute value of integers."""
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))
