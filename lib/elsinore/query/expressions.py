"""Bound expressions: every attribute resolved to a position of the pattern, every node typed.

Truth is three-valued as in SQL: a comparison with NULL or NaN is neither true nor false, and only
*true* lets an event or a pair of events pass. Arithmetic that has no answer (division by zero, a
long beyond 64 bits) is NULL. `/` is division of doubles; a long meets a double as a double.

Expressions of RETURN and HAVING read aggregates and grouping attributes of a row instead of events.
Their integers are exact at any size, `/` gives the double nearest to the exact quotient, and
integers are compared exactly with doubles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from elsinore.catalog.stream import AttributeType


@dataclass(frozen=True, slots=True)
class Constant:
    """A value; `None` is NULL. Timestamps and durations are int microseconds.

    `length` says that it was written as a length of time.
    """

    value: int | float | str | bool | None
    type: AttributeType
    length: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of the event at a position; `following` marks the later event of a pair.

    `attribute` is a column name; `TIME` is the event's own time. The value depends only on the
    attribute, so fields are equal, and conditions compare by meaning, at any position.
    """

    position: int = field(compare=False)
    attribute: str
    type: AttributeType
    following: bool = False


class Applied(NamedTuple):
    """An operator or a function applied to operands, typed by its result.

    A tuple, since deep ones compare within the limit of recursion.

    Its name is the name of a `syntax.Operation` or of a function:

    - `+ - * / %` on numbers (or timestamps and durations); `neg`, the minus before one;
    - `= != < <= > >=` of two values of one kind;
    - `AND`, `OR`, `NOT` of SQL; `IS NULL`, which is never NULL itself;
    - `LIKE` of an operand, a pattern and an escape, both constants: `%` is any text, line ends
      included, `_` any one character. After the escape, which is NULL or one character, `%`, `_`
      and the escape are literal; it precedes nothing else. Pattern and operand are
      case-sensitive and match as wholes;
    - `abs ceil floor round sign` keep the type of their first operand; round takes a number of
      decimals, which may be negative, and rounds half away from zero, by the shortest decimal form
      of a double;
    - `exp ln log10 power sqrt` give doubles. A result that does not exist or is too large for a
      double is NULL, for `round` too;
    - `lower upper trim length substr concat replace starts_with regexp_like` of strings, which
      count characters. lower and upper are Unicode's full case mappings, as Python's `str.lower`
      and `str.upper` have them. trim removes spaces only. concat skips NULL and is never NULL.
      substr and replace work as in SQL. regexp_like matches anywhere, by RE2;
    - parts of a timestamp, `EXTRACT_PARTS`, and `date_trunc` of a unit (a constant) and a
      timestamp. An optional last operand is a constant, the name of a time zone; without it they
      are in UTC. date_trunc is the timestamp at which the unit began, see `zones.Zone.began`;
    - `CASE` of conditions and results in turn, and the result if no condition is true;
    - `nullif`, NULL if its operands are equal, otherwise the first;
    - `combination` of attributes, which only COUNT(DISTINCT ...) reads: the combination of their
      values, and NULL if one of them is NULL;
    - `has value` of what an aggregate reads, which only conditions of measures read: whether it is
      not NULL, where its integers have any size;
    - `least greatest coalesce`, which skip NULL and are NULL only if every operand is; longs
      meet a double as doubles. NaN ranks above every number: least takes it only if there is no
      number, greatest if there is one.

    Except for CASE, coalesce, concat, greatest, least and IS NULL, a function is NULL if an operand
    is NULL.
    """

    name: str
    operands: tuple[BoundExpression, ...]
    type: AttributeType = AttributeType.BOOLEAN


#: The name of an `Applied` whose value is the combination of the values of attributes.
COMBINATION = "combination"
#: The name of an `Applied` which is true if its operand, with integers of any size, is not NULL.
HAS_VALUE = "has value"


@dataclass(frozen=True, slots=True)
class Slot:
    """The value of an aggregate in a row, by its number in `BoundQuery.aggregates`.

    `length` says that it is a length of time.
    """

    number: int
    type: AttributeType
    length: bool = False


@dataclass(frozen=True, slots=True)
class GroupValue:
    """The value of a grouping attribute in a row, by its number in `BoundQuery.group_keys`."""

    number: int
    type: AttributeType


BoundExpression = Constant | Field | Applied | Slot | GroupValue

#: Parts of a timestamp that `extract` knows. Monday is weekday 1, Sunday is dow 0; week and isoyear
#: follow ISO 8601.
EXTRACT_PARTS = (
    *("second", "minute", "hour", "day", "dow", "weekday"),
    *("week", "isoyear", "month", "quarter", "year"),
)
#: Units of `date_trunc`, the shortest first; weeks begin on Monday.
TRUNCATE_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")

#: Column name of the event's own time, where no attribute of its type is called `time`.
TIME = "_time"


def operands_of(expression: BoundExpression) -> tuple[BoundExpression, ...]:
    """The direct operands of a node."""
    return expression.operands if isinstance(expression, Applied) else ()


def fields_of(expression: BoundExpression) -> Iterator[Field]:
    """All attribute references of an expression, from left to right."""
    if isinstance(expression, Field):
        yield expression
    for operand in operands_of(expression):
        yield from fields_of(operand)


def sides_of(expression: BoundExpression) -> frozenset[bool]:
    """Which events of a pair an expression reads: `False` the earlier, `True` the later."""
    return frozenset(field.following for field in fields_of(expression))


def turned(expression: BoundExpression) -> BoundExpression:
    """The same condition on a pair of events that is met in the opposite order of time."""
    match expression:
        case Field(following=following):
            return replace(expression, following=not following)
        case Applied(_, operands):
            return expression._replace(operands=tuple(map(turned, operands)))
    return expression


def moved(expression: BoundExpression, position: int, following: int) -> BoundExpression:
    """Return a condition on events at other positions with the same attributes.

    Args:
        expression: the condition.
        position: the new position of the earlier event, or of a single one.
        following: the new position of the later event.
    """
    match expression:
        case Field():
            return replace(expression, position=following if expression.following else position)
        case Applied(_, operands):
            inner = tuple(moved(operand, position, following) for operand in operands)
            return expression._replace(operands=inner)
    return expression
