"""Equations 1 to 8 on hand-worked numbers, and the weight of a candidate under statistics."""

from __future__ import annotations

from typing import Any

import pytest

from elsinore.errors import ParameterError
from elsinore.query.bound import Workload
from elsinore.query.segments import Segment
from elsinore.sharing import benefit
from elsinore.sharing.benefit import Savings, Split, partition_keys, split, weigh
from elsinore.sharing.candidates import mine_candidates
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, golden

CASES = golden("benefit")


@pytest.mark.parametrize("case", CASES, ids=[case["title"] for case in CASES])
def test_equations_1_to_8(case: dict[str, Any]) -> None:
    rates = case["rates"]
    splits = tuple(Split(*map(tuple, parts)) for parts in case["queries"])
    assert [benefit.rate(s.whole, rates) for s in splits] == case["rate"]
    for equation in ("non_shared", "count_computation", "count_combination", "shared"):
        found = [getattr(benefit, equation)(s, rates) for s in splits]
        assert found == case[equation], equation
    once = benefit.shared_once(splits[0].shared, rates)
    gains = {
        f"q{n}": benefit.non_shared(s, rates) - benefit.shared(s, rates)
        for n, s in enumerate(splits)
    }
    assert sum(case["non_shared"]) == case["non_shared_by_all"]
    assert once + sum(case["shared"]) == case["shared_by_all"]
    savings = Savings(gains, dict.fromkeys(gains, once))
    assert savings.benefit() == case["benefit"]


def _weights(workload: Workload, statistics: Statistics) -> dict[tuple[str, ...], float]:
    return {
        (*c.pattern, *c.queries): weigh(c, workload, statistics).benefit()
        for c in mine_candidates(workload)
    }


def _count(pattern: str, rest: str = "WITHIN 10") -> str:
    return f"RETURN COUNT(*) PATTERN {pattern} {rest}"


@pytest.mark.parametrize(
    ("queries", "statistics", "weights"),
    [
        pytest.param(
            # Per window of 10: A 6, B 1, C 2. Non-shared 6*9 + 6*7; shared 6*7 + (2*2 + 6*2) + 0.
            [_count("SEQ(A, B, C)"), _count("SEQ(A, B)")],
            Statistics.given(100, {"A": 60, "B": 10, "C": 20}),
            {("A", "B", "q1", "q2"): 54 + 42 - 42 - 4 - 12},
            id="one partition, one window: the paper's",
        ),
        pytest.param(
            # In each of 10 partitions: A 2, B 3; sharing saves one of two times 2*(2+3).
            [_count("SEQ(A, B)", "WHERE [k] WITHIN 10")] * 2,
            Statistics.given(10, {"A": 20, "B": 30}, {("k",): 10}),
            {("A", "B", "q1", "q2"): 100},
            id="partitions divide the rates and multiply the cost",
        ),
        pytest.param(
            # B has no g: in each of 10 partitions A 2, B 30.
            [_count("SEQ(A, B)", "WHERE [g] WITHIN 10")] * 2,
            Statistics.given(10, {"A": 20, "B": 30}, {("g",): 10}),
            {("A", "B", "q1", "q2"): 10 * 2 * 32},
            id="events without the key belong to every partition",
        ),
        pytest.param(
            # (C, D) in a window of 5: 1 and 2; saves 1*3, twice in 10.
            [_count("SEQ(A, B)")] * 2 + [_count("SEQ(C, D)", "WITHIN 5")] * 2,
            Statistics.given(10, {"A": 2, "B": 3, "C": 2, "D": 4}),
            {("A", "B", "q1", "q2"): 10, ("C", "D", "q3", "q4"): 6},
            id="shorter windows are paid more often",
        ),
        pytest.param(
            # Alone: 4*10 in the window of 10, twice 2*5 in those of 5. Shared: 4*10 once.
            [_count("SEQ(A, B)"), _count("SEQ(A, B)", "WITHIN 5")],
            Statistics.given(10, {"A": 4, "B": 6}),
            {("A", "B", "q1", "q2"): 20},
            id="windows that differ share what the longest keeps",
        ),
    ],
)
def test_weights(
    queries: list[str], statistics: Statistics, weights: dict[tuple[str, ...], float]
) -> None:
    assert _weights(bind(queries), statistics) == weights


def test_a_subset_of_queries_pays_for_its_own_longest_window() -> None:
    queries = [f"RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN {within}" for within in (10, 5, 5)]
    workload = bind(queries)
    (candidate,) = mine_candidates(workload)
    savings = weigh(candidate, workload, Statistics.given(10, {"A": 4, "B": 6}))
    # As above: 4*10 for the window of 10, and twice 2*5 for each of 5, with p once in each case.
    assert savings.gains == {"q1": 40, "q2": 20, "q3": 20}
    assert savings.once == {"q1": 40, "q2": 20, "q3": 20}
    assert savings.benefit() == 40 + 20 + 20 - 40
    assert savings.benefit({"q2", "q3"}) == 20 + 20 - 20
    assert savings.benefit({"q1", "q3"}) == 40 + 20 - 40


def test_the_split_leaves_negated_parts_out_and_counts_kleene_once() -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(C+, A, B, NOT D, C c2, NOT D d2) WITHIN 10"
    (bound,) = bind([query]).queries
    found = split(bound, Segment("q1", 1, ("A", "B")))
    assert found == Split(("C",), ("A", "B"), ("C",))


def test_which_partitions_must_be_counted() -> None:
    workload = bind(
        [
            "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [g, k] WITHIN 10",
            "RETURN COUNT(*) PATTERN SEQ(A, B, C) WHERE [g, k] WITHIN 10",
            "RETURN COUNT(*) PATTERN SEQ(C, D) WHERE [m] WITHIN 10",  # shares nothing
        ]
    )
    assert partition_keys(workload) == (("g", "k"), ("k",))


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ({"A": 1}, "the rate of B"),
        ({"A": 1e200, "B": 1e200}, "too large"),
        ({"A": 1e154, "B": 1.7e308}, "too large"),
        ({"A": 1.7e308, "B": 1.7e308}, "too large"),
        ({"A": 1e150, "B": 1e151}, "too large"),
    ],
)
def test_rates_that_cannot_be_computed_with(events: dict[str, float], message: str) -> None:
    workload = bind(["RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10"] * 2)
    with pytest.raises(ParameterError, match=message):
        _weights(workload, Statistics.given(10, events))
