"""Ranks of the values that edge predicates compare: what `kernels.trees` works on."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from elsinore.kernels.graph import Graph
from elsinore.kernels.order_ranks import Domains, fill_domains, fill_ranks
from elsinore.kernels.orders import Orders
from elsinore.lowering.conditions import Order, Side

#: Overlapping windows share ranks while that makes the trees of the shortest no larger than this.
SPREAD = 4

_Tree = tuple[int, Side, bool, bool]
_Bound = tuple[int, Side, bool]


def rank_orders(graph: Graph, orders: tuple[tuple[int, Order], ...], spans: np.ndarray) -> Orders:
    """The ranks of all entries of some spans.

    Args:
        graph: the graph.
        orders: transitions of the graph, each with its comparison.
        spans: int64[R, 4] in the order of `kernels.spans.fill_spans`.
    """
    domain_of = np.empty(spans.shape[0], np.int64)
    domains = np.empty((spans.shape[0], 2), np.int64)
    domains = domains[: fill_domains(spans, SPREAD, domain_of, domains)]
    lengths = domains[:, 1] - domains[:, 0]
    starts = np.cumsum(lengths) - lengths
    later = np.repeat(np.arange(graph.starts.size), np.diff(graph.transition_start))
    trees: dict[_Tree, dict[_Bound, int]] = defaultdict(dict)
    asked: list[tuple[int, _Tree, _Bound]] = []
    for number, order in orders:
        state = int(graph.transition_from[number])
        tree = (state, order.earlier, order.equal, order.falling)
        bound = (int(later[number]), order.later, order.strict)
        trees[tree].setdefault(bound, sum(map(len, trees.values())))
        asked.append((number, tree, bound))
    keys = sorted(trees, key=lambda tree: tree[0])
    columns = _Columns(graph, domains, starts, sum(map(len, trees.values())), int(lengths.sum()))
    ranks = np.zeros((len(keys), columns.bounds.shape[1]), np.int32)
    sizes = np.zeros(domains.shape[0], np.int64)
    for number, key in enumerate(keys):
        np.maximum(sizes, columns.fill(key, trees[key], ranks[number]), out=sizes)
    transition_tree = np.full(graph.transition_from.size, -1, np.int64)
    transition_bound = np.full(graph.transition_from.size, -1, np.int64)
    for transition, tree, bound in asked:
        transition_tree[transition] = keys.index(tree)
        transition_bound[transition] = trees[tree][bound]
    states = np.array([key[0] for key in keys], np.int64)
    return Orders(
        transition_tree,
        transition_bound,
        np.searchsorted(states, np.arange(graph.starts.size + 1)).astype(np.int64),
        np.array([key[2] for key in keys], np.bool_),
        ranks,
        columns.bounds,
        (starts - domains[:, 0])[domain_of],
        sizes[domain_of],
    )


class _Columns:
    """Fills the columns of `Orders`, tree by tree."""

    def __init__(
        self, graph: Graph, domains: np.ndarray, starts: np.ndarray, bounds: int, places: int
    ) -> None:
        self.graph, self.domains, self.starts = graph, domains, starts
        self.bounds = np.zeros((bounds, places), np.int32)
        ends = np.append(domains[:, 1], graph.times.size)  # ascending, as domains are
        self.firsts = np.repeat(np.arange(ends.size), np.diff(ends, prepend=0))

    def fill(self, tree: _Tree, asked: dict[_Bound, int], ranks: np.ndarray) -> np.ndarray:
        """Fill a tree's ranks and bounds; int64[D], the highest rank of each domain."""
        state, side, exact, falling = tree
        strict = np.zeros(self.bounds.shape[0], np.bool_)
        own = []
        values, entries = self._values(state, side)
        parts = [(values, entries, np.full(entries.size, -1, np.int32))]
        for (later, other, is_strict), row in asked.items():
            strict[row] = is_strict
            if (later, other) == (state, side):  # the same event asks with the value that it has
                own.append(row)
            else:
                values, entries = self._values(later, other)
                parts.append((values, entries, np.full(entries.size, row, np.int32)))
        lows = self.domains[:, 0].copy()
        tops, seen = np.zeros_like(lows), np.zeros_like(lows)
        domains = Domains(self.firsts, lows, self.starts, tops, seen)
        fill_ranks(*_in_order(parts, falling), exact, strict, ranks, self.bounds, domains)
        for row in own:
            np.subtract(ranks, strict[row], out=self.bounds[row], where=ranks > 0)
        return tops

    def _values(self, state: int, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """The values of a slot that compare with others at all, and their entries."""
        graph = self.graph
        usable = graph.known[side.slot] & (graph.states == state)
        if side.doubles:
            usable &= graph.slots_d[side.slot] == graph.slots_d[side.slot]  # not NaN
        for slot in side.only:
            usable &= graph.known[slot] & (graph.slots_l[slot] != 0)
        entries = np.flatnonzero(usable)
        values = (graph.slots_d if side.doubles else graph.slots_l)[side.slot][entries]
        return values.astype(np.float64) if side.widened else values, entries


def _in_order(
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], falling: bool
) -> list[np.ndarray]:
    """Values, entries and kinds of several parts together, sorted by value."""
    if len(parts) == 1:
        values, entries, _ = parts[0]
        kinds = np.empty(0, np.int32)
    else:
        values, entries, kinds = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(values)
    order = order[::-1].copy() if falling else order
    every = entries.size > 0 and entries[-1] - entries[0] == entries.size - 1 and len(parts) == 1
    sorted_entries = order + entries[0] if every else entries[order]
    return [values[order], sorted_entries, kinds[order] if kinds.size else kinds]
