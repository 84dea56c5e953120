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
from elsinore.kernels.work import make_work
from elsinore.lowering.conditions import Order, Side
from tests.draws import draws
from tests.unit.kernels.brute_force import Expected, Window
from tests.unit.kernels.cases import Case, in_order
from tests.unit.kernels.random_cases import random_case

EVERY = -(2**60), 2**60
SEEDS, ORDERED_SEEDS = draws(200, 500), 800


def aggregate(
    graph: Graph, spans: np.ndarray, limbs: int, orders: Orders | None = None
) -> list[Expected]:
    """The aggregates of each window; none of them may be outgrown."""
    totals = rows_for(graph, spans.shape[0], limbs)
    outgrown = np.ones(spans.shape[0], np.bool_)
    work = make_work(graph, spans, limbs, orders)
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


def ordered(case: Case) -> tuple[tuple[int, Order], ...]:
    """The transitions of a graph that trees can answer."""
    longs, doubles = Side(0, False, False), Side(1, True, False)
    less = {("less_l",): longs, ("less_d",): doubles}
    closing = {way.earlier for way in case.ways}
    found = []
    for number, step in enumerate(in_order(case.transitions)):
        if case.guard_of[step.later] < 0 and step.earlier not in closing:
            match step.condition:
                case ("less_l" | "less_d",):
                    side = less[step.condition]
                    found.append((number, Order(side, side, False, False, True)))
                case ("not", operand) if operand in less:  # at least
                    found.append((number, Order(less[operand], less[operand], False, True, False)))
    return tuple(found)


@pytest.mark.parametrize(
    ("by_order", "limbs"), [(False, 1), (False, 2), (True, 1), (True, 2), (True, 9)]
)
def test_random_graphs(by_order: bool, limbs: int) -> None:
    seen = plain = 0
    for seed in range(ORDERED_SEEDS if by_order else SEEDS):
        case = random_case(seed)
        graph = case.graph()
        if by_order and not ordered(case):
            continue
        for within, slide in ((12, 12), (7, 3)):
            spans = find_spans(case.offsets(), graph.times, within, slide, *EVERY)
            orders = rank_orders(graph, ordered(case), spans) if by_order else None
            expected = enumerated(case, spans)
            found = aggregate(graph, spans, limbs, orders)
            assert found == expected, f"seed {seed}, within {within}"
            seen += sum(found.trends > 0 for found in expected)
            plain += orders is not None and find_upkeep(graph, orders).plain
    assert seen > (100 if by_order else SEEDS)
    assert plain > 10 or not by_order
