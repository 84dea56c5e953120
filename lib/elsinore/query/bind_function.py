"""Functions of WHERE, and LIKE: how many operands each takes, of which types, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query.expressions import (
    BoundExpression,
    Constant,
    Function,
    FunctionName,
    Like,
    sides_of,
)
from elsinore.query.faults import listed, suggest
from elsinore.query.resolve import Scope
from elsinore.query.syntax import Call, Literal, Operation
from elsinore.timeline import parse_instant


def common_type(operands: Sequence[BoundExpression]) -> AttributeType | None:
    """The one type of all operands, double where longs meet doubles; None where there is none."""
    types = {operand.type for operand in operands}
    if len(types) == 1:
        return types.pop()
    return AttributeType.DOUBLE if all(kind.is_number for kind in types) else None


def with_instants(
    scope: Scope, operands: Sequence[BoundExpression], at: Location
) -> list[BoundExpression]:
    """The operands; string literals beside a timestamp are read as instants.

    Raises:
        BindFault: such a literal is no instant; noted in the scope.
    """
    if all(operand.type is not AttributeType.TIMESTAMP for operand in operands):
        return list(operands)
    return [_instant(scope, operand, at) for operand in operands]


def _instant(scope: Scope, operand: BoundExpression, at: Location) -> BoundExpression:
    if not (isinstance(operand, Constant) and isinstance(operand.value, str)):
        return operand
    try:
        return Constant(parse_instant(operand.value), AttributeType.TIMESTAMP)
    except ValueError as error:
        scope.refuse(str(error), at, "as in '2013-01-31T10:00:00Z'")


#: Operands that a function takes at least and, where bounded, at most.
_COUNTS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1),
    "coalesce": (2, None),
    "extract": (1, 1),
    "greatest": (2, None),
    "least": (2, None),
    "lower": (1, 1),
    "upper": (1, 1),
}
#: What other SQL dialects, and people, call these functions.
_ELSEWHERE = {
    "ifnull": "did you mean coalesce?",
    "nvl": "did you mean coalesce?",
    "lcase": "did you mean lower?",
    "ucase": "did you mean upper?",
    "hour": "write extract(hour FROM ...)",
    "weekday": "write extract(weekday FROM ...)",
    "dayofweek": "write extract(weekday FROM ...)",
    "count": "aggregates stand in RETURN",
    "sum": "aggregates stand in RETURN",
    "avg": "aggregates stand in RETURN",
    "min": "aggregates stand in RETURN; of values there are least and greatest",
    "max": "aggregates stand in RETURN; of values there are least and greatest",
}
_PARTS = {"hour": FunctionName.HOUR, "weekday": FunctionName.WEEKDAY}
_DAY_OF_WEEK = frozenset(["dow", "isodow", "dayofweek", "day_of_week"])


def is_known_call(scope: Scope, call: Call) -> bool:
    """Whether a call names a function and gives it as many operands as it takes; faults noted."""
    name, count = call.function, len(call.arguments)
    if name not in _COUNTS:
        hint = _ELSEWHERE.get(name) or suggest(name, _COUNTS)
        hint = hint or f"there are {', '.join(sorted(_COUNTS))}"
        scope.fault(f"there is no function {name}", call.at, hint)
        return False
    least, most = _COUNTS[name]
    if count < least or (most is not None and count > most):
        wanted = "one operand" if most == 1 else "two operands or more"
        scope.fault(f"{name} takes {wanted}, not {count}", call.at)
        return False
    return _part_fits(scope, call)


def _part_fits(scope: Scope, call: Call) -> bool:
    """Whether `... FROM` stands where it belongs, and names a part that there is."""
    if call.function != "extract":
        if call.part is not None:
            scope.fault(f"{call.function} takes no FROM", call.at)
        return call.part is None
    if call.part is None:
        scope.fault("extract lacks FROM", call.at, "write extract(hour FROM ...)")
        return False
    if call.part not in _PARTS:
        hint = "did you mean weekday?" if call.part in _DAY_OF_WEEK else suggest(call.part, _PARTS)
        scope.fault(f"extract has no {call.part}", call.at, hint or "there are hour and weekday")
        return False
    return True


def bind_function(scope: Scope, call: Call, operands: list[BoundExpression]) -> Function:
    """A call that `is_known_call`, with its operands bound.

    Raises:
        BindFault: the types of the operands do not fit.
    """
    at = call.at
    for operand in operands:
        if isinstance(operand, Constant) and operand.value is None:
            scope.refuse(f"NULL is no operand of {call.function}", at, "leave it out")
    match call.function:
        case "abs":
            _require(scope, call, operands[0], AttributeType.LONG, AttributeType.DOUBLE)
            return Function(FunctionName.ABS, tuple(operands), operands[0].type)
        case "lower" | "upper":
            _require(scope, call, operands[0], AttributeType.STRING)
            require_one_event(scope, call.function, operands[0], at)
            return Function(FunctionName(call.function), tuple(operands), AttributeType.STRING)
        case "extract":
            return _extract(scope, call, operands[0])
    return _choice(scope, FunctionName(call.function), operands, at)


def require_one_event(scope: Scope, what: str, operand: BoundExpression, at: Location) -> None:
    """Refuse an operand that is read from both events of a pair: its values cannot be listed.

    Raises:
        BindFault: it is.
    """
    if len(sides_of(operand)) > 1:
        scope.refuse(
            f"{what} of a text that is made of both events",
            at,
            f"apply {what} to the text of each event",
        )


def _require(scope: Scope, call: Call, operand: BoundExpression, *types: AttributeType) -> None:
    if operand.type not in types:
        wanted = listed(f"a {kind}" for kind in types)
        scope.refuse(f"{call.function} takes {wanted}, not a {operand.type}", call.at)


def _extract(scope: Scope, call: Call, operand: BoundExpression) -> Function:
    assert call.part is not None
    if operand.type is not AttributeType.TIMESTAMP:
        ticks = operand.type is AttributeType.LONG and not scope.schema.time_unit.is_calendar
        scope.refuse(
            f"extract takes a timestamp, not a {operand.type}",
            call.at,
            "this stream's time has no unit" if ticks else None,
        )
    return Function(_PARTS[call.part], (operand,), AttributeType.LONG)


def _choice(
    scope: Scope, name: FunctionName, operands: list[BoundExpression], at: Location
) -> Function:
    """LEAST, GREATEST and COALESCE: one of the operands, which are of one kind."""
    alike = with_instants(scope, operands, at)
    kind = common_type(alike)
    if kind is None:
        kinds = listed(dict.fromkeys(f"a {operand.type}" for operand in alike))
        scope.refuse(
            f"{name} of {kinds.replace(' or ', ' and ')}", at, "give it values of one type"
        )
    if kind is AttributeType.BOOLEAN and name is not FunctionName.COALESCE:
        scope.refuse(f"truth values have no order for {name}", at)
    return Function(name, tuple(alike), kind)


# ---- LIKE

#: Longer patterns are refused: what matches them is compiled, and nobody writes them.
MAX_PATTERN = 1_000


def bind_like(scope: Scope, operation: Operation, operand: BoundExpression) -> Like:
    """`operand LIKE 'pattern' ESCAPE 'c'`, with its operand bound.

    Raises:
        BindFault: the operand is no text of one event, or pattern or escape are not valid.
    """
    at = operation.at
    pattern, *escape = (str(p.value) for p in operation.operands[1:] if isinstance(p, Literal))
    if operand.type is not AttributeType.STRING:
        scope.refuse(f"LIKE takes a string, not a {operand.type}", at)
    require_one_event(scope, "LIKE", operand, at)
    if len(pattern) > MAX_PATTERN:
        scope.refuse(f"a LIKE pattern of more than {MAX_PATTERN} characters", at)
    if escape:
        _check_escape(scope, operation, pattern, escape[0])
    return Like(operand, pattern, escape[0] if escape else None)


def _check_escape(scope: Scope, operation: Operation, pattern: str, escape: str) -> None:
    if len(escape) != 1:
        scope.refuse("ESCAPE takes a single character", operation.at, "as in ESCAPE '!'")
    characters = iter(pattern)
    for character in characters:
        if character == escape and next(characters, None) not in ("%", "_", escape):
            scope.refuse(
                f"in the LIKE pattern {escape!r} escapes nothing",
                operation.at,
                "it may stand before %, _ and itself",
            )
