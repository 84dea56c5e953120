"""Describe each aggregate function: its accumulators and its value.

Every aggregate is computed from a few linear accumulators and extremes (GRETA, section 4.2, here
for all aggregates; Hamlet, section 2): a count of trends; for COUNT(X) a count of events; for SUM a
weighted count; for AVG a sum and the number of values; for MIN and MAX an extreme. Aggregates share
equal accumulators.

No other executor module distinguishes functions. A new function of these kinds needs a rule in
`RULES`, its name in `query.syntax.AGGREGATES` and `query.bound.AggregateFunction`, the types of its
argument and value (`query.bind_returns.bind_aggregate`, `BoundAggregate.value_type`), its value in
`reference.totals`, and a row in docs/reference/language/results.md. If its value is not a count,
sum, mean or extreme, `States` and `output.finish` also need a method.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Protocol, TypeVar

from elsinore.catalog.stream import AttributeType
from elsinore.executors.kinds import Kind
from elsinore.query.bound import (
    AggregateFunction,
    BoundAggregate,
    BoundMeasure,
    BoundQuery,
    Marks,
    MeasureKind,
    MeasureTerm,
    of_query,
)
from elsinore.query.expressions import Applied
from elsinore.query.steps import OF_STEP
from elsinore.template.measures import OF_EXTREMES, OF_SUMS

#: The column of events, or the expression over one event, that an accumulator reads.
Source = str | Applied


class Weight(Enum):
    """The amount that an event adds to a linear accumulator for each trend that ends at it."""

    EVENT = auto()  # 1
    PRESENT = auto()  # 1 if the attribute is not NULL
    VALUE = auto()  # the attribute, 0 if it is NULL
    DISTINCT = auto()  # 1 for the first event with a value of the attribute
    ELAPSED = auto()  # the time since the first event of the table
    EACH_VALUE = auto()  # the attribute, in a list; nothing if it is NULL


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A total over the events at `positions` of all trends, with multiplicity."""

    kind: Kind  #: how it adds up
    weight: Weight  #: what an event adds; the value, for extremes
    positions: frozenset[int]  #: the positions of a query whose events it counts
    attribute: Source | None  #: what the weight reads; None for `Weight.EVENT`
    largest: bool = False  #: for extremes: whether it is the maximum
    measure: BoundMeasure | None = None  #: for extremes: the measure of trends, instead of a weight

    def counts_at(self, positions: frozenset[int]) -> bool:
        """Return whether events at a state with these positions add to the accumulator.

        Either all positions of a state count, or none.
        """
        return positions <= self.positions

    @property
    def event_weight(self) -> Accumulator:
        """Return the same for all accumulators to which each event adds the same amount."""
        return replace(self, positions=frozenset())


#: The count of trends: each trend counts once, and no event adds to it.
TRENDS = Accumulator(Kind.INTEGER, Weight.EVENT, frozenset(), None)


@dataclass(frozen=True)
class Accumulators:
    """The accumulators of a query, each once."""

    #: by `Kind`. The first integer is `TRENDS`. Minima come before maxima.
    columns: tuple[tuple[Accumulator, ...], ...]
    lists: tuple[Accumulator, ...] = ()  #: lists of values; integers or doubles

    @property
    def weighed(self) -> tuple[tuple[Accumulator, ...], ...]:
        """Return the accumulators to which events add, by `Kind`: all but `TRENDS`."""
        integers, *others = self.columns
        return integers[1:], *others

    @property
    def are_integers(self) -> bool:
        """Return whether all accumulators are integers."""
        return not (self.columns[Kind.DOUBLE] or self.columns[Kind.RANK])


#: No trend has more events.
_LONGEST = 2**40
#: Follows the name of a query in the name of its `participation_query`. Other names have no space.
_OF_EACH = " each"
_PARTS = re.compile(rf"({OF_STEP} \d+)?({_OF_EACH}|({OF_SUMS}|{OF_EXTREMES}) \d+)?$")


@of_query
def participation_query(query: BoundQuery) -> BoundQuery:
    """Return a query whose aggregates are EACH and DISTINCT of a query, in their order.

    Their values have partial rows of their own, with the name of this query. Every event counts
    once in them, so they are ordinary sums and extremes.
    """
    items = tuple(replace(item, each=False) for item in query.participating)
    return replace(
        query, source=replace(query.source, name=query.name + _OF_EACH), aggregates=items
    )


def asked_name(name: str) -> str:
    """Return the name of the query that a partial row belongs to.

    >>> asked_name("q each"), asked_name("q sums 2"), asked_name("q"), asked_name("q step 3 each")
    ('q', 'q', 'q', 'q')
    """
    return _PARTS.sub("", name, count=1)


@of_query
def accumulators_of(query: BoundQuery) -> Accumulators:
    """Return all accumulators of a query, in the order of first use in RETURN.

    EACH and DISTINCT have accumulators in the query of `participation_query`.
    """
    found: dict[Accumulator, None] = {TRENDS: None}
    for aggregate in query.counted:
        found |= dict.fromkeys(needs_of(aggregate))
    lists = tuple(each for each in found if each.weight is Weight.EACH_VALUE)
    single = [each for each in found if each not in lists]
    columns = ([each for each in single if each.kind is kind] for kind in Kind)
    sides = tuple(tuple(sorted(each, key=lambda a: a.largest)) for each in columns)
    return Accumulators(sides, lists)


@dataclass(frozen=True)
class WeightColumns:
    """Columns that are read per event for the accumulators of several queries."""

    #: by `Kind`, the number of the column of each `Accumulator.event_weight`.
    columns: tuple[dict[Accumulator, int], ...] = field(
        default_factory=lambda: tuple({} for _ in Kind)
    )

    @classmethod
    def with_ones(cls) -> WeightColumns:
        """Return columns of which the first integer one is 1 for each event."""
        columns = cls()
        columns.number(TRENDS)
        return columns

    def number(self, accumulator: Accumulator) -> int:
        """Return the number of an accumulator's column in its kind; add the column if it is new."""
        columns = self.columns[accumulator.kind]
        return columns.setdefault(accumulator.event_weight, len(columns))


# ---- one rule per function

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)


class States(Protocol[V_co]):
    """The totals of a query's accumulators, of which rules make values.

    `executors.output.finish` implements it for columns of rows.
    """

    def integer(self, of: Accumulator) -> V_co:
        """Return an integer of any size."""

    def extreme(self, of: Accumulator) -> V_co:
        """Return an extreme; there is none if no event has a value."""

    def total(self, present: Accumulator, of: Accumulator) -> V_co:
        """Return a sum; there is none if the number of values, `present`, is 0."""

    def mean(self, present: Accumulator, of: Accumulator) -> V_co:
        """Return a sum divided by the number of values; there is none if that is 0."""

    def percentile(self, of: Accumulator) -> V_co:
        """Return the percentile of a list of values, or its median if it has no share."""


class Finish(Protocol):
    """A function from the accumulators of an aggregate, as in `Rule.needs`, to its value."""

    def __call__(self, states: States[V], needs: Sequence[Accumulator], /) -> V:
        """Return the value."""


@dataclass(frozen=True)
class Rule:
    """One aggregate function."""

    #: the accumulators of an aggregate, in the order of their columns.
    needs: Callable[[BoundAggregate], tuple[Accumulator, ...]]
    finish: Finish
    #: whether values are integers of any size, and not of an attribute's type.
    is_exact: Callable[[BoundAggregate], bool]


def is_exact(aggregate: BoundAggregate) -> bool:
    """Return whether an aggregate's values are integers that can exceed 64 bits."""
    if aggregate.measure is not None and aggregate.is_extreme:
        return aggregate.type is AttributeType.LONG and not _fits_64_bits(aggregate.measure)
    return RULES[aggregate.function].is_exact(aggregate)


def _fits_64_bits(measure: BoundMeasure) -> bool:
    """Return whether all values of a measure of integers fit 64 bits."""
    bounds = {MeasureKind.LENGTH: _LONGEST, MeasureKind.TOTAL: 2**63 * _LONGEST}
    parts = (abs(term.factor) * bounds.get(term.kind, 2**63) for term in measure.terms)
    return sum(parts, start=abs(measure.constant)) <= 2**63


def needs_of(aggregate: BoundAggregate) -> tuple[Accumulator, ...]:
    """Return the accumulators of an aggregate, in the order of their columns."""
    if aggregate.measure is None or aggregate.is_extreme:
        return RULES[aggregate.function].needs(aggregate)
    found = dict.fromkeys([measured_trends(aggregate.measure)])
    if aggregate.function is not AggregateFunction.COUNT:
        for term in aggregate.measure.terms:
            found |= dict.fromkeys(accumulators_of_term(term))
    return tuple(found)


def measured_trends(measure: BoundMeasure) -> Accumulator:
    """Return the count of the trends for which a measure has a value.

    If it has several parts, only such trends are in the template of its query.
    """
    first, *others = measure.terms
    return TRENDS if others or not first.nullable else accumulators_of_term(first)[1]


def accumulators_of_term(term: MeasureTerm) -> tuple[Accumulator, ...]:
    """Return the accumulators of a part of a sum of measures.

    They are the number of events for LENGTH; the sums of the times of the last and of the first
    events for DURATION; and for the others the sum, and the number of trends with a value.
    """
    marks = term.marks or Marks(term.positions)
    match term.kind:
        case MeasureKind.LENGTH:
            return (Accumulator(Kind.INTEGER, Weight.EVENT, marks.adds, None),)
        case MeasureKind.DURATION:
            ends = (marks.adds, marks.subtracts)
            return tuple(Accumulator(Kind.INTEGER, Weight.ELAPSED, of, None) for of in ends)
    kind = Kind.DOUBLE if term.type is AttributeType.DOUBLE else Kind.INTEGER
    return (
        Accumulator(kind, Weight.VALUE, marks.adds, term.value),
        Accumulator(Kind.INTEGER, Weight.PRESENT, marks.has, term.value),
    )


def _counted(item: BoundAggregate) -> tuple[Accumulator, ...]:
    if item.distinct:
        weight = Weight.DISTINCT
    else:
        weight = Weight.EVENT if item.attribute is None else Weight.PRESENT
    return (Accumulator(Kind.INTEGER, weight, item.positions, item.attribute),)


def _summed(item: BoundAggregate) -> tuple[Accumulator, ...]:
    kind = Kind.DOUBLE if item.type is AttributeType.DOUBLE else Kind.INTEGER
    return (
        Accumulator(Kind.INTEGER, Weight.PRESENT, item.positions, item.attribute),
        Accumulator(kind, Weight.VALUE, item.positions, item.attribute),
    )


def _least(item: BoundAggregate) -> tuple[Accumulator, ...]:
    return (_extreme_of(item, largest=False),)


def _largest(item: BoundAggregate) -> tuple[Accumulator, ...]:
    return (_extreme_of(item, largest=True),)


def _extreme_of(item: BoundAggregate, *, largest: bool) -> Accumulator:
    positions, source = item.positions, item.attribute
    return Accumulator(Kind.RANK, Weight.VALUE, positions, source, largest, item.measure)


def _listed(item: BoundAggregate) -> tuple[Accumulator, ...]:
    kind = Kind.DOUBLE if item.type is AttributeType.DOUBLE else Kind.INTEGER
    return (Accumulator(kind, Weight.EACH_VALUE, item.positions, item.attribute),)


def _integer(states: States[V], needs: Sequence[Accumulator], /) -> V:
    return states.integer(*needs)


def _extreme(states: States[V], needs: Sequence[Accumulator], /) -> V:
    return states.extreme(*needs)


def _total(states: States[V], needs: Sequence[Accumulator], /) -> V:
    return states.total(*needs)


def _mean(states: States[V], needs: Sequence[Accumulator], /) -> V:
    return states.mean(*needs)


def _percentile(states: States[V], needs: Sequence[Accumulator], /) -> V:
    return states.percentile(*needs)


def _always(item: BoundAggregate) -> bool:
    return True


def _never(item: BoundAggregate) -> bool:
    return False


def _of_longs(item: BoundAggregate) -> bool:
    return item.type is not AttributeType.DOUBLE


#: `COUNT(*)` has no positions, so that it needs `TRENDS`.
RULES: Mapping[AggregateFunction, Rule] = {
    AggregateFunction.COUNT: Rule(_counted, _integer, _always),
    AggregateFunction.SUM: Rule(_summed, _total, _of_longs),
    AggregateFunction.AVG: Rule(_summed, _mean, _never),
    AggregateFunction.MIN: Rule(_least, _extreme, _never),
    AggregateFunction.MAX: Rule(_largest, _extreme, _never),
    AggregateFunction.MEDIAN: Rule(_listed, _percentile, _never),
    AggregateFunction.PERCENTILE: Rule(_listed, _percentile, _never),
}
