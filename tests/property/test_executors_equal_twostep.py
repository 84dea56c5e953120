"""All executors against the two-step reference on random queries and streams.

`python -m tests.property --pairs 20000` compares more of the same.
"""

from __future__ import annotations

import json

import pytest

from elsinore.engine.plan import Executor
from elsinore.events import EventTable
from elsinore.results.row import encode_row
from tests.draws import draws
from tests.golden_cases import bound_query
from tests.property.compare import greta
from tests.property.compare_all import EveryExecutor
from tests.property.pairs import Tally, judge_pair, run_pairs
from tests.property.random_cases import SCHEMA, random_case

PAIRS = draws(300, 1_000)
#: How many of the pairs must hold each construct and have a result.
ENOUGH = PAIRS // 40

#: Cases that once differed; a name is drawn again by `random_case`. What the smallest stream
#: shows belongs into the golden cases too, since a name means another case once drawing changes.
REGRESSIONS: tuple[str, ...] = (
    # next-match, where an edge predicate makes one of two ways to begin end in no key
    "next-match with edge predicate:475",
    "next-match with edge predicate:803",
    "next-match with edge predicate:2481",
)


def test_every_executor_equals_twostep_on_random_pairs() -> None:
    everyone = EveryExecutor()
    tally = run_pairs(PAIRS, everyone)
    print(tally)
    print(everyone)
    assert tally.answered > PAIRS // 2
    assert not tally.lacking(ENOUGH), tally
    assert not tally.refused_too_often(), tally
    assert len(everyone.ran) == len(Executor) - 1, everyone  # the reference is the other side
    assert min(everyone.ran.values()) > PAIRS // 20, everyone


@pytest.mark.parametrize("name", REGRESSIONS)
def test_executors_equal_twostep_where_they_once_did_not(name: str) -> None:
    judge_pair(random_case(name), EveryExecutor(), Tally())


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
