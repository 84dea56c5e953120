"""GWMIN: the paper's example, ties, and its promises on random graphs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.sharing.candidates import mine_candidates
from elsinore.sharing.graph import SharonGraph, build_graph, guaranteed_weight, gwmin
from tests.unit.sharing.support import figure_4, golden, traffic_workload

TRAFFIC = golden("traffic")


def test_the_graph_of_figure_4() -> None:
    graph = figure_4()
    found = {name: (graph.weights[name], graph.degree(name)) for name in graph.vertices}
    expected = TRAFFIC["candidates"].items()
    assert found == {name: (c["benefit"], c["degree"]) for name, c in expected}


def test_the_guaranteed_weight_of_example_7_and_the_greedy_plan_of_example_12() -> None:
    graph = figure_4()
    assert round(guaranteed_weight(graph), 2) == TRAFFIC["guaranteed_weight"]
    assert sorted(gwmin(graph)) == TRAFFIC["gwmin"]["chosen"]
    assert graph.weight(gwmin(graph)) == TRAFFIC["gwmin"]["score"]


def test_candidates_that_are_not_beneficial_are_no_vertices() -> None:
    mined = mine_candidates(traffic_workload())
    benefits = {c.id: 0.0 if c.pattern == ("OakSt", "MainSt") else 1.0 for c in mined}
    benefits[next(c.id for c in mined if len(c.pattern) == 3)] = -1.0
    graph = build_graph(mined, benefits)
    assert set(graph.weights) == {name for name, benefit in benefits.items() if benefit > 0}
    assert len(graph.weights) == 5
    assert all(graph.neighbours(v) <= graph.weights.keys() for v in graph.vertices)


@pytest.mark.parametrize(
    ("weights", "edges", "chosen"),
    [
        ({}, [], ()),
        ({"a": 1}, [], ("a",)),
        ({"a": 2, "b": 2}, [("a", "b")], ("a",)),  # of equals the first
        ({"b": 2, "a": 2}, [("a", "b")], ("b",)),
        ({"a": 2, "b": 5, "c": 2}, [("a", "b"), ("b", "c")], ("b",)),  # 1, 5/3, 1
        ({"a": 2, "b": 3, "c": 2}, [("a", "b"), ("b", "c")], ("a", "c")),  # 1, 1, 1; then 2
    ],
)
def test_small_graphs(
    weights: dict[str, float], edges: list[tuple[str, str]], chosen: tuple[str, ...]
) -> None:
    assert gwmin(SharonGraph.of(weights, edges)) == chosen


@st.composite
def graphs(draw: st.DrawFn) -> SharonGraph:
    """Graphs of up to 12 vertices with whole weights, few enough values to make ties."""
    vertices = [f"p{n}" for n in range(draw(st.integers(0, 12)))]
    weights = {v: float(draw(st.integers(1, 20))) for v in vertices}
    edges = [pair for pair in combinations(vertices, 2) if draw(st.booleans())]
    return SharonGraph.of(weights, edges)


def _as_published(graph: SharonGraph) -> tuple[str, ...]:
    """Algorithm 8 line by line."""
    left, chosen = list(graph.weights), []
    while left:
        largest, best = Fraction(0), ""
        for v in left:
            degree = sum(u in graph.neighbours(v) for u in left)
            ratio = Fraction(graph.weights[v]) / (degree + 1)
            if ratio > largest:
                largest, best = ratio, v
        chosen.append(best)
        left = [v for v in left if v != best and v not in graph.neighbours(best)]
    return tuple(chosen)


@given(graphs())
def test_gwmin_is_algorithm_8(graph: SharonGraph) -> None:
    assert gwmin(graph) == _as_published(graph)


@given(graphs())
def test_gwmin_keeps_its_promises(graph: SharonGraph) -> None:
    chosen = gwmin(graph)
    assert all(b not in graph.neighbours(a) for a, b in combinations(chosen, 2))
    assert all(v in chosen or graph.neighbours(v) & set(chosen) for v in graph.weights)
    promised = sum(
        (Fraction(w) / (len(graph.neighbours(v)) + 1) for v, w in graph.weights.items()),
        Fraction(0),
    )
    assert Fraction(graph.weight(chosen)) >= promised
    assert guaranteed_weight(graph) == pytest.approx(float(promised), rel=1e-12)
