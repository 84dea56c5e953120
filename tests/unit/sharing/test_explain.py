"""A plan explained: how it cuts queries, what each query gains, why candidates are not taken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.errors import PlanError
from elsinore.query.bound import Workload
from elsinore.sharing.explain import cut_query, explain_cuts, explain_savings, reason
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import Finder, StaticPlan
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, pattern_sets

# In a window of 10: A 10, B 2, C 4, D 1.
RATES = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})
PARTS = {"q1": "ABCD", "q2": "BC", "q3": "ABC", "q4": ["D", "B+"], "q5": ["C", "D", "B+"]}


@pytest.fixture(name="workload")
def _workload() -> Workload:
    return bind({name: count_trends(parts) for name, parts in PARTS.items()})


@pytest.fixture(name="plan")
def _plan(workload: Workload) -> StaticPlan:
    return find_plan(workload, RATES)


def _sharing(plan: StaticPlan, name: str, queries: tuple[str, ...]) -> StaticPlan:
    """The plan in which some queries share one candidate, and nothing else is shared."""
    candidates = tuple(
        c.model_copy(update={"shared_by": queries if c.id == name else ()}) for c in plan.candidates
    )
    return plan.model_copy(update={"chosen": (name,), "candidates": candidates})


def test_cuts_of_a_plan(plan: StaticPlan, workload: Workload) -> None:
    # p2 is (A, B, C) of q1 and q3.
    assert [str(cut) for cut in explain_cuts(plan, workload)] == [
        "SEQ(shared p2: A, B, C | D)",
        "SEQ(B, C)",
        "SEQ(shared p2: A, B, C)",
        "SEQ(D, B+)",
        "SEQ(C, D, B+)",
    ]


def test_only_the_queries_that_share_are_cut(plan: StaticPlan, workload: Workload) -> None:
    found = explain_cuts(_sharing(plan, "p3", ("q1", "q2")), workload)  # (B, C)
    assert [str(cut) for cut in found[:3]] == [
        "SEQ(A | shared p3: B, C | D)",
        "SEQ(shared p3: B, C)",
        "SEQ(A, B, C)",
    ]


@pytest.mark.parametrize(
    ("pattern", "boxes"),
    [
        ("A", [("A", 0, 1, "", False)]),
        ("SEQ(A a, B+, A b)", [("A", 0, 1, "", False), ("B+", 1, 2, "B", False),
                               ("A", 2, 3, "", False)]),
        ("SEQ(A a, NOT SEQ(B+, C), D)", [("A", 0, 1, "", False),
                                         ("NOT SEQ(B+, C)", 1, 3, "", True),
                                         ("D", 3, 4, "", False)]),
        ("(SEQ(A+, B b*))+", [("SEQ(A+, B*)+", 0, 2, "AB", False)]),
        ("SEQ(A, B OR C+, D?)", [("A", 0, 1, "", False), ("B OR C+", 1, 3, "C", False),
                                 ("D?", 3, 4, "", False)]),
    ],
)  # fmt: skip
def test_boxes_cover_the_positions(pattern: str, boxes: list[tuple[object, ...]]) -> None:
    (query,) = bind([f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10"]).queries
    found = cut_query(query, {}).boxes
    assert [(b.text, b.start, b.stop, "".join(sorted(b.kleene)), b.negated) for b in found] == boxes


def test_gains_cost_and_net_by_hand(plan: StaticPlan, workload: Workload) -> None:
    (found,) = explain_savings(plan, workload, RATES).shared
    # q1: 10 * 17 alone; beside (A, B, C) it keeps 1 * 1 for its suffix and multiplies 10 * 1.
    # q3 is the candidate itself: it gains 10 * 16, which is what computing it costs.
    assert found.gains == {"q1": 170 - 1 - 10, "q3": 160}
    assert (found.once, found.net) == (160, 159)


def test_without_statistics_only_the_net_is_known(plan: StaticPlan, workload: Workload) -> None:
    (found,) = explain_savings(plan, workload).shared
    assert (found.gains, found.once, found.net) == (None, None, 159)


def test_other_statistics_are_refused(plan: StaticPlan, workload: Workload) -> None:
    other = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 2})
    with pytest.raises(PlanError, match="from other statistics"):
        explain_savings(plan, workload, other)


def test_why_not(plan: StaticPlan, workload: Workload) -> None:
    found = explain_savings(plan, workload, RATES).unshared
    assert [(u.candidate.id, reason(u, plan.guaranteed_weight)) for u in found] == [
        ("p1", "p2 takes its place in q1, q3"),  # 94
        ("p3", "a plan with it saves 89 at most; 95.3333 is guaranteed"),
        ("p4", "p2 takes its place in q1"),  # (C, D) in q1 and q5
    ]
    poor = Statistics.given(10, {"A": 2, "B": 3, "C": 5, "D": 7})
    costly = find_plan(workload, poor, finder=Finder.GWMIN)
    reasons = {u.candidate.id: reason(u, 0) for u in explain_savings(costly, workload).unshared}
    assert reasons["p3"] == "sharing it costs more than it saves"


def test_who_is_left_out_and_why(plan: StaticPlan, workload: Workload) -> None:
    # (B, C) shared by q2 and q3 alone: nothing else takes its place in q1.
    (found,) = explain_savings(_sharing(plan, "p3", ("q2", "q3")), workload, RATES).shared
    assert found.left_out == {"q1": ()}


def test_what_takes_the_place_of_a_query_that_is_left_out() -> None:
    # (A, B) of q1 and q4 takes the place of (B, C) in q1, which q2 and q3 share.
    workload = bind([count_trends(parts) for parts in ("ABC", "BC", "BC", "AB")])
    whole = find_plan(workload, RATES)
    (first,) = [c.id for c in whole.candidates if c.pattern == ("A", "B")]
    (second,) = [c.id for c in whole.candidates if c.pattern == ("B", "C")]
    shared_by = {first: ("q1", "q4"), second: ("q2", "q3")}
    candidates = tuple(
        c.model_copy(update={"shared_by": shared_by.get(c.id, ())}) for c in whole.candidates
    )
    plan = whole.model_copy(update={"chosen": (first, second), "candidates": candidates})
    told = {s.candidate.id: s.left_out for s in explain_savings(plan, workload, RATES).shared}
    assert told == {first: {}, second: {"q1": (first,)}}


def test_candidates_that_meet_nothing(plan: StaticPlan, workload: Workload) -> None:
    other = _sharing(plan, "p1", ("q1", "q3"))  # (A, B)
    met = {u.candidate.id: u.meets for u in explain_savings(other, workload).unshared}
    assert met == {"p2": {"p1": ("q1", "q3")}, "p3": {"p1": ("q1", "q3")}, "p4": {}}


@given(pattern_sets, st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_random_plans_are_told_whole(sets: list[list[str]], rates: list[int]) -> None:
    workload = bind({f"q{n}": count_trends(parts) for n, parts in enumerate(sets, 1)})
    statistics = Statistics.given(10, dict(zip("ABCD", rates, strict=True)))
    plan = find_plan(workload, statistics)
    savings = explain_savings(plan, workload, statistics)
    assert {s.candidate.id for s in savings.shared} == set(plan.chosen)
    assert len(savings.shared) + len(savings.unshared) == len(plan.candidates)
    assert sum(s.net or 0 for s in savings.shared) == pytest.approx(plan.score)
    for shared in savings.shared:
        assert shared.net == pytest.approx(shared.candidate.shared_benefit)
    for query, parts, cut in zip(workload.queries, sets, explain_cuts(plan, workload), strict=True):
        assert [box.text for box in cut.boxes] == parts
        told = {(s.candidate, query.name, s.start, s.stop) for s in cut.stretches if s.candidate}
        assert told == {
            (name, place.query, place.start, place.stop)
            for name in plan.chosen
            for place in plan.by_id[name].shared_occurrences
            if place.query == query.name
        }
