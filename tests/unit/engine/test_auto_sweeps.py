"""Which queries `auto` sweeps, what is left for Hamlet then, and what it says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.plan import GRETA, HAMLET, SEGMENTS, SWEEP, RuntimePlan, compile_plan
from elsinore.engine.plan.sets import choose_sets
from elsinore.engine.plan.sweeps import SweepChoice, choose_sweeps
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.statistics import Statistics
from tests.property.random_cases import SCHEMA

STATISTICS = Statistics.given(1_000, {"A": 500, "B": 4_000, "C": 500, "D": 500})
GENERAL = "WHERE (B.x + NEXT(B).x) % 3 = 0"
FIXED = "QUERY fixed RETURN COUNT(*) PATTERN SEQ(A, C) WITHIN 100 SLIDE 10;"
COLLAPSED = """
QUERY first RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 100;
QUERY second RETURN COUNT(*), SUM(B.x) PATTERN SEQ(C, B+) WHERE B.x > 3 WITHIN 100 SLIDE 50;
"""
PAIRED = f"""
QUERY third RETURN COUNT(*) PATTERN SEQ(D, B+) {GENERAL} WITHIN 100;
QUERY fourth RETURN COUNT(*) PATTERN SEQ(A, B+) {GENERAL} WITHIN 100;
"""


def _workload(text: str) -> Workload:
    return bind_workload(parse_workload(text), SCHEMA)


def _executors(plan: RuntimePlan) -> dict[str, str]:
    return {choice.query: choice.executor for choice in plan.choices}


def test_collapsed_queries_are_swept_and_the_others_are_not() -> None:
    """All four could be one set of Hamlet's; two are swept, so that the set is the other two."""
    workload = _workload(FIXED + COLLAPSED + PAIRED)
    (whole,) = choose_sets(workload, STATISTICS).sets
    assert sorted(whole.queries) == ["first", "fourth", "second", "third"]
    plan = compile_plan(workload, STATISTICS)
    assert _executors(plan) == {
        "fixed": SEGMENTS, "first": SWEEP, "second": SWEEP, "third": HAMLET, "fourth": HAMLET,
    }  # fmt: skip
    assert plan.sweeps == (("first", "second"),)
    assert [sorted(names) for names in plan.sets] == [["fourth", "third"]]
    reasons = {choice.query: choice.why for choice in plan.choices}
    assert reasons["first"].startswith("nothing is asked of pairs of events; swept with 1 other: ")
    assert " ms against " in reasons["first"]
    assert reasons["third"].startswith("shares B+ with 1 other of s1: ")
    assert plan.together < plan.alone
    assert "and 2 queries in 1 sweep; saves " in plan.in_words()


def test_what_is_left_of_a_set_may_be_nothing_to_share() -> None:
    """The third could share B+ with the swept ones alone."""
    lines = [line for line in PAIRED.splitlines() if "fourth" not in line]
    plan = compile_plan(_workload(COLLAPSED + "\n".join(lines)), STATISTICS)
    assert _executors(plan) == {"first": SWEEP, "second": SWEEP, "third": GRETA}
    assert plan.sets == ()
    (why,) = (choice.why for choice in plan.choices if choice.query == "third")
    assert why == "no other query has its Kleene types and keys"


def test_queries_of_fixed_length_are_swept_where_that_is_quicker_by_rule() -> None:
    """Few overlapping windows, nothing but counts, and counts of few bits."""
    short = Statistics.given(1_000, {"A": 500, "B": 4_000, "C": 500, "D": 500})
    texts = {
        "SEQ(A, C) WITHIN 100": SWEEP,
        "SEQ(A, C) WITHIN 100 SLIDE 50": SWEEP,
        "SEQ(A, C) WITHIN 100 SLIDE 49": SEGMENTS,
        "SEQ(A, B, C, D, A a2, B b2, C c2, D d2) WITHIN 70": SWEEP,  # 35 or 280 events each
        "SEQ(A, B, C, D, A a2, B b2, C c2, D d2) WITHIN 200": SEGMENTS,
    }
    for text, executor in texts.items():
        plan = compile_plan(_workload(f"QUERY q RETURN COUNT(*) PATTERN {text};"), short)
        assert _executors(plan) == {"q": executor}, text
    summed = "QUERY q RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A, C) WITHIN 100;"
    assert _executors(compile_plan(_workload(summed), short)) == {"q": SEGMENTS}


def test_queries_by_other_keys_are_swept_apart() -> None:
    keyed = "QUERY keyed RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 100;"
    statistics = replace(STATISTICS, partitions=((("k",), 10),))
    plan = compile_plan(_workload(COLLAPSED + keyed), statistics)
    assert sorted(plan.sweeps) == [("first", "second"), ("keyed",)]


def test_a_sweep_that_costs_more_is_not_chosen() -> None:
    assert SweepChoice(("q",), alone=3.0, otherwise=2.0, together=1.0).pays
    assert not SweepChoice(("q",), alone=3.0, otherwise=2.0, together=2.0).pays


def test_what_hamlet_saves_counts_against_the_sweep() -> None:
    """Twenty queries that ask for the same: together they cost Hamlet less than one by one."""
    text = "".join(f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1000;" for n in range(20))
    (found,) = choose_sweeps(_workload(text), Stream(STATISTICS))
    assert found.together < found.otherwise < found.alone


@pytest.mark.parametrize("kind", ["entry", "query"])
def test_more_work_costs_more(kind: str) -> None:
    more = {"entry": Statistics.given(1_000, {"A": 5_000, "B": 40_000})}
    twice = {"query": "QUERY r RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 100;"}
    plain = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 100;"
    (base,) = choose_sweeps(_workload(plain), Stream(STATISTICS))
    workload = _workload(plain + twice.get(kind, ""))
    (found,) = choose_sweeps(workload, Stream(more.get(kind, STATISTICS)))
    assert found.together > base.together
