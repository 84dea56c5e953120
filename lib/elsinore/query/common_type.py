"""The type on which values meet: in comparisons, and in functions that choose among them."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query.expressions import BoundExpression, Constant
from elsinore.query.resolve import Scope
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
