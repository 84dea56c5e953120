"""Count each window with 64-bit numbers, and repeat it with wider ones if they overflow.

The precision levels are 64 bits, 128 bits, and then as many as the window needs. A width is a
number of 64-bit limbs.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.lanes import totals_for
from elsinore.executors.graph.kernels.orders import (
    Domains,
    Orders,
    fill_dense,
    fill_domains,
    fill_ranks,
)
from elsinore.executors.graph.kernels.propagate import propagate
from elsinore.executors.graph.kernels.upkeep import find_upkeep
from elsinore.executors.graph.kernels.work import make_work, widened
from elsinore.executors.input.conditions import Order, Side
from elsinore.executors.output.window_rows import WindowRows
from elsinore.numbers.rows import Rows, widened_rows
from elsinore.sorting import ascending

#: Minimum number of entries of a window that is evaluated by trees instead of pairs of events.
#: CPU nanoseconds per event of `A+` with `A.v < NEXT(A).v` over random doubles, for all of
#: `aggregate_query` (`elsinore bench pairs-or-trees`), at 24, 32, 48, 64 and 128 entries: pairs
#: 342, 354, 425, 487, 700; trees 384, 359, 370, 391, 362.
BY_ORDER = 64

#: Minimum number of entries of a window that gets a separate pass. If the counts of this pass
#: overflow, it continues with wider counts instead of starting again.
BY_ITSELF = 4_096

#: Maximum number of bytes of a tree's counts that are allocated on an estimate.
ROOM = 2**29


def climb(
    graph: Graph, spans: np.ndarray, ordered: tuple[tuple[int, Order], ...] = ()
) -> list[WindowRows]:
    """Aggregate each window at the lowest precision level that holds its numbers.

    Windows without a trend are left out.

    Args:
        graph: the entries of all partitions.
        spans: int64[R, 4], one row per window in the order of
            `executors.input.kernels.entries.fill_spans`.
        ordered: transitions whose comparison can be evaluated by order statistics. Small windows of
            a single query use pairs of events instead, because that is faster.

    Returns:
        Rows by precision level. The number of the query is 0 in every row.
    """
    if not ordered:
        return _rungs(graph, spans, None)
    lengths = spans[:, 1] - spans[:, 0]
    large = are_large(spans) | (graph.lanes is not None)
    rungs = _rungs(graph, spans[~large], None)
    spans, lengths = spans[large], lengths[large]
    if not spans.shape[0]:
        return rungs
    orders = rank_orders(graph, ordered, spans)
    alone = (lengths >= BY_ITSELF) & find_upkeep(graph, orders).plain
    rungs += _rungs(graph, spans[~alone], orders.where(~alone))
    for number in np.flatnonzero(alone).tolist():
        chosen = np.array([number])
        rungs.append(_climb_on(graph, spans[chosen], orders.where(chosen)).with_trend())
    return rungs


def are_large(spans: np.ndarray) -> np.ndarray:
    """Return as bool[R] which windows are evaluated by order statistics, not by pairs of events."""
    return spans[:, 1] - spans[:, 0] >= BY_ORDER


def _rungs(graph: Graph, spans: np.ndarray, orders: Orders | None) -> list[WindowRows]:
    """Aggregate windows level by level; only windows that overflow reach the next level.

    A window with large counts does not slow down the other windows.
    """
    rungs = []
    limbs = 1
    while spans.shape[0]:
        rows, outgrown = _rung(graph, spans, limbs, orders)
        rungs.append(rows.where(~outgrown).with_trend())
        spans = spans[outgrown]
        orders = None if orders is None else orders.where(outgrown)
        limbs *= 2
    return rungs


def _rung(
    graph: Graph, spans: np.ndarray, limbs: int, orders: Orders | None
) -> tuple[WindowRows, np.ndarray]:
    rows = totals_for(graph, spans.shape[0], limbs)
    outgrown = np.zeros(spans.shape[0], np.bool_)
    work = make_work(graph, spans, limbs, orders)
    propagate(graph, spans, work, rows, outgrown)
    if limbs == 1:  # plain doubles overflow; the sums of the next level have wide exponents
        outgrown |= ~np.isfinite(rows.sums).all(axis=1)
    return _of_windows(spans, rows), outgrown


def _of_windows(spans: np.ndarray, rows: Rows) -> WindowRows:
    keys = np.zeros((spans.shape[0], 3), np.int64)
    keys[:, :2] = spans[:, 2:4]
    return WindowRows(keys, *rows)


def _climb_on(graph: Graph, span: np.ndarray, orders: Orders) -> WindowRows:
    """Aggregate one window of a plain graph, widening its counts in the middle of the pass.

    If the counts overflow, the pass continues at the next level from the current entry. If a double
    overflows 64 bits, the pass starts again with wide exponents.
    """
    work, rows = make_work(graph, span, 1, orders), totals_for(graph, 1, 1)
    outgrown = np.zeros(1, np.bool_)
    limbs = 1
    while True:
        propagate(graph, span, work, rows, outgrown)
        kept = rows, work.states, work.entries, work.trees.rows
        if limbs == 1 and not all(np.isfinite(each.sums).all() for each in kept):
            limbs = 2
            work, rows = make_work(graph, span, limbs, orders), totals_for(graph, 1, limbs)
        elif outgrown[0]:
            passed = (work.cursor[0] - span[0, 0] + 1) / (span[0, 1] - span[0, 0])
            limbs = _wider(limbs, float(passed), work.trees.rows.ranks.shape[0])
            work, rows = widened(graph, work, limbs), widened_rows(rows, limbs)
        else:
            return _of_windows(span, rows)


def _wider(limbs: int, passed: float, nodes: int) -> int:
    """Return the next width, given the part of the window that is done and the nodes of its trees.

    The first step is 128 bits. After that, the width is an estimate for the rest of the window. If
    the values are in random order, the logarithm of the counts grows with the square root of the
    number of entries. If it grows faster, more levels are used. If it stops growing, `ROOM` limits
    the wasted memory.
    """
    if limbs == 1:
        return 2
    room = max(2 * limbs, ROOM // (8 * nodes))
    return max(limbs + limbs // 4 + 1, min(room, int(1.05 * limbs / passed**0.5) + 1))


# ---- ranks of the values that edge predicates compare, which `executors.graph.kernels.trees` reads

#: Overlapping windows share ranks if together they have at most this multiple of the entries of the
#: smallest of them.
SPREAD = 4

#: Maximum number of tree nodes per entry of the shortest domain if ranks are distances of values.
DENSE = 2

_Tree = tuple[int, Side, bool, bool]
_Bound = tuple[int, Side, bool]


def rank_orders(graph: Graph, orders: tuple[tuple[int, Order], ...], spans: np.ndarray) -> Orders:
    """Return the ranks of all entries for the transitions that are evaluated by order statistics.

    Args:
        graph: the entries of all partitions.
        orders: numbers of transitions of the graph, each with its comparison.
        spans: int64[R, 4] in the order of `executors.input.kernels.entries.fill_spans`.
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
        """Fill the ranks and bounds of a tree; return int64[D], the highest rank of each domain."""
        state, side, exact, falling = tree
        strict = np.zeros(self.bounds.shape[0], np.bool_)
        own = []
        parts = [(*self._values(state, side), -1)]
        for (later, other, is_strict), row in asked.items():
            strict[row] = is_strict
            if (later, other) == (state, side):  # the event compares the value that it also offers
                own.append(row)
            else:
                parts.append((*self._values(later, other), row))
        lows = self.domains[:, 0].copy()
        tops, seen = np.zeros_like(lows), np.zeros_like(lows)
        domains = Domains(self.firsts, lows, self.starts, tops, seen)
        lowest, highest = _range(parts)
        if highest - lowest < DENSE * (self.domains[:, 1] - lows).min():
            tops[:] = highest - lowest + 1
            first, sign = (highest, -1) if falling else (lowest, 1)
            for values, entries, row in parts:
                target, less = (ranks, False) if row < 0 else (self.bounds[row], strict[row])
                fill_dense(values, entries, first, sign, less, target, domains)
        else:
            fill_ranks(*_in_order(parts, falling), exact, strict, ranks, self.bounds, domains)
        for row in own:
            np.subtract(ranks, strict[row], out=self.bounds[row], where=ranks > 0)
        return tops

    def _values(self, state: int, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Return the comparable values of a slot at a state, and their entries.

        NULL and NaN are not comparable.
        """
        graph = self.graph
        usable = graph.known[side.slot] & (graph.states == state)
        if side.doubles:
            usable &= graph.slots_d[side.slot] == graph.slots_d[side.slot]  # not NaN
        for slot in side.only:
            usable &= graph.known[slot] & (graph.slots_l[slot] != 0)
        entries = np.flatnonzero(usable)
        values = (graph.slots_d if side.doubles else graph.slots_l)[side.slot][entries]
        return values.astype(np.float64) if side.widened else values, entries


_Part = tuple[np.ndarray, np.ndarray, int]


def _range(parts: list[_Part]) -> tuple[float, float]:
    """Return the lowest and the highest value; infinities for doubles, or without values."""
    held = [values for values, *_ in parts if values.size]
    if not held or held[0].dtype == np.float64:
        return -np.inf, np.inf
    return min(int(each.min()) for each in held), max(int(each.max()) for each in held)


def _in_order(parts: list[_Part], falling: bool) -> list[np.ndarray]:
    """Return the values, entries and kinds of all parts, sorted by value."""
    if len(parts) == 1:
        values, entries, _ = parts[0]
        kinds = np.empty(0, np.int32)
    else:
        kinds = np.repeat(np.array([n for *_, n in parts], np.int32), [p[1].size for p in parts])
        values, entries = (np.concatenate([part[n] for part in parts]) for n in range(2))
    order = np.argsort(values) if values.dtype == np.float64 else ascending(values)
    order = order[::-1].copy() if falling else order
    every = entries.size > 0 and entries[-1] - entries[0] == entries.size - 1 and len(parts) == 1
    sorted_entries = order + entries[0] if every else entries[order]
    return [values[order], sorted_entries, kinds[order] if kinds.size else kinds]
