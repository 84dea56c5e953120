"""Evaluate arguments of aggregates, whose integers are exact at any size.

Columns hold 64 bits. The few events for which a step of an expression exceeds them are evaluated
again, with Python's integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.errors import QueryError
from elsinore.executors.input.columns import Column, EventColumns, recoded
from elsinore.executors.input.evaluate import work_out
from elsinore.executors.input.functions import function_of, matches
from elsinore.query.expressions import Applied, BoundExpression, Constant, Field
from elsinore.query.print_query import print_bound
from elsinore.results.row import nearest_double

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_TIMESTAMP, _STRING = AttributeType.TIMESTAMP, AttributeType.STRING
_INT64 = range(-(2**63), 2**63)
#: Characters of an expression in an error.
_SHOWN = 100
#: Maximum bits of all integers beyond 64 bits that an expression has at a time: 1 GiB.
MOST_WIDE_BITS = 2**33
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul}


@dataclass(frozen=True, slots=True)
class ExactColumn:
    """Values of what an aggregate reads of N events.

    Attributes:
        column: the values; 0 in wide rows.
        rows: int64[W], the wide rows, ascending: integers that do not fit 64 bits.
        wide: their values.
    """

    column: Column
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    wide: Sequence[int] = ()

    def take(self, rows: np.ndarray | None) -> ExactColumn:
        """Return the values of some events; None: all."""
        if rows is None:
            return self
        if not self.rows.size:
            return ExactColumn(self.column.take(rows))
        places = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        mine = np.flatnonzero(self.rows[places] == rows)
        wide = [self.wide[place] for place in places[mine].tolist()]
        return ExactColumn(self.column.take(rows), mine, wide)

    @property
    def numbers(self) -> np.ndarray:
        """Return the values, as Python's integers if there are wide rows."""
        if not self.rows.size:
            return self.column.values
        found = self.column.values.astype(object)
        found[self.rows] = self.wide
        return found


def exact_values(source: str | Applied, columns: EventColumns) -> ExactColumn:
    """Return what an aggregate reads of all events, computed once."""
    if isinstance(source, str):
        return ExactColumn(columns.column(source))
    return columns.once(("exact", source), lambda: _exact_values(source, columns))


def fitting_values(source: str | Applied, columns: EventColumns, rows: np.ndarray) -> Column:
    """Return what an aggregate reads of some events.

    Raises:
        QueryError: a value does not fit 64 bits.
    """
    found = exact_values(source, columns).take(rows)
    if found.rows.size:
        assert isinstance(source, Applied)
        text = print_bound(source)
        hint = f"compute with doubles, as in {text} * 1.0"
        raise QueryError(f"a value of {text}, which is compared, exceeds 64 bits", hint=hint)
    return found.column


def _exact_values(source: Applied, columns: EventColumns) -> ExactColumn:
    size = columns.times.size
    misfits: list[np.ndarray] = [np.zeros(size, np.bool_)]
    column = work_out(source, lambda f: columns.column(f.attribute), size, misfits)
    again = np.flatnonzero(np.logical_or.reduce(misfits))
    if not again.size:
        return ExactColumn(column)
    return _replaced(column, again, _Evaluator(columns, again).values(source), source.type)


def _replaced(
    column: Column, rows: np.ndarray, values: Sequence[Any], kind: AttributeType
) -> ExactColumn:
    """Return a column with other values in some rows; None is NULL."""
    known = column.known.copy()
    known[rows] = [value is not None for value in values]
    if kind is _STRING:
        assert column.dictionary is not None
        texts = pa.array([value or "" for value in values], pa.string())
        every = pa.concat_arrays([column.dictionary.cast(pa.string()), texts]).dictionary_encode()
        codes = np.asarray(every.indices).astype(np.int64)
        own = (
            codes[: len(column.dictionary)][column.values]
            if len(column.dictionary)
            else (np.zeros(known.size, np.int64))
        )
        own[rows] = codes[len(column.dictionary) :]
        return ExactColumn(recoded(own, known, every.dictionary))
    numbers = column.values.copy()
    if kind is not _LONG:
        numbers[rows] = [value or 0 for value in values]
        return ExactColumn(Column(numbers, known))
    small = [value if value is not None and value in _INT64 else 0 for value in values]
    numbers[rows] = small
    wide = [
        place for place, value in enumerate(values) if value is not None and value != small[place]
    ]
    return ExactColumn(Column(numbers, known), rows[wide], [values[place] for place in wide])


class _Evaluator:
    """Evaluates expressions for some events with Python's integers; None is NULL."""

    def __init__(self, columns: EventColumns, rows: np.ndarray) -> None:
        self.columns, self.rows = columns, rows
        self._wide_bits = 0  # of the operands and values that are in memory

    def values(self, expression: BoundExpression) -> list[Any]:
        """Return the value for each event.

        Raises:
            QueryError: the integers exceed `MOST_WIDE_BITS`.
        """
        match expression:
            case Constant(value):
                return [value] * self.rows.size
            case Field(attribute=attribute):
                return self._attribute(attribute)
            case Applied():
                before = self._wide_bits
                function = _function(expression)
                operands = [self.values(operand) for operand in expression.operands]
                rows, of_operands = zip(*operands, strict=True), self._wide_bits
                found = [self._counted(function(*row), expression) for row in rows]
                self._wide_bits += before - of_operands
                return found
        raise AssertionError(f"{expression} is not an expression of events")

    def _counted(self, value: Any, expression: Applied) -> Any:
        """Return a value, after its bits were counted; a timestamp beyond 64 bits is NULL."""
        if not isinstance(value, int) or value in _INT64:
            return value
        if expression.type is _TIMESTAMP:
            return None
        self._wide_bits += value.bit_length()
        if self._wide_bits > MOST_WIDE_BITS:
            text = print_bound(expression)[:_SHOWN]
            problem = f"integers of {text} exceed {MOST_WIDE_BITS:,} bits in total"
            hint = "use fewer factors, fewer events, or doubles: multiply by 1.0 first"
            raise QueryError(problem, hint=hint)
        return value

    def _attribute(self, name: str) -> list[Any]:
        column = self.columns.column(name).take(self.rows)
        values = column.values.tolist()
        if column.dictionary is not None:
            values = column.dictionary.take(pa.array(column.values)).to_pylist()
        return [
            v if known else None for v, known in zip(values, column.known.tolist(), strict=True)
        ]


def _function(expression: Applied) -> Callable[..., Any]:
    """Return a function of the values of the operands, of which None is NULL."""
    name, operands, kind = expression
    first = operands[0]
    match name:
        case "AND":
            return lambda *truths: reduce(_both, truths)
        case "OR":
            return lambda *truths: _inverse(reduce(_both, map(_inverse, truths)))
        case "NOT":
            return _inverse
        case "IS NULL":
            return lambda value: value is None
        case "CASE":
            return partial(_case, kind is _DOUBLE)
        case "coalesce" | "greatest" | "least":
            return partial(_chosen, name, kind is _DOUBLE)
        case "nullif":
            compare = _comparison("=", operands)
            return lambda left, right: None if compare(left, right) else left
        case "concat":
            return function_of(expression)
    if name in _COMPARE:
        return _comparison(name, operands)
    return _of_known(_strict(expression, first))


def _strict(expression: Applied, first: BoundExpression) -> Callable[..., Any]:
    """Return a function of values that are not NULL."""
    match expression:
        case Applied("neg", _, kind):
            return lambda value: -value if kind is _DOUBLE else 0 - value
        case Applied("+" | "-" | "*" | "/" | "%" as sign, _, kind):
            return partial(_of_doubles if kind is _DOUBLE else _of_integers, sign)
        case Applied("abs"):
            return abs
        case Applied("LIKE" | "regexp_like"):
            return lambda text, *_: matches(expression, text)
    return function_of(expression)


def _of_known(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if None in values else function(*values)


def _both(left: bool | None, right: bool | None) -> bool | None:
    """Return SQL's AND: false if one side is false, otherwise NULL if one side is NULL."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _inverse(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _comparison(
    sign: str, operands: Sequence[BoundExpression]
) -> Callable[[Any, Any], bool | None]:
    """Return a comparison; if one side is a double, both are compared as doubles."""
    doubles = any(operand.type is _DOUBLE for operand in operands)

    def compare(left: Any, right: Any) -> bool | None:
        if left is None or right is None:
            return None
        if doubles:
            left, right = nearest_double(left), nearest_double(right)
        return _COMPARE[sign](left, right) if left == left and right == right else None

    return compare


def _of_integers(sign: str, left: int, right: int) -> int | None:
    if sign != "%":
        found: int = _COMBINE[sign](left, right)
        return found
    if not right:
        return None
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _of_doubles(sign: str, left: int | float, right: int | float) -> float | None:
    a, b = nearest_double(left), nearest_double(right)
    if sign not in "/%":
        found: float = _COMBINE[sign](a, b)
        return found
    if not b:
        return None
    if sign == "/":
        return a / b
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _case(doubles: bool, *values: Any) -> Any:
    """Return the result of the first condition that is true, or the last value."""
    conditions = zip(values[:-1:2], values[1::2], strict=False)
    chosen = next((result for condition, result in conditions if condition), values[-1])
    return nearest_double(chosen) if doubles and chosen is not None else chosen


def _chosen(name: str, doubles: bool, *values: Any) -> Any:
    """Return LEAST, GREATEST or COALESCE; NaN ranks above every number."""
    known = [nearest_double(value) if doubles else value for value in values if value is not None]
    if not known or name == "coalesce":
        return known[0] if known else None
    numbers = [value for value in known if value == value]
    if name == "least":
        return min(numbers, default=known[0])
    return max(numbers) if len(numbers) == len(known) else math.nan
