"""Aggregates over the trends of one result row, with multiplicity and without rounding on the way.

Each event counts once for every trend that holds it. Sums are exact integers or fractions; a
double sum is rounded once, at the end. Beside it goes its magnitude, the sum of amounts, which says
how far one may be off that was rounded on the way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import AggregateFunction, BoundAggregate
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


def total(aggregate: BoundAggregate, trends: Sequence[Iterable[Event]]) -> Total:
    """One aggregate over the trends of a row; each trend is given by the events that count.

    None where no event carries a value. COUNT is exact; SUM of longs too.
    """
    if aggregate.counts_trends:
        return Total(len(trends))
    return total_of(aggregate, Counter(event for trend in trends for event in trend))


def total_of(aggregate: BoundAggregate, times: Mapping[Event, int]) -> Total:
    """One aggregate other than COUNT(*), given how many trends of the row count each event."""
    if aggregate.attribute is None:
        return Total(sum(times.values()))
    read = [(event.value(aggregate.attribute), n) for event, n in times.items()]
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
