"""Find the greatest value of a measure over the trends of each window.

A trend's value is the sum of the weights of its events, one for its first and one for its last
event. So the greatest value of the trends that end at an event is its weight plus the greatest
value at its predecessors, in place of the sums of `propagate`. Negated weights give the least
value.

The predecessors are found as in `propagate`, except for a floor: a Fenwick tree over the entries of
the state, from the last to the first, has the maximum of all that reach it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.guards import may_end, may_start, run_guards
from elsinore.executors.graph.kernels.pairs import find_pairs
from elsinore.executors.graph.kernels.propagate import (
    close_events,
    domain_of,
    end_of_instant,
    open_all,
)
from elsinore.executors.graph.kernels.work import Work
from elsinore.executors.input.kernels.anchors import limits_of
from elsinore.numbers.borrowed import borrow
from elsinore.numbers.compiled import brief, inlined
from elsinore.numbers.two_parts import LOW, PART


class Size(IntEnum):
    """Kinds of doubles: of weights, and as bits of the sums that some trends have."""

    FINITE = 0
    ABOVE = 1  # infinite
    BELOW = 2  # minus infinite
    NAN = 3


_FINITE, _ABOVE, _BELOW, _NAN = (1 << size for size in Size)


class Weights(NamedTuple):
    """The weights of N entries: float64, int64, or int64 in two parts.

    A number in two parts has a last axis of size 2: it is `first * 2**PART + second`, and the
    second is from 0 to `2**PART - 1`.

    Attributes:
        own: [N] or [N, 2], what an entry adds to its trends; 0 if it is not finite.
        sizes: uint8[N], the `Size` of what it adds.
        starts: what it adds as the first event of a trend.
        ends: what it adds as the last event of a trend.
    """

    own: np.ndarray
    sizes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


class Bests(NamedTuple):
    """The best sums, in rows.

    Attributes:
        values: [*] or [*, 2], the greatest finite sum.
        sizes: uint8[*], a bit for each `Size` that a sum has; 0 without a trend.
    """

    values: np.ndarray
    sizes: np.ndarray


class Scratch(NamedTuple):
    """Scratch of a pass over spans.

    Attributes:
        states: S rows, over the events of a state so far.
        ended: a row, for the trends that end at an entry.
        entries: W rows, for the entries of a window, or of one timestamp if the graph is plain.
        trees: a row for each node of the trees of `Orders`, N of each tree.
        nodes: N.
        reached: a row for each entry of a window and each state with a floor on a way out, from the
            last entry to the first.
        reached_from: int64[S], the first row of such a state; -1 for others.
        closed_to: int64[S], the number of entries of the window that were closed together.
    """

    states: Bests
    ended: Bests
    entries: Bests
    trees: Bests
    nodes: int
    reached: Bests
    reached_from: np.ndarray
    closed_to: np.ndarray


def make_bests(rows: int, like: Weights) -> Bests:
    """Return rows without a trend."""
    values = np.zeros((rows, *like.own.shape[1:]), like.own.dtype)
    return Bests(values, np.zeros(rows, np.uint8))


def make_best_scratch(graph: Graph, work: Work, weights: Weights, longest: int) -> Scratch:
    """Return scratch for spans of at most `longest` entries."""
    states, trees = graph.starts.size, work.orders.exact.size
    nodes = int(work.orders.sizes.max(initial=0)) + 1
    reached_from = np.full(states, -1, np.int64)
    floored = np.unique(graph.transition_from[work.upkeep.slide_of >= 0])
    reached_from[floored] = np.arange(floored.size) * (longest + 1)
    entries = work.entries.counts.shape[0]
    return Scratch(
        make_bests(states, weights),
        make_bests(1, weights),
        make_bests(entries, weights),
        make_bests(trees * nodes, weights),
        nodes,
        make_bests(floored.size * (longest + 1), weights),
        reached_from,
        np.zeros(states, np.int64),
    )


@brief
def find_bests(in_graph, in_weights, spans, in_work, in_scratch, in_found):
    """Write the best sums of each window.

    Args:
        in_graph: the `Graph`; its weights are not read.
        in_weights: the `Weights` of its entries.
        spans: int64[R, 4], see `entries.fill_spans`; or int64[R, 8], see `anchors.fill_anchors`.
        in_work: scratch from `make_work` for these spans.
        in_scratch: from `make_best_scratch`.
        in_found: `Bests` of R rows to write to.
    """
    graph, weights, work = borrow(in_graph), borrow(in_weights), borrow(in_work)
    scratch, found = borrow(in_scratch), borrow(in_found)
    plain = work.upkeep.plain
    for row in range(spans.shape[0]):
        low, high = spans[row, 0], spans[row, 1]
        shift, size = domain_of(work.orders, row)
        _begin(graph, work, scratch, high - low, size)
        _clear(found, row)
        if not plain:
            _find_floors(graph, work, low, high)
        first = low
        start, start_end, last, last_end = limits_of(spans, row)
        while first < high:
            after = end_of_instant(graph.times, first, high)
            base = first if plain else low
            starts = start <= first < start_end
            for entry in range(first, after):
                if graph.guard_of[graph.states[entry]] < 0:
                    _arrive(graph, weights, entry, base, low, high, shift, starts, work, scratch)
            for entry in range(first, after):
                if not plain:
                    close_events(
                        graph, work.upkeep, work.pairs, work.members, work.member_count, entry, low
                    )
                if work.upkeep.closing:
                    _close_states(graph, graph.states[entry], first - low, work, scratch)
            for entry in range(first, after):
                if graph.guard_of[graph.states[entry]] < 0:
                    _settle(graph, entry, base, low, high, shift, size, work, scratch)
                    place, length = entry - base, high - low
                    if last <= first < last_end:
                        _end_trends(graph, weights, entry, place, length, work, scratch, found, row)
            first = after


@inlined
def _begin(graph, work, scratch, length, size):
    """Start a window of `length` entries, and of `size` ranks, without any trend."""
    for state in range(graph.starts.size):
        _clear(scratch.states, state)
        scratch.closed_to[state] = 0
        start = scratch.reached_from[state]
        if start >= 0:
            for node in range(start, start + length + 1):
                _clear(scratch.reached, node)
    for tree in range(work.orders.exact.size):
        for node in range(tree * scratch.nodes, tree * scratch.nodes + size + 1):
            _clear(scratch.trees, node)


@inlined
def _find_floors(graph, work, low, high):
    """Open all entries of a window, and run its guards."""
    open_all(work.pairs.closed, high - low)
    run_guards(
        graph, work.upkeep, work.guards, work.pairs, work.members, work.member_count, low, high
    )
    for state in range(graph.starts.size):
        work.member_count[state] = 0


@inlined
def _close_states(graph, later, place, work, scratch):
    """Drop the events of all states that an entry in state `later` closes."""
    for t in range(graph.transition_start[later], graph.transition_start[later + 1]):
        if graph.closes[t]:
            state = graph.transition_from[t]
            _clear(scratch.states, state)
            work.member_count[state] = 0
            scratch.closed_to[state] = place


@inlined
def _arrive(graph, weights, entry, base, low, high, shift, starts, work, scratch):
    """Compute the best sums of the trends that end at an entry."""
    place, state, entries = entry - base, graph.states[entry], scratch.entries
    _clear(entries, place)
    if starts and may_start(graph, work.pairs.floors, state, entry - low):
        _set_value(entries.values, place, weights.starts, entry)
        entries.sizes[place] = _FINITE
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        earlier, tree = graph.transition_from[t], work.orders.transition_tree[t]
        if tree >= 0:
            exact = work.orders.exact[tree]
            i = np.int64(work.orders.bounds[work.orders.transition_bound[t], entry + shift])
            while i > 0:
                _raise_to(entries, place, scratch.trees, tree * scratch.nodes + i)
                i = np.int64(0) if exact else i & (i - 1)
        elif graph.transition_program[t] >= 0:
            members, count = work.members[earlier], work.member_count[earlier]
            program = graph.transition_program[t]
            hits = find_pairs(graph, work.pairs, program, members, count, entry, low)
            for h in range(hits):
                _raise_to(entries, place, entries, work.pairs.hits[h] - low)
        elif work.upkeep.slide_of[t] >= 0:
            bound = work.pairs.floors[graph.transition_floor[t], entry - low]
            least = max(_first_at(graph.times, low, entry, bound) - low, scratch.closed_to[earlier])
            start = scratch.reached_from[earlier]
            i = high - low - least
            while i > 0:
                _raise_to(entries, place, scratch.reached, start + i)
                i &= i - 1
        else:
            _raise_to(entries, place, scratch.states, earlier)
    _add_value(entries.values, place, weights.own, entry)
    if weights.sizes[entry] != Size.FINITE:
        entries.sizes[place] = _added(entries.sizes[place], weights.sizes[entry])


@inlined
def _first_at(times, first, end, bound):
    """Return the first entry from `first` on whose time is at least `bound`; else `end`."""
    while first < end:
        middle = (first + end) // 2
        if times[middle] < bound:
            first = middle + 1
        else:
            end = middle
    return first


@inlined
def _settle(graph, entry, base, low, high, shift, size, work, scratch):
    """Make an entry a predecessor of later entries, if trends end at it."""
    place, state, entries = entry - base, graph.states[entry], scratch.entries
    if entries.sizes[place] == 0:
        return
    if work.upkeep.collected[state]:
        _raise_to(scratch.states, state, entries, place)
    for tree in range(work.orders.tree_start[state], work.orders.tree_start[state + 1]):
        rank, exact = np.int64(work.orders.ranks[tree, entry + shift]), work.orders.exact[tree]
        i = rank if rank > 0 else size + 1
        while i <= size:
            _raise_to(scratch.trees, tree * scratch.nodes + i, entries, place)
            i = size + 1 if exact else i + (i & -i)
    if work.upkeep.kept[state]:
        work.members[state, work.member_count[state]] = entry
        work.member_count[state] += 1
    start = scratch.reached_from[state]
    if start >= 0:
        i = high - entry
        while i <= high - low:
            _raise_to(scratch.reached, start + i, entries, place)
            i += i & -i


@inlined
def _end_trends(graph, weights, entry, place, length, work, scratch, found, row):
    """Raise the best sum of a window to the sum of an entry, if trends can end at the entry.

    `place` is the entry's place in `scratch.entries`, and `length` the entries of the window.
    """
    if scratch.entries.sizes[place] and may_end(graph, work.pairs.floors, entry, length):
        _copy(scratch.ended, 0, scratch.entries, place)
        _add_value(scratch.ended.values, 0, weights.ends, entry)
        _raise_to(found, row, scratch.ended, 0)


# ---- rows


@inlined
def _clear(rows, row):
    rows.sizes[row] = 0  # its value is not read


@inlined
def _copy(target, row, source, other):
    target.sizes[row] = source.sizes[other]
    _set_value(target.values, row, source.values, other)


@inlined
def _raise_to(target, row, source, other):
    """Replace the sum of a row by the sum of another if that is greater."""
    sizes, held = source.sizes[other], target.sizes[row]
    if sizes & _FINITE and not (
        held & _FINITE and _is_least(source.values, other, target.values, row)
    ):
        _set_value(target.values, row, source.values, other)
    target.sizes[row] = held | sizes


@inlined
def _is_least(values, row, others, other):
    """Return whether a value is at most another value."""
    if values.ndim == 1:
        return values[row] <= others[other]
    if values[row, 0] != others[other, 0]:
        return values[row, 0] < others[other, 0]
    return values[row, 1] <= others[other, 1]


@inlined
def _set_value(target, row, source, other):
    if target.ndim == 1:
        target[row] = source[other]
    else:
        target[row, 0] = source[other, 0]
        target[row, 1] = source[other, 1]


@inlined
def _add_value(target, row, source, other):
    if target.ndim == 1:
        target[row] += source[other]
    else:
        low = target[row, 1] + source[other, 1]
        target[row, 0] += source[other, 0] + (low >> PART)
        target[row, 1] = low & LOW


@inlined
def _added(sizes, size):
    """Return the sizes of sums after a number that is not finite is added to all of them."""
    result = 0
    if size == Size.ABOVE:
        result |= _ABOVE if sizes & (_FINITE | _ABOVE) else 0
        result |= _NAN if sizes & (_BELOW | _NAN) else 0
    elif size == Size.BELOW:
        result |= _BELOW if sizes & (_FINITE | _BELOW) else 0
        result |= _NAN if sizes & (_ABOVE | _NAN) else 0
    elif sizes:
        result = _NAN
    return result
