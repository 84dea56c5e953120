"""Bound expressions: every attribute resolved to a position of the pattern, every node typed.

Truth is three-valued as in SQL: a comparison with NULL or NaN is neither true nor false, and only
*true* lets an event or a pair of events pass. Arithmetic that has no answer (division by zero, a
long beyond 64 bits) is NULL. `/` is division of doubles; a long meets a double as a double.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from elsinore.catalog.stream import AttributeType


@dataclass(frozen=True, slots=True)
class Constant:
    """A value; `None` is NULL. Timestamps and durations are int microseconds."""

    value: int | float | str | bool | None
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of the event at a position; `following` marks the later event of a pair.

    `attribute` is a column name; `TIME` stands for the event's own time. What is read of an event
    depends on the attribute alone, so fields are equal, and conditions compare by meaning, whatever
    the position.
    """

    position: int = field(compare=False)
    attribute: str
    type: AttributeType
    following: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`+ - * / %` on numbers (or timestamps and durations), typed by its result."""

    operator: str
    left: BoundExpression
    right: BoundExpression
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: BoundExpression
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Comparison:
    """`= != < <= > >=` of two values of one kind."""

    operator: str
    left: BoundExpression
    right: BoundExpression
    type: AttributeType = AttributeType.BOOLEAN


@dataclass(frozen=True, slots=True)
class Both:
    """AND of SQL."""

    parts: tuple[BoundExpression, ...]
    type: AttributeType = AttributeType.BOOLEAN


@dataclass(frozen=True, slots=True)
class Either:
    """OR of SQL."""

    parts: tuple[BoundExpression, ...]
    type: AttributeType = AttributeType.BOOLEAN


@dataclass(frozen=True, slots=True)
class Inverse:
    """NOT of SQL."""

    operand: BoundExpression
    type: AttributeType = AttributeType.BOOLEAN


@dataclass(frozen=True, slots=True)
class IsNull:
    """`x IS NULL`; never NULL itself."""

    operand: BoundExpression
    type: AttributeType = AttributeType.BOOLEAN


class FunctionName(StrEnum):
    """What a function does with its operands.

    A function of one operand is NULL where that is; so is ABS of the smallest long. LEAST, GREATEST
    and COALESCE skip NULL and are NULL only where every operand is. NaN ranks above every number:
    LEAST takes it only where there is no number, GREATEST wherever there is one. LOWER and UPPER
    are Unicode's full case mappings, as Python's `str.lower` and `str.upper` have them. HOUR (0 to
    23) and WEEKDAY (Monday is 1, Sunday 7) are those of an instant in UTC.
    """

    ABS = "abs"
    LEAST = "least"
    GREATEST = "greatest"
    COALESCE = "coalesce"
    LOWER = "lower"
    UPPER = "upper"
    HOUR = "hour"
    WEEKDAY = "weekday"


@dataclass(frozen=True, slots=True)
class Function:
    """A function applied to operands, typed by its result; longs meet a double as doubles."""

    name: FunctionName
    operands: tuple[BoundExpression, ...]
    type: AttributeType


@dataclass(frozen=True, slots=True)
class Like:
    """`s LIKE pattern`: `%` is any text, line ends included, `_` any one character.

    After `escape`, which is None or one character, `%`, `_` and `escape` stand for themselves;
    it stands before nothing else. Both are case-sensitive and cover the whole of `s`.
    """

    operand: BoundExpression
    pattern: str
    escape: str | None = None
    type: AttributeType = AttributeType.BOOLEAN


#: What is always a truth value.
Condition = Comparison | Both | Either | Inverse | IsNull | Like

BoundExpression = Constant | Field | Arithmetic | Negative | Function | Condition

#: Column name of the event's own time, where no attribute of its type is called `time`.
TIME = "_time"


def operands_of(expression: BoundExpression) -> tuple[BoundExpression, ...]:
    """The direct operands of a node."""
    match expression:
        case Constant() | Field():
            return ()
        case Arithmetic(_, left, right, _) | Comparison(_, left, right, _):
            return left, right
        case Both(parts) | Either(parts):
            return parts
        case Function(_, operands, _):
            return operands
        case _:
            return (expression.operand,)


def fields_of(expression: BoundExpression) -> Iterator[Field]:
    """All attribute references of an expression, from left to right."""
    if isinstance(expression, Field):
        yield expression
    for operand in operands_of(expression):
        yield from fields_of(operand)


def sides_of(expression: BoundExpression) -> frozenset[bool]:
    """Which events of a pair an expression reads: `False` the earlier, `True` the later."""
    return frozenset(field.following for field in fields_of(expression))


def rebuild(expression: BoundExpression, leaf: Callable[[Field], Field]) -> BoundExpression:
    """The same expression over other attribute references: `leaf` of each."""

    def inner(operand: BoundExpression) -> BoundExpression:
        return rebuild(operand, leaf)

    match expression:
        case Constant():
            return expression
        case Field():
            return leaf(expression)
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return replace(expression, left=inner(left), right=inner(right))
        case Both(parts) | Either(parts):
            return replace(expression, parts=tuple(map(inner, parts)))
        case Function(operands=operands):
            return replace(expression, operands=tuple(map(inner, operands)))
        case _:
            return replace(expression, operand=inner(expression.operand))
