"""Which numbers ride along the edges of the graph for a query's aggregates.

Every aggregate is finished from a few linear carriers and extremes (GRETA section 4.2 and its
extension to all aggregates; Hamlet section 2): a count of trends, for COUNT(X) a count of events,
for SUM a weighted count, for AVG a sum and the number of values, for MIN and MAX an extreme. Equal
carriers of several aggregates ride once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Any

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, of_query


class Weight(Enum):
    """What an event of a linear carrier adds for each trend that it ends."""

    EVENT = auto()  # 1
    PRESENT = auto()  # 1 where the attribute is not NULL
    VALUE = auto()  # the attribute, 0 where it is NULL


@dataclass(frozen=True, slots=True)
class Carrier:
    """A number summed over the events at `positions` of all trends, with multiplicity."""

    weight: Weight
    positions: frozenset[int]
    attribute: str | None


@dataclass(frozen=True)
class Carriers:
    """The carriers of a query, by kind; the count of trends itself is not among them."""

    counts: tuple[Carrier, ...]  #: integer carriers, exact at any size
    sums: tuple[Carrier, ...]  #: carriers of doubles
    #: extremes (their `weight` is VALUE).
    minima: tuple[Carrier, ...]
    maxima: tuple[Carrier, ...]

    @cached_property
    def sides(self) -> tuple[tuple[Carrier | None, ...], ...]:
        """What each column of partial rows stands for; None is the count of trends."""
        return (None, *self.counts), self.sums, self.minima, self.maxima

    @cached_property
    def extremes(self) -> list[tuple[Carrier, bool]]:
        """Minima and maxima in the order of rows, and whether the largest is meant."""
        return [*((c, False) for c in self.minima), *((c, True) for c in self.maxima)]

    @cached_property
    def kinds(self) -> tuple[list[tuple[Carrier, bool]], ...]:
        """Integers, sums of doubles, and extremes, as `extremes` has them."""
        return [(c, False) for c in self.counts], [(c, False) for c in self.sums], self.extremes


def carrier_of(aggregate: BoundAggregate, weight: Weight) -> Carrier:
    """The carrier by which an aggregate is finished."""
    attribute = None if weight is Weight.EVENT else aggregate.attribute
    return Carrier(weight, aggregate.positions, attribute)


@of_query
def carriers_of(query: BoundQuery) -> Carriers:
    """All carriers of a query, each once, in the order of first use."""
    counts: dict[Carrier, None] = {}
    sums: dict[Carrier, None] = {}
    minima: dict[Carrier, None] = {}
    maxima: dict[Carrier, None] = {}
    for aggregate in query.aggregates:
        if aggregate.counts_trends:
            continue
        value = carrier_of(aggregate, Weight.VALUE)
        match aggregate.function:
            case AggregateFunction.COUNT:
                counts[carrier_of(aggregate, Weight.EVENT)] = None
            case AggregateFunction.MIN:
                minima[value] = None
            case AggregateFunction.MAX:
                maxima[value] = None
            case AggregateFunction.SUM | AggregateFunction.AVG:
                counts[carrier_of(aggregate, Weight.PRESENT)] = None
                (sums if aggregate.type is AttributeType.DOUBLE else counts)[value] = None
    return Carriers(tuple(counts), tuple(sums), tuple(minima), tuple(maxima))


@dataclass(frozen=True)
class WeightColumns:
    """What is read of each event for the carriers of several queries: columns by number."""

    #: `(weight, attribute)` of integer carriers.
    longs: dict[tuple[Weight, str | None], int] = field(default_factory=dict)
    doubles: dict[str | None, int] = field(default_factory=dict)  #: attributes of sums of doubles
    #: `(attribute, whether the largest)` of extremes.
    ranks: dict[tuple[str | None, bool], int] = field(default_factory=dict)

    def number(self, kind: int, carrier: Carrier, largest: bool = False) -> int:
        """The number of the column of a carrier of `Carriers.kinds[kind]`, new or known."""
        name = carrier.attribute
        columns: dict[Any, int] = (self.longs, self.doubles, self.ranks)[kind]
        return columns.setdefault(
            ((carrier.weight, name), name, (name, largest))[kind], len(columns)
        )
