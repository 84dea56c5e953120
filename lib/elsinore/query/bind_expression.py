"""Types an expression and resolves its attributes."""

from __future__ import annotations

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query.expressions import (
    Arithmetic,
    Both,
    BoundExpression,
    Comparison,
    Constant,
    Either,
    Field,
    Inverse,
    IsNull,
    Negative,
)
from elsinore.query.resolve import Scope, suggest
from elsinore.query.syntax import Call, Equivalence, Expression, Literal, Operation, Reference
from elsinore.timeline import UNITS, parse_instant

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_TIMESTAMP, _BOOLEAN = AttributeType.TIMESTAMP, AttributeType.BOOLEAN
_COMPARISONS = frozenset(["=", "!=", "<", "<=", ">", ">="])
_INT64 = range(-(2**63), 2**63)


class BindFault(Exception):
    """An expression cannot be bound; its fault is already noted in the scope."""


def unit_length(word: str) -> int | None:
    """Microseconds of a unit, singular or plural; None for no unit at all."""
    return UNITS.get(word) or UNITS.get(word.removesuffix("s"))


def bind_expression(scope: Scope, expression: Expression) -> BoundExpression:
    """The bound form of an expression.

    Raises:
        BindFault: a name is unknown or types do not agree; noted in the scope.
    """
    match expression:
        case Literal():
            return _bind_literal(scope, expression)
        case Reference():
            return _bind_reference(scope, expression)
        case Operation():
            return _bind_operation(scope, expression)
        case Call(function):
            _fail(scope, f"there is no function {function}", expression.at)
        case Equivalence():
            _fail(
                scope,
                "[...] holds for whole trends: it can only stand beside AND at the top of WHERE",
                expression.at,
            )
    raise AssertionError(expression)


def bind_condition(scope: Scope, expression: Expression) -> BoundExpression:
    """The bound form of an expression that must be true or false.

    Raises:
        BindFault: as `bind_expression`, or the expression is no condition.
    """
    bound = bind_expression(scope, expression)
    if bound.type is not _BOOLEAN:
        _fail(scope, f"a condition is wanted, not a {bound.type}", expression.at)
    return bound


def _fail(scope: Scope, message: str, at: Location, hint: str | None = None) -> None:
    scope.fault(message, at, hint)
    raise BindFault(message)


def _bind_literal(scope: Scope, literal: Literal) -> Constant:
    value = literal.value
    if literal.unit is not None:
        return _bind_duration(scope, literal)
    if isinstance(value, bool) or value is None:
        return Constant(value, _BOOLEAN)
    if isinstance(value, str):
        return Constant(value, AttributeType.STRING)
    if isinstance(value, float):
        return Constant(value, _DOUBLE)
    if value not in _INT64:
        _fail(scope, f"{str(value)[:25]}... does not fit a long", literal.at)
    return Constant(value, _LONG)


def _bind_duration(scope: Scope, literal: Literal) -> Constant:
    length = unit_length(literal.unit or "")
    if length is None:
        hint = suggest(literal.unit or "", list(UNITS))
        _fail(scope, f"{literal.unit} is no unit of time", literal.at, hint)
    if not scope.schema.time_unit.is_calendar:
        _fail(scope, "this stream's time has no unit; write a bare number", literal.at)
    assert length is not None
    assert isinstance(literal.value, int | float)
    ticks = literal.value * length
    if ticks != int(ticks) or int(ticks) not in _INT64:
        _fail(scope, "this is no whole number of microseconds within 64 bits", literal.at)
    return Constant(int(ticks), _LONG)


def _bind_reference(scope: Scope, reference: Reference) -> Field:
    if reference.qualifier is not None:
        found = scope.named(reference.qualifier, reference.at)
    else:
        found = scope.carriers(reference.attribute)
        if not found:
            known = sorted({a for p in scope.positions for a in _attributes(scope, p.type)})
            hint = suggest(reference.attribute, known)
            scope.fault(
                f"no event type of the pattern has an attribute {reference.attribute}",
                reference.at,
                hint,
            )
    if len(found) > 1:
        choices = ", ".join(f"{p.alias}.{reference.attribute}" for p in found)
        scope.fault(f"{reference.attribute} could be any of {choices}", reference.at)
    column = scope.column(found[0], reference.attribute, reference.at) if len(found) == 1 else None
    if column is None:
        raise BindFault(reference.attribute)
    return Field(found[0].index, column[0], column[1], reference.following)


def _attributes(scope: Scope, event_type: str) -> list[str]:
    known = scope.schema.by_name.get(event_type)
    return list(known.by_name) if known else []


def _bind_operation(scope: Scope, operation: Operation) -> BoundExpression:
    match operation.name:
        case "AND" | "OR":
            parts = tuple(bind_condition(scope, operand) for operand in operation.operands)
            return Both(parts) if operation.name == "AND" else Either(parts)
        case "NOT":
            return Inverse(bind_condition(scope, operation.operands[0]))
        case "IS NULL":
            return IsNull(bind_expression(scope, operation.operands[0]))
        case "IN":
            operand, *choices = (bind_expression(scope, part) for part in operation.operands)
            return Either(
                tuple(_compare(scope, "=", operand, choice, operation.at) for choice in choices)
            )
    operands = [bind_expression(scope, operand) for operand in operation.operands]
    if operation.name in _COMPARISONS:
        return _compare(scope, operation.name, operands[0], operands[1], operation.at)
    if operation.name == "neg":
        return _negative(scope, operands[0], operation.at)
    return _arithmetic(scope, operation.name, operands[0], operands[1], operation.at)


def _negative(scope: Scope, operand: BoundExpression, at: Location) -> BoundExpression:
    if not operand.type.is_number:
        _fail(scope, f"a minus sign before a {operand.type}", at)
    if isinstance(operand, Constant):
        assert isinstance(operand.value, int | float)
        return Constant(-operand.value, operand.type)
    return Negative(operand, operand.type)


def _compare(
    scope: Scope, operator: str, left: BoundExpression, right: BoundExpression, at: Location
) -> Comparison:
    left, right = _as_instants(scope, left, right, at)
    null = any(isinstance(side, Constant) and side.value is None for side in (left, right))
    alike = left.type is right.type or (left.type.is_number and right.type.is_number)
    if null:
        _fail(scope, "a comparison with NULL is never true", at, "write IS NULL")
    if not alike:
        _fail(scope, f"cannot compare a {left.type} with a {right.type}", at)
    if left.type is _BOOLEAN and operator not in ("=", "!="):
        _fail(scope, f"truth values have no order for {operator}", at)
    return Comparison(operator, left, right)


def _as_instants(
    scope: Scope, left: BoundExpression, right: BoundExpression, at: Location
) -> tuple[BoundExpression, BoundExpression]:
    """A string literal beside a timestamp is read as an instant."""
    sides = [left, right]
    for index, other in ((0, right), (1, left)):
        side = sides[index]
        if other.type is _TIMESTAMP and isinstance(side, Constant) and isinstance(side.value, str):
            try:
                sides[index] = Constant(parse_instant(side.value), _TIMESTAMP)
            except ValueError as error:
                _fail(scope, str(error), at)
    return sides[0], sides[1]


def _arithmetic(
    scope: Scope, operator: str, left: BoundExpression, right: BoundExpression, at: Location
) -> Arithmetic:
    result = _arithmetic_type(operator, left.type, right.type)
    if result is None:
        _fail(scope, f"cannot work out {left.type} {operator} {right.type}", at)
    assert result is not None
    return Arithmetic(operator, left, right, result)


def _arithmetic_type(
    operator: str, left: AttributeType, right: AttributeType
) -> AttributeType | None:
    if left.is_number and right.is_number:
        return _DOUBLE if operator == "/" or _DOUBLE in (left, right) else _LONG
    match operator, left, right:
        case "-", AttributeType.TIMESTAMP, AttributeType.TIMESTAMP:
            return _LONG
        case (("+" | "-"), AttributeType.TIMESTAMP, AttributeType.LONG):
            return _TIMESTAMP
        case "+", AttributeType.LONG, AttributeType.TIMESTAMP:
            return _TIMESTAMP
    return None
