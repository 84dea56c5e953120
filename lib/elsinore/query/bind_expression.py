"""Types an expression and resolves its attributes; functions of WHERE, and LIKE."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query.expressions import Applied, BoundExpression, Constant, Field, sides_of
from elsinore.query.functions import MAX_PATTERN, bind_function, refuse_zone, require_known
from elsinore.query.operand_types import (
    INT64,
    alike,
    attributes_of,
    common_type,
    length_of,
    lengths,
    refuse_both_events,
)
from elsinore.query.resolve import BindFault, Scope
from elsinore.query.syntax import (
    Call,
    Case,
    Equivalence,
    Expression,
    Literal,
    Operation,
    Parameter,
    Reference,
    Zoned,
)
from elsinore.timeline import UNITS
from elsinore.wording import listed, suggest

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_TIMESTAMP, _BOOLEAN = AttributeType.TIMESTAMP, AttributeType.BOOLEAN
_COMPARISONS = frozenset(["=", "!=", "<", "<=", ">", ">="])
#: The type of a literal; NULL may stand where truth values do.
_LITERALS = {bool: _BOOLEAN, type(None): _BOOLEAN, str: AttributeType.STRING, float: _DOUBLE,
             int: _LONG}  # fmt: skip

_Item = TypeVar("_Item")
_Bound = TypeVar("_Bound")

#: Abbreviations and synonyms of units, with what to write instead.
_SHORT_UNITS = {
    "us": "microseconds",
    "ms": "milliseconds",
    **dict.fromkeys(("s", "sec"), "seconds"),
    **dict.fromkeys(("m", "min"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs"), "hours"),
    "d": "days",
    **dict.fromkeys(("w", "week", "weeks"), "7 days"),
    **dict.fromkeys(("month", "months"), "30 days"),
}


def unit_length(scope: Scope, word: str, at: Location, further: Collection[str] = ()) -> int:
    """Microseconds of a unit, singular or plural; BindFault, noted in the scope: there is none.

    `further` are units without a fixed length that hints can name.
    """
    length = UNITS.get(word) or UNITS.get(word.removesuffix("s"))
    if length is None:
        meant = f"did you mean {_SHORT_UNITS[word]}?" if word in _SHORT_UNITS else None
        known = (*UNITS, *further)
        hint = meant or suggest(word, known) or f"use one of {', '.join(known)}"
        scope.refuse(f"{word} is not a unit of time", at, hint)
    return length


def bind_expression(scope: Scope, expression: Expression) -> BoundExpression:
    """The bound form; BindFault, noted in the scope: a name is unknown or types do not agree."""
    if isinstance(expression, Equivalence):
        message = "[...] applies to whole trends: it is allowed only at the top level of WHERE"
        scope.refuse(message, expression.at, "join it with AND, as in WHERE [user] AND V.price > 5")
    with scope.sizes.binding():
        bound = scope.other_meaning(expression)
        if bound is None:
            bound = _bind_usual(scope, expression)
        if problem := scope.sizes.problem(bound):
            hint = "IN, BETWEEN and named values repeat what they contain: nest fewer of them"
            scope.refuse(problem, expression.at, hint)
    return bound


def _bind_usual(scope: Scope, expression: Expression) -> BoundExpression:
    """Return the bound form of an expression that means the same in every clause."""
    match expression:
        case Literal():
            return _bind_literal(scope, expression)
        case Reference():
            return _bind_reference(scope, expression)
        case Operation():
            return _bind_operation(scope, expression)
        case Case():
            return _bind_case(scope, expression)
        case Zoned():
            refuse_zone(scope, expression)
        case Parameter(name, at):
            hint = f"declare it, as in PARAM {name} double DEFAULT 1;"
            scope.refuse(f"no parameter {name}", at, hint)
        case Call():
            return _bind_call(scope, expression)
    raise AssertionError(f"{expression} is not an expression")


def bind_condition(scope: Scope, expression: Expression) -> BoundExpression:
    """The bound form of a condition; BindFault: as `bind_expression`, or it is none."""
    bound = bind_expression(scope, expression)
    if bound.type is not _BOOLEAN:
        hint = f"compare it with something, as in {scope.example}"
        if isinstance(expression, Literal):
            hint = "write V.country = 'DE', or V.country IN ('DE', 'FR')"
        scope.refuse(f"expected a condition, found a {bound.type}", expression.at, hint)
    return bound


def bind_all(items: Collection[_Item], bind: Callable[[_Item], _Bound]) -> list[_Bound]:
    """All of some items bound; one that cannot be does not keep the others' faults back.

    Raises:
        BindFault: one cannot be bound; noted in the scope.
    """
    bound = []
    for item in items:
        with suppress(BindFault):
            bound.append(bind(item))
    if len(bound) < len(items):
        raise BindFault
    return bound


def _bind_call(scope: Scope, call: Call) -> BoundExpression:
    before = len(scope.faults)
    with suppress(BindFault):
        require_known(scope, call)
    inside = [each.operand if isinstance(each, Zoned) else each for each in call.arguments]
    operands = bind_all(inside, partial(bind_expression, scope))
    if len(scope.faults) > before:
        raise BindFault
    return bind_function(scope, call, operands)


def _bind_case(scope: Scope, case: Case) -> Applied:
    """`CASE WHEN`: operands are conditions and results in turn, then the result of ELSE."""
    conditions, written = zip(*case.branches, strict=True)
    written = (*written, case.otherwise or Literal(None))
    before = len(scope.faults)
    whens, thens = [], []
    with suppress(BindFault):
        whens = bind_all(conditions, partial(bind_condition, scope))
    with suppress(BindFault):
        thens = bind_all(written, partial(bind_expression, scope))
    if len(scope.faults) > before or not (whens and thens):
        raise BindFault
    values = [each for each in thens if not _is_null(each)]
    if not values:
        scope.refuse("every result of CASE is NULL", case.at, "add a result that is not NULL")
    values = alike(scope, values, case.at)
    kind = common_type(values)
    if kind is None:
        kinds = listed(dict.fromkeys(f"a {each.type}" for each in values)).replace(" or ", " and ")
        scope.refuse(f"results of CASE are {kinds}", case.at, "use one type")
    left = iter(values)
    results = [Constant(None, kind) if _is_null(each) else next(left) for each in thens]
    pairs = [each for pair in zip(whens, results[:-1], strict=True) for each in pair]
    applied = Applied("CASE", (*pairs, results[-1]), kind)
    if len(sides_of(applied)) > 1:
        refuse_both_events(scope, "CASE", values, case.at)
    return applied


def _is_null(expression: BoundExpression) -> bool:
    return isinstance(expression, Constant) and expression.value is None


def _bind_literal(scope: Scope, literal: Literal) -> Constant:
    value = literal.value
    if literal.unit is not None:
        return _bind_duration(scope, literal)
    kind = _LITERALS[type(value)]
    if kind is _LONG and value not in INT64 and not scope.exact:
        hint = f"write at most {INT64[-1]}, or add a decimal point for a double"
        scope.refuse(f"{str(value)[:25]} does not fit a long", literal.at, hint)
    return Constant(value, kind)


def _bind_duration(scope: Scope, literal: Literal) -> Constant:
    assert literal.unit is not None
    assert isinstance(literal.value, int | float)
    length = unit_length(scope, literal.unit, literal.at)
    if not scope.schema.time_unit.is_calendar:
        scope.refuse("this stream's time has no unit", literal.at, "write a number without a unit")
    return length_of(scope, literal.value, length, literal.at)


def _bind_reference(scope: Scope, reference: Reference) -> Field:
    found = scope.of_one_alias(reference)
    column, kind = scope.column(found[0], reference.attribute, reference.at)
    return Field(found[0].index, column, kind, reference.following)


def _bind_operation(scope: Scope, operation: Operation) -> BoundExpression:
    match operation.name:
        case "AND" | "OR":
            parts = bind_all(operation.operands, partial(bind_condition, scope))
            return Applied(operation.name, tuple(parts))
        case "NOT":
            return Applied("NOT", (bind_condition(scope, operation.operands[0]),))
        case "IS NULL":
            return Applied("IS NULL", (bind_expression(scope, operation.operands[0]),))
        case "LIKE":
            return _bind_like(scope, operation, bind_expression(scope, operation.operands[0]))
        case "neg":
            inner = operation.operands[0]
            number = isinstance(inner, Literal) and inner.unit is None and inner.value
            # -2^63 is a long, 2^63 is none
            if isinstance(number, int | float) and not isinstance(number, bool):
                return _bind_literal(scope, Literal(-number, None, inner.at))
    at = operation.at
    first, *others = bind_all(operation.operands, partial(bind_expression, scope))
    match operation.name:
        case "IN":
            return Applied("OR", tuple(_compare(scope, "=", first, o, at) for o in others))
        case "BETWEEN":
            low, high = others
            above = _compare(scope, ">=", first, low, at)
            return Applied("AND", (above, _compare(scope, "<=", first, high, at)))
        case "neg":
            return _negative(scope, first, at)
    if operation.name in _COMPARISONS:
        return _compare(scope, operation.name, first, others[0], at)
    return _arithmetic(scope, operation.name, first, others[0], at)


def _negative(scope: Scope, operand: BoundExpression, at: Location) -> BoundExpression:
    if not operand.type.is_number:
        scope.refuse(f"cannot negate a {operand.type}", at, "negate a number, as in -V.price")
    if isinstance(operand, Constant) and operand.value != -(2**63):
        assert isinstance(operand.value, int | float)
        return replace(operand, value=-operand.value)
    return Applied("neg", (operand,), operand.type)


def _compare(
    scope: Scope, operator: str, left: BoundExpression, right: BoundExpression, at: Location
) -> Applied:
    left, right = alike(scope, (left, right), at)
    if any(isinstance(side, Constant) and side.value is None for side in (left, right)):
        scope.refuse("a comparison with NULL is never true", at, "write IS NULL")
    if common_type((left, right)) is None:
        hint = _literal_hint(left, right) or _literal_hint(right, left)
        hint = hint or f"compare it with a {left.type}"
        scope.refuse(f"cannot compare a {left.type} with a {right.type}", at, hint)
    if left.type is _BOOLEAN and operator not in ("=", "!="):
        scope.refuse(f"cannot order booleans by {operator}", at, "write = or !=")
    return Applied(operator, (left, right))


def _literal_hint(side: BoundExpression, other: BoundExpression) -> str | None:
    """Return how to write a literal for a comparison with a value of another type."""
    if not isinstance(other, Constant) or other.value is None:
        return None
    match side.type, other.value:
        case AttributeType.STRING, bool() | int() | float():
            return f"write it in quotes: '{other.value}'"
        case ((AttributeType.LONG | AttributeType.DOUBLE), str(text)):
            return f"write it without quotes: {text[:40]}"
        case AttributeType.BOOLEAN, _:
            return "write TRUE or FALSE"
        case AttributeType.TIMESTAMP, _:
            return "as in '2013-01-31T10:00:00Z'"
    return None


def _arithmetic(
    scope: Scope, operator: str, left: BoundExpression, right: BoundExpression, at: Location
) -> Applied:
    if operator in ("+", "-", "%"):
        left, right = lengths(scope, (left, right), at)
    result = _arithmetic_type(operator, left.type, right.type)
    if result is None:
        hint = "use numbers, or a timestamp and a length, as in V.time + 5 minutes"
        scope.refuse(f"cannot compute {left.type} {operator} {right.type}", at, hint)
    return Applied(operator, (left, right), result)


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


# ---- LIKE


def _bind_like(scope: Scope, operation: Operation, operand: BoundExpression) -> Applied:
    """`operand LIKE 'pattern' ESCAPE 'c'`, with its operand bound."""
    at = operation.at
    pattern, *escape = (str(p.value) for p in operation.operands[1:] if isinstance(p, Literal))
    if operand.type is not AttributeType.STRING:
        hint = attributes_of(scope, [AttributeType.STRING])
        scope.refuse(f"LIKE takes a string, not a {operand.type}", at, hint)
    if len(sides_of(operand)) > 1:
        refuse_both_events(scope, "LIKE", [operand], at)
    if len(pattern) > MAX_PATTERN:
        message = f"the LIKE pattern is longer than {MAX_PATTERN} characters"
        scope.refuse(message, at, "shorten the pattern")
    if escape:
        _check_escape(scope, operation, pattern, escape[0])
    texts = (pattern, escape[0] if escape else None)
    return Applied("LIKE", (operand, *(Constant(each, AttributeType.STRING) for each in texts)))


def _check_escape(scope: Scope, operation: Operation, pattern: str, escape: str) -> None:
    if len(escape) != 1:
        scope.refuse("ESCAPE takes a single character", operation.at, "as in ESCAPE '!'")
    characters = iter(pattern)
    for character in characters:
        if character == escape and next(characters, None) not in ("%", "_", escape):
            message = f"in the LIKE pattern {escape!r} escapes nothing"
            scope.refuse(message, operation.at, f"write {escape!r} only before %, _ or {escape!r}")
