"""Describe each aggregate function: its accumulators and its value.

Every aggregate is computed from a few linear accumulators and extremes (GRETA, section 4.2, here
for all aggregates; Hamlet, section 2): a count of trends; for COUNT(X) a count of events; for SUM a
weighted count; for AVG a sum and the number of values; for MIN and MAX an extreme; for VARIANCE the
number, the sum and the sum of squares of the values. Aggregates share equal accumulators.

Some sums are exact although what events add exceeds 64 bits: products of longs, squares, and
doubles in VARIANCE. Executors add up their digits instead, each an ordinary integer (`DigitQuery`).

No other executor module distinguishes functions. A new function of these kinds needs a rule in
`RULES`, its name in `query.syntax.AGGREGATES` and `query.bound.AggregateFunction`, the types of its
argument and value (`query.bind_returns.bind_aggregate`, `BoundAggregate.value_type`), its value in
`reference.totals`, and a row in docs/reference/language/results.md. If its value is not a count,
sum, mean or extreme, `States` and `output.finish` also need a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from elsinore.catalog.stream import AttributeType
from elsinore.executors.integer_bounds import fits_64_bits
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
from elsinore.query.query_keys import Part, PartKind

#: The column of events, or the expression over one event, that an accumulator reads.
Source = str | Applied


class Weight(Enum):
    """The amount that an event adds to a linear accumulator for each trend that ends at it."""

    EVENT = auto()  # 1
    PRESENT = auto()  # 1 if the attribute is not NULL
    VALUE = auto()  # the attribute, 0 if it is NULL
    DISTINCT = auto()  # 1 for the first event with a value of the attribute
    ELAPSED = auto()  # the time since the first event of the table
    EXACT = auto()  # the attribute, exactly; 0 if it is NULL, NaN or infinite
    SQUARE = auto()  # the square of `EXACT`
    NOT_FINITE = auto()  # 1 if the attribute is NaN or infinite
    DIGIT = auto()  # a digit of another weight
    PRODUCT = auto()  # the product of the amounts of two other accumulators
    PAIRS = auto()  # the amount of the second, times the sum of the first over earlier events
    EACH_VALUE = auto()  # the attribute, in a list; nothing if it is NULL

    @property
    def is_exact(self) -> bool:
        """Return whether amounts can exceed 64 bits, so that executors add up their digits."""
        return self in (Weight.EXACT, Weight.SQUARE, Weight.NOT_FINITE)


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of exact amounts: an amount is the sum of its digits times `2**shift`.

    Attributes:
        of: the weight whose amounts it is a part of.
        number: its number; the lowest is 0.
        width: the distance of two digits in bits.
        scale: the shift of digit 0.
    """

    of: Weight
    number: int
    width: int
    scale: int

    @property
    def shift(self) -> int:
        """Return the power of two by which the digit is multiplied."""
        return self.scale + self.number * self.width


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A total over the events at `positions` of all trends, with multiplicity."""

    kind: Kind  #: how it adds up
    weight: Weight  #: what an event adds; the value, for extremes
    positions: frozenset[int]  #: the positions of a query whose events it counts
    attribute: Source | None  #: what the weight reads; None for `Weight.EVENT`
    largest: bool = False  #: for extremes: whether it is the maximum
    #: for extremes and exact sums: the measure of trends that is read instead of events.
    measure: BoundMeasure | None = None
    digit: Digit | None = None  #: for `Weight.DIGIT`: the digit
    subtracts: frozenset[int] = frozenset()  #: positions whose events subtract their amount
    factors: tuple[Accumulator, ...] = ()  #: of `Weight.PRODUCT` and `Weight.PAIRS`

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
    #: exact sums, which are in no column; executors have their digits in the first column.
    exact: tuple[Accumulator, ...] = ()
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


@of_query
def participation_query(query: BoundQuery) -> BoundQuery:
    """Return a query whose aggregates are EACH and DISTINCT of a query, in their order.

    Their values have partial rows of their own, with the key of this query. Every event counts
    once in them, so they are ordinary sums and extremes.
    """
    items = tuple(replace(item, each=False) for item in query.participating)
    return replace(query, part=Part(PartKind.EACH), aggregates=items)


class Share(NamedTuple):
    """A part of an exact sum: an ordinary sum times a factor and a power of two."""

    of: Accumulator
    factor: int
    shift: int


#: Exact sums, each with its parts that are not 0 for all events.
Shares = tuple[tuple[Accumulator, tuple[Share, ...]], ...]


@dataclass(frozen=True)
class DigitQuery(BoundQuery):
    """A query whose exact sums are replaced by the ordinary sums that the events of a table need.

    Attributes:
        shares: the parts of each exact sum of the query.
    """

    shares: Shares = ()

    @classmethod
    def of(cls, query: BoundQuery, shares: Shares) -> DigitQuery:
        """Return the query with these parts."""
        own = {each.name: getattr(query, each.name) for each in fields(BoundQuery)}
        return cls(**own, shares=shares)


@of_query
def accumulators_of(query: BoundQuery) -> Accumulators:
    """Return all accumulators of a query, in the order of first use in RETURN.

    EACH and DISTINCT have accumulators in the query of `participation_query`.
    """
    found: dict[Accumulator, None] = {TRENDS: None}
    for aggregate in query.counted:
        found |= dict.fromkeys(needs_of(aggregate))
    exact = tuple(each for each in found if each.weight.is_exact)
    if isinstance(query, DigitQuery):
        parts = dict.fromkeys(share.of for _, shares in query.shares for share in shares)
        # An event adds to a sum of pairs before it adds to the sums that the pairs read.
        pairs = {TRENDS: None} | {part: None for part in parts if part.weight is Weight.PAIRS}
        found, exact = pairs | found | parts, ()
    lists = tuple(each for each in found if each.weight is Weight.EACH_VALUE)
    single = [each for each in found if each not in lists and not each.weight.is_exact]
    columns = ([each for each in single if each.kind is kind] for kind in Kind)
    ordered = (tuple(sorted(each, key=lambda a: a.largest)) for each in columns)
    return Accumulators(tuple(ordered), exact, lists)


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

    def dispersion(self, function: AggregateFunction, moments: Sequence[Accumulator]) -> V_co:
        """Return a variance or its root; there is none if there are too few values.

        Args:
            function: the function.
            moments: the number, sum, and sum of squares of the values; for doubles, also the
                number of values that are not finite.
        """

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
    if aggregate.is_extreme:
        return exceeds_64_bits(aggregate.attribute)
    return RULES[aggregate.function].is_exact(aggregate)


def exceeds_64_bits(source: Source | None) -> bool:
    """Return whether the values of an expression are integers that can exceed 64 bits."""
    if not isinstance(source, Applied) or source.type is not AttributeType.LONG:
        return False
    return not fits_64_bits(source)


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
    if aggregate.function.is_dispersion:
        return (*found, *moments_of_measure(aggregate.measure))
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


def moments_of_measure(measure: BoundMeasure) -> tuple[Accumulator, ...]:
    """Return the sums of a measure and of its square, exactly, without its constant.

    A measure that adds up doubles also has the number of values that are not finite. The measure
    is multiplied by `BoundMeasure.scale`.
    """
    weights = [Weight.EXACT, Weight.SQUARE]
    if measure.adds_doubles:
        weights.append(Weight.NOT_FINITE)
    sums = (Accumulator(Kind.INTEGER, each, frozenset(), None) for each in weights)
    return tuple(replace(each, measure=measure) for each in sums)


def needs_pairs_of_events(query: BoundQuery) -> bool:
    """Return whether a query of measures has squares, which are sums over pairs of events."""
    return query.refinement is not None and any(
        item.function.is_dispersion for item in query.aggregates
    )


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
    return (
        _sum_of(marks.adds, term.value, term.type),
        Accumulator(Kind.INTEGER, Weight.PRESENT, marks.has, term.value),
    )


def _sum_of(positions: frozenset[int], source: Source | None, kind: AttributeType) -> Accumulator:
    """Return the sum of the values of some events."""
    if kind is AttributeType.DOUBLE:
        return Accumulator(Kind.DOUBLE, Weight.VALUE, positions, source)
    weight = Weight.EXACT if exceeds_64_bits(source) else Weight.VALUE
    return Accumulator(Kind.INTEGER, weight, positions, source)


def _counted(item: BoundAggregate) -> tuple[Accumulator, ...]:
    if item.distinct:
        weight = Weight.DISTINCT
    else:
        weight = Weight.EVENT if item.attribute is None else Weight.PRESENT
    return (Accumulator(Kind.INTEGER, weight, item.positions, item.attribute),)


def _summed(item: BoundAggregate) -> tuple[Accumulator, ...]:
    return (
        Accumulator(Kind.INTEGER, Weight.PRESENT, item.positions, item.attribute),
        _sum_of(item.positions, item.attribute, item.type),
    )


def _moments(item: BoundAggregate) -> tuple[Accumulator, ...]:
    def total(weight: Weight) -> Accumulator:
        return Accumulator(Kind.INTEGER, weight, item.positions, item.attribute)

    if item.type is AttributeType.DOUBLE:
        exact = map(total, (Weight.EXACT, Weight.SQUARE, Weight.NOT_FINITE))
        return total(Weight.PRESENT), *exact
    return (*_summed(item), total(Weight.SQUARE))


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


def _dispersion(
    function: AggregateFunction, states: States[V], needs: Sequence[Accumulator], /
) -> V:
    return states.dispersion(function, needs)


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
} | {
    function: Rule(_moments, partial(_dispersion, function), _never)
    for function in AggregateFunction
    if function.is_dispersion
}
