"""Find the numbers that propagate along the edges of the graph for a query's aggregates.

Every aggregate is computed from a few linear accumulators and extremes (GRETA, section 4.2, here
for all aggregates; Hamlet, section 2): a count of trends; for COUNT(X) a count of events; for SUM a
weighted count; for AVG a sum and the number of values; for MIN and MAX an extreme. Aggregates share
equal accumulators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Any

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery, of_query


class Weight(Enum):
    """The amount that an event adds to a linear accumulator for each trend that ends at it."""

    EVENT = auto()  # 1
    PRESENT = auto()  # 1 if the attribute is not NULL
    VALUE = auto()  # the attribute, 0 if it is NULL


@dataclass(frozen=True, slots=True)
class Carrier:
    """An accumulator: a sum over the events at `positions` of all trends, with multiplicity."""

    weight: Weight
    positions: frozenset[int]
    attribute: str | None


@dataclass(frozen=True)
class Carriers:
    """The accumulators of a query, by kind, without the count of trends."""

    counts: tuple[Carrier, ...]  #: integers, exact at any size
    sums: tuple[Carrier, ...]  #: sums of doubles
    #: extremes (their `weight` is VALUE).
    minima: tuple[Carrier, ...]
    maxima: tuple[Carrier, ...]

    @cached_property
    def sides(self) -> tuple[tuple[Carrier | None, ...], ...]:
        """Return the accumulator of each column of partial rows; None means the count of trends."""
        return (None, *self.counts), self.sums, self.minima, self.maxima

    @cached_property
    def extremes(self) -> list[tuple[Carrier, bool]]:
        """Return minima and maxima in the order of rows, and whether each one is a maximum."""
        return [*((c, False) for c in self.minima), *((c, True) for c in self.maxima)]

    @cached_property
    def kinds(self) -> tuple[list[tuple[Carrier, bool]], ...]:
        """Return integers, sums of doubles, and extremes, all in the format of `extremes`."""
        return [(c, False) for c in self.counts], [(c, False) for c in self.sums], self.extremes


def carrier_of(aggregate: BoundAggregate, weight: Weight) -> Carrier:
    """Return the accumulator from which an aggregate is computed."""
    attribute = None if weight is Weight.EVENT else aggregate.attribute
    return Carrier(weight, aggregate.positions, attribute)


@of_query
def carriers_of(query: BoundQuery) -> Carriers:
    """Return all accumulators of a query, each once, in the order of first use."""
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
    """Columns that are read per event for the accumulators of several queries, by number."""

    #: `(weight, attribute)` of integer accumulators.
    longs: dict[tuple[Weight, str | None], int] = field(default_factory=dict)
    doubles: dict[str | None, int] = field(default_factory=dict)  #: attributes of sums of doubles
    #: `(attribute, whether the largest)` of extremes.
    ranks: dict[tuple[str | None, bool], int] = field(default_factory=dict)

    def number(self, kind: int, carrier: Carrier, largest: bool = False) -> int:
        """Return the column of an accumulator of `Carriers.kinds[kind]`; add it if it is new."""
        name = carrier.attribute
        columns: dict[Any, int] = (self.longs, self.doubles, self.ranks)[kind]
        return columns.setdefault(
            ((carrier.weight, name), name, (name, largest))[kind], len(columns)
        )
