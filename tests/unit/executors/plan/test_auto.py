"""Who runs which query by `auto`, and what it says of it."""

from __future__ import annotations

import pickle
from itertools import chain

import pytest

from elsinore.events import EventTable
from elsinore.executors.linear.sweep_sets import sweep_refusals, sweep_sets
from elsinore.executors.output.finish import finish
from elsinore.executors.plan import (
    GRETA,
    HAMLET,
    SEGMENTS,
    SWEEP,
    TWOSTEP,
    RuntimePlan,
    compile_plan,
)
from elsinore.executors.plan.alike import alike, answered_by
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.query.segments import Segment
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.sharable import sets_of
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import HOUR
from tests.property.random_cases import CALENDAR, SCHEMA

STATISTICS = Statistics.given(1_000, {"A": 500, "B": 4_000, "C": 500, "D": 500})
GENERAL = "WHERE (B.x + NEXT(B).x) % 3 = 0"
QUERIES = f"""
QUERY fixed RETURN COUNT(*) PATTERN SEQ(A, C, D) WITHIN 100 SLIDE 10;
QUERY one RETURN COUNT(*) PATTERN SEQ(A, B+) {GENERAL} WITHIN 100;
QUERY two RETURN COUNT(*) PATTERN SEQ(C, B+) {GENERAL} WITHIN 100;
QUERY none RETURN COUNT(*) PATTERN SEQ(A, NOT C, B+) WITHIN 100;
QUERY odd RETURN SUM(b1.x) PATTERN SEQ(B b1+, B b2+) WITHIN 100;
"""

FIXED = "QUERY fixed RETURN COUNT(*) PATTERN SEQ(A, C) WITHIN 100 SLIDE 10;"
COLLAPSED = """
QUERY first RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 100;
QUERY second RETURN COUNT(*), SUM(B.x) PATTERN SEQ(C, B+) WHERE B.x > 3 WITHIN 100 SLIDE 50;
"""
PAIRED = f"""
QUERY third RETURN COUNT(*) PATTERN SEQ(D, B+) {GENERAL} WITHIN 100;
QUERY fourth RETURN COUNT(*) PATTERN SEQ(A, B+) {GENERAL} WITHIN 100;
"""


def _workload(text: str = QUERIES) -> Workload:
    return read_workload(text, SCHEMA)


def _executors(plan: RuntimePlan) -> dict[str, str]:
    return {choice.query: choice.executor for choice in plan.choices}


def test_every_query_is_run_by_somebody() -> None:
    plan = compile_plan(_workload(), STATISTICS)
    assert _executors(plan) == {
        "fixed": SEGMENTS, "one": HAMLET, "two": HAMLET, "none": GRETA, "odd": TWOSTEP,
    }  # fmt: skip
    assert plan.sets == (("one", "two"),)
    assert plan.in_words() == "Kleene sub-patterns in 1 set of 2 queries"
    reasons = {choice.query: choice.why for choice in plan.choices}
    assert reasons["fixed"] == "of fixed length; shares no segment"
    assert reasons["none"] == "NOT depends on events in between"
    assert reasons["one"] == "shares B+ with 1 other"
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
    found, expected = (
        finish(_workload(), [*chain.from_iterable(each.run(events))], answered_by(each.row_classes))
        for each in (there, plan)
    )
    assert found == expected != []


def test_a_static_plan_says_which_segments_there_are_and_no_more() -> None:
    workload = _workload()
    static = find_plan(workload, STATISTICS)
    plan, free = (
        compile_plan(workload, STATISTICS, static_plan=static),
        compile_plan(workload, STATISTICS),
    )
    assert (plan.choices, plan.sets, plan.alone, plan.together) == (
        free.choices, free.sets, free.alone, free.together,
    )  # fmt: skip
    assert plan.choices == compile_plan(workload, static_plan=static).choices


def test_what_compares_values_shares_trees_or_is_left_to_them_in_large_windows() -> None:
    """Hamlet looks at all pairs of 10,000 events: it was chosen once, and took 80 times as long."""
    text = "".join(
        f"QUERY {name} RETURN COUNT(*) PATTERN SEQ({kind}, B+)"
        f" WHERE [k] AND B.x < NEXT(B).x WITHIN 20;"
        for name, kind in (("one", "A"), ("two", "C"))
    )
    plan = compile_plan(_workload(text))
    assert (_executors(plan), plan.ordered) == ({"one": GRETA, "two": GRETA}, (("one", "two"),))
    assert [choice.why for choice in plan.choices] == [
        "shares B+ with 1 other and the order of values"
    ] * 2
    assert plan.of_queries({"one", "two"}).ordered == plan.ordered
    assert plan.of_queries({"one"}).ordered == ()
    workload = _workload(text.replace("COUNT(*)", "MIN(B.x)"))
    large = Statistics.given(20, {"A": 10, "B": 10_000, "C": 10})
    assert _executors(compile_plan(workload, large)) == {"one": GRETA, "two": GRETA}
    assert [choice.why for choice in compile_plan(workload, large).choices] == [
        "could share B+ with 1 other, but compares values in windows of about 10,010 events"
    ] * 2
    keyed = Statistics.given(20, {"A": 10, "B": 10_000, "C": 10}, {("k",): 1_000})
    general = _workload(text.replace("B.x < NEXT(B).x", "(B.x + NEXT(B).x) % 3 = 0"))
    for queries, statistics in ((workload, keyed), (workload, None), (general, large)):
        executors = _executors(compile_plan(queries, statistics))
        assert executors == {"one": HAMLET, "two": HAMLET}


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
    workload = _workload("".join(texts))
    plan = RuntimePlan.of(
        workload.queries,
        segments=[places], sets=sets_of(workload).sets, predicted=4.0, together=3.0,
    )  # fmt: skip
    assert plan.in_words() == (
        "1 segment in 2 queries (saves 25.0%) and Kleene sub-patterns in 2 sets of 4 queries"
    )


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
    assert reasons["first"] == "has no edge predicate; with 1 other"
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
    texts = {
        "SEQ(A, C) WITHIN 100": SWEEP,
        "SEQ(A, C) WITHIN 100 SLIDE 50": SWEEP,
        "SEQ(A, C) WITHIN 100 SLIDE 49": SEGMENTS,
        "SEQ(A, B, C, D, A a2, B b2, C c2, D d2) WITHIN 70": SWEEP,  # 35 or 280 events each
        "SEQ(A, B, C, D, A a2, B b2, C c2, D d2) WITHIN 200": SEGMENTS,
    }
    for text, executor in texts.items():
        plan = compile_plan(_workload(f"QUERY q RETURN COUNT(*) PATTERN {text};"), STATISTICS)
        assert _executors(plan) == {"q": executor}, text
    summed = "QUERY q RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A, C) WITHIN 100;"
    assert _executors(compile_plan(_workload(summed), STATISTICS)) == {"q": SEGMENTS}


LONG = """
QUERY day RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 24 hours SLIDE 1 hour;
QUERY again RETURN COUNT(B), COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 24 hours SLIDE 1 hour;
QUERY fixed RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] WITHIN 24 hours SLIDE 1 hour;
QUERY hour RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 1 hour;
QUERY fine RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 24 hours SLIDE 5 minutes;
QUERY paired RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x WITHIN 24 hours;
QUERY each RETURN COUNT(EACH B) PATTERN SEQ(A, B+) WITHIN 24 hours;
QUERY steps RETURN STEPS PATTERN SEQ(A, B) WHERE [k] WITHIN 24 hours SLIDE 2 hours;
QUERY counted RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [k] WITHIN 24 hours SLIDE 2 hours;
"""


def test_panes_of_windows_that_reach_back_over_many_events_are_cached() -> None:
    workload = read_workload(LONG, CALENDAR)
    rates = Statistics.given(HOUR, dict.fromkeys("ABCD", 25_000))
    plan = compile_plan(workload, rates, slice_length=HOUR)
    assert plan.cached is not None
    # `again` has the same trends as `day`, and `counted` has those of a step.
    assert plan.cached.names == ("again", "fixed")
    whys = {choice.query: (choice.executor, choice.why) for choice in plan.choices}
    why = "panes are cached: windows reach back over about 2,400,000 events"
    assert whys["again"] == whys["fixed"] == (SWEEP, why)
    assert whys["day"] == (SWEEP, "has the same trends as again")
    assert sum("cached" in why for _, why in whys.values()) == 2
    assert "cached panes in 2 queries" in plan.in_words()
    # A part of the plan caches, too.
    part = plan.of_queries(["fixed", "hour"])
    assert part.cached is not None
    assert (part.cached.names, part.sweeps) == (("fixed",), (("hour",),))
    fewer = Statistics.given(HOUR, dict.fromkeys("ABCD", 20_000))
    for uncached in (
        compile_plan(workload, fewer, slice_length=HOUR),
        compile_plan(workload, rates, slice_length=24 * HOUR),
        compile_plan(workload, None, slice_length=HOUR),
        compile_plan(workload, rates),
    ):
        assert uncached.cached is None


def test_queries_by_other_keys_are_swept_apart() -> None:
    keyed = "QUERY keyed RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 100;"
    statistics = Statistics.given(STATISTICS.per, STATISTICS.events, {("k",): 10})
    plan = compile_plan(_workload(COLLAPSED + keyed), statistics)
    assert sorted(plan.sweeps) == [("first", "second"), ("keyed",)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PATTERN SEQ(A, NOT C, B)", "NOT depends on events in between"),
        ("PATTERN B+ WHERE B.x < NEXT(B).x", "an edge predicate looks at pairs of events"),
        ("PATTERN B+ SEMANTICS contiguous", "contiguous depends on events in between"),
        ("PATTERN A AND B", "AND counts pairs of trends"),
    ],
)
def test_what_cannot_be_swept_is_refused_by_reason(text: str, reason: str) -> None:
    (query,) = _workload(f"QUERY q RETURN COUNT(*) {text} WITHIN 10;").queries
    assert sweep_refusals(query) == (reason,)
    assert sweep_sets([query]) == ()


def test_queries_are_alike_whatever_they_return() -> None:
    same = "PATTERN SEQ(A, B+) WHERE [k] WITHIN 10;"
    workload = _workload(
        f"QUERY b RETURN COUNT(*) {same} QUERY a RETURN COUNT(B), COUNT(*) {same}"
        "QUERY c RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [k] WITHIN 11;"
    )
    both, other = alike(workload.queries)
    assert [query.name for query in both.queries] == ["b", "a"]
    assert both.run.name == "a"
    assert [query.name for query in other.queries] == ["c"]
    assert [choice.query for choice in compile_plan(workload).choices] == ["b", "a", "c"]


def test_queries_are_alike_by_meaning_not_by_text() -> None:
    workload = _workload(
        "QUERY a RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE A.s = 'p\nq' AND B.x > 1 WITHIN 10;"
        "QUERY b RETURN COUNT(B) PATTERN SEQ(A, B+) WHERE B.x > 1 AND A.s = 'p\nq' WITHIN 10;"
        "QUERY c RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x > 1.0 AND A.s = 'p\nq' WITHIN 10;"
        "QUERY d RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE B.x > 1 WITHIN 10;"
    )
    names = [[query.name for query in each.queries] for each in alike(workload.queries)]
    assert names == [["a", "b"], ["c"], ["d"]]


def test_twostep_runs_a_span_that_no_template_matches() -> None:
    """Its template cannot tell in how many ways a trend matches."""
    parts = ", ".join(f"(A a{n} OR B b{n})?" for n in range(40))
    text = f"QUERY q RETURN COUNT(*) PATTERN SEQ({parts}) SPAN 5 PER 9;"
    plan = compile_plan(read_workload(text, SCHEMA))
    assert [choice.executor for choice in plan.choices] == ["twostep"]
