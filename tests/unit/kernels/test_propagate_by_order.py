"""Propagation by order statistics gives what building all trends gives."""

from __future__ import annotations

import numpy as np
import pytest

from elsinore.engine.climb import rank_orders
from elsinore.kernels.entries import find_spans
from elsinore.kernels.graph import Graph
from elsinore.kernels.orders import fill_domains
from elsinore.kernels.propagate import propagate
from elsinore.kernels.rows import rows_for
from elsinore.kernels.upkeep import find_upkeep
from elsinore.kernels.work import entries_to_hold, make_work
from elsinore.lowering.conditions import Order, find_orders
from tests.unit.kernels.aggregated import read
from tests.unit.kernels.brute_force import Expected
from tests.unit.kernels.cases import Case, Entry, Step
from tests.unit.kernels.random_cases import random_case
from tests.unit.kernels.test_propagate_by_enumeration import EVERY, enumerated

SEEDS = 800


def ordered(graph: Graph) -> tuple[tuple[int, Order], ...]:
    """The transitions of a graph that trees can answer."""
    borders = zip(graph.program_start[:-1], graph.program_start[1:], strict=True)
    programs = [[tuple(step) for step in graph.program[a:b].tolist()] for a, b in borders]
    return find_orders(graph._asdict(), programs)


def by_order(graph: Graph, spans: np.ndarray, limbs: int) -> list[Expected]:
    """The aggregates of each window; none of them may be outgrown."""
    orders = rank_orders(graph, ordered(graph), spans)
    totals = rows_for(graph, spans.shape[0], limbs)
    outgrown = np.ones(spans.shape[0], np.bool_)
    work = make_work(graph, entries_to_hold(graph, spans, orders), limbs, orders)
    propagate(graph, spans, work, totals, outgrown)
    assert not outgrown.any()
    return [read(totals, row) for row in range(spans.shape[0])]


@pytest.mark.parametrize("limbs", [1, 2, 9])
def test_random_graphs(limbs: int) -> None:
    seen = plain = 0
    for seed in range(SEEDS):
        case = random_case(seed)
        graph = case.graph()
        if not ordered(graph):
            continue
        for within, slide in ((12, 12), (7, 3)):
            spans = find_spans(case.offsets(), graph.times, within, slide, *EVERY)
            expected = enumerated(case, spans)
            assert by_order(graph, spans, limbs) == expected, f"seed {seed}, within {within}"
            seen += sum(found.trends > 0 for found in expected)
            plain += find_upkeep(graph, rank_orders(graph, ordered(graph), spans)).plain
    assert seen > 100
    assert plain > 10


def test_an_ordered_graph_needs_room_for_one_instant() -> None:
    entries = [Entry(time, 0, x=time) for time in (1, 2, 2, 3)]
    graph = Case([entries], [-1], {0: -1}, {0: -1}, [Step(0, 0, ("less_l",))]).graph()
    spans = np.array([[0, 4, 0, 0]])
    orders = rank_orders(graph, ordered(graph), spans)
    assert entries_to_hold(graph, spans, orders) == 2
    assert entries_to_hold(graph, spans) == 4


def test_overlapping_windows_share_ranks_and_others_do_not() -> None:
    spans = np.array([[0, 10, 0, 0], [5, 15, 0, 1], [12, 41, 0, 2], [41, 50, 1, 0]])
    domain_of, domains = np.empty(4, np.int64), np.empty((4, 2), np.int64)
    # The first two fill 15 places, no more than four times their 10; with the third it were 41.
    assert fill_domains(spans, 4, domain_of, domains) == 3
    assert domain_of.tolist() == [0, 0, 1, 2]
    assert domains[:3].tolist() == [[0, 15], [12, 41], [41, 50]]


def test_ranks_are_dense_within_each_domain() -> None:
    values = [7, 3, None, 7, 9, 1]
    entries = [Entry(time, 0, x=value) for time, value in enumerate(values)]
    graph = Case([entries], [-1], {0: -1}, {0: -1}, [Step(0, 0, ("less_l",))]).graph()
    spans = np.array([[0, 4, 0, 0], [4, 6, 0, 1]])
    orders = rank_orders(graph, ordered(graph), spans)
    assert orders.shifts.tolist() == [0, 0]
    assert orders.sizes.tolist() == [2, 2]
    assert orders.ranks.tolist() == [[2, 1, 0, 2, 2, 1]]
    assert orders.bounds.tolist() == [[1, 0, 0, 1, 1, 0]]
