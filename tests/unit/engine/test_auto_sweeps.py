"""Which queries `auto` sweeps, what is left for Hamlet then, and what it says of it."""

from __future__ import annotations

from dataclasses import replace

from elsinore.engine.plan import GRETA, HAMLET, SEGMENTS, SWEEP, RuntimePlan, compile_plan
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.sharable import sets_of
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
    (whole,) = sets_of(workload).sets
    names = sorted(query.name for query in whole.queries)
    assert names == ["first", "fourth", "second", "third"]
    plan = compile_plan(workload, STATISTICS)
    assert _executors(plan) == {
        "fixed": SEGMENTS, "first": SWEEP, "second": SWEEP, "third": HAMLET, "fourth": HAMLET,
    }  # fmt: skip
    assert plan.sweeps == (("first", "second"),)
    assert [sorted(names) for names in plan.sets] == [["fourth", "third"]]
    reasons = {choice.query: choice.why for choice in plan.choices}
    assert reasons["first"] == "nothing is asked of pairs of events; with 1 other"
    assert reasons["third"] == "shares B+ with 1 other"
    assert plan.in_words().endswith(" of 2 queries and 2 queries in 1 sweep")


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
