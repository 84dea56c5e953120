"""Reduction, search, expansion and the finders: the paper's values, bounds, and errors."""

from __future__ import annotations

from itertools import combinations

import pytest

from elsinore.errors import BudgetError, ParameterError
from elsinore.sharing.candidates import mine_candidates
from elsinore.sharing.find_plan import find_plan, find_plans
from elsinore.sharing.graph import SharonGraph, reduce
from elsinore.sharing.plan import Finder, StaticPlan
from elsinore.sharing.replan import verify
from elsinore.sharing.search import exhaustive, option_queries, search
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, figure_4, golden, traffic_workload

TRAFFIC = golden("traffic")


def test_the_reduction_of_examples_7_to_9() -> None:
    graph = figure_4()
    reduction = reduce(graph)
    expected = TRAFFIC["reduction"]
    assert reduction.pruned == expected["pruned"]
    assert list(reduction.conflict_free) == expected["conflict_free"]
    assert round(reduction.guaranteed, 2) == TRAFFIC["guaranteed_weight"]
    assert reduction.score_max["p3"] == expected["pruned"]["p3"]
    cut = 2 ** len(graph.vertices) - 2 ** len(reduction.graph.vertices)
    assert cut == expected["plans_cut"]


def test_the_search_of_example_10() -> None:
    graph = figure_4()
    reduction = reduce(graph)
    found = search(reduction.graph)
    assert found.plans == TRAFFIC["search"]["valid_plans"]
    chosen = sorted({*found.chosen, *reduction.conflict_free})
    assert chosen == TRAFFIC["optimal"]["chosen"]
    assert graph.weight(chosen) == TRAFFIC["optimal"]["score"]


def test_the_exhaustive_search_finds_the_same() -> None:
    assert list(exhaustive(figure_4())) == TRAFFIC["optimal"]["chosen"]


def test_the_options_of_figure_11() -> None:
    mined = {candidate.pattern: candidate for candidate in mine_candidates(traffic_workload())}
    named = {name: mined[tuple(c["pattern"])] for name, c in TRAFFIC["candidates"].items()}
    near = [named[name] for name in ("p2", "p3", "p4", "p5", "p6")]
    found = option_queries(named["p1"], near)
    assert {tuple(sorted(queries)) for queries in found} == {
        tuple(queries) for queries in TRAFFIC["options_of_p1"]
    }
    for name in ("p2", "p3", "p4", "p5", "p6", "p7"):  # Example 15: only the original candidate
        others = [candidate for other, candidate in named.items() if other != name]
        assert option_queries(named[name], others) == (frozenset(named[name].queries),)


def test_equal_weights_in_one_clique_are_not_rounded_away() -> None:
    # Score_max and the guaranteed weight are both 0.1 in exact arithmetic.
    vertices = [f"p{n}" for n in range(7)]
    graph = SharonGraph.of(dict.fromkeys(vertices, 0.1), combinations(vertices, 2))
    assert reduce(graph).graph.vertices == tuple(vertices)


@pytest.fixture(name="rated", scope="module")
def _rated() -> tuple[dict[str, str], Statistics]:
    rates = golden("traffic_rates")
    named = {name: count_trends(pattern) for name, pattern in rates["patterns"].items()}
    return named, Statistics.given(10, rates["rates"])


@pytest.mark.parametrize("finder", Finder)
def test_the_traffic_example_from_rates_to_plan(
    rated: tuple[dict[str, str], Statistics], finder: Finder
) -> None:
    workload = bind(rated[0], sorted(rated[1].by_type))
    plan = find_plan(workload, rated[1], finder=finder)
    verify(plan, workload)
    found = {c.pattern: c for c in plan.candidates}
    for expected in TRAFFIC["candidates"].values():
        candidate = found[tuple(expected["pattern"])]
        assert candidate.benefit == pytest.approx(expected["benefit"], abs=1e-9)
        assert candidate.degree == expected["degree"]
        assert list(candidate.queries) == expected["queries"]
    assert round(plan.guaranteed_weight, 2) == TRAFFIC["guaranteed_weight"]
    published = TRAFFIC["gwmin" if finder is Finder.GWMIN else "optimal"]
    assert _named(plan) == published["chosen"]
    assert plan.score == pytest.approx(published["score"], abs=1e-9)
    assert plan.proven == (finder is not Finder.GWMIN)
    if plan.proven:
        assert plan.bound == pytest.approx(published["score"], abs=1e-4)
        (pruned,) = (c for c in plan.candidates if c.fate == "pruned by the reduction")
        assert pruned.pattern == tuple(TRAFFIC["candidates"]["p3"]["pattern"])
        assert pruned.score_max == pytest.approx(38, abs=1e-9)


def _named(plan: StaticPlan) -> list[str]:
    names = {tuple(c["pattern"]): name for name, c in TRAFFIC["candidates"].items()}
    return sorted(names[plan.by_id[chosen].pattern] for chosen in plan.chosen)


def test_gwmin_first_where_the_optimal_plan_takes_long(
    rated: tuple[dict[str, str], Statistics], monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = bind(rated[0], sorted(rated[1].by_type))
    optimal = find_plan(workload, rated[1], finder=Finder.OPTIMAL)
    assert list(find_plans(workload, rated[1])) == [optimal]
    monkeypatch.setattr("elsinore.sharing.find_plan.PATIENCE", 1e-9)
    first, second = find_plans(workload, rated[1])
    assert (first.finder, round(first.score, 6), first.proven) == (Finder.GWMIN, 43, False)
    assert first.bound is None
    assert second == optimal


def test_a_candidate_may_be_shared_by_some_of_its_queries() -> None:
    # In a window A 10, B 2, C 4, D 1. (B, C) in q1, q2, q3, which holds (A, B) too, shared with q4.
    parts = {"q1": "BC", "q2": "BC", "q3": "ABC", "q4": "AB"}
    workload = bind({name: count_trends(pattern) for name, pattern in parts.items()})
    statistics = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})
    # (A, B): 160 + 120 - 120 - (16 + 40) = 104. (B, C) in all: 12 + 12 + 160 - 12 - (100 + 20)
    # = 52; in q1 and q2: 12. (A, B, C) is in one query only.
    for finder in (Finder.OPTIMAL, Finder.SHARON, Finder.EXHAUSTIVE):
        plan = find_plan(workload, statistics, finder=finder)
        sharing = {c.pattern: c.shared_by for c in plan.candidates}
        assert sharing == {("A", "B"): ("q3", "q4"), ("B", "C"): ("q1", "q2")}
        assert plan.score == 116


def test_a_shorter_window_is_not_made_to_pay_for_a_longer_one() -> None:
    within = {"q1": 10, "q2": 10, "q3": 5, "q4": 5}
    parts = {"q1": "AB", "q2": "AB", "q3": "AB", "q4": "AB"}
    workload = bind({n: count_trends(p, f"WITHIN {within[n]}") for n, p in parts.items()})
    statistics = Statistics.given(10, {"A": 4, "B": 6})
    # Gains 40, 40, 20, 20; p costs 40 for windows of 10: all share it.
    plan = find_plan(workload, statistics)
    assert (plan.score, plan.candidates[0].shared_by) == (80, ("q1", "q2", "q3", "q4"))
    # q1 has (A, B) behind a costly D: it gains nothing, and without it p costs 20.
    parts = {"q1": "DAB", "q3": "AB", "q4": "AB"}
    workload = bind({n: count_trends(p, f"WITHIN {within[n]}") for n, p in parts.items()})
    statistics = Statistics.given(10, {"A": 4, "B": 6, "D": 1})
    # q1 alone: 1*11; shared: 1*1 + 4*1, a gain of 6, less than the 20 that p costs more.
    plan = find_plan(workload, statistics)
    assert (plan.score, plan.candidates[0].shared_by) == (20, ("q3", "q4"))


def test_finders_with_a_bound_say_so() -> None:
    graph = SharonGraph.of({f"p{n}": 1.0 for n in range(25)}, [])
    with pytest.raises(BudgetError, match="every valid plan"):
        search(graph, plans=10_000)
    with pytest.raises(BudgetError, match="every valid plan"):
        search(graph, time_limit=1e-9)
    with pytest.raises(BudgetError, match="25 candidates"):
        exhaustive(graph)
    assert search(SharonGraph.of({}, [])).chosen == ()
    rates = Statistics.given(1, {"A": 1, "B": 1})
    with pytest.raises(ParameterError, match="time limit"):
        find_plan(bind([count_trends("AB")] * 2), rates, time_limit=0)


def test_an_expansion_with_a_bound_says_so() -> None:
    parts = {f"q{n}": "ABC" for n in range(16)}
    mined = mine_candidates(bind({name: count_trends(p) for name, p in parts.items()}))
    first, *others = mined
    with pytest.raises(BudgetError, match="more than 100 options"):
        option_queries(first, others, most=100)
