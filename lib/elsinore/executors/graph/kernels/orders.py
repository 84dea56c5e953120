"""Order statistics: the transitions that they evaluate, and the ranks of entries.

A condition `f(earlier) OP g(later)`, with OP one of `<, <=, >, >=, =`, is true for a run of earlier
events in the order of f: the first ones, or the ones with one value. So the sum over the
predecessors is a prefix sum (or one node) of a **tree** over the ranks of f. This takes O(log n)
per event, and pairs take O(n). One pass over all values in order finds the ranks. If integers are
close together, the ranks are their distances from the first value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.numbers.compiled import kernel


class Orders(NamedTuple):
    """Ranks of the entries of R spans, in domains; T transitions, S states, O trees, B bounds.

    A **domain** is a run of entries that contains one span, or several overlapping ones. Ranks
    count within it, from 1. Entry e of span r has index `e + shifts[r]` in the columns here.

    Attributes:
        transition_tree: int64[T], the tree that evaluates a transition, -1 for none.
        transition_bound: int64[T], the row of `bounds` that it reads.
        tree_start: int64[S + 1], the range of each earlier state's trees.
        exact: bool[O], whether a tree sums the events of one rank, not all events up to a rank.
        ranks: int32[O, *], the rank of an entry of the tree's state; 0 if its value is NULL or NaN,
            for which no comparison is true.
        bounds: int32[B, *], the last rank (or the one rank) that a later entry follows; 0 for none.
        shifts: int64[R].
        sizes: int64[R], the highest rank in the span's domain.
    """

    transition_tree: np.ndarray
    transition_bound: np.ndarray
    tree_start: np.ndarray
    exact: np.ndarray
    ranks: np.ndarray
    bounds: np.ndarray
    shifts: np.ndarray
    sizes: np.ndarray

    def where(self, chosen: np.ndarray) -> Orders:
        """Return the orders of some spans, chosen by number or by a bool[R]."""
        return self._replace(shifts=self.shifts[chosen], sizes=self.sizes[chosen])


def no_orders(graph: Graph) -> Orders:
    """Return orders without trees, so that pairs evaluate every condition."""
    none = np.full(graph.transition_from.size, -1, np.int64)
    starts = np.zeros(graph.starts.size + 1, np.int64)
    ranks, numbers = np.zeros((0, 0), np.int32), np.zeros(0, np.int64)
    return Orders(none, none, starts, np.zeros(0, np.bool_), ranks, ranks, numbers, numbers)


class Domains(NamedTuple):
    """D domains of N entries, and the state of their ranks.

    Attributes:
        firsts: int64[N], the first domain that ends after each entry; D for none.
        lows: int64[D], the first entry of each domain, ascending.
        starts: int64[D], the first index of each domain in the columns of `Orders`.
        tops: int64[D], the highest rank so far; seen: int64[D], the value counted last, from 1.
    """

    firsts: np.ndarray
    lows: np.ndarray
    starts: np.ndarray
    tops: np.ndarray
    seen: np.ndarray


@kernel
def fill_domains(spans, spread, domain_of, domains):
    """Join spans to domains; a domain is at most `spread` times longer than its shortest span.

    Write the domain of each span, in the order of `entries.fill_spans`, to `domain_of`. Write the
    first entry and the end of each domain to `domains`. Return the number of domains.
    """
    count = 0
    shortest = 0
    for row in range(spans.shape[0]):
        low, high = spans[row, 0], spans[row, 1]
        shortest = min(shortest, high - low)
        joins = count > 0 and low < domains[count - 1, 1]  # useful only if they overlap
        if joins and high - domains[count - 1, 0] <= spread * shortest:
            domains[count - 1, 1] = max(domains[count - 1, 1], high)
        else:
            domains[count, 0], domains[count, 1] = low, high
            shortest = high - low
            count += 1
        domain_of[row] = count - 1
    return count


@kernel
def fill_ranks(values, entries, kinds, exact, strict, ranks, bounds, domains):
    """Write the ranks of one tree's entries, and the bounds of the entries that come after them.

    `values` are in the order of the ranks. `kinds` is -1 for the value of an earlier event,
    otherwise the row of `bounds` for the value of a later event; it has size 0 if all events are
    earlier ones. A bound is the rank of an equal value (`exact`), or the last rank, without equal
    values if `strict`, bool[B]. The highest rank of each domain is left in `tops`, which must be 0
    before.
    """
    firsts, lows, starts, tops, seen = domains
    first = 0
    group = 0
    while first < values.size:
        value = values[first]
        after = first + 1
        while after < values.size and values[after] == value:
            after += 1
        group += 1
        alone = after - first == 1
        for step in range(1 if alone else 3):  # strict bounds, the value, other bounds
            for at in range(first, after):
                kind, entry = kinds[at] if kinds.size else -1, entries[at]
                turn = 1 if kind < 0 else 0 if strict[kind] else 2
                if not alone and turn != step:
                    continue
                d = firsts[entry]
                while d < lows.size and lows[d] <= entry:
                    place = starts[d] + entry - lows[d]
                    if kind < 0:
                        if seen[d] != group:
                            tops[d] += 1
                            seen[d] = group
                        ranks[place] = tops[d]
                    elif not exact or seen[d] == group:
                        bounds[kind, place] = tops[d]
                    d += 1
        first = after


@kernel
def fill_dense(values, entries, first, sign, less, target, domains):
    """Write ranks, or bounds, of integers that are close together: distances from the first value.

    `first` is the value of rank 1. `sign` is 1 if ranks rise with the values, else -1. `less` is 1
    if the rank before is meant, else 0.
    """
    for n in range(values.size):
        entry = entries[n]
        d = domains.firsts[entry]
        while d < domains.lows.size and domains.lows[d] <= entry:
            place = domains.starts[d] + entry - domains.lows[d]
            target[place] = 1 - less + sign * (values[n] - first)
            d += 1
