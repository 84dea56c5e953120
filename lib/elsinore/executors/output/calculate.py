"""Calculate expressions of RETURN and HAVING for all rows of a query at once.

Integers are exact at any size. A column of integers is int64 if all of them are exact as doubles,
otherwise it has Python's integers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.executors.input.functions import function_of, like_expression
from elsinore.numbers.exact_columns import Integers, to_python
from elsinore.query.expressions import (
    Applied,
    BoundExpression,
    Constant,
    GroupValue,
    Slot,
)
from elsinore.results.row import Value, nearest_double
from elsinore.timeline import MAX_INSTANT, MIN_INSTANT, Instant

#: Integers below this are exact as doubles.
EXACT = 2**53
#: Sums and products of int64 whose terms are below this fit int64.
_SAFE = 2**62

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_BOOLEAN, _TIMESTAMP = AttributeType.BOOLEAN, AttributeType.TIMESTAMP
_FILLERS: dict[AttributeType, tuple[Any, Any]] = {
    _LONG: (0, object),
    _TIMESTAMP: (0, object),
    _DOUBLE: (0.0, np.float64),
    _BOOLEAN: (False, np.bool_),
    AttributeType.STRING: ("", object),
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


@dataclass(frozen=True, slots=True)
class Values:
    """The values of an expression in R rows."""

    type: AttributeType  #: of the values
    #: float64[R]; for integers int64[R], or object[R] of Python's integers if one is larger than
    #: `EXACT`; bool[R]; object[R] of strings. A row without a value has any.
    numbers: np.ndarray
    known: np.ndarray  #: bool[R]: the rows that have a value

    def to_list(self) -> list[Value]:
        """Return the values as in result rows; None if a row has no value."""
        values = self.numbers.tolist()
        if self.type is _TIMESTAMP:
            values = map(Instant, values)
        return [v if k else None for v, k in zip(values, self.known.tolist(), strict=True)]

    def values(self) -> Values:
        """Return the values themselves."""
        return self

    def where(self, rows: np.ndarray) -> Values:
        """Return the values of the rows of a bool[R]."""
        return Values(self.type, self.numbers[rows], self.known[rows])

    @classmethod
    def of(cls, kind: AttributeType, values: Sequence[Any]) -> Values:
        """Return values of a type, given in a list; None for rows without a value."""
        filler, dtype = _FILLERS[kind]
        known = np.array([value is not None for value in values], np.bool_)
        numbers = np.array([filler if value is None else value for value in values], dtype)
        return cls(kind, as_doubles(numbers) if kind in (_LONG, _TIMESTAMP) else numbers, known)

    @property
    def doubles(self) -> np.ndarray:
        """The values as float64[R], rounded; integers beyond all doubles are infinite."""
        if self.numbers.dtype == object:
            return np.array(list(map(nearest_double, self.numbers.tolist())), np.float64)
        return self.numbers.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Longs:
    """The values of an aggregate in R rows, which are integers of any size."""

    type: AttributeType
    numbers: Integers
    known: np.ndarray  #: bool[R]: the rows that have a value

    def values(self) -> Values:
        """Return the values in the format of expressions."""
        return Values(self.type, as_doubles(to_python(self.numbers)), self.known)

    def where(self, rows: np.ndarray) -> Longs:
        """Return the values of the rows of a bool[R]."""
        return Longs(self.type, self.numbers.take(np.flatnonzero(rows)), self.known[rows])

    def to_list(self) -> list[Value]:
        """Return the values as in result rows; None if a row has no value."""
        return Values(self.type, to_python(self.numbers), self.known).to_list()


def as_doubles(integers: np.ndarray) -> np.ndarray:
    """Return integers as int64 if they are exact as doubles, otherwise as Python's integers.

    Args:
        integers: int64[R], or object[R] of Python's integers.
    """
    if not integers.size:
        return integers.astype(np.int64)
    fit = integers.min() > -EXACT and integers.max() < EXACT
    return integers.astype(np.int64 if fit else object)


def calculate(
    expression: BoundExpression, slots: Sequence[Values], groups: Sequence[Values], size: int
) -> Values:
    """Return the values of an expression.

    Args:
        expression: an expression of RETURN or HAVING.
        slots: the values of the aggregates, in the order of `BoundQuery.aggregates`.
        groups: the values of the grouping attributes, in the order of GROUP-BY.
        size: number of rows.
    """
    match expression:
        case Constant(value, kind):
            plain = value + 0.0 if isinstance(value, float) else value
            return Values.of(kind, [plain] * size)
        case Slot(number):
            return slots[number]
        case GroupValue(number):
            return groups[number]
        case Applied():
            operands = [calculate(one, slots, groups, size) for one in expression.operands]
            return _applied(expression, operands)
    raise AssertionError(f"{expression} is not an expression of a row")


def _applied(expression: Applied, operands: list[Values]) -> Values:
    first = operands[0]
    match expression:
        case Applied(sign) if sign in _COMPARE:
            return _compared(_COMPARE[sign], *operands)
        case Applied("/"):
            return _quotients(*operands)
        case Applied("+" | "-" | "*" | "%" as sign, _, kind):
            return _arithmetic(sign, operands[0], operands[1], kind)
        case Applied("neg", _, kind):
            return _arithmetic("-", Values.of(kind, [0] * first.known.size), first, kind)
        case Applied("AND"):
            return reduce(_both, operands)
        case Applied("OR"):
            return _inverse(reduce(_both, map(_inverse, operands)))
        case Applied("NOT"):
            return _inverse(first)
        case Applied("IS NULL"):
            return Values(_BOOLEAN, ~first.known, np.ones_like(first.known))
        case Applied("least" | "greatest" | "coalesce" as name, _, kind):
            return reduce(lambda best, other: _chosen(name, best, other, kind), operands)
    return _of_function(expression, operands)


# ---- truth values


def _both(left: Values, right: Values) -> Values:
    """Return SQL's AND: false if one side is false, otherwise NULL if one side is NULL."""
    false = (left.known & ~left.numbers) | (right.known & ~right.numbers)
    return Values(_BOOLEAN, ~false, false | (left.known & right.known))


def _inverse(truth: Values) -> Values:
    return Values(_BOOLEAN, ~truth.numbers, truth.known)


def _compared(compare: Callable[[Any, Any], Any], left: Values, right: Values) -> Values:
    """Compare values; integers are compared exactly with doubles."""
    known = left.known & right.known & _comparable(left) & _comparable(right)
    a, b = left.numbers, right.numbers
    if object in (a.dtype, b.dtype):
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        return Values(_BOOLEAN, np.array([compare(*pair) for pair in pairs], np.bool_), known)
    return Values(_BOOLEAN, compare(a, b), known)


def _comparable(values: Values) -> np.ndarray:
    """Return bool[R]: False for NaN."""
    numbers = values.numbers
    return ~np.isnan(numbers) if numbers.dtype == np.float64 else np.ones_like(values.known)


# ---- numbers


def _arithmetic(sign: str, left: Values, right: Values, kind: AttributeType) -> Values:
    known = left.known & right.known
    if kind is _DOUBLE:
        a, b = left.doubles, right.doubles
        known = known & (b != 0) if sign == "%" else known
        with np.errstate(all="ignore"):
            values = np.fmod(a, b) if sign == "%" else _COMBINE[sign](a, b)
        return Values(kind, values + 0.0, known)
    a, b = left.numbers, right.numbers
    if sign == "%":
        known = known & (b != 0).astype(np.bool_)
        b = np.where(known, b, 1)
        values = _remainders(a, b) if object in (a.dtype, b.dtype) else np.fmod(a, b)
    else:
        if _widest(sign, a, b) >= _SAFE:
            a, b = a.astype(object), b.astype(object)
        values = _COMBINE[sign](a, b)
    if kind is _TIMESTAMP:
        fits = ((values >= MIN_INSTANT) & (values <= MAX_INSTANT)).astype(np.bool_)
        known, values = known & fits, np.where(fits, values, 0)
    return Values(kind, as_doubles(values), known)


def _remainders(dividends: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    """Return remainders with the signs of the dividends."""
    pairs = zip(dividends.tolist(), divisors.tolist(), strict=True)
    found = [abs(a) % abs(b) * (-1 if a < 0 else 1) for a, b in pairs]
    return np.array(found, object)


def _widest(sign: str, left: np.ndarray, right: np.ndarray) -> int:
    """Return a bound of the absolute values of sums or products; `_SAFE` for Python's integers."""
    if object in (left.dtype, right.dtype) or not left.size:
        return _SAFE
    a, b = (int(np.abs(side).max()) for side in (left, right))
    return a * b if sign == "*" else a + b


def _quotients(left: Values, right: Values) -> Values:
    """Return the doubles nearest to the exact quotients; NULL if a divisor is zero."""
    known = left.known & right.known & (right.numbers != 0).astype(np.bool_)
    a, b = left.numbers, right.numbers
    if object in (a.dtype, b.dtype):
        rows = zip(a.tolist(), b.tolist(), known.tolist(), strict=True)
        found = [_quotient(x, y) if there else 0.0 for x, y, there in rows]
        return Values(_DOUBLE, np.array(found, np.float64), known)
    with np.errstate(all="ignore"):
        return Values(_DOUBLE, a / b + 0.0, known)


def _quotient(left: int | float, right: int | float) -> float:
    if isinstance(left, float) and not math.isfinite(left):
        return left / math.copysign(1, right) if right == right else math.nan
    if isinstance(right, float) and not math.isfinite(right):
        return 0.0 if right == right else math.nan
    return nearest_double(Fraction(left) / Fraction(right))


def _chosen(name: str, best: Values, other: Values, kind: AttributeType) -> Values:
    """Return LEAST, GREATEST or COALESCE of two columns; NaN ranks above every number."""
    old, new = best.numbers, other.numbers
    if kind is _DOUBLE:
        old, new = best.doubles, other.doubles
    if name == "coalesce":
        beats = np.zeros_like(best.known)
    elif object in (old.dtype, new.dtype):
        compare = operator.lt if name == "least" else operator.gt
        pairs = zip(new.tolist(), old.tolist(), strict=True)
        beats = np.array([compare(*pair) for pair in pairs], np.bool_)
    elif name == "least":
        beats = (new < old) | ((old != old) & (new == new))
    else:
        beats = (new > old) | ((new != new) & (old == old))
    better = other.known & (~best.known | beats)
    values = np.where(better, new, old)
    if kind in (_LONG, _TIMESTAMP):
        values = as_doubles(values)
    return Values(kind, values, best.known | other.known)


# ---- other functions


def _of_function(expression: Applied, operands: list[Values]) -> Values:
    first = operands[0]
    match expression:
        case Applied("LIKE", (_, Constant(str(pattern)), Constant(str() | None as escape))):
            return _matches(first, like_expression(pattern, escape))
        case Applied("regexp_like", (_, Constant(str(pattern)))):
            return _matches(first, pattern)
        case Applied("CASE", _, kind):
            return _case(operands, kind)
        case Applied("nullif"):
            equal = _compared(operator.eq, *operands)
            return Values(first.type, first.numbers, first.known & ~(equal.known & equal.numbers))
    return _mapped(expression, operands)


def _matches(operand: Values, pattern: str) -> Values:
    """Return whether a part of each string matches a regular expression."""
    matches = pc.match_substring_regex(pa.array(operand.numbers, pa.string()), pattern)
    return Values(_BOOLEAN, np.asarray(matches).astype(np.bool_), operand.known)


def _case(operands: list[Values], kind: AttributeType) -> Values:
    """Return the result of the first condition that is true, or the last operand."""
    results = [*operands[1:-1:2], operands[-1]]
    numbers = [result.doubles if kind is _DOUBLE else result.numbers for result in results]
    values, known = numbers[-1], results[-1].known
    branches = list(zip(operands[:-1:2], numbers, results, strict=False))
    for condition, own, result in reversed(branches):
        taken = condition.numbers & condition.known
        values = np.where(taken, own, values)
        known = np.where(taken, result.known, known)
    if kind in (_LONG, _TIMESTAMP):
        values = as_doubles(np.where(known, values, 0))
    return Values(kind, values, known)


def _mapped(expression: Applied, operands: list[Values]) -> Values:
    """Return a function of the values of each row, NULL if one of them is NULL."""
    function = function_of(expression)
    rows = zip(*(operand.to_list() for operand in operands), strict=True)
    skips_null = expression.name == "concat"
    found = [function(*row) if skips_null or None not in row else None for row in rows]
    return Values.of(expression.type, found)
