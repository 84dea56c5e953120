"""Which transitions are answered from order statistics, and where each entry stands in the order.

A condition `f(earlier) OP g(later)`, with OP one of `<, <=, >, >=, =`, is true for a run of the
earlier events in the order of f, and one that begins with the first of them, or for those of one
value. So the sum over the predecessors is a prefix sum (or one place) of a **tree** over the ranks
of f: O(log n) an event where pairs are O(n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Orders(NamedTuple):
    """Ranks of the entries of R spans, in domains; T transitions, S states, O trees, B bounds.

    A **domain** is a run of entries that holds one span or several overlapping ones; ranks are
    dense within it, from 1. Entry e of span r stands at place `e + shifts[r]` of the columns here.

    Attributes:
        transition_tree: int64[T], the tree that answers a transition, -1 where none does.
        transition_bound: int64[T], the row of `bounds` that it reads.
        tree_start: int64[S + 1], where each earlier state's trees begin.
        exact: bool[O], whether the events of one rank are asked for, not those up to a rank.
        ranks: int32[O, *], the rank of an entry of the tree's state; 0 where its value is NULL or
            NaN, which nothing compares with.
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
        """The orders of some spans, chosen by number or by a bool[R]."""
        return self._replace(shifts=self.shifts[chosen], sizes=self.sizes[chosen])


def no_orders(transitions: int, states: int) -> Orders:
    """Every condition is answered by pairs."""
    return Orders(
        np.full(transitions, -1, np.int64),
        np.full(transitions, -1, np.int64),
        np.zeros(states + 1, np.int64),
        np.zeros(0, np.bool_),
        np.zeros((0, 0), np.int32),
        np.zeros((0, 0), np.int32),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
    )
