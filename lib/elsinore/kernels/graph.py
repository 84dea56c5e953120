"""The array layout of a GRETA graph that the propagation kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Graph(NamedTuple):
    """One query's template over N entries; an entry is an event at one state of one partition.

    Entries are sorted by partition, then time. S states, T transitions, K integer carriers, M
    carriers of doubles, E extremes; slots are columns read by edge predicates.

    Attributes:
        times: int64[N].
        states: int32[N], the entry's state.
        transition_start: int64[S + 1], where the transitions into each state begin.
        transition_from: int64[T], the earlier state.
        transition_program: int64[T], number of the edge predicate, -1 where there is none.
        program_start: int64[P + 1]; program: int64[*, 2], see `pair_program`.
        slots_l, slots_d: int64[*, N] and float64[*, N]; known: bool[*, N].
        starts, ends, kept: bool[S]; events of `kept` states are compared one by one later on.
        count_weights: int64[K, N]; sum_weights: float64[M, N].
        ranks: int64[E, N], smaller is more extreme; `no_rank` where there is no value.
    """

    times: np.ndarray
    states: np.ndarray
    transition_start: np.ndarray
    transition_from: np.ndarray
    transition_program: np.ndarray
    program_start: np.ndarray
    program: np.ndarray
    slots_l: np.ndarray
    slots_d: np.ndarray
    known: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    kept: np.ndarray
    count_weights: np.ndarray
    sum_weights: np.ndarray
    ranks: np.ndarray
    no_rank: int
