"""Sum over the predecessors of an event in the order of a value (Fenwick, 1994).

A Fenwick tree covers ranks 1 to n. Node i holds the sum of the ranks `i - (i & -i) + 1` to i. A
prefix is the sum of the nodes `i, i & (i - 1), ...`. An event is added to the nodes `i, i + (i &
-i), ...`. Both together take log2(n) additions. Nothing is subtracted, so sums of doubles and
extremes stay right. If a comparison is an equality, each node is one rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.lanes import add_over, widths_of
from elsinore.executors.graph.kernels.orders import Orders
from elsinore.executors.graph.kernels.words import (
    BITS,
    BLOCK,
    Cells,
    add_path,
    add_words,
    blocks_for,
    sum_path,
    to_words,
)
from elsinore.numbers.compiled import inlined, kernel, outlined
from elsinore.numbers.prefetch import prefetch
from elsinore.numbers.rows import Rows, add_others, add_row, clear, make_rows, widened_rows
from elsinore.numbers.wide import crowded

#: Maximum number of limbs of counts that nodes hold as limbs, not as words. For 128 bits, limbs
#: take half the time of words.
_PLAIN = 2

#: Nodes that are multiples of this are not prefetched, because they are few enough to stay in a
#: near cache.
_NEAR = 512


class Trees(NamedTuple):
    """O trees of N nodes each. Node 0 is not used. Node i of tree o has row `o * N + i`.

    Attributes:
        nodes: N.
        rows: a row per node, without counts if these are words.
        words, used, width: counts of more than 128 bits, see `words.Cells`; a width of 0 if there
            are none.
        row: int64[*], scratch for the words of a cell.
        limbs: uint64[*], scratch for the limbs of a cell.
    """

    nodes: int
    rows: Rows
    words: np.ndarray
    used: np.ndarray
    width: int
    row: np.ndarray
    limbs: np.ndarray


def make_trees(graph: Graph, orders: Orders, limbs: int) -> Trees:
    """Return trees for the largest domain, with undefined contents."""
    trees, nodes = orders.exact.size, int(orders.sizes.max(initial=0)) + 1
    counts, sums, extremes = widths_of(graph)
    width = BLOCK * blocks_for(limbs) if limbs > _PLAIN else 0
    cells = trees * nodes * counts if width else 0
    return Trees(
        nodes,
        make_rows(trees * nodes, 0 if width else counts, sums, extremes, limbs),
        np.empty(cells * width, np.int64),
        np.zeros(cells, np.int32),
        width,
        np.empty(width + BLOCK, np.int64),
        np.empty(width + limbs + BLOCK, np.uint64),
    )


@inlined
def empty_trees(graph, orders, trees, carriers, row):
    """Clear all trees for span `row`."""
    for tree in range(orders.exact.size):
        base = tree * trees.nodes
        for node in range(base, base + orders.sizes[row] + 1):
            clear(trees.rows, node, graph.no_rank)
        if trees.width > 0:
            for cell in range(base * carriers, (base + orders.sizes[row] + 1) * carriers):
                trees.used[cell] = 0


@inlined
def add_predecessors(graph, orders, trees, transition, place, entries, row):
    """Add the predecessors over a transition to row `row` of `entries`.

    `place` is the index of the later entry in the domains. Return whether a count outgrew its
    width.
    """
    tree = orders.transition_tree[transition]
    base, exact = tree * trees.nodes, orders.exact[tree]
    bound = np.int64(orders.bounds[orders.transition_bound[transition], place])
    lanes = graph.lanes
    return _add_nodes(entries.counts, lanes, trees, transition, base, bound, exact, entries, row)


@inlined
def _add_nodes(counts, lanes, trees, transition, base, bound, exact, entries, row):
    over = False
    others = trees.rows.sums.shape[1] + trees.rows.ranks.shape[1] > 0
    i = bound if counts.ndim == 2 or others else 0
    while i > 0:
        if counts.ndim == 2:
            over |= add_over(lanes, transition, entries, row, trees.rows, base + i)
        else:
            add_others(counts, entries, row, trees.rows, base + i)
        i = 0 if exact else i & (i - 1)
    if counts.ndim == 3:
        if lanes is None:
            for k in range(counts.shape[1]):
                over |= _add_prefix(counts, row, k, trees, k, base, bound, exact)
        else:
            for place in range(lanes.link_from[transition], lanes.link_from[transition + 1]):
                column, more = lanes.links[place, 0], lanes.links[place, 1]
                over |= _add_prefix(counts, row, column, trees, more, base, bound, exact)
    return over


@inlined
def _add_prefix(counts, row, column, trees, more, base, bound, exact):
    if trees.width == 0:
        return _add_pairs(trees.rows.counts, more, base, bound, exact, counts[row, column])
    cells = _cells(trees, counts.shape[1])
    return _add_path(cells, more, base, bound, exact, trees.row, trees.limbs, counts[row, column])


@inlined
def _cells(trees, carriers):
    return Cells(trees.words, trees.used, trees.width, carriers)


@outlined
def _add_pairs(nodes, carrier, base, bound, exact, target):
    """Add a prefix to a count of 128 bits; return whether it outgrew its width."""
    low, high = target[0], target[1]
    over = False
    i = bound
    while i > 0:
        node = np.uint64(base + i)
        more = nodes[node, carrier, 0]
        low += more
        high += nodes[node, carrier, 1] + np.uint64(low < more)
        over |= crowded(high)
        i = 0 if exact else i & (i - 1)
    target[0], target[1] = low, high
    return over


@outlined
def _enter_pair(nodes, carrier, base, rank, size, exact, source):
    """Add a count of 128 bits to the nodes that include a rank; return whether one is outgrown."""
    low, high = source[0], source[1]
    over = False
    i = rank
    while i <= size:
        node = np.uint64(base + i)
        total = nodes[node, carrier, 0] + low
        top = nodes[node, carrier, 1] + high + np.uint64(total < low)
        nodes[node, carrier, 0], nodes[node, carrier, 1] = total, top
        over |= crowded(top)
        i = size + 1 if exact else i + (i & -i)
    return over


@outlined
def _add_path(cells, carrier, base, bound, exact, row, scratch, target):
    if bound == 0:
        return False
    blocks = sum_path(cells, carrier, base, bound, exact, row)
    return add_words(target, row, blocks, scratch)


@inlined
def enter_trees(orders, trees, state, place, size, entries, row):
    """Add row `row` of `entries`, of an event at `state`, to all trees of its state.

    `place` is the index of the event in the domains, and `size` the highest rank of its domain.
    Return whether a node outgrew its width. Such a node is still right, but nothing more may be
    added to it.
    """
    over = False
    for tree in range(orders.tree_start[state], orders.tree_start[state + 1]):
        base, exact = tree * trees.nodes, orders.exact[tree]
        rank = np.int64(orders.ranks[tree, place])
        if rank > 0:
            over |= _enter_nodes(entries.counts, trees, base, rank, size, exact, entries, row)
    return over


@inlined
def _enter_nodes(counts, trees, base, rank, size, exact, entries, row):
    over = False
    others = trees.rows.sums.shape[1] + trees.rows.ranks.shape[1] > 0
    i = rank if counts.ndim == 2 or others else size + 1
    while i <= size:
        if counts.ndim == 2:
            over |= add_row(trees.rows, base + i, entries, row)
        else:
            add_others(counts, trees.rows, base + i, entries, row)
        i = size + 1 if exact else i + (i & -i)
    if counts.ndim == 3:
        cells = _cells(trees, counts.shape[1])
        for k in range(counts.shape[1]):
            if trees.width > 0:
                over |= _enter(cells, k, base, rank, size, exact, trees.row, counts[row, k])
            else:
                over |= _enter_pair(trees.rows.counts, k, base, rank, size, exact, counts[row, k])
    return over


@outlined
def _enter(cells, carrier, base, rank, size, exact, row, source):
    blocks = to_words(source, row)
    return blocks > 0 and add_path(cells, carrier, base, rank, size, exact, row, blocks)


@inlined
def fetch_paths(graph, orders, trees, entry, place, size, carriers):
    """Begin to load the nodes that an entry will use, except those in a near cache."""
    state, cells = graph.states[entry], _cells(trees, carriers)
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        tree = orders.transition_tree[t]
        if tree >= 0:
            bound = np.int64(orders.bounds[orders.transition_bound[t], place])
            _fetch(cells, tree * trees.nodes, bound, True, orders.exact[tree], size)
    for tree in range(orders.tree_start[state], orders.tree_start[state + 1]):
        rank = np.int64(orders.ranks[tree, place])
        if rank > 0:
            _fetch(cells, tree * trees.nodes, rank, False, orders.exact[tree], size)


@outlined
def _fetch(cells, base, place, down, exact, size):
    i = place
    while 0 < i <= size and i & -i < _NEAR:
        for cell in range((base + i) * cells.carriers, (base + i + 1) * cells.carriers):
            for block in range(0, cells.used[np.uint64(cell)], 2):
                prefetch(cells.words, cell * cells.width + block * BLOCK)
        following = i & (i - 1) if down else i + (i & -i)
        i = 0 if exact else following


@kernel
def _move(words, used, width, target, wider):
    for cell in range(used.size):
        for k in range(used[cell] * BLOCK):
            target[cell * wider + k] = words[cell * width + k]


def _lift(trees: Trees, wide: Trees) -> None:
    """Write counts of 128 bits to cells: three words per count that is not 0."""
    low, high = trees.rows.counts.reshape(-1, _PLAIN).T
    filled = np.flatnonzero(low | high)
    low, high = low[filled], high[filled]
    cells = wide.words.reshape(-1, wide.width)
    cells[filled, :BLOCK] = 0
    cells[filled, 0] = low & ((1 << BITS) - 1)
    cells[filled, 1] = (low >> BITS | high << (64 - BITS)) & ((1 << BITS) - 1)
    cells[filled, 2] = high.view(np.int64) >> (2 * BITS - 64)
    wide.used[filled] = 1


def widened_trees(graph: Graph, orders: Orders, trees: Trees, limbs: int) -> Trees:
    """Return the same trees, with room for counts of more limbs, at least 2."""
    if limbs <= _PLAIN:
        return trees._replace(rows=widened_rows(trees.rows, limbs))
    wide = make_trees(graph, orders, limbs)
    if trees.width == 0:
        _lift(trees, wide)
    elif wide.width > trees.width:
        _move(trees.words, trees.used, trees.width, wide.words, wide.width)
        wide = wide._replace(used=trees.used)
    else:
        wide = wide._replace(words=trees.words, used=trees.used)
    return wide._replace(rows=trees.rows._replace(counts=wide.rows.counts))
