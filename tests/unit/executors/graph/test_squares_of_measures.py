"""Variances of measures by greta: sums over pairs of events, in columns that read each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.output.finish import finish
from elsinore.executors.plan import RuntimePlan
from elsinore.executors.plan.alike import answered_by
from elsinore.executors.plan.units import AloneUnit, SweepUnit
from elsinore.query.load_workload import read_workload
from elsinore.reference.dispersion import root
from elsinore.results.row import nearest_double
from tests.golden_cases import stream_schema

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

SCHEMA = stream_schema({"A": {"x": "long", "y": "double"}})
RETURNED = "VAR_POP(LENGTH) AS l, STDDEV_POP(TOTAL(A.x)) AS x, VAR_POP(TOTAL(A.y)) AS y, COUNT(*)"


def variance_of_subsets(values: Sequence[float]) -> Fraction:
    """Return the variance of the sums of all subsets of numbers that are not empty."""
    exact, size = [Fraction(value) for value in values], len(values)
    total, count = sum(exact), 2**size - 1
    sums = total * 2 ** (size - 1)
    second = (total**2 + sum(value**2 for value in exact)) * Fraction(2) ** (size - 2)
    return second / count - (sums / count) ** 2


@pytest.mark.parametrize("size", [2, 9, 61, 150])
@pytest.mark.parametrize("condition", ["", "WHERE A.x <= NEXT(A).x OR A.x > NEXT(A).x"])
def test_variances_of_all_subsets(size: int, condition: str) -> None:
    """Also of negative sums, and of numbers of any width; by accumulators and by trees."""
    dice = random.Random(size)
    longs = [dice.choice((-(2**62), 2**61 + 1, -5, 3)) for _ in range(size)]
    doubles = [dice.choice((-1e9, 0.1, 2.5, -0.3)) for _ in range(size)]
    rows = [("A", n, {"x": longs[n], "y": doubles[n]}) for n in range(size)]
    text = f"QUERY q RETURN {RETURNED} PATTERN A+ {condition} WITHIN 1000;"
    workload = read_workload(text, SCHEMA)
    plan = RuntimePlan.of(workload.queries)
    parts = [part for found in plan.run(EventTable.of(SCHEMA, rows)) for part in found]
    [row] = finish(workload, parts, answered_by(plan.row_classes))
    values = dict(row.values)
    assert values["COUNT(*)"] == 2**size - 1
    assert values["l"] == nearest_double(variance_of_subsets([1] * size))
    assert values["x"] == root(variance_of_subsets(longs))
    assert values["y"] == nearest_double(variance_of_subsets(doubles))


def test_only_squares_leave_the_sweep() -> None:
    text = "QUERY q RETURN AVG(DURATION), {} PATTERN A+ WITHIN 1000;"
    for other, kind in (("AVG(TOTAL(A.x))", SweepUnit), ("STDDEV(TOTAL(A.x))", AloneUnit)):
        plan = RuntimePlan.of(read_workload(text.format(other), SCHEMA).queries)
        labels = [
            (item.label, type(unit))
            for unit in plan.units
            for query in unit.queries
            for item in query.measured or query.aggregates
            if query.refinement is not None
        ]
        assert sorted(labels) == sorted([("AVG(DURATION)", SweepUnit), (other, kind)])


def test_sums_of_integers_beyond_64_bits_in_every_width() -> None:
    text = "QUERY q RETURN SUM(A.x * A.x) AS s, VAR_POP(A.x * A.x) AS v PATTERN A+ WITHIN 1000;"
    workload = read_workload(text, SCHEMA)
    size, value = 90, 2**50 + 3
    events = EventTable.of(SCHEMA, [("A", n, {"x": value, "y": 0.0}) for n in range(size)])
    [row] = finish(workload, aggregate_query(workload.queries[0], events))
    assert dict(row.values) == {"s": value**2 * size * 2 ** (size - 1), "v": 0.0}
