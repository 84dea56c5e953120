"""Types of operands: what operators and functions accept, and how values of two types meet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import NoReturn

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query.expressions import Applied, BoundExpression, Constant, Slot
from elsinore.query.resolve import Scope
from elsinore.query.syntax import Call
from elsinore.timeline import NUMBER_LENGTHS, parse_instant
from elsinore.wording import listed

INT64 = range(-(2**63), 2**63)
_LONG, _TIMESTAMP = AttributeType.LONG, AttributeType.TIMESTAMP
#: Functions of a length of time whose result is a number.
_NOT_LENGTHS = frozenset(["exp", "ln", "log10", "power", "sign", "sqrt"])


def whole_ticks(amount: int | float, length: int) -> int | None:
    """Return an amount of units in ticks; None if it is not a whole number.

    >>> whole_ticks(4.35, 1_000_000), whole_ticks(0.5, 1)
    (4350000, None)
    """
    ticks = Fraction(str(amount)) * length  # of the decimal as written, not of the double near it
    return ticks.numerator if ticks.denominator == 1 else None


def length_of(scope: Scope, amount: int | float, length: int, at: Location) -> Constant:
    """Return an amount of units as a constant length of time."""
    ticks = whole_ticks(amount, length)
    if ticks is None or ticks not in INT64:
        message = "a length of time must be a whole number of microseconds that fits 64 bits"
        scope.refuse(message, at, "as in 90 seconds")
    return Constant(ticks, _LONG, length=True)


def common_type(operands: Sequence[BoundExpression]) -> AttributeType | None:
    """Return the type of all operands, double if longs meet doubles; None if they do not agree."""
    types = {operand.type for operand in operands}
    if len(types) == 1:
        return types.pop()
    return AttributeType.DOUBLE if all(kind.is_number for kind in types) else None


def alike(scope: Scope, operands: Sequence[BoundExpression], at: Location) -> list[BoundExpression]:
    """Return operands; next to a timestamp, string literals are parsed as timestamps."""
    if all(operand.type is not AttributeType.TIMESTAMP for operand in operands):
        return lengths(scope, operands, at)
    return [instant(scope, operand, at) for operand in operands]


def lengths(
    scope: Scope, operands: Sequence[BoundExpression], at: Location
) -> list[BoundExpression]:
    """Return operands; next to a duration or timestamp, numbers have the schema's unit."""
    unit = scope.schema.time_unit
    if not (unit.is_calendar and any(o.type is _TIMESTAMP or is_length(o) for o in operands)):
        return list(operands)
    found: list[BoundExpression] = []
    for operand in operands:
        if operand.type.is_number and not is_length(operand):
            if not isinstance(operand, Constant):
                hint = "multiply it by its unit, as in A.waited * 1 second"
                scope.refuse(f"a {operand.type} is not a length of time", at, hint)
            assert isinstance(operand.value, int | float)
            if operand.value and unit not in NUMBER_LENGTHS:
                scope.refuse("a length of time needs a unit", at, f"as in {operand.value} seconds")
            operand = length_of(scope, operand.value, NUMBER_LENGTHS.get(unit, 1), at)
        found.append(operand)
    return found


def is_length(expression: BoundExpression) -> bool:
    """Return whether a number is a duration: a difference of timestamps, or made of durations."""
    match expression:
        case Constant() | Slot():
            return expression.length
        case Applied("-", (left, _)) if left.type is _TIMESTAMP:
            return expression.type is _LONG
        case Applied("/", (left, right)):
            return is_length(left) and not is_length(right)
        case Applied(name, operands) if name not in _NOT_LENGTHS:
            return expression.type.is_number and any(map(is_length, operands))
    return False


def instant(scope: Scope, operand: BoundExpression, at: Location) -> BoundExpression:
    """Return an operand; a string literal is parsed as a timestamp."""
    if not (isinstance(operand, Constant) and isinstance(operand.value, str)):
        return operand
    try:
        return Constant(parse_instant(operand.value), AttributeType.TIMESTAMP)
    except ValueError as error:
        scope.refuse(str(error), at, "as in '2013-01-31T10:00:00Z'")


def refuse_both_events(
    scope: Scope, what: str, operands: Sequence[BoundExpression], at: Location
) -> NoReturn:
    """Refuse a function of values of both events of a pair, which kernels cannot compute."""
    strings = any(operand.type is AttributeType.STRING for operand in operands)
    kind = "string" if strings else "value"
    hint = f"apply {what} to a {kind} of each event"
    scope.refuse(f"{what} cannot combine {kind}s of both events", at, hint)


def require(
    scope: Scope,
    call: Call,
    operand: BoundExpression,
    *types: AttributeType,
    hint: str | None = None,
) -> None:
    """Refuse an operand of a call that has none of some types."""
    if operand.type not in types:
        wanted = listed(f"a {kind}" for kind in types)
        hint = hint or attributes_of(scope, types)
        scope.refuse(f"{call.function} takes {wanted}, not a {operand.type}", call.at, hint)


def attributes_of(scope: Scope, types: Collection[AttributeType]) -> str:
    """Return a hint that lists the attributes of some types in the pattern."""
    found = [
        f"{position.alias}.{attribute.name}"
        for position in scope.positions
        if position.type in scope.schema.by_name
        for attribute in scope.schema.by_name[position.type].attributes
        if attribute.type in types
    ]
    found += [f"{position.alias}.time" for position in scope.positions if _TIMESTAMP in types]
    return f"use {listed(found[:10])}" if found else "the pattern has no such attribute"
