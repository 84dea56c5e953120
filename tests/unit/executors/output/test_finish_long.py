"""Finishing: integers are exact at any size, and rows and the long table say the same."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, product

import numpy as np
import pyarrow as pa

from elsinore.executors.output.finish import finish, finish_long
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.state_columns import Extremes, ScaledDoubles, StateColumn
from elsinore.executors.plan import Executor, plan_for
from elsinore.numbers.exact_columns import from_python
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.load_workload import read_workload
from elsinore.results.published import LONG_SCHEMA
from elsinore.results.row import Value, nearest_double
from elsinore.template.support import greta_refusals
from tests.draws import draws
from tests.golden_cases import stream_schema
from tests.long_rows import to_long
from tests.property.random_cases import CALENDAR, SCHEMA, random_case

_ORDER = [(name, "ascending") for name in ("query", "group_key", "window_start", "aggregate")]

NUMBERS = stream_schema({"A": {"x": "long", "y": "double"}})

#: Mantissas and exponents, those of no double among them.
SEEDS = draws(130, 400)

DOUBLES = (
    (0.1, 0), (-1.5, 1023), (1.5, 1024), (-1.0, 99_999), (1.0, -1080), (1.0, -99_999),
    (math.nan, 0), (-math.inf, 0), (-0.0, 0),
)  # fmt: skip


def plain(table: pa.Table) -> list[list[str]]:
    """Rows in one order as texts, in which NaN equals NaN."""
    return [[repr(value) for value in row.values()] for row in table.sort_by(_ORDER).to_pylist()]


def test_random_queries_over_the_whole_language() -> None:
    rows = 0
    for seed in range(SEEDS):
        case = random_case(seed)
        if case.workload.schema is not CALENDAR and seed % 3:
            continue
        if greta_refusals(case.query):
            continue
        workload = case.workload
        plan = plan_for(Executor.GRETA, workload, case.events)
        partial = [*chain.from_iterable(plan.run(case.events))]
        expected = to_long(workload, finish(workload, partial))
        found = finish_long(workload, partial)
        assert found.schema == LONG_SCHEMA
        assert plain(found) == plain(expected), case.name
        rows += found.num_rows
    assert rows > SEEDS // 2


def test_nothing_makes_an_empty_table() -> None:
    assert finish_long(Workload(SCHEMA, ()), []).num_rows == 0


def test_integers_of_every_length_and_doubles_of_every_kind() -> None:
    """What each value is by exact arithmetic, also beyond 64 bits and at the ends of doubles."""
    text = (
        "QUERY q RETURN COUNT(*), COUNT(A), SUM(A.x), AVG(A.x), MIN(A.x), MAX(A.x),"
        " SUM(A.y), AVG(A.y), MIN(A.y), MAX(A.y) PATTERN A+ WITHIN 10;"
    )
    workload = read_workload(text, NUMBERS)
    counts = ("1", "9" * 15, "1" + "0" * 15, "9" * 400)
    totals = ("0", "7", "-" + "9" * 14, "-1" + "0" * 15)
    states = list(product(counts, totals, DOUBLES))
    partial = [_rows(workload.queries[0], states)]
    found = finish_long(workload, partial)
    assert found.schema == LONG_SCHEMA
    results = finish(workload, partial)
    assert plain(found) == plain(to_long(workload, results))
    assert found.num_rows == 10 * (len(states) + 1)
    sizes = found["log2"].drop_null().to_pylist()
    assert sizes
    assert all(map(math.isfinite, sizes)), "the expectation log2_is_finite is critical"
    for row, (count, total, double) in zip(results, states, strict=False):
        average = nearest_double(Fraction(int(total), int(count)))
        assert [value for _, value in row.values][:6] == [
            int(count), int(count), int(total), average, -(2**63), -(2**63)
        ]  # fmt: skip
        sums = [value for _, value in row.values][6:8]
        assert all(map(_about, sums, (_scaled(double, 1), _scaled(double, int(count)))))
    assert [value for _, value in results[-1].values] == [3, 3] + [None] * 8


def _scaled(double: tuple[float, int], count: int) -> float:
    """A mantissa times two to an exponent, by a count; the exponents at hand are within 10^5."""
    mantissa, exponent = double
    if not math.isfinite(mantissa):
        return mantissa
    return nearest_double(Fraction(mantissa) * Fraction(2) ** exponent / count)


def _about(found: Value, expected: float) -> bool:
    """Whether two doubles are next to each other, as after two roundings, or equal."""
    assert isinstance(found, float)
    near = (math.nextafter(expected, side) for side in (math.inf, -math.inf))
    return found in (expected, *near) or (found != found and expected != expected)


def _rows(query: BoundQuery, states: list[tuple[str, str, tuple[float, int]]]) -> PartialRows:
    """Windows 0, 1, ... by COUNT(A), SUM(A.x) and SUM(A.y); the last one has three events.

    These have neither x nor y. All other extremes are -2**63, and the mantissa of the sum.
    """
    size = len(states) + 1
    counts = from_python([*(int(count) for count, _, _ in states), 3])
    present = from_python([*(int(count) for count, _, _ in states), 0])
    totals = from_python([*(int(total) for _, total, _ in states), 0])
    mantissas = np.array([*(double[0] for *_, double in states), 0.0])
    exponents = np.array([*(double[1] for *_, double in states), 0])
    known = np.arange(size) < len(states)
    extremes = [
        Extremes.of(values, known, largest=largest)
        for largest in (False, True)
        for values in (np.full(size, -(2**63)), mantissas)
    ]
    zeros = np.zeros(size, np.int32)
    columns: tuple[StateColumn, ...] = (
        counts, counts, present, totals, present, ScaledDoubles.of(mantissas, exponents), *extremes,
    )  # fmt: skip
    return PartialRows((query,), pa.array(["[]"]), zeros, zeros, np.arange(size), columns)
