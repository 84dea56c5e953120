"""Reduction, search, expansion and the optimizers: the paper's values, bounds, and errors."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.choices import Optimizer
from elsinore.errors import BudgetError, ParameterError
from elsinore.sharing.benefit import weigh
from elsinore.sharing.candidates import mine_candidates
from elsinore.sharing.find_plan import find_plan, find_plans
from elsinore.sharing.graph import SharonGraph, build_graph, guaranteed_weight, gwmin, reduce
from elsinore.sharing.replan import verify
from elsinore.sharing.search import exhaustive, option_queries, search
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, golden, graph_of, neighbours, traffic

TRAFFIC = golden("traffic")
#: The paper's name of each candidate.
NAMES = {tuple(c["pattern"]): name for name, c in TRAFFIC["candidates"].items()}


def test_the_reduction_and_the_search_of_examples_7_to_10() -> None:
    workload, statistics = traffic()
    mined = {c.id: c for c in mine_candidates(workload)}
    names = {each: NAMES[candidate.pattern] for each, candidate in mined.items()}
    benefits = {each: weigh(c, workload, statistics).benefit() for each, c in mined.items()}
    graph = build_graph(tuple(mined.values()), benefits)
    reduction = reduce(graph)
    expected = TRAFFIC["reduction"]
    pruned = {names[each]: round(most, 9) for each, most in reduction.pruned.items()}
    assert pruned == expected["pruned"]
    assert [names[each] for each in reduction.conflict_free] == expected["conflict_free"]
    cut = 2 ** len(graph.vertices) - 2 ** len(reduction.graph.vertices)
    assert cut == expected["plans_cut"]
    assert search(reduction.graph).plans == TRAFFIC["search"]["valid_plans"]


def test_the_options_of_figure_11() -> None:
    named = {NAMES[candidate.pattern]: candidate for candidate in mine_candidates(traffic()[0])}
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
    graph = graph_of(dict.fromkeys(vertices, 0.1), [*combinations(vertices, 2)])
    assert reduce(graph).graph.vertices == tuple(vertices)


@st.composite
def graphs(draw: st.DrawFn) -> SharonGraph:
    """Graphs of up to 12 vertices with whole weights, few enough values to make ties."""
    vertices = [f"p{n}" for n in range(draw(st.integers(0, 12)))]
    weights = {v: float(draw(st.integers(1, 20))) for v in vertices}
    edges = [pair for pair in combinations(vertices, 2) if draw(st.booleans())]
    return graph_of(weights, edges)


@given(graphs())
def test_gwmin_is_algorithm_8_line_by_line(graph: SharonGraph) -> None:
    left, chosen = list(graph.weights), []
    while left:
        largest, best = Fraction(0), ""
        for v in left:
            degree = sum(u in neighbours(graph, v) for u in left)
            ratio = Fraction(graph.weights[v]) / (degree + 1)
            if ratio > largest:
                largest, best = ratio, v
        chosen.append(best)
        left = [v for v in left if v != best and v not in neighbours(graph, best)]
    assert gwmin(graph) == tuple(chosen)
    promised = sum(w / (len(neighbours(graph, v)) + 1) for v, w in graph.weights.items())
    assert guaranteed_weight(graph) == pytest.approx(promised, rel=1e-12)


@pytest.mark.parametrize("optimizer", Optimizer)
def test_the_traffic_example_from_rates_to_plan(optimizer: Optimizer) -> None:
    workload, statistics = traffic()
    plan = find_plan(workload, statistics, optimizer=optimizer)
    verify(plan, workload)
    found = {NAMES[c.pattern]: c for c in plan.candidates}
    assert found.keys() == TRAFFIC["candidates"].keys()
    for name, expected in TRAFFIC["candidates"].items():
        assert found[name].benefit == pytest.approx(expected["benefit"], abs=1e-9)
        assert found[name].degree == expected["degree"]
        assert list(found[name].queries) == expected["queries"]
    assert round(plan.guaranteed_weight, 2) == TRAFFIC["guaranteed_weight"]
    published = TRAFFIC["gwmin" if optimizer is Optimizer.GWMIN else "optimal"]
    assert sorted(NAMES[plan.by_id[each].pattern] for each in plan.chosen) == published["chosen"]
    assert plan.score == pytest.approx(published["score"], abs=1e-9)
    assert plan.proven == (optimizer is not Optimizer.GWMIN)
    if plan.proven:
        assert plan.bound == pytest.approx(published["score"], abs=1e-4)
        (pruned,) = (name for name, c in found.items() if c.fate == "pruned by the reduction")
        assert (pruned, round(found["p3"].score_max or 0, 9)) == ("p3", 38)


def test_gwmin_first_where_the_optimal_plan_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    workload, statistics = traffic()
    optimal = find_plan(workload, statistics, optimizer=Optimizer.OPTIMAL)
    assert list(find_plans(workload, statistics)) == [optimal]
    monkeypatch.setattr("elsinore.sharing.find_plan.PATIENCE", 1e-9)
    first, second = find_plans(workload, statistics)
    assert (first.finder, round(first.score, 6), first.proven) == (Optimizer.GWMIN, 43, False)
    assert first.bound is None
    assert second == optimal


def test_a_candidate_may_be_shared_by_some_of_its_queries() -> None:
    # In a window A 10, B 2, C 4, D 1. (B, C) in q1, q2, q3, which holds (A, B) too, shared with q4.
    parts = {"q1": "BC", "q2": "BC", "q3": "ABC", "q4": "AB"}
    workload = bind({name: count_trends(pattern) for name, pattern in parts.items()})
    statistics = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})
    # (A, B): 160 + 120 - 120 - (16 + 40) = 104. (B, C) in all: 12 + 12 + 160 - 12 - (100 + 20)
    # = 52; in q1 and q2: 12. (A, B, C) is in one query only.
    for optimizer in (Optimizer.OPTIMAL, Optimizer.SHARON, Optimizer.EXHAUSTIVE):
        plan = find_plan(workload, statistics, optimizer=optimizer)
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


def test_optimizers_with_a_bound_say_so() -> None:
    graph = graph_of({f"p{n}": 1.0 for n in range(25)}, [])
    with pytest.raises(BudgetError, match="every valid plan"):
        search(graph, plans=10_000)
    with pytest.raises(BudgetError, match="every valid plan"):
        search(graph, time_limit=1e-9)
    with pytest.raises(BudgetError, match="25 candidates"):
        exhaustive(graph)
    assert search(graph_of({}, [])).chosen == ()
    rates = Statistics.given(1, {"A": 1, "B": 1})
    with pytest.raises(ParameterError, match="time limit"):
        find_plan(bind([count_trends("AB")] * 2), rates, time_limit=0)


def test_an_expansion_with_a_bound_says_so() -> None:
    parts = {f"q{n}": "ABC" for n in range(16)}
    mined = mine_candidates(bind({name: count_trends(p) for name, p in parts.items()}))
    first, *others = mined
    with pytest.raises(BudgetError, match="more than 100 options"):
        option_queries(first, others, most=100)
