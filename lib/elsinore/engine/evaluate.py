"""Works out expressions over single events, a column at a time.

The rules are those of `query/expressions.py`: three-valued truth, NaN compares as NULL, arithmetic
without an answer is NULL, `/` in doubles.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import Column, EventColumns, in_one_dictionary
from elsinore.engine.functions import call, like
from elsinore.kernels.long_columns import long_columns
from elsinore.query.expressions import (
    Arithmetic,
    Both,
    BoundExpression,
    Comparison,
    Condition,
    Constant,
    Either,
    Field,
    Function,
    Inverse,
    IsNull,
    Like,
    Negative,
)

_DOUBLE = AttributeType.DOUBLE
_COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def holds(condition: BoundExpression, columns: EventColumns, rows: np.ndarray) -> np.ndarray:
    """bool[len(rows)]: where a condition is *true*."""
    truth = evaluate(condition, columns, rows)
    return truth.values & truth.known


def evaluate(expression: BoundExpression, columns: EventColumns, rows: np.ndarray) -> Column:
    """The values of an expression for the events at `rows`."""

    def inner(operand: BoundExpression) -> Column:
        return evaluate(operand, columns, rows)

    match expression:
        case Constant():
            return _constant(expression, rows.size)
        case Field(attribute=attribute):
            return columns.column(attribute).take(rows)
        case Arithmetic(operator, left, right, kind):
            return _arithmetic(operator, inner(left), inner(right), kind)
        case Negative(operand, kind):
            value = inner(operand)
            if kind is _DOUBLE:
                return Column(-value.values, value.known)
            zero = Column(np.zeros(rows.size, np.int64), np.ones(rows.size, bool))
            return _arithmetic("-", zero, value, kind)
        case Function(name, operands, kind):
            return call(name, [inner(operand) for operand in operands], kind)
        case _:
            return _truth(expression, inner)


def _truth(expression: Condition, inner: Callable[[BoundExpression], Column]) -> Column:
    match expression:
        case Both(parts):
            return _all([inner(part) for part in parts])
        case Either(parts):
            return _inverse(_all([_inverse(inner(part)) for part in parts]))
        case Inverse(operand):
            return _inverse(inner(operand))
        case IsNull(operand):
            known = inner(operand).known
            return Column(~known, np.ones_like(known))
        case Like(operand, pattern, escape):
            return like(inner(operand), pattern, escape)
        case Comparison(operator, left, right):
            return _comparison(operator, left, right, inner)


def _constant(constant: Constant, size: int) -> Column:
    known = np.full(size, constant.value is not None)
    match constant.type:
        case AttributeType.STRING:
            dictionary = pa.array([constant.value], pa.string())
            return Column(np.zeros(size, np.int64), known, dictionary)
        case AttributeType.DOUBLE:
            return Column(np.full(size, constant.value, np.float64), known)
        case AttributeType.BOOLEAN:
            return Column(np.full(size, bool(constant.value)), known)
    return Column(np.full(size, constant.value, np.int64), known)


def _all(truths: list[Column]) -> Column:
    """AND of SQL: one false decides, else one unknown."""
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
    sides = [inner(left), inner(right)]
    if left.type is AttributeType.STRING:
        sides = in_one_dictionary(sides)
    values = [side.values for side in sides]
    known = sides[0].known & sides[1].known
    if _DOUBLE in (left.type, right.type):
        values = [value.astype(np.float64) for value in values]
        known &= ~np.isnan(values[0]) & ~np.isnan(values[1])
    return Column(_COMPARE[operator](values[0], values[1]), known)


def _arithmetic(operator: str, left: Column, right: Column, kind: AttributeType) -> Column:
    known = left.known & right.known
    if kind is not _DOUBLE:
        values, fits = long_columns(operator, left.values, right.values)
        return Column(values, known & fits)
    a, b = left.values.astype(np.float64), right.values.astype(np.float64)
    with np.errstate(all="ignore"):
        match operator:
            case "+":
                return Column(a + b, known)
            case "-":
                return Column(a - b, known)
            case "*":
                return Column(a * b, known)
            case "/":
                return Column(a / b, known & (b != 0))
            case _:
                return Column(np.fmod(a, b), known & (b != 0))
