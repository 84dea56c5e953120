"""Who runs which query by `auto`, and what it says of it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from elsinore.engine.plan import (
    GRETA,
    HAMLET,
    SEGMENTS,
    TWOSTEP,
    Choice,
    RuntimePlan,
    choose_sets,
    compile_plan,
)
from elsinore.errors import PlanError
from elsinore.events import EventTable
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
QUERY fixed RETURN COUNT(*) PATTERN SEQ(A, C, D) WITHIN 100 SLIDE 10;
QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+) {GENERAL} WITHIN 100;
QUERY two RETURN COUNT(*) PATTERN SEQ(C, B+) {GENERAL} WITHIN 100;
QUERY none RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) WITHIN 100;
QUERY odd RETURN SUM(b1.x) PATTERN SEQ(B b1+, B b2+) WITHIN 100;
"""


def _workload(text: str = QUERIES) -> Workload:
    return bind_workload(parse_workload(text), SCHEMA)


def _executors(plan: RuntimePlan) -> dict[str, str]:
    return {choice.query: choice.executor for choice in plan.choices}


def test_every_query_is_run_by_somebody() -> None:
    plan = compile_plan(_workload(), STATISTICS)
    assert _executors(plan) == {
        "fixed": SEGMENTS, "one": HAMLET, "two": HAMLET, "none": GRETA, "odd": TWOSTEP,
    }  # fmt: skip
    assert plan.sets == (("one", "two"),)
    assert plan.together < plan.alone
    assert plan.in_words().startswith("Kleene sub-patterns in 1 set of 2 queries; saves ")
    reasons = {choice.query: choice.why for choice in plan.choices}
    assert reasons["fixed"] == "of fixed length; shares no segment"
    assert reasons["none"] == "NOT looks at events between"
    assert reasons["one"].startswith("shares B+ with 1 other of s1: ")
    assert "counts only" in reasons["odd"]


def test_what_is_said_of_a_query_is_what_runs_it() -> None:
    plan = compile_plan(_workload(), STATISTICS)
    run = {query.name: unit.executor for unit in plan.units for query in unit.queries}
    left = {query.name: TWOSTEP for query in plan.left}
    assert run | left == _executors(plan)
    assert not run.keys() & left.keys()
    assert sum(len(unit.queries) for unit in plan.units) == len(run)


def test_a_plan_travels() -> None:
    plan = compile_plan(_workload(), STATISTICS)
    there = pickle.loads(pickle.dumps(plan))
    assert there.choices == plan.choices
    assert [(unit.executor, unit.names) for unit in there.units] == [
        (unit.executor, unit.names) for unit in plan.units
    ]
    rows = [("A", 1, {}), ("B", 2, {"x": 1}), ("B", 3, {"x": 2}), ("C", 4, {}), ("D", 5, {})]
    events = EventTable.of(SCHEMA, rows)
    found, expected = (pa.concat_tables(each.run(events)).to_pylist() for each in (there, plan))
    assert found == expected != []


def test_the_static_plan_decides_which_sets_run_together() -> None:
    workload = _workload()
    sets = choose_sets(workload, STATISTICS).sets
    static = find_plan(workload, STATISTICS, sets=sets)
    plan, free = (
        compile_plan(workload, STATISTICS, static_plan=static),
        compile_plan(workload, STATISTICS),
    )
    assert (plan.choices, plan.sets, plan.alone, plan.together) == (
        free.choices, free.sets, free.alone, free.together,
    )  # fmt: skip
    unweighed = compile_plan(workload, static_plan=static)
    assert plan.choices[1:] == unweighed.choices[1:]
    assert unweighed.choices[0] == Choice("fixed", SEGMENTS, "of fixed length")
    lost = static.model_copy(update={"sets": (sets[0].model_copy(update={"pays": False}),)})
    beside = compile_plan(workload, STATISTICS, static_plan=lost)
    assert (beside.sets, _executors(beside)["one"]) == ((), GRETA)
    assert beside.together == beside.alone == plan.alone
    assert beside.in_words() == "nothing is shared"


def test_a_static_plan_without_the_workloads_sets_is_refused() -> None:
    workload = _workload()
    with pytest.raises(PlanError, match="sharable sets"):
        compile_plan(workload, STATISTICS, static_plan=find_plan(workload, STATISTICS))


def test_some_queries_of_a_plan_share_as_far_as_they_are_there() -> None:
    plan = compile_plan(_workload(), STATISTICS)
    both, one = plan.of_queries({"none", "one", "two"}), plan.of_queries({"fixed", "one"})
    assert both.sets == (("one", "two"),)
    assert [choice.query for choice in both.choices] == ["one", "two", "none"]
    assert (one.sets, [unit.executor for unit in one.units]) == ((), [SEGMENTS, GRETA])


def test_words_of_segments_and_sets() -> None:
    texts = [f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10;" for n in (1, 2)]
    texts += ["QUERY q3 RETURN COUNT(*) PATTERN SEQ(A, B, C) WITHIN 10;"]
    for n, (kind, keys) in enumerate([("A", ""), ("C", ""), ("A", "[k] AND "), ("C", "[k] AND ")]):
        where = f"WHERE {keys}B.x < NEXT(B).x"
        texts.append(f"QUERY q{4 + n} RETURN COUNT(*) PATTERN SEQ({kind}, B+) {where} WITHIN 10;")
    places = [Segment(name, 0, ("A", "B")) for name in ("q1", "q3")]
    plan = RuntimePlan.of(
        _workload("".join(texts)).queries,
        segments=[places], sets=[("q4", "q5"), ("q6", "q7")], alone=4.0, together=3.0,
    )  # fmt: skip
    assert plan.in_words() == (
        "1 segment in 2 queries and Kleene sub-patterns in 2 sets of 4 queries; saves 25.0%"
    )
