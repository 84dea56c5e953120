"""The greta executor against the two-step reference on random queries and streams."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import pyarrow as pa
import pytest

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.errors import BudgetError
from elsinore.events.table import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.json_lines import encode_row
from elsinore.results.row import ResultRow
from tests.golden_cases import bound_query
from tests.property.random_cases import SCHEMA, random_case

PAIRS = 2_000
#: How many of the pairs must hold each construct and have a result.
ENOUGH = 60


def greta(query: BoundQuery, events: EventTable) -> list[ResultRow]:
    return finish(Workload(events.schema, (query,)), aggregate_query(query, events))


def assert_same_rows(found: list[ResultRow], expected: list[ResultRow]) -> None:
    """The same rows: integers and extremes exactly, sums of doubles to their last digits."""
    assert [row.key for row in found] == [row.key for row in expected]
    for mine, theirs in zip(found, expected, strict=True):
        for (label, value), (_, wanted) in zip(mine.values, theirs.values, strict=True):
            assert type(value) is type(wanted), (label, value, wanted)
            if isinstance(wanted, float) and math.isfinite(wanted):
                assert value == pytest.approx(wanted, rel=1e-9, abs=1e-12), label
            else:
                assert value == wanted or (value != value and wanted != wanted), label


def test_greta_equals_twostep_on_random_pairs() -> None:
    held: Counter[str] = Counter()
    compared = answered = 0
    seed = 0
    while compared < PAIRS:
        seed += 1
        case = random_case(seed)
        try:
            expected = two_step(case.query, case.events, budget=Budget(60_000))
        except BudgetError:
            continue
        compared += 1
        try:
            assert_same_rows(greta(case.query, case.events), expected)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {case.query.text}") from error
        if expected:
            answered += 1
            held.update(case.constructs)
    print(f"{compared} pairs, {answered} with results: {dict(held.most_common())}")
    assert answered > PAIRS // 4
    assert min(held.values()) >= ENOUGH, held


@pytest.mark.parametrize("seed", range(1, 60))
def test_order_of_arrival_changes_nothing(seed: int) -> None:
    case = random_case(seed)
    order = list(range(len(case.events)))
    random.Random(seed).shuffle(order)
    shuffled = EventTable(SCHEMA, case.events.table.take(pa.array(order, pa.int64())))
    first, second = greta(case.query, case.events), greta(case.query, shuffled)
    assert_same_rows(second, first)


@pytest.mark.parametrize("events", [3, 62, 63, 64, 126, 127, 128, 130, 254, 1_100, 2_000])
def test_counts_are_exact_at_every_width(events: int) -> None:
    """A+ over n events has 2^n - 1 trends; each event lies in 2^(n-1) of them."""
    query = bound_query(
        "RETURN COUNT(*), COUNT(A), SUM(A.x), AVG(A.y), MIN(A.x) PATTERN A+ WITHIN 100000", SCHEMA
    )
    stream = [("A", time, {"x": -3, "y": 0.5}) for time in range(events)]
    (row,) = greta(query, EventTable.of(SCHEMA, stream))
    halves = events * 2 ** (events - 1)
    assert row.values == (
        ("COUNT(*)", 2**events - 1),
        ("COUNT(A)", halves),
        ("SUM(A.x)", -3 * halves),
        ("AVG(A.y)", 0.5),
        ("MIN(A.x)", -3),
    )
    assert json.loads(encode_row(row))["values"]["COUNT(*)"] == 2**events - 1


@pytest.mark.parametrize("events", [10, 200, 1_050])
def test_counts_with_edge_predicates_are_exact(events: int) -> None:
    """Rising values: every set of events is a trend, found by comparing the pairs."""
    query = bound_query(
        "RETURN COUNT(*), MAX(A.x) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 100000", SCHEMA
    )
    stream = [("A", time, {"x": time}) for time in range(events)]
    (row,) = greta(query, EventTable.of(SCHEMA, stream))
    assert row.values == (("COUNT(*)", 2**events - 1), ("MAX(A.x)", events - 1))
