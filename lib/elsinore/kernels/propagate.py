"""GRETA's propagation: aggregates ride along the edges of the graph, no trend is built.

GRETA Algorithm 2, for each window: an event's count is the sum of its predecessors' counts, plus
one for a START event. A transition without an edge predicate reads one accumulator for all earlier
events of its state; one with an edge predicate compares the pairs. Events of equal time are worked
out together before any of them becomes a predecessor, so their order cannot matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from elsinore.kernels.graph import Graph
from elsinore.kernels.pair_program import MAX_STACK, pair_holds
from elsinore.kernels.rows import (
    Rows,
    add_own,
    add_row,
    clear,
    has_trend,
    make_rows,
    start_trend,
)


class Work(NamedTuple):
    """Scratch of one pass, made once for all windows.

    Attributes:
        states: a row for each state, over its events so far.
        entries: a row for each entry of the window where states are kept, else of one instant.
        members: int64[S, *], the entries of each kept state that end some trend, in time order.
        member_count: int64[S].
        longs, doubles, sure: stacks for edge predicates.
        limbs: uint64[L].
    """

    states: Rows
    entries: Rows
    members: np.ndarray
    member_count: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    sure: np.ndarray
    limbs: np.ndarray


def make_work(graph: Graph, buffer: int, limbs: int) -> Work:
    """Scratch for a graph; `buffer` is the number of entries to hold at once."""
    states = graph.starts.size
    shape = 1 + graph.count_weights.shape[0], graph.sum_weights.shape[0], graph.ranks.shape[0]
    return Work(
        make_rows(states, *shape, limbs),
        make_rows(buffer, *shape, limbs),
        np.empty((states, buffer if graph.kept.any() else 1), np.int64),
        np.zeros(states, np.int64),
        np.empty(MAX_STACK, np.int64),
        np.empty(MAX_STACK, np.float64),
        np.empty(MAX_STACK, np.bool_),
        np.empty(limbs, np.uint64),
    )


@njit(cache=True)
def propagate(graph, spans, work, totals, outgrown):  # type: ignore[no-untyped-def]
    """Aggregate the trends of each window.

    Args:
        graph: a `Graph`.
        spans: int64[R, 4], see `spans.fill_spans`.
        work: scratch from `make_work`.
        totals: `Rows` of R rows to write to.
        outgrown: bool[R] to write to: the window needs wider counts, its row is void.
    """
    keep = graph.kept.any()
    for row in range(spans.shape[0]):
        low, high = spans[row, 0], spans[row, 1]
        for state in range(graph.starts.size):
            clear(work.states, state, graph.no_rank)
        work.member_count[:] = 0
        clear(totals, row, graph.no_rank)
        over = False
        first = low
        while first < high and not over:
            after = first
            while after < high and graph.times[after] == graph.times[first]:
                after += 1
            base = low if keep else first
            for entry in range(first, after):
                over |= _arrive(graph, entry, low, base, work)
            for entry in range(first, after):
                over |= _settle(graph, entry, entry - base, work, totals, row)
            first = after
        outgrown[row] = over


@njit(cache=True, forceinline=True)
def _arrive(graph, entry, low, base, work):  # type: ignore[no-untyped-def]
    """Work out an entry's row from its predecessors (GRETA Theorem 2); True if outgrown."""
    place = entry - base
    state = graph.states[entry]
    clear(work.entries, place, graph.no_rank)
    if graph.starts[state]:
        start_trend(work.entries.counts, place)
    over = False
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        if graph.transition_program[t] < 0:
            over |= add_row(work.entries, place, work.states, graph.transition_from[t])
        else:
            over |= _add_pairs(graph, entry, t, low, work)
    if has_trend(work.entries.counts, place):
        over |= add_own(graph, entry, work.entries, place, work.limbs)
    return over


@njit(cache=True, forceinline=True)
def _add_pairs(graph, entry, transition, low, work):  # type: ignore[no-untyped-def]
    """Add the rows of all earlier entries that an edge predicate lets pass."""
    number = graph.transition_program[transition]
    program = graph.program[graph.program_start[number] : graph.program_start[number + 1]]
    state = graph.transition_from[transition]
    over = False
    for m in range(work.member_count[state]):
        before = work.members[state, m]
        if pair_holds(
            program, before, entry, graph.slots_l, graph.slots_d, graph.known,
            work.longs, work.doubles, work.sure,
        ):  # fmt: skip
            over |= add_row(work.entries, entry - low, work.entries, before - low)
    return over


@njit(cache=True, forceinline=True)
def _settle(graph, entry, place, work, totals, row):  # type: ignore[no-untyped-def]
    """Make an entry a predecessor of later ones, and add it to the total if it is an END event."""
    if not has_trend(work.entries.counts, place):
        return False
    state = graph.states[entry]
    over = add_row(work.states, state, work.entries, place)
    if graph.kept[state]:
        work.members[state, work.member_count[state]] = entry
        work.member_count[state] += 1
    if graph.ends[state]:
        over |= add_row(totals, row, work.entries, place)
    return over
