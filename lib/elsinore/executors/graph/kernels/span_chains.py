"""Count trends with a span and any number of comparisons: one lane per first event.

The number of trends between two events depends on both, so no sum over first events can be kept
while some of them become too old. A pass over the events of a span counts the trends of a block of
first events at once, each in its lane. Lanes are neighbors in memory, so an operation adds several
of them. Numbers are only added, modulo numbers without a common divisor (see `span_remainders`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.span_compared import ComparedGraph
from elsinore.numbers.compiled import inlined, kernel, outlined

#: Number of first events of a block.
LANES = 16


class ChainWork(NamedTuple):
    """Scratch for L compared transitions, K states and I entries of a timestamp.

    Attributes:
        trees: int64[L, M, LANES], a tree of earlier events per transition.
        places: int64[K, LANES], the trends at each state that another follows without a condition.
        rows: int64[I, LANES], the trends that end at each entry of a timestamp.
        some: bool[I], whether there are any.
        firsts: int64[LANES], the first events.
        ended: int64[LANES], the trends of each first event.
    """

    trees: np.ndarray
    places: np.ndarray
    rows: np.ndarray
    some: np.ndarray
    firsts: np.ndarray
    ended: np.ndarray


def make_chain_work(graph: ComparedGraph, instant: int, highest: int) -> ChainWork:
    """Return scratch, given the most entries of a timestamp and the highest rank."""
    return ChainWork(
        np.zeros((graph.tree.size, highest + 1, LANES), np.int64),
        np.zeros((int(graph.place.max(initial=-1)) + 1, LANES), np.int64),
        np.zeros((instant, LANES), np.int64),
        np.zeros(instant, np.bool_),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
    )


@kernel
def longest_instant(times):
    """Return the most entries at one timestamp."""
    longest = first = 0
    for entry in range(times.size):
        first = first if times[entry] == times[first] else entry
        longest = max(longest, entry + 1 - first)
    return longest


@kernel
def count_chains(graph, runs, shifts, sizes, numbers, by_first, work, modulus, totals):
    """Count the trends of each period, modulo a number.

    Args:
        graph: a `ComparedGraph` that is not turned.
        runs: int64[R, 5], see `span_compared.fill_runs`.
        shifts: int64[R], see `orders.Orders`.
        sizes: int64[R], the highest rank of each run.
        numbers: int64[N], the row of each entry in `totals`; -1 for none.
        by_first: whether the first event of a trend decides on its row, not the last one.
        work: a `ChainWork`.
        modulus: the number, at most 2^62.
        totals: int64[*] to add to.
    """
    for run in range(runs.shape[0]):
        entry, high = runs[run, 0], runs[run, 2]
        while entry < high:
            count = 0
            while entry < high and count < LANES:
                if graph.starts[graph.states[entry]] and (not by_first or numbers[entry] >= 0):
                    work.firsts[count] = entry
                    count += 1
                entry += 1
            if count > 0:
                _clear(graph, work, sizes[run])
                bounds = runs[run, 1], high, runs[run, 3], shifts[run], sizes[run]
                _count_block(graph, work, count, bounds, numbers, by_first, modulus, totals)


@outlined
def _clear(graph, work, size):
    """Begin a block."""
    for link in range(graph.tree.size):
        for node in range(size + 1):
            for k in range(LANES):
                work.trees[link, node, k] = 0
    for place in range(work.places.shape[0]):
        for k in range(LANES):
            work.places[place, k] = 0
    for k in range(LANES):
        work.ended[k] = 0


@outlined
def _count_block(graph, work, count, bounds, numbers, by_first, modulus, totals):
    """Count the trends of a block of first events."""
    first, high, span, shift, size = bounds
    last = graph.times[work.firsts[count - 1]] + span
    begun = old = 0  # the number of first events so far, and of too old ones
    i = work.firsts[0]
    while i < high and graph.times[i] <= last:
        after = i + 1
        while after < high and graph.times[after] == graph.times[i]:
            after += 1
        while graph.times[work.firsts[old]] < graph.times[i] - span:
            old += 1
        for entry in range(i, after):
            lane = -1
            if begun < count and work.firsts[begun] == entry:
                lane = begun
                begun += 1
            _arrive(graph, work, entry, entry - i, lane, shift, modulus)
            if work.some[entry - i] and graph.ends[graph.states[entry]] and entry >= first:
                number = np.int64(-1) if by_first else numbers[entry]
                _end(work, work.rows[entry - i], old, count, by_first, number, modulus, totals)
        for entry in range(i, after):
            if work.some[entry - i]:
                _enter(graph, work, entry, entry - i, shift, size, modulus)
        i = after
    if by_first:
        for k in range(count):
            row = numbers[work.firsts[k]]
            totals[row] = _sum(totals[row], work.ended[k], modulus)


@inlined
def _end(work, row, old, count, by_first, number, modulus, totals):
    """Add the trends that end at an entry to `ended`, or to a total."""
    if by_first:
        for k in range(old, count):
            work.ended[k] = _sum(work.ended[k], row[k], modulus)
    elif number >= 0:
        for k in range(old, count):
            totals[number] = _sum(totals[number], row[k], modulus)


@inlined
def _sum(one, other, modulus):
    value = one + other
    return value - modulus if value >= modulus else value


@inlined
def _add_lanes(target, values, modulus):
    for k in range(LANES):
        value = target[k] + values[k]
        target[k] = value - modulus if value >= modulus else value


@outlined
def _arrive(graph, work, entry, at, lane, shift, modulus):
    """Compute the trends that end at an entry."""
    state, row = graph.states[entry], work.rows[at]
    for k in range(LANES):
        row[k] = 0
    if lane >= 0:
        row[lane] = 1
    for n in range(graph.before_start[state], graph.before_start[state + 1]):
        _add_lanes(row, work.places[graph.before[n]], modulus)
    for n in range(graph.into_start[state], graph.into_start[state + 1]):
        link = graph.into[n]
        i, nodes = np.int64(graph.bounds[graph.bound[link], entry + shift]), work.trees[link]
        while i > 0:
            _add_lanes(row, nodes[i], modulus)
            i = np.int64(0) if graph.exact[link] else i & (i - 1)
    bits = np.int64(0)
    for k in range(LANES):
        bits |= row[k]
    work.some[at] = bits != 0


@outlined
def _enter(graph, work, entry, at, shift, size, modulus):
    """Make an entry a predecessor of later entries."""
    state, row = graph.states[entry], work.rows[at]
    if graph.place[state] >= 0:
        _add_lanes(work.places[graph.place[state]], row, modulus)
    for n in range(graph.out_start[state], graph.out_start[state + 1]):
        link = graph.outs[n]
        i, nodes = np.int64(graph.ranks[graph.tree[link], entry + shift]), work.trees[link]
        while 0 < i <= size:
            _add_lanes(nodes[i], row, modulus)
            i = size + 1 if graph.exact[link] else i + (i & -i)
