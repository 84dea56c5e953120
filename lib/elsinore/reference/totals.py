"""Compute the aggregates of one result row exactly, and round once at the end.

Each event counts once for every trend that contains it, or once with EACH. Sums are exact integers
or fractions. A sum of doubles also has a magnitude, the sum of absolute values, which bounds the
rounding error of computations that round at each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery
from elsinore.reference.dispersion import dispersion
from elsinore.reference.event import Event
from elsinore.reference.measures import Measured, reader_of, total_of_measure
from elsinore.reference.participation import Participants, count_distinct, participating_at
from elsinore.reference.total import Total
from elsinore.results.row import Value, nearest_double
from elsinore.timeline import Instant

#: A value and how often it counts.
Weighted = list[tuple[Any, int]]


#: How many of some trends contain an event at a position.
Times = Mapping[tuple[Event, int], int]


def totals(
    query: BoundQuery,
    trends: int,
    times: Times,
    found: Participants = (),
    measured: Measured | None = None,
) -> tuple[Total, ...]:
    """Return the aggregates of a row, in the order of `query.aggregates`.

    A value is None if no event has a value. COUNT is exact, and so is SUM of longs.

    Args:
        query: the query.
        trends: number of trends.
        times: how many of the trends contain each event at each position.
        found: the events that participate, each with a position, for EACH and DISTINCT.
        measured: the values of the measures of each trend, if the query has any.
    """

    def total(aggregate: BoundAggregate) -> Total:
        if aggregate.counts_trends:
            return Total(trends)
        if aggregate.measure is not None:
            assert measured is not None, "the measures of each trend are known"
            return total_of_measure(aggregate, measured[aggregate.measure])
        return _total(aggregate, times, found)

    return tuple(map(total, query.aggregates))


def _total(aggregate: BoundAggregate, times: Times, found: Participants) -> Total:
    if aggregate.each:
        counted = [(event, 1) for event in participating_at(aggregate, found)]
    else:
        counted = [(event, n) for (event, at), n in times.items() if at in aggregate.positions]
    if aggregate.attribute is None:
        return Total(sum(n for _, n in counted))
    read_value = reader_of(aggregate.attribute)
    if aggregate.distinct:
        return Total(count_distinct(read_value(event) for event, _ in counted))
    read = [(read_value(event), n) for event, n in counted]
    weighted = [(value, n) for value, n in read if value is not None]
    if aggregate.function is AggregateFunction.COUNT:
        return Total(sum(n for _, n in weighted))
    return _of_values(aggregate, weighted) if weighted else Total(None)


def _of_values(aggregate: BoundAggregate, weighted: Weighted) -> Total:
    """Return an aggregate of one or more values, each with the number of its trends."""
    match aggregate.function:
        case AggregateFunction.SUM:
            if aggregate.type is AttributeType.LONG:
                return Total(sum(value * n for value, n in weighted))
            return _divided(weighted, 1, aggregate.type)
        case AggregateFunction.AVG:
            return _divided(weighted, sum(n for _, n in weighted), aggregate.type)
        case AggregateFunction.MIN:
            return Total(_extreme(min, weighted, aggregate.type))
        case AggregateFunction.MAX:
            return Total(_extreme(max, weighted, aggregate.type))
        case function if function.is_dispersion:
            return Total(dispersion(function, weighted))
        case AggregateFunction.MEDIAN | AggregateFunction.PERCENTILE:
            return Total(_percentile(aggregate, [value for value, _ in weighted]))
    raise AssertionError(f"{aggregate.function} has no attribute")


def _divided(weighted: Weighted, count: int, kind: AttributeType) -> Total:
    """Return the sum of numbers divided by a count, rounded once.

    NaN and infinities follow IEEE 754. Every executor computes sums of longs exactly before it
    divides, so their averages have no bounds.
    """
    doubles = (value for value, _ in weighted if isinstance(value, float))
    special = [value for value in doubles if not math.isfinite(value)]
    if special:
        return Total(float(sum(special)))
    exact = sum((Fraction(value) * n for value, n in weighted), start=Fraction(0)) / count
    if kind is AttributeType.LONG:
        return Total(nearest_double(exact))
    amounts = sum((Fraction(abs(value)) * n for value, n in weighted), start=Fraction(0))
    return Total(nearest_double(exact), exact, amounts / count)


def _percentile(aggregate: BoundAggregate, values: list[Any]) -> Value:
    """Return PERCENTILE, the value at a rank, or MEDIAN, the mean of the two middle values.

    NaN ranks above every number.
    """
    ranked = sorted(values, key=lambda value: (value != value, value))
    if aggregate.share is not None:
        return _typed(ranked[max(math.ceil(aggregate.share * len(ranked)), 1) - 1], aggregate.type)
    middle = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    if not all(map(math.isfinite, middle)):
        return float(sum(middle))
    return nearest_double(sum(map(Fraction, middle)) / 2)


def _extreme(choose: Callable[..., Any], weighted: Weighted, kind: AttributeType) -> Value:
    """Return MIN or MAX; NaN only if all values are NaN."""
    numbers = [value for value, _ in weighted if value == value]
    if not numbers:
        return math.nan
    return _typed(choose(numbers), kind)


def _typed(value: Any, kind: AttributeType) -> Value:
    """Return one of the values of events as a value of a row."""
    match kind:
        case AttributeType.TIMESTAMP:
            return Instant(value)
        case AttributeType.DOUBLE:
            return float(value) + 0.0
        case _:
            return int(value)
