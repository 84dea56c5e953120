"""Compute aggregates of measures of trends from their states.

Integers are exact: they are multiplied by a common denominator of all factors, and divided once.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.executors.aggregates import (
    accumulators_of_term,
    measured_trends,
    moments_of_measure,
    needs_of,
)
from elsinore.executors.kinds import Kind
from elsinore.executors.output.calculate import Longs, Values
from elsinore.executors.output.dispersion import Moments
from elsinore.executors.output.exact_states import IntegerExtremes
from elsinore.executors.output.state_columns import Extremes, ScaledDoubles
from elsinore.executors.output.states import States
from elsinore.numbers.exact_columns import (
    Integers,
    from_python,
    ratios,
    repeated,
    to_python,
    to_scaled,
)
from elsinore.query.bound import (
    AggregateFunction,
    BoundAggregate,
    BoundMeasure,
    MeasureKind,
    MeasureTerm,
)
from elsinore.results.row import nearest_double


def sum_of_measure(item: BoundAggregate, measure: BoundMeasure, states: States) -> Values | Longs:
    """Return COUNT, SUM or AVG of a measure in R rows.

    Args:
        item: the aggregate.
        measure: its measure, with marks if it belongs to a query of measures.
        states: the states of the rows.

    Raises:
        AssertionError: the function is another one.
    """
    counts = states.integers[measured_trends(measure)]
    if item.function is AggregateFunction.COUNT:
        return Longs(item.value_type, counts, np.ones(len(counts), np.bool_))
    is_mean = item.function is AggregateFunction.AVG
    if not is_mean and item.function is not AggregateFunction.SUM:
        raise AssertionError(f"{item.function} of a measure has no rule")
    if measure.adds_doubles:
        sums = _sum_of_doubles(measure, counts, states)
        values = sums.divided_by(counts) if is_mean else sums.to_doubles()
        return Values(item.value_type, values, counts.nonzero)
    scale = _scale(measure)
    totals = _times(counts, int(measure.constant * scale))
    for term in measure.terms:
        own, without = _parts(term, counts, states)
        factor = term.factor * scale
        totals = totals.plus(_times(own, int(factor)))
        totals = totals.plus(_times(without, int(factor * (term.otherwise or 0))))
    divisors = _times(counts, scale) if is_mean else repeated(scale, len(counts))
    return _divided(item.value_type, totals, divisors, counts.nonzero)


def dispersion_of_measure(
    item: BoundAggregate, measure: BoundMeasure, states: States
) -> Values | Longs:
    """Return a variance of a measure, or its root, in R rows; see `sum_of_measure`."""
    first, square, *odd = (states.exact[each] for each in moments_of_measure(measure))
    counts = states.integers[measured_trends(measure)]
    moments = Moments(counts, first, square, measure.scale)
    if item.is_duration:
        return moments.lengths(item.function)
    return moments.dispersion(item.function, odd[0].integers.nonzero if odd else None)


def extreme_of_measure(
    item: BoundAggregate, measure: BoundMeasure, states: States
) -> Values | Longs:
    """Return MIN or MAX of a measure in R rows.

    States are extremes of the sum without its constant; integers are multiplied by
    `BoundMeasure.scale`.
    """
    [accumulator] = needs_of(item)
    column = states.extremes[accumulator]
    assert not isinstance(column, IntegerExtremes), "no measure of trends"
    if isinstance(column, Extremes):
        with np.errstate(over="ignore"):
            values = column.values + nearest_double(measure.constant)
        return Values(item.value_type, values + 0.0, column.known)
    scale = _scale(measure)
    constant = repeated(int(measure.constant * scale), len(column))
    totals = _times(column.to_integers(), scale // measure.scale).plus(constant)
    return _divided(item.value_type, totals, repeated(scale, len(column)), column.known)


def _scale(measure: BoundMeasure) -> int:
    """Return a number by which all constants of a measure are integers."""
    return lcm(measure.scale, measure.constant.denominator)


def _times(column: Integers, factor: int) -> Integers:
    return column if factor == 1 else column.times(repeated(factor, len(column)))


def _divided(
    kind: AttributeType, totals: Integers, divisors: Integers, known: np.ndarray
) -> Values | Longs:
    """Return quotients, rounded once; as integers, half to even."""
    if kind is AttributeType.DOUBLE:
        return Values(kind, ratios(totals, divisors), known)
    if divisors.wide or (divisors.small != 1).any():
        pairs = zip(to_python(totals).tolist(), to_python(divisors).tolist(), strict=True)
        totals = from_python([round(Fraction(above, below or 1)) for above, below in pairs])
    return Longs(kind, totals, known)


def _parts(term: MeasureTerm, counts: Integers, states: States) -> tuple[Integers, Integers]:
    """Return the sum of a measure of integers, and how many of the trends have none."""
    first, *others = accumulators_of_term(term)
    own, rest = states.whole(first), _rest(term, counts, states)
    if term.kind is MeasureKind.DURATION:
        own = own.plus(_times(states.integers[others[0]], -1))
    return own, rest


def _rest(term: MeasureTerm, counts: Integers, states: States) -> Integers:
    """Return the number of trends for which a term needs the value that replaces NULL."""
    if term.otherwise is None or not term.kind.reads_events:
        return counts.zero(len(counts))
    _, present = accumulators_of_term(term)
    return counts.plus(_times(states.integers[present], -1))


def _sum_of_doubles(measure: BoundMeasure, counts: Integers, states: States) -> ScaledDoubles:
    """Return the sum of a measure that adds up doubles."""
    total = _scaled(counts).times_constant(measure.constant)
    for term in measure.terms:
        first, *_ = accumulators_of_term(term)
        if first.kind is Kind.DOUBLE:
            own, without = states.sums[first], _rest(term, counts, states)
        else:
            integers, without = _parts(term, counts, states)
            own = _scaled(integers)
        instead = term.factor * (term.otherwise or 0)
        total = total.plus(own.times_constant(term.factor))
        total = total.plus(_scaled(without).times_constant(instead))
    return total


def _scaled(integers: Integers) -> ScaledDoubles:
    return ScaledDoubles.of(*to_scaled(integers))
