"""Binds `LIKE`: a pattern whose escape stands where it may."""

from __future__ import annotations

from elsinore.catalog.stream import AttributeType
from elsinore.query.bind_function import require_one_event
from elsinore.query.expressions import BoundExpression, Like
from elsinore.query.resolve import Scope
from elsinore.query.syntax import Literal, Operation

#: Longer patterns are refused: what matches them is compiled, and nobody writes them.
MAX_PATTERN = 1_000


def bind_like(scope: Scope, operation: Operation, operand: BoundExpression) -> Like:
    """`operand LIKE 'pattern' ESCAPE 'c'`, with its operand bound.

    Raises:
        BindFault: the operand is no text of one event, or pattern or escape are not valid.
    """
    at = operation.at
    pattern, *escape = (_text(part) for part in operation.operands[1:])
    if operand.type is not AttributeType.STRING:
        scope.refuse(f"LIKE takes a string, not a {operand.type}", at)
    require_one_event(scope, "LIKE", operand, at)
    if len(pattern) > MAX_PATTERN:
        scope.refuse(f"a LIKE pattern of more than {MAX_PATTERN} characters", at)
    if escape:
        _check_escape(scope, operation, pattern, escape[0])
    return Like(operand, pattern, escape[0] if escape else None)


def _text(part: object) -> str:
    assert isinstance(part, Literal)
    assert isinstance(part.value, str)
    return part.value


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
