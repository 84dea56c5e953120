"""Who runs which query by `auto`, and what it says of it."""

from __future__ import annotations

import pickle

import pytest

from elsinore.engine.auto import (
    GRETA,
    HAMLET,
    SEGMENTS,
    TWOSTEP,
    Choice,
    Sharing,
    choose_sets,
    executors_by_plan,
    share_by_plan,
    share_freely,
)
from elsinore.errors import PlanError
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.candidates import Segment
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.statistics import Statistics
from tests.property.random_cases import SCHEMA

STATISTICS = Statistics.given(1_000, {"A": 500, "B": 4_000, "C": 500, "D": 500})
GENERAL = "WHERE (B.x + NEXT(B).x) % 3 = 0"
QUERIES = f"""
QUERY fixed RETURN COUNT(*) PATTERN SEQ(A, C, D) WITHIN 100;
QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+) {GENERAL} WITHIN 100;
QUERY two RETURN COUNT(*) PATTERN SEQ(C, B+) {GENERAL} WITHIN 100;
QUERY none RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) WITHIN 100;
QUERY odd RETURN SUM(b1.x) PATTERN SEQ(B b1+, B b2+) WITHIN 100;
"""


def _workload(text: str = QUERIES) -> Workload:
    return bind_workload(parse_workload(text), SCHEMA)


def _executors(sharing: Sharing) -> dict[str, str]:
    return {choice.query: choice.executor for choice in sharing.choices}


def test_every_query_is_run_by_somebody() -> None:
    sharing = share_freely(_workload(), STATISTICS)
    assert _executors(sharing) == {
        "fixed": SEGMENTS, "one": HAMLET, "two": HAMLET, "none": GRETA, "odd": TWOSTEP,
    }  # fmt: skip
    assert sharing.sets == (("one", "two"),)
    assert sharing.together < sharing.alone
    assert sharing.in_words().startswith("Kleene sub-patterns in 1 set of 2 queries; saves ")
    reasons = {choice.query: choice.why for choice in sharing.choices}
    assert reasons["fixed"] == "of fixed length; shares no segment"
    assert reasons["none"] == "NOT looks at events between"
    assert reasons["one"].startswith("shares B+ with 1 other of s1: ")
    assert "counts only" in reasons["odd"]


def test_sharing_travels() -> None:
    sharing = share_freely(_workload(), STATISTICS)
    assert pickle.loads(pickle.dumps(sharing)) == sharing


def test_the_plan_decides_which_sets_run_together() -> None:
    workload = _workload()
    sets = choose_sets(workload, STATISTICS).sets
    plan = find_plan(workload, STATISTICS, sets=sets)
    sharing = share_by_plan(workload, plan, STATISTICS)
    assert sharing == share_freely(workload, STATISTICS)
    assert sharing.choices[1:] == executors_by_plan(workload, plan)[1:]
    assert executors_by_plan(workload, plan)[0] == Choice("fixed", SEGMENTS, "of fixed length")
    lost = plan.model_copy(update={"sets": (sets[0].model_copy(update={"pays": False}),)})
    beside = share_by_plan(workload, lost, STATISTICS)
    assert (beside.sets, _executors(beside)["one"]) == ((), GRETA)
    assert beside.together == beside.alone == sharing.alone
    assert beside.in_words() == "nothing is shared"


def test_a_plan_without_the_workloads_sets_is_refused() -> None:
    workload = _workload()
    with pytest.raises(PlanError, match="sharable sets"):
        share_by_plan(workload, find_plan(workload, STATISTICS), STATISTICS)


def test_words_of_segments_and_sets() -> None:
    places = tuple(Segment(name, 0, ("A", "B")) for name in ("q1", "q2", "q3"))
    sharing = Sharing((places,), (("q4", "q5"), ("q6", "q7")), alone=4.0, together=3.0)
    assert sharing.in_words() == (
        "1 segment in 3 queries and Kleene sub-patterns in 2 sets of 4 queries; saves 25.0%"
    )
