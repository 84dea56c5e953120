"""Propagation, by pairs and by order statistics, gives what building all trends gives.

Random graphs hold what the language seldom asks for at once: guards within guards, conditions and
floors of a transition together, events that several ways close one by one, ties everywhere.
"""

from __future__ import annotations

import numpy as np
import pytest

from elsinore.engine.climb import rank_orders
from elsinore.kernels.entries import find_spans
from elsinore.kernels.graph import Graph
from elsinore.kernels.orders import Orders
from elsinore.kernels.propagate import propagate
from elsinore.kernels.rows import Rows, rows_for
from elsinore.kernels.upkeep import find_upkeep
from elsinore.kernels.work import entries_to_hold, make_work
from elsinore.lowering.conditions import Order, find_orders
from tests.draws import draws
from tests.unit.kernels.brute_force import Expected, Window
from tests.unit.kernels.cases import Case, Entry, Step
from tests.unit.kernels.random_cases import random_case

EVERY = -(2**60), 2**60
SEEDS, ORDERED_SEEDS = draws(200, 500), 800


def aggregate(
    graph: Graph, spans: np.ndarray, limbs: int, orders: Orders | None = None
) -> list[Expected]:
    """The aggregates of each window; none of them may be outgrown."""
    totals = rows_for(graph, spans.shape[0], limbs)
    outgrown = np.ones(spans.shape[0], np.bool_)
    work = make_work(graph, entries_to_hold(graph, spans, orders), limbs, orders)
    propagate(graph, spans, work, totals, outgrown)
    assert not outgrown.any()
    return [_read(totals, row) for row in range(spans.shape[0])]


def _read(totals: Rows, row: int) -> Expected:
    trends, events = (
        int.from_bytes(count.tobytes(), "little", signed=True) for count in totals.counts[row]
    )
    amount = float(np.ldexp(totals.sums[row, 0], totals.exponents[row, 0]))
    return Expected(trends, events, amount, int(totals.ranks[row, 0]))


def enumerated(case: Case, spans: np.ndarray) -> list[Expected]:
    """The answer by building all trends of each window."""
    entries = case.entries
    return [
        Window(case, int(partition), entries[low:high]).expected()
        for low, high, partition, _ in spans
    ]


def ordered(graph: Graph) -> tuple[tuple[int, Order], ...]:
    """The transitions of a graph that trees can answer."""
    borders = zip(graph.program_start[:-1], graph.program_start[1:], strict=True)
    programs = [[tuple(step) for step in graph.program[a:b].tolist()] for a, b in borders]
    return find_orders(graph._asdict(), programs)


@pytest.mark.parametrize(
    ("by_order", "limbs"), [(False, 1), (False, 2), (True, 1), (True, 2), (True, 9)]
)
def test_random_graphs(by_order: bool, limbs: int) -> None:
    seen = plain = 0
    for seed in range(ORDERED_SEEDS if by_order else SEEDS):
        case = random_case(seed)
        graph = case.graph()
        if by_order and not ordered(graph):
            continue
        for within, slide in ((12, 12), (7, 3)):
            spans = find_spans(case.offsets(), graph.times, within, slide, *EVERY)
            orders = rank_orders(graph, ordered(graph), spans) if by_order else None
            expected = enumerated(case, spans)
            found = aggregate(graph, spans, limbs, orders)
            assert found == expected, f"seed {seed}, within {within}"
            seen += sum(found.trends > 0 for found in expected)
            plain += by_order and find_upkeep(graph, orders).plain
    assert seen > (100 if by_order else SEEDS)
    assert plain > 10 or not by_order


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
