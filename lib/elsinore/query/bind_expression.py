"""Types an expression and resolves its attributes; functions of WHERE, and LIKE."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TypeVar

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query.expressions import Applied, BoundExpression, Constant, Field, sides_of
from elsinore.query.resolve import BindFault, Scope
from elsinore.query.syntax import Call, Equivalence, Expression, Literal, Operation, Reference
from elsinore.timeline import NUMBER_LENGTHS, UNITS, parse_instant
from elsinore.wording import listed, some_of, suggest

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_TIMESTAMP, _BOOLEAN = AttributeType.TIMESTAMP, AttributeType.BOOLEAN
_COMPARISONS = frozenset(["=", "!=", "<", "<=", ">", ">="])
_INT64 = range(-(2**63), 2**63)
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


def unit_length(scope: Scope, word: str, at: Location) -> int:
    """Microseconds of a unit, singular or plural; BindFault, noted in the scope: there is none."""
    length = UNITS.get(word) or UNITS.get(word.removesuffix("s"))
    if length is None:
        meant = f"did you mean {_SHORT_UNITS[word]}?" if word in _SHORT_UNITS else None
        hint = meant or suggest(word, UNITS) or f"use one of {', '.join(UNITS)}"
        scope.refuse(f"{word} is not a unit of time", at, hint)
    return length


def whole_ticks(amount: int | float, length: int) -> int | None:
    """Return an amount of units in ticks; None if it is not a whole number.

    >>> whole_ticks(4.35, 1_000_000), whole_ticks(0.5, 1)
    (4350000, None)
    """
    ticks = Fraction(str(amount)) * length  # of the decimal as written, not of the double near it
    return ticks.numerator if ticks.denominator == 1 else None


def bind_expression(scope: Scope, expression: Expression) -> BoundExpression:
    """The bound form; BindFault, noted in the scope: a name is unknown or types do not agree."""
    if isinstance(expression, Equivalence):
        message = "[...] applies to whole trends: it is allowed only at the top level of WHERE"
        scope.refuse(message, expression.at, "join it with AND, as in WHERE [user] AND V.price > 5")
    if (other := scope.other_meaning(expression)) is not None:
        return other
    match expression:
        case Literal():
            return _bind_literal(scope, expression)
        case Reference():
            return _bind_reference(scope, expression)
        case Operation():
            return _bind_operation(scope, expression)
        case _:
            return _bind_call(scope, expression)


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
        _require_known(scope, call)
    operands = bind_all(call.arguments, partial(bind_expression, scope))
    if len(scope.faults) > before:
        raise BindFault
    return _bind_function(scope, call, operands)


def _bind_literal(scope: Scope, literal: Literal) -> Constant:
    value = literal.value
    if literal.unit is not None:
        return _bind_duration(scope, literal)
    kind = _LITERALS[type(value)]
    if kind is _LONG and value not in _INT64 and not scope.exact:
        hint = f"write at most {_INT64[-1]}, or add a decimal point for a double"
        scope.refuse(f"{str(value)[:25]} does not fit a long", literal.at, hint)
    return Constant(value, kind)


def _bind_duration(scope: Scope, literal: Literal) -> Constant:
    assert literal.unit is not None
    assert isinstance(literal.value, int | float)
    length = unit_length(scope, literal.unit, literal.at)
    if not scope.schema.time_unit.is_calendar:
        scope.refuse("this stream's time has no unit", literal.at, "write a number without a unit")
    return _length_of(scope, literal.value, length, literal.at)


def _length_of(scope: Scope, amount: int | float, length: int, at: Location) -> Constant:
    ticks = whole_ticks(amount, length)
    if ticks is None or ticks not in _INT64:
        message = "a length of time must be a whole number of microseconds that fits 64 bits"
        scope.refuse(message, at, "as in 90 seconds")
    return Constant(ticks, _LONG, length=True)


def _bind_reference(scope: Scope, reference: Reference) -> Field:
    found = scope.meant(reference)
    if len(found) > 1:
        name = reference.attribute
        if scope.all_unclear(found):
            raise BindFault
        choices = some_of(f"{p.alias}.{name}" for p in found)
        hint = f"write one of them, or [{name}] for one value in the whole trend"
        scope.refuse(f"{name} could be any of {choices}", reference.at, hint)
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
    left, right = _alike(scope, (left, right), at)
    if any(isinstance(side, Constant) and side.value is None for side in (left, right)):
        scope.refuse("a comparison with NULL is never true", at, "write IS NULL")
    if _common_type((left, right)) is None:
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
        left, right = _lengths(scope, (left, right), at)
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


# ---- functions, and LIKE: how many operands each takes, of which types, and what it gives


def _common_type(operands: Sequence[BoundExpression]) -> AttributeType | None:
    """The one type of all operands, double where longs meet doubles; None where there is none."""
    types = {operand.type for operand in operands}
    if len(types) == 1:
        return types.pop()
    return AttributeType.DOUBLE if all(kind.is_number for kind in types) else None


def _alike(
    scope: Scope, operands: Sequence[BoundExpression], at: Location
) -> list[BoundExpression]:
    """Return operands; next to a timestamp, string literals are parsed as timestamps."""
    if all(operand.type is not AttributeType.TIMESTAMP for operand in operands):
        return _lengths(scope, operands, at)
    return [_instant(scope, operand, at) for operand in operands]


def _lengths(
    scope: Scope, operands: Sequence[BoundExpression], at: Location
) -> list[BoundExpression]:
    """Return operands; next to a duration or timestamp, numbers have the schema's unit."""
    unit = scope.schema.time_unit
    if not (unit.is_calendar and any(o.type is _TIMESTAMP or _is_length(o) for o in operands)):
        return list(operands)
    alike: list[BoundExpression] = []
    for operand in operands:
        if operand.type.is_number and not _is_length(operand):
            if not isinstance(operand, Constant):
                hint = "multiply it by its unit, as in A.waited * 1 second"
                scope.refuse(f"a {operand.type} is not a length of time", at, hint)
            assert isinstance(operand.value, int | float)
            if operand.value and unit not in NUMBER_LENGTHS:
                scope.refuse("a length of time needs a unit", at, f"as in {operand.value} seconds")
            operand = _length_of(scope, operand.value, NUMBER_LENGTHS.get(unit, 1), at)
        alike.append(operand)
    return alike


def _is_length(expression: BoundExpression) -> bool:
    """Return whether a number is a duration: a difference of timestamps, or made of durations."""
    match expression:
        case Constant():
            return expression.length
        case Applied("-", (left, _)) if left.type is _TIMESTAMP:
            return expression.type is _LONG
        case Applied("/", (left, right)):
            return _is_length(left) and not _is_length(right)
        case Applied(_, operands):
            return expression.type.is_number and any(map(_is_length, operands))
    return False


def _instant(scope: Scope, operand: BoundExpression, at: Location) -> BoundExpression:
    if not (isinstance(operand, Constant) and isinstance(operand.value, str)):
        return operand
    try:
        return Constant(parse_instant(operand.value), AttributeType.TIMESTAMP)
    except ValueError as error:
        scope.refuse(str(error), at, "as in '2013-01-31T10:00:00Z'")


#: Operands that a function takes at least and, where bounded, at most.
_COUNTS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("abs", "extract", "lower", "upper"), (1, 1)),
    **dict.fromkeys(("coalesce", "greatest", "least"), (2, None)),
}
#: Names of functions in other SQL dialects, with what to write instead.
_ELSEWHERE = {
    **dict.fromkeys(("ifnull", "nvl"), "did you mean coalesce?"),
    **dict.fromkeys(("lag", "lead", "prev"), "NEXT(V).price is the price of the event after V"),
    "lcase": "did you mean lower?",
    "ucase": "did you mean upper?",
    "hour": "write extract(hour FROM ...)",
    **dict.fromkeys(("weekday", "dayofweek"), "write extract(weekday FROM ...)"),
}
#: How calls of the functions are written.
_EXAMPLES = {
    **{name: f"{name}(V.price)" for name in ("abs", "lower", "upper")},
    **{name: f"{name}(V.price, V.fee)" for name in ("coalesce", "greatest", "least")},
    "extract": "extract(hour FROM V.time)",
}
_PARTS = frozenset(["hour", "weekday"])
_DAY_OF_WEEK = frozenset(["dow", "isodow", "dayofweek", "day_of_week"])


def is_function(name: str) -> bool:
    """Return whether there is a function of this name, here or in another SQL dialect."""
    return name in _COUNTS or name in _ELSEWHERE


def _require_known(scope: Scope, call: Call) -> None:
    """Refuse a call of no function, or with too many operands or too few."""
    name, count = call.function, len(call.arguments)
    if name not in _COUNTS:
        hint = _ELSEWHERE.get(name) or suggest(name, _COUNTS)
        hint = hint or f"use one of {', '.join(sorted(_COUNTS))}"
        scope.refuse(f"unknown function {name}", call.at, hint)
    if call.modifier is not None:
        hint = f"write {_EXAMPLES[name]}"
        scope.refuse(f"{name} does not take {call.modifier}", call.at, hint)
    least, most = _COUNTS[name]
    if count < least or (most is not None and count > most):
        wanted = "one operand" if most == 1 else "two operands or more"
        scope.refuse(f"{name} takes {wanted}, not {count}", call.at, f"as in {_EXAMPLES[name]}")
    if name == "extract":
        _require_part(scope, call)
    elif call.part is not None:
        scope.refuse(f"{name} does not take FROM", call.at, f"write {_EXAMPLES[name]}")


def _require_part(scope: Scope, call: Call) -> None:
    """Refuse what names no part of an instant before FROM."""
    if call.part is None:
        scope.refuse("extract needs FROM", call.at, "write extract(hour FROM ...)")
    if call.part not in _PARTS:
        hint = "did you mean weekday?" if call.part in _DAY_OF_WEEK else suggest(call.part, _PARTS)
        scope.refuse(f"extract has no part {call.part}", call.at, hint or "use hour or weekday")


def _bind_function(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    """A call of a known function, with its operands bound."""
    at = call.at
    for operand in operands:
        if isinstance(operand, Constant) and operand.value is None:
            scope.refuse(f"{call.function} does not accept NULL", at, "leave it out")
    match call.function:
        case "abs":
            _require(scope, call, operands[0], AttributeType.LONG, AttributeType.DOUBLE)
            return Applied("abs", tuple(operands), operands[0].type)
        case "lower" | "upper":
            _require(scope, call, operands[0], AttributeType.STRING)
            _require_one_event(scope, call.function, operands[0], at)
            return Applied(call.function, tuple(operands), AttributeType.STRING)
        case "extract":
            ticks = operands[0].type is _LONG and not scope.schema.time_unit.is_calendar
            hint = "give the stream's time a unit, as in unit: ms" if ticks else None
            _require(scope, call, operands[0], _TIMESTAMP, hint=hint)
            return Applied(str(call.part), tuple(operands), _LONG)
    return _choice(scope, call.function, operands, at)


def _require_one_event(scope: Scope, what: str, operand: BoundExpression, at: Location) -> None:
    """Refuse an operand that is read from both events of a pair: its values cannot be listed."""
    if len(sides_of(operand)) > 1:
        hint = f"apply {what} to a string of each event"
        scope.refuse(f"{what} cannot combine strings of both events", at, hint)


def _require(
    scope: Scope,
    call: Call,
    operand: BoundExpression,
    *types: AttributeType,
    hint: str | None = None,
) -> None:
    if operand.type not in types:
        wanted = listed(f"a {kind}" for kind in types)
        hint = hint or _attributes_of(scope, types)
        scope.refuse(f"{call.function} takes {wanted}, not a {operand.type}", call.at, hint)


def _attributes_of(scope: Scope, types: Collection[AttributeType]) -> str:
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


def _choice(scope: Scope, name: str, operands: list[BoundExpression], at: Location) -> Applied:
    """LEAST, GREATEST and COALESCE: one of the operands, which are of one kind."""
    alike = _alike(scope, operands, at)
    kind = _common_type(alike)
    if kind is None:
        kinds = listed(dict.fromkeys(f"a {operand.type}" for operand in alike))
        message = f"{name} cannot combine {kinds.replace(' or ', ' and ')}"
        scope.refuse(message, at, "pass values of one type")
    if kind is AttributeType.BOOLEAN and name != "coalesce":
        instead = "AND" if name == "least" else "OR"
        scope.refuse(f"cannot order booleans by {name}", at, f"join them with {instead}")
    return Applied(name, tuple(alike), kind)


# ---- LIKE

#: Maximum length of a LIKE pattern: patterns are compiled to regular expressions.
MAX_PATTERN = 1_000


def _bind_like(scope: Scope, operation: Operation, operand: BoundExpression) -> Applied:
    """`operand LIKE 'pattern' ESCAPE 'c'`, with its operand bound."""
    at = operation.at
    pattern, *escape = (str(p.value) for p in operation.operands[1:] if isinstance(p, Literal))
    if operand.type is not AttributeType.STRING:
        hint = _attributes_of(scope, [AttributeType.STRING])
        scope.refuse(f"LIKE takes a string, not a {operand.type}", at, hint)
    _require_one_event(scope, "LIKE", operand, at)
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
