"""Count trends with a span and comparisons of adjacent events.

**One comparison per trend** (`kernels.span_compared`) takes logarithmic time per event. If the
first event decides on the period, entries are read in reverse, and the later event of a pair takes
the part of the earlier one.

**Several comparisons** (`kernels.span_chains`) take time proportional to the events of a span for
each first event. No algorithm in nearly linear time can be expected. Take `SEQ(A, B, C)` with `A.v
= NEXT(B).v` and `B.w = NEXT(C).w`, and write each edge of a graph with three groups of nodes as an
event: the numbers of its nodes are the time and v of A, v and w of B, and w and the time of C. The
trends whose first and last events are exactly one span apart are the triangles of the graph. They
are the difference of two spans. So an algorithm in nearly linear time would find the number of
triangles in nearly linear time. A longer chain of comparisons counts longer cycles in this way.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.climb import climb, rank_orders
from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.orders import Orders
from elsinore.executors.graph.kernels.span_chains import (
    count_chains,
    longest_instant,
    make_chain_work,
)
from elsinore.executors.graph.kernels.span_compared import (
    ComparedGraph,
    bound_bits,
    count_compared,
    fill_runs,
    make_compared_work,
)
from elsinore.executors.graph.span_counts import bound_on_periods, by_first, has_no_floors
from elsinore.executors.graph.wide_spans import BITS, joined_remainders, primes_below
from elsinore.executors.input.conditions import Order
from elsinore.executors.input.kernels.entries import find_spans
from elsinore.executors.input.periods import period_numbers
from elsinore.executors.joined_lists import joined_lists
from elsinore.executors.output.window_rows import WindowRows
from elsinore.numbers.rows import make_rows
from elsinore.query.bound import BoundQuery
from elsinore.template.template import ALWAYS, Template, reachable
from elsinore.timeline import Interval

#: Maximum number of states with a successor without a comparison.
MOST_FOLLOWED = 6
#: Bits of a product of `_moduli`, for each of them.
_SIZE = 61
#: Minimum number of entries of a run.
_LEAST = 4_096


class Comparing(NamedTuple):
    """A query over the graph of a template that `compares`.

    Attributes:
        query: the query.
        template: the template.
        graph: the graph.
        offsets: int64[P + 1], the first entry of each partition.
        orders: the transitions whose condition is one comparison.
    """

    query: BoundQuery
    template: Template
    graph: Graph
    offsets: np.ndarray
    orders: tuple[tuple[int, Order], ...]


def compares(template: Template, ordered: Container[int]) -> bool:
    """Return whether the only conditions on pairs of events are single comparisons.

    Args:
        template: the template.
        ordered: the numbers of the transitions whose condition is one comparison.
    """
    compared = _compared(template)
    return bool(compared) and has_no_floors(template) and all(n in ordered for n in compared)


def _compared(template: Template) -> list[int]:
    """Return the numbers of the transitions with a condition."""
    return [n for n, arrow in enumerate(template.transitions) if arrow.condition != ALWAYS]


def compares_once(template: Template) -> bool:
    """Return whether each trend has at most one pair of events with a condition."""
    arrows, compared = template.transitions, _compared(template)
    after: dict[int, set[int]] = {state: set() for state in range(len(template.states))}
    for arrow in arrows:
        after[arrow.earlier].add(arrow.later)
    sources = {arrows[number].earlier for number in compared}
    later = reachable([arrows[number].later for number in compared], after.__getitem__)
    free = [arrow for n, arrow in enumerate(arrows) if n not in compared]
    followed = {arrow.earlier for arrow in free}, {arrow.later for arrow in free}
    return sources.isdisjoint(later) and max(map(len, followed)) <= MOST_FOLLOWED


def compared_counts(of: Comparing, owned: Interval | None) -> WindowRows:
    """Return the numbers of trends of all periods with a trend.

    Args:
        of: the query and its graph.
        owned: only periods that end in this interval; None for every period.

    Raises:
        QueryError: more than `row_bound.MOST_WINDOWS` periods contain an event.
    """
    bound_on_periods(of.query, of.graph.times, of.offsets)
    found = _once(of, owned) if compares_once(of.template) else None
    return _chains(of, owned) if found is None else found


class _Prepared(NamedTuple):
    """The arrays that kernels read."""

    graph: ComparedGraph
    runs: np.ndarray  #: see `fill_runs`
    shifts: np.ndarray  #: int64[R], see `orders.Orders`
    sizes: np.ndarray  #: int64[R], the highest rank of each run
    rows: np.ndarray  #: int64[N], the row of each entry; -1 for none
    keys: np.ndarray  #: int64[*, 3], the keys of the rows


def _prepared(of: Comparing, owned: Interval | None, *, turned: bool) -> _Prepared | None:
    """Return the arrays of a query, in reverse if `turned`; None without an entry."""
    assert of.query.window.span is not None
    graph = of.graph
    times = -graph.times[::-1] if turned else graph.times
    offsets = graph.times.size - of.offsets[::-1] if turned else of.offsets
    given = offsets, times, of.query.window.span.length, _LEAST
    runs = np.empty((fill_runs(*given, np.empty((0, 5), np.int64)), 5), np.int64)
    fill_runs(*given, runs)
    if not runs.shape[0]:
        return None
    orders, shifts, sizes = _ranked(graph, of.orders, runs, turned=turned)
    compared = _compared_graph(graph, times, orders, [n for n, _ in of.orders], turned=turned)
    rows, keys = _rows_of_entries(of.query, times, offsets, owned, turned=turned)
    return _Prepared(compared, runs, shifts, sizes, rows, keys)


def _once(of: Comparing, owned: Interval | None) -> WindowRows | None:
    """Return the counts if each trend compares once; None if an inverse does not exist."""
    turned = by_first(of.query)
    made = _prepared(of, owned, turned=turned)
    if made is None:
        return _no_rows()
    graph, runs, shifts, sizes, rows, keys = made
    bits = bound_bits(graph, runs, np.empty(graph.starts.size)) + np.log2(runs.shape[0]) + 1
    work = make_compared_work(graph, int((runs[:, 2] - runs[:, 0]).max()), int(sizes.max()))
    primes, parts = primes_below(int(bits) // BITS + 1), list[np.ndarray]()
    for prime in primes:
        parts.append(np.zeros(keys.shape[0], np.int64))
        if not count_compared(graph, runs, shifts, sizes, rows, work, prime, parts[-1]):
            return None
    if turned:
        keys[:, 0] = of.offsets.size - 2 - keys[:, 0]
    return _rows(keys, parts, primes)


def _chains(of: Comparing, owned: Interval | None) -> WindowRows:
    """Return the counts if trends compare any number of times."""
    made = _prepared(of, owned, turned=False)
    if made is None:
        return _no_rows()
    graph, runs, shifts, sizes, rows, keys = made
    moduli, parts = _moduli(_bits_of_counts(of) // _SIZE + 1), list[np.ndarray]()
    work = make_chain_work(graph, longest_instant(graph.times), int(sizes.max()))
    for modulus in moduli:
        parts.append(np.zeros(keys.shape[0], np.int64))
        given = graph, runs, shifts, sizes, rows, by_first(of.query)
        count_chains(*given, work, modulus, parts[-1])
    return _rows(keys, parts, moduli)


def _bits_of_counts(of: Comparing) -> int:
    """Return a bound on the bits of the number of trends of all periods.

    Two neighboring blocks of the length of the span contain each trend.
    """
    assert of.query.window.span is not None
    block, times = of.query.window.span.length + 1, of.graph.times
    spans = find_spans(of.offsets, times, 2 * block, block, -(2**62), 2**62)
    most = 0
    for rows in climb(of.graph, spans, of.orders):
        if rows.counts.ndim == 2:
            most = max(most, int(rows.counts.max(initial=0)).bit_length())
        else:
            limbs = np.flatnonzero((rows.counts != 0).any(axis=(0, 1)))
            most = max(most, 64 * (int(limbs[-1]) + 1 if limbs.size else 0))
    return most + spans.shape[0].bit_length()


def _moduli(number: int) -> list[int]:
    """Return the largest numbers up to 2^62 of which no two have a common divisor.

    >>> [2**62 - each for each in _moduli(4)]
    [0, 1, 3, 5]
    """
    found, candidate = list[int](), 2**62
    while len(found) < number:
        if all(gcd(candidate, other) == 1 for other in found):
            found.append(candidate)
        candidate -= 1
    return found


def _rows(keys: np.ndarray, remainders: Sequence[np.ndarray], moduli: Sequence[int]) -> WindowRows:
    """Return the rows of some keys that have a trend, given the remainders of their counts."""
    totals = make_rows(keys.shape[0], 1, 0, 0, 1)
    return WindowRows(keys, _counts(remainders, moduli), *totals[1:]).with_trend()


def _no_rows() -> WindowRows:
    return WindowRows(np.empty((0, 3), np.int64), *make_rows(0, 1, 0, 0, 1))


def _ranked(
    graph: Graph, orders: Sequence[tuple[int, Order]], runs: np.ndarray, *, turned: bool
) -> tuple[Orders, np.ndarray, np.ndarray]:
    """Return the ranks of entries, and the shift and the highest rank of each run."""
    spans = np.zeros((runs.shape[0], 4), np.int64)
    spans[:, :2] = runs[:, [0, 2]]
    if turned:
        spans[:, :2] = graph.times.size - spans[::-1, 1::-1]
    ranks = rank_orders(graph, tuple(orders), spans)
    step = -1 if turned else 1
    return ranks, ranks.shifts[::step].copy(), ranks.sizes[::step].copy()


def _compared_graph(
    graph: Graph, times: np.ndarray, orders: Orders, compared: Sequence[int], *, turned: bool
) -> ComparedGraph:
    """Return the parts of a graph that `count_compared` reads, in the order of `times`."""
    states, earlier = graph.starts.size, graph.transition_from
    later = np.repeat(np.arange(states), np.diff(graph.transition_start))
    if turned:
        earlier, later = later, earlier
    free = [n for n in range(earlier.size) if n not in compared]
    followed = sorted({int(earlier[n]) for n in free})
    place = np.full(states, -1, np.int64)
    place[followed] = np.arange(len(followed))
    numbers = np.arange(len(compared))
    lists: list[Mapping[int, list[int]]] = [{s: [] for s in range(states)} for _ in range(3)]
    for n in free:
        lists[0][int(later[n])].append(int(place[earlier[n]]))
    for number, n in zip(numbers.tolist(), compared, strict=True):
        lists[1][int(later[n])].append(number)
        lists[2][int(earlier[n])].append(number)
    before, into, outs = (joined_lists([*each.values()]) for each in lists)
    trees = orders.transition_tree[list(compared)]
    return ComparedGraph(
        times,
        graph.states[::-1].copy() if turned else graph.states,
        graph.ends if turned else graph.starts,
        graph.starts if turned else graph.ends,
        place,
        *before,
        *into,
        *outs,
        trees,
        orders.transition_bound[list(compared)],
        orders.exact[trees],
        orders.ranks,
        orders.bounds,
        turned,
    )


def _rows_of_entries(
    query: BoundQuery,
    times: np.ndarray,
    offsets: np.ndarray,
    owned: Interval | None,
    *,
    turned: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of the period of each entry, -1 for none, and the keys of all rows."""
    periods = period_numbers(query.window, -times if turned else times)
    owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    least, most = query.window.owned(owned)
    chosen = np.flatnonzero((periods >= least) & (periods <= most))
    own, of = periods[chosen], owners[chosen]
    is_new = np.ones(chosen.size, np.bool_)
    is_new[1:] = (own[1:] != own[:-1]) | (of[1:] != of[:-1])
    rows = np.full(times.size, -1, np.int64)
    rows[chosen] = np.cumsum(is_new) - 1
    keys = np.zeros((int(is_new.sum()), 3), np.int64)
    keys[:, 0], keys[:, 1] = of[is_new], own[is_new]
    return rows, keys


def _counts(remainders: Sequence[np.ndarray], moduli: Sequence[int]) -> np.ndarray:
    """Return the numbers with some remainders, as `WindowRows.counts`."""
    if len(moduli) == 1:
        return remainders[0][:, None]
    if len(moduli) == 2 and max(moduli) < 2**31:
        (first, second), (p, q) = remainders, moduli
        more = (second - first) % q * pow(p, -1, q) % q
        return (first + p * more)[:, None]
    return joined_remainders(np.stack(remainders, axis=1).tolist(), moduli)
