"""Doubles of both signs whose sums cancel, so that what rounding leaves is all there is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeVar

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import AggregateFunction, BoundQuery
from tests.property.random_cases.dice import Dice

SIGNED = "signed doubles that cancel"

#: Near each other, of very different sizes, and beyond the largest double together.
_VALUES = (
    (0.1, 0.2, 0.3, -0.3, -0.2, -0.1, 0.7, -0.6, None),
    (0.1, 0.2, 0.3, -0.3, -0.2, -0.1, 0.7, -0.6, None),
    (1e9 + 0.1, -1e9 - 0.3, 0.1, 0.2, -0.3, 1e-3, -1e16, 1e16, 0.7),
    (1.7e308, -1.7e308, 1.1e308, -1.1e308, 0.1, -0.3, None),
)
_SUMS = (AggregateFunction.SUM, AggregateFunction.AVG)

Drawn = TypeVar("Drawn", bound=tuple[str, int, dict[str, Any]])


def with_signed(dice: Dice, rows: Iterable[Drawn]) -> list[Drawn]:
    """Events with other values of `y`, in one case of ten or where aimed at.

    `dice` are the case's own for this, so that nothing else is drawn otherwise for them.
    """
    found = list(rows)
    if not dice.chance(0.1, SIGNED):
        return found
    values = dice.pick(_VALUES)
    for _, _, attributes in found:
        if "y" in attributes:
            attributes["y"] = dice.pick(values)
    return found


def sums_cancel(query: BoundQuery, rows: Iterable[Drawn]) -> bool:
    """Whether a query adds up doubles whose sum is less than one of them, and not for certain 0."""
    return any(
        _cancel([row[2].get(str(item.attribute)) for row in rows if row[0] in types])
        for item in query.aggregates
        if item.function in _SUMS and item.type is AttributeType.DOUBLE
        for types in [{query.positions[index].type for index in item.positions}]
    )


def _cancel(values: list[Any]) -> bool:
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known or all((8 * value).is_integer() for value in known):  # nothing is rounded
        return False
    scaled = [value / 2**5 for value in known]
    return min(known) < 0 < max(known) and abs(math.fsum(scaled)) < max(map(abs, scaled))
