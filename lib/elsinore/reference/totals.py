"""Aggregates over the trends of one result row, with multiplicity and without rounding on the way.

Each event counts once for every trend that holds it. Sums are exact integers or fractions; a
double sum is rounded once, at the end. Beside it goes its magnitude, the sum of amounts, which says
how far one may be off that was rounded on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery
from elsinore.reference.event import Event
from elsinore.results.row import Bounds, Value, bounds_of, nearest_double
from elsinore.timeline import Instant

#: A value and how often it counts.
Weighted = list[tuple[Any, int]]


class Total(NamedTuple):
    """An aggregate's value; of a sum or average of finite doubles also the sum and magnitude."""

    value: Value
    exact: Fraction | None = None
    magnitude: Fraction = Fraction(0)

    def bounds(self, events: int) -> Bounds | None:
        """Where it may lie by rounding in a window of so many events; None where it is exact."""
        if self.exact is not None:
            return bounds_of(self.exact, self.magnitude, events)
        return None


#: How many of some trends hold an event at a position.
Times = Mapping[tuple[Event, int], int]


def totals(query: BoundQuery, trends: int, times: Times) -> tuple[Total, ...]:
    """The aggregates of a row, in the order of `query.aggregates`, from the trends of the row.

    None where no event carries a value. COUNT is exact; SUM of longs too.
    """
    return tuple(
        Total(trends) if aggregate.counts_trends else _total(aggregate, times)
        for aggregate in query.aggregates
    )


def _total(aggregate: BoundAggregate, times: Times) -> Total:
    counted = [(event, n) for (event, at), n in times.items() if at in aggregate.positions]
    if aggregate.attribute is None:
        return Total(sum(n for _, n in counted))
    read = [(event.value(aggregate.attribute), n) for event, n in counted]
    weighted = [(value, n) for value, n in read if value is not None]
    if not weighted:
        return Total(None)
    match aggregate.function:
        case AggregateFunction.SUM:
            if aggregate.type is AttributeType.LONG:
                return Total(sum(value * n for value, n in weighted))
            return _divided(weighted, 1, aggregate.type)
        case AggregateFunction.AVG:
            return _divided(weighted, sum(n for _, n in weighted), aggregate.type)
        case AggregateFunction.MIN:
            return Total(_extreme(min, weighted, aggregate.type))
        case _:
            return Total(_extreme(max, weighted, aggregate.type))


def _divided(weighted: Weighted, count: int, kind: AttributeType) -> Total:
    """The sum of numbers divided by a count, rounded once; NaN and infinities by IEEE's rules.

    That of longs is an exact integer until it is divided, by everyone.
    """
    special = [value for value, _ in weighted if not math.isfinite(value)]
    if special:
        return Total(float(sum(special)))
    exact = sum((Fraction(value) * n for value, n in weighted), start=Fraction(0)) / count
    if kind is AttributeType.LONG:
        return Total(nearest_double(exact))
    amounts = sum((Fraction(abs(value)) * n for value, n in weighted), start=Fraction(0))
    return Total(nearest_double(exact), exact, amounts / count)


def _extreme(choose: Callable[..., Any], weighted: Weighted, kind: AttributeType) -> Value:
    """MIN or MAX; NaN compares with nothing, so it is the answer only where there is no other."""
    numbers = [value for value, _ in weighted if value == value]
    if not numbers:
        return math.nan
    chosen = choose(numbers)
    match kind:
        case AttributeType.TIMESTAMP:
            return Instant(chosen)
        case AttributeType.DOUBLE:
            return float(chosen) + 0.0
        case _:
            return int(chosen)
