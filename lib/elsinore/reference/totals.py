"""Aggregates over the trends of one result row, with multiplicity and without rounding on the way.

Each event counts once for every trend that holds it. Sums are exact integers or fractions; a
double sum is rounded once, at the end.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import AggregateFunction, BoundAggregate
from elsinore.reference.event import Event
from elsinore.results.row import Value
from elsinore.timeline import Instant

#: A value and how often it counts.
Weighted = list[tuple[Any, int]]


def total(aggregate: BoundAggregate, trends: Sequence[Iterable[Event]]) -> Value:
    """One aggregate over the trends of a row; each trend is given by the events that count.

    None where no event carries a value. COUNT is exact; SUM of longs too.
    """
    if aggregate.counts_trends:
        return len(trends)
    return total_of(aggregate, Counter(event for trend in trends for event in trend))


def total_of(aggregate: BoundAggregate, times: Mapping[Event, int]) -> Value:
    """One aggregate other than COUNT(*), given how many trends of the row count each event."""
    if aggregate.attribute is None:
        return sum(times.values())
    read = [(event.value(aggregate.attribute), n) for event, n in times.items()]
    weighted = [(value, n) for value, n in read if value is not None]
    if not weighted:
        return None
    match aggregate.function:
        case AggregateFunction.SUM:
            return _sum(weighted, aggregate.type)
        case AggregateFunction.AVG:
            return _average(weighted)
        case AggregateFunction.MIN:
            return _extreme(min, weighted, aggregate.type)
        case _:
            return _extreme(max, weighted, aggregate.type)


def _sum(weighted: Weighted, kind: AttributeType) -> Value:
    if kind is AttributeType.LONG:
        return sum(value * n for value, n in weighted)
    return _divided(weighted, 1)


def _average(weighted: Weighted) -> Value:
    return _divided(weighted, sum(n for _, n in weighted))


def _divided(weighted: Weighted, count: int) -> float:
    """The sum of numbers divided by a count, rounded once; NaN and infinities by IEEE's rules."""
    special = [value for value, _ in weighted if not math.isfinite(value)]
    return float(sum(special)) if special else _rounded(_exact(weighted) / count)


def _exact(weighted: Weighted) -> Fraction:
    return sum((Fraction(value) * n for value, n in weighted), start=Fraction(0))


def _rounded(value: Fraction) -> float:
    try:
        return float(value) + 0.0  # no negative zero
    except OverflowError:
        return math.inf if value > 0 else -math.inf


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
