"""Random STDDEV and VARIANCE in place of other aggregates of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import Applied
from tests.property.random_cases.dice import Dice

EACH_DISPERSION = "dispersion with EACH"
OF_EXPRESSION = "dispersion of an expression"
OF_MEASURE = "dispersion of a measure"
#: Constructs of STDDEV and VARIANCE.
OF_DISPERSIONS = (
    *("STDDEV", "STDDEV_POP", "VARIANCE", "VAR_POP", "dispersion of doubles"),
    *(OF_EXPRESSION, EACH_DISPERSION, OF_MEASURE),
)

#: The functions, with synonyms.
DISPERSIONS = ("STDDEV", "STDDEV_SAMP", "STDDEV_POP", "VARIANCE", "VAR_SAMP", "VAR_POP")
#: The last letter of attributes that are numbers.
_NUMBERS = ("x", "y", "k")


def with_dispersions(dice: Dice, aggregates: Sequence[str], share: float) -> list[str]:
    """Aggregates, some of which are STDDEV or VARIANCE instead; `share` is their probability."""
    found = []
    for one in aggregates:
        function, inside = one.removesuffix(")").split("(", 1)
        is_number = function in ("SUM", "AVG") or inside.endswith(_NUMBERS)
        if "." in inside and is_number and dice.chance(share, *OF_DISPERSIONS):
            aimed = dice.aim if dice.aim in DISPERSIONS else dice.pick(DISPERSIONS)
            one = f"{aimed}({inside})"
        found.append(one)
    return list(dict.fromkeys(found))


def dispersions_of(query: BoundQuery) -> Iterator[str]:
    """Yield the constructs of STDDEV and VARIANCE that a query has."""
    for item in query.aggregates:
        if not item.function.is_dispersion:
            continue
        if item.measure is not None:
            yield OF_MEASURE
            continue
        yield item.function.value
        if item.type.value == "double":
            yield "dispersion of doubles"
        if isinstance(item.attribute, Applied):
            yield OF_EXPRESSION
        if item.each:
            yield EACH_DISPERSION
