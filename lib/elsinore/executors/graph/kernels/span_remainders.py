"""Count trends with a span like `span_products`, beyond 64 bits: remainders by several primes.

Numbers of trends are only added and multiplied. So their remainders by primes, of which each
product fits 64 bits, determine them (Chinese remainder theorem).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.span_products import begin_rows, first_since, row_at
from elsinore.numbers.borrowed import borrow
from elsinore.numbers.compiled import brief, inlined, outlined


class SpanSteps(NamedTuple):
    """The entries and states of a `SpanGraph`, without weights."""

    times: np.ndarray
    states: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    transition_start: np.ndarray
    transition_from: np.ndarray


class RemainderWork(NamedTuple):
    """Scratch for S states, K primes and W entries of a span.

    Attributes:
        primes: int64[K], each below 2^30.
        front: int64[W, S, K], for each timestamp of the front stack the trends from it on.
        back: int64[S + 1, S, K], trends from a place (see `span_products.Products`) to a state.
        added: int64[S, S + 1, K], what a timestamp adds to each state.
        paths, more: int64[S, S, K], the ways between states, and what a timestamp adds to them.
        begun: int64[S, K], the trends from a timestamp on.
        touched: bool[S], whether a timestamp adds to a state.
        ended: int64[K], the trends that end at a timestamp.
    """

    primes: np.ndarray
    front: np.ndarray
    back: np.ndarray
    added: np.ndarray
    paths: np.ndarray
    more: np.ndarray
    begun: np.ndarray
    touched: np.ndarray
    ended: np.ndarray


def make_remainder_work(primes: np.ndarray, states: int, longest: int) -> RemainderWork:
    """Return scratch for spans of up to `longest` entries."""
    size = primes.size
    return RemainderWork(
        primes,
        np.empty((longest, states, size), np.int64),
        np.empty((states + 1, states, size), np.int64),
        np.zeros((states, states + 1, size), np.int64),
        np.empty((states, states, size), np.int64),
        np.zeros((states, states, size), np.int64),
        np.empty((states, size), np.int64),
        np.zeros(states, np.bool_),
        np.empty(size, np.int64),
    )


@brief
def count_remainders(in_graph, runs, periods, in_work, in_rows, totals):
    """Count the trends of each period of some runs, by the remainders of their numbers.

    Args:
        in_graph: a `SpanSteps`.
        runs: int64[*, 3], partition, first entry and end of each run. Earlier entries count as
            missing.
        periods: a `Periods`.
        in_work: a `RemainderWork`.
        in_rows: `PeriodRows` of R rows to write to.
        totals: int64[R, K] to add to.
    """
    graph, work, rows = borrow(in_graph), borrow(in_work), borrow(in_rows)
    for run in range(runs.shape[0]):
        i, end = runs[run, 1], runs[run, 2]
        head = split = base = i
        begin_rows(rows)
        _clear_back(work)
        while i < end:
            time, after = graph.times[i], i + 1
            while after < end and graph.times[after] == time:
                after += 1
            oldest = time - periods.span
            head = first_since(graph.times, head, split, oldest)
            if head == split and graph.times[head] < oldest:
                head = first_since(graph.times, head, i, oldest)
                split, base = i, head
                _flip(graph, work, head, i)
                _clear_back(work)
            if _arrive(graph, work, i, after, head - base if head < split else -1):
                row = row_at(rows, periods, runs[run, 0], time)
                if row >= 0:
                    for k in range(work.primes.size):
                        totals[row, k] = (totals[row, k] + work.ended[k]) % work.primes[k]
            i = after


@outlined
def _clear_back(work):
    """Make the back stack empty: each state is reached from itself."""
    work.back[:] = 0
    for state in range(work.touched.size):
        work.back[state + 1, state, :] = 1


@inlined
def _add(target, values, primes):
    """Add remainders."""
    for k in range(primes.size):
        value = target[k] + values[k]
        target[k] = value - primes[k] if value >= primes[k] else value


@outlined
def _arrive(graph, work, first, after, at_front):
    """Multiply the back stack by the matrix of the events of a timestamp.

    Args:
        graph: the entries.
        work: scratch. `ended` becomes the number of trends that end at the events.
        first: the first event.
        after: the end of the events.
        at_front: index of the front stack; -1 if it is empty.

    Returns:
        Whether a trend can end at an event.
    """
    states, ends = work.touched.size, False
    work.ended[:] = 0
    for entry in range(first, after):
        state = graph.states[entry]
        if not work.touched[state]:
            work.touched[state] = True
            work.added[state, :, :] = 0
        for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
            before = graph.transition_from[t]
            for place in range(states + 1):
                _add(work.added[state, place], work.back[place, before], work.primes)
        if graph.starts[state]:
            for k in range(work.primes.size):
                work.added[state, 0, k] = (work.added[state, 0, k] + 1) % work.primes[k]
    for state in range(states):
        if work.touched[state]:
            work.touched[state] = False
            for place in range(states + 1):
                _add(work.back[place, state], work.added[state, place], work.primes)
            if graph.ends[state]:
                ends = True
                _add(work.ended, work.added[state, 0], work.primes)
                if at_front >= 0:
                    _add_products(work, work.front[at_front], work.added[state])
    return ends


@inlined
def _add_products(work, front, added):
    """Add the trends that began in the front stack to `ended`."""
    for state in range(work.touched.size):
        for k in range(work.primes.size):
            product = front[state, k] * added[state + 1, k]
            work.ended[k] = (work.ended[k] + product) % work.primes[k]


@outlined
def _precede(graph, work, state):
    """Add the ways from an event at a state to `begun` and, for its predecessors, to `more`."""
    states = work.touched.size
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        before = graph.transition_from[t]
        if not work.touched[before]:
            work.touched[before] = True
            work.more[before, :, :] = 0
        for later in range(states):
            _add(work.more[before, later], work.paths[state, later], work.primes)
    if graph.starts[state]:
        for later in range(states):
            _add(work.begun[later], work.paths[state, later], work.primes)


@outlined
def _flip(graph, work, first, after):
    """Fill the front stack with some events, from the last to the first."""
    states = work.touched.size
    work.begun[:] = 0
    work.paths[:] = 0
    for state in range(states):
        work.paths[state, state, :] = 1
    i = after
    while i > first:
        begin = i - 1
        while begin > first and graph.times[begin - 1] == graph.times[begin]:
            begin -= 1
        for entry in range(begin, i):
            _precede(graph, work, graph.states[entry])
        for state in range(states):
            if work.touched[state]:
                work.touched[state] = False
                for later in range(states):
                    _add(work.paths[state, later], work.more[state, later], work.primes)
        for later in range(states):
            for k in range(work.primes.size):
                work.front[begin - first, later, k] = work.begun[later, k]
        i = begin
