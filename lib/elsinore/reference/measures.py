"""Compute the measures of trends, and their aggregates, by definition.

Each trend counts once. A trend for which a measure is NULL does not count for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import (
    AggregateFunction,
    BoundAggregate,
    BoundMeasure,
    BoundQuery,
    MeasureKind,
    MeasureTerm,
)
from elsinore.query.expressions import Applied
from elsinore.reference.dispersion import dispersion, nearest_root, variance
from elsinore.reference.evaluate import reader
from elsinore.reference.event import Event
from elsinore.reference.match import Match, Step
from elsinore.reference.total import Total
from elsinore.results.row import nearest_double
from elsinore.timeline import Instant


class Measurement(NamedTuple):
    """The value of a measure of a trend.

    Attributes:
        value: the exact value, or a double that is NaN or infinite.
        magnitude: the sum of the absolute values of all parts.
    """

    value: Fraction | float
    magnitude: Fraction


#: The values of each measure, of all trends that have one.
Measured = Mapping[BoundMeasure, Sequence[Measurement]]


def measure_trends(query: BoundQuery, matches: Sequence[Match]) -> Measured:
    """Return the values of the measures of a query.

    Args:
        query: the query.
        matches: every trend once.
    """
    measures = {item.measure for item in query.aggregates if item.measure is not None}
    if not measures:
        return {}
    steps = [match.steps() for match in matches]
    return {
        measure: [value for one in steps if (value := _measurement(measure, one)) is not None]
        for measure in measures
    }


def _measurement(measure: BoundMeasure, steps: Sequence[Step]) -> Measurement | None:
    """Return the value of a measure of a trend; None if it is NULL."""
    value, magnitude = measure.constant, abs(measure.constant)
    special: list[float] = []
    for term in measure.terms:
        parts = _parts(term, steps)
        if parts is None and term.otherwise is None:
            return None
        for part in [term.otherwise] if parts is None else parts:
            if isinstance(part, float) and not math.isfinite(part):
                special.append(nearest_double(term.factor) * part)
                continue
            assert part is not None
            value += term.factor * Fraction(part)
            magnitude += abs(term.factor * Fraction(part))
    return Measurement(float(sum(special)) if special else value, magnitude)


def _parts(term: MeasureTerm, steps: Sequence[Step]) -> list[Any] | None:
    """Return the numbers that add up to a measure; None if it is NULL."""
    if term.kind is MeasureKind.LENGTH:
        return [len(steps)]
    if term.kind is MeasureKind.DURATION:
        return [steps[-1].event.time - steps[0].event.time]
    assert term.value is not None
    read = reader_of(term.value)
    events = [step.event for step in steps if step.position in term.positions]
    if term.kind is not MeasureKind.TOTAL:  # steps are in order of time
        events = events[:1] if term.kind is MeasureKind.FIRST else events[-1:]
    values = [value for value in map(read, events) if value is not None]
    return values or None


def reader_of(value: str | Applied) -> Callable[[Event], Any]:
    """Return a function that reads an attribute or an expression; its integers have any size."""
    if isinstance(value, str):
        return lambda event: event.value(value)
    read = reader(value, exact=True)
    return lambda event: read(event, None)


def total_of_measure(aggregate: BoundAggregate, found: Sequence[Measurement]) -> Total:
    """Return an aggregate of the values of a measure."""
    function, measure = aggregate.function, aggregate.measure
    assert measure is not None
    if function is AggregateFunction.COUNT:
        return Total(len(found))
    if not found:
        return Total(None)
    if aggregate.is_extreme:
        return _extreme(aggregate, measure, found)
    if function.is_dispersion:
        return _dispersion(aggregate, found)
    if function not in (AggregateFunction.SUM, AggregateFunction.AVG):
        raise AssertionError(f"{function} of a measure has no definition")
    special = [one.value for one in found if isinstance(one.value, float)]
    if special:
        return Total(float(sum(special)))
    total = sum((Fraction(one.value) for one in found), start=Fraction(0))
    if function is AggregateFunction.AVG:
        total /= len(found)
        if aggregate.is_duration:
            return Total(round(total))  # half to even
    elif measure.type is AttributeType.LONG:
        return Total(int(total))
    if not measure.adds_doubles:
        return Total(nearest_double(total))
    magnitude = sum((one.magnitude for one in found), start=Fraction(0))
    if function is AggregateFunction.AVG:
        magnitude /= len(found)
    return Total(nearest_double(total), total, magnitude)


def _dispersion(aggregate: BoundAggregate, found: Sequence[Measurement]) -> Total:
    """Return a variance or a standard deviation; lengths of time deviate by a length of time."""
    weighted = [(one.value, 1) for one in found]
    if not aggregate.is_duration:
        return Total(dispersion(aggregate.function, weighted))
    exact = variance(weighted, sample=aggregate.function.is_of_sample)
    return Total(None if exact is None else nearest_root(Fraction(exact)))


def _extreme(
    aggregate: BoundAggregate, measure: BoundMeasure, found: Iterable[Measurement]
) -> Total:
    """Return MIN or MAX; NaN only if all values are NaN."""
    choose = min if aggregate.function is AggregateFunction.MIN else max
    numbers = [one for one in found if one.value == one.value]
    if not numbers:
        return Total(math.nan)
    best = choose(one.value for one in numbers)
    match measure.type:
        case AttributeType.TIMESTAMP:
            return Total(Instant(int(best)))
        case AttributeType.LONG:
            return Total(int(best))
    if isinstance(best, float) or not measure.adds_doubles:
        return Total(nearest_double(best))
    return Total(nearest_double(best), best, max(one.magnitude for one in numbers))
