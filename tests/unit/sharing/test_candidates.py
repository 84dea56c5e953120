"""Mining and conflicts: what must agree, and brute force."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given

from elsinore.query.segments import Segment, segments
from elsinore.sharing.candidates import mine_candidates, shared_kleene
from elsinore.sharing.graph import build_graph
from tests.unit.sharing.support import bind, count_trends, golden, neighbours, pattern_sets

SIGNATURES = golden("signature")


@pytest.mark.parametrize("case", SIGNATURES, ids=[case["title"] for case in SIGNATURES])
def test_what_must_agree(case: dict[str, Any]) -> None:
    mined = mine_candidates(bind(case["queries"]))
    assert [list(candidate.pattern) for candidate in mined] == case["shared"]
    assert all(candidate.queries == ("q1", "q2") for candidate in mined)


def test_the_runs_of_a_query() -> None:
    query = "RETURN COUNT(*) PATTERN SEQ(A, B b1, SEQ(C, D)+, NOT SEQ(A a2, B b2), C c2) WITHIN 5"
    (bound,) = bind([query]).queries
    assert segments(bound) == (Segment("q1", 0, ("A", "B")), Segment("q1", 6, ("C",)))


def test_the_first_occurrence_is_the_first_that_agrees() -> None:
    ruled = "RETURN COUNT(*) PATTERN SEQ(A a1, B b1, A a2, B b2) WHERE a1.x > 1 WITHIN 10"
    mined = mine_candidates(bind([ruled, count_trends("AB")]))
    (candidate,) = mined
    assert [(s.query, s.start) for s in candidate.occurrences] == [("q1", 2), ("q2", 0)]


@pytest.mark.slow
@given(pattern_sets)
def test_mining_finds_what_brute_force_finds(sets: list[list[str]]) -> None:
    places: dict[tuple[str, ...], dict[str, int]] = {}
    for number, parts in enumerate(sets, 1):
        for start, stop in combinations(range(len(parts) + 1), 2):
            part = tuple(parts[start:stop])
            if len(part) > 1 and "B+" not in part:
                first = places.setdefault(part, {})
                first[f"q{number}"] = min(start, first.get(f"q{number}", start))
    expected = {part: first for part, first in places.items() if len(first) > 1}
    mined = mine_candidates(bind([count_trends(parts) for parts in sets]))
    assert {
        c.pattern: {place.query: place.start for place in c.occurrences} for c in mined
    } == expected
    assert [c.pattern for c in mined] == sorted(expected)
    assert all(place.types == c.pattern for c in mined for place in c.occurrences)


@pytest.mark.slow
@given(pattern_sets)
def test_conflicts_are_common_positions_in_common_queries(sets: list[list[str]]) -> None:
    mined = mine_candidates(bind([count_trends(parts) for parts in sets]))
    covered = {
        c.id: {(s.query, i) for s in c.occurrences for i in range(s.start, s.stop)} for c in mined
    }
    expected = {
        (left.id, right.id)
        for left, right in combinations(mined, 2)
        if covered[left.id] & covered[right.id]
    }
    graph = build_graph(mined, {candidate.id: 1.0 for candidate in mined})
    for left, right in combinations(graph.vertices, 2):
        assert (right in neighbours(graph, left)) == ((left, right) in expected)
        assert (left in neighbours(graph, right)) == ((left, right) in expected)


def test_kleene_sub_patterns_of_several_queries() -> None:
    workload = bind(
        [
            "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10",
            "RETURN COUNT(*) PATTERN SEQ(SEQ(B+, C)+, A*) WITHIN 10",
            "RETURN COUNT(*) PATTERN SEQ(B b1+, C, B b2+, NOT A+, D+) WITHIN 10",
            "RETURN COUNT(*) PATTERN SEQ(C, A+)+ WITHIN 10",
        ]
    )
    assert shared_kleene(workload) == (("A", ("q2", "q4")), ("B", ("q1", "q2", "q3")))
