"""The scratch of one propagation pass, allocated once for all of its windows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.guards import Guards, make_guards
from elsinore.executors.graph.kernels.lanes import rows_for
from elsinore.executors.graph.kernels.orders import Orders, no_orders
from elsinore.executors.graph.kernels.pairs import Pairs, make_pairs
from elsinore.executors.graph.kernels.sliding import Slides, make_slides
from elsinore.executors.graph.kernels.trees import Trees, make_trees, widened_trees
from elsinore.executors.graph.kernels.upkeep import Upkeep, find_upkeep
from elsinore.numbers.compiled import kernel
from elsinore.numbers.rows import Rows, widened_rows


class Work(NamedTuple):
    """Scratch; W is the number of entries in use at once.

    Attributes:
        states: a row for each state, the sum of its events so far.
        entries: W rows, for the entries of a window, or of one timestamp if the graph is plain.
        members: int64[S, W], the entries of each listed state that end some trend, in time order.
        member_count: int64[S].
        limbs: uint64[L], scratch for wide products.
        cursor: int64[2], where a plain pass continues in its first span: the first entry of a
            timestamp (-1 to begin), and its first entry that is not yet a predecessor. If the last
            span was outgrown, the pass leaves the position at which it stopped.

    The other fields are defined in the modules of their types.
    """

    upkeep: Upkeep
    states: Rows
    entries: Rows
    members: np.ndarray
    member_count: np.ndarray
    pairs: Pairs
    guards: Guards
    slides: Slides
    limbs: np.ndarray
    orders: Orders
    trees: Trees
    cursor: np.ndarray


def make_work(graph: Graph, spans: np.ndarray, limbs: int, orders: Orders | None = None) -> Work:
    """Return scratch for some spans of a graph.

    Args:
        graph: the graph.
        spans: int64[R, 4], see `entries.fill_spans`; at least one.
        limbs: width of the counts.
        orders: the conditions that trees evaluate; None for none.
    """
    orders = no_orders(graph) if orders is None else orders
    upkeep = find_upkeep(graph, orders)
    if upkeep.plain:
        buffer = _longest_instant(graph.times)
    else:
        buffer = int((spans[:, 1] - spans[:, 0]).max())
    states, width = graph.starts.size, 0 if upkeep.plain else buffer
    return Work(
        upkeep,
        rows_for(graph, states, limbs),
        rows_for(graph, buffer, limbs),
        np.empty((states, width), np.int64),
        np.zeros(states, np.int64),
        make_pairs(graph, width),
        make_guards(graph, upkeep, width),
        make_slides(graph, upkeep, width, limbs),
        np.empty(limbs, np.uint64),
        orders,
        make_trees(graph, orders, limbs),
        np.full(2, -1, np.int64),
    )


@kernel
def _longest_instant(times):
    """Return the most entries at one timestamp."""
    longest = first = 0
    for entry in range(times.size):
        first = first if times[entry] == times[first] else entry
        longest = max(longest, entry + 1 - first)
    return longest


def widened(graph: Graph, work: Work, limbs: int) -> Work:
    """Return the same state of a plain pass, with counts of `limbs` limbs, at least 2."""
    return work._replace(
        states=widened_rows(work.states, limbs),
        slides=make_slides(graph, work.upkeep, 0, limbs),  # empty, but with the right dtype
        entries=widened_rows(work.entries, limbs),
        limbs=np.empty(limbs, np.uint64),
        trees=widened_trees(graph, work.orders, work.trees, limbs),
    )
