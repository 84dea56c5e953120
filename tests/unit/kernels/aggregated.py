"""The kernels' answers on small cases."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.graph import Graph
from elsinore.kernels.propagate import propagate
from elsinore.kernels.rows import Rows, rows_for
from elsinore.kernels.work import entries_to_hold, make_work
from tests.unit.kernels.brute_force import Expected


def propagated(graph: Graph, spans: np.ndarray, limbs: int) -> tuple[Rows, np.ndarray]:
    """Totals of each window, and which of them are outgrown."""
    totals = rows_for(graph, spans.shape[0], limbs)
    outgrown = np.ones(spans.shape[0], np.bool_)
    propagate(
        graph, spans, make_work(graph, entries_to_hold(graph, spans), limbs), totals, outgrown
    )
    return totals, outgrown


def aggregate(graph: Graph, spans: np.ndarray, limbs: int) -> list[Expected]:
    """The aggregates of each window; none of them may be outgrown."""
    totals, outgrown = propagated(graph, spans, limbs)
    assert not outgrown.any()
    return [read(totals, row) for row in range(spans.shape[0])]


def read(totals: Rows, row: int) -> Expected:
    trends, events = (
        int.from_bytes(count.tobytes(), "little", signed=True) for count in totals.counts[row]
    )
    amount = float(np.ldexp(totals.sums[row, 0], totals.exponents[row, 0]))
    return Expected(trends, events, amount, int(totals.ranks[row, 0]))


def trends_of(graph: Graph) -> int:
    """The number of trends of a graph of one window."""
    return aggregate(graph, np.array([[0, graph.times.size, 0, 0]]), 1)[0].trends
