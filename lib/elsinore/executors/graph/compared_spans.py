"""Count trends with a span that have at most one pair of events with a comparison.

See `kernels.span_compared`. If the first event decides on the period, entries are read in reverse,
and the later event of a pair takes the part of the earlier one.

Trends with several comparisons are harder. Take `SEQ(A, B, C)` with `A.v = NEXT(B).v` and `B.w =
NEXT(C).w`, and write each edge of a graph with three groups of nodes as an event: the numbers of
its nodes are the time and v of A, v and w of B, and w and the time of C. The trends whose first and
last events are exactly one span apart are the triangles of the graph. They are the difference of
two spans. So an algorithm in linear time would count the triangles of a graph in linear time.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.climb import rank_orders
from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.orders import Orders
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
from elsinore.executors.joined_lists import joined_lists
from elsinore.executors.output.window_rows import WindowRows
from elsinore.numbers.rows import make_rows
from elsinore.query.bound import BoundQuery
from elsinore.template.template import ALWAYS, Template, reachable
from elsinore.timeline import Interval

#: Maximum number of states with a successor without a comparison.
MOST_FOLLOWED = 6
#: Minimum number of entries of a run.
_LEAST = 4_096


def compares_once(template: Template, ordered: Container[int]) -> bool:
    """Return whether each trend has at most one pair of events with a condition, a comparison.

    Args:
        template: the template.
        ordered: the numbers of the transitions whose condition is one comparison.
    """
    arrows = template.transitions
    compared = [n for n, arrow in enumerate(arrows) if arrow.condition != ALWAYS]
    if not has_no_floors(template) or not all(number in ordered for number in compared):
        return False
    after: dict[int, set[int]] = {state: set() for state in range(len(template.states))}
    for arrow in arrows:
        after[arrow.earlier].add(arrow.later)
    sources = {arrows[number].earlier for number in compared}
    later = reachable([arrows[number].later for number in compared], after.__getitem__)
    followed = [
        {side(arrow) for number, arrow in enumerate(arrows) if number not in compared}
        for side in (lambda arrow: arrow.earlier, lambda arrow: arrow.later)
    ]
    few = max(map(len, followed)) <= MOST_FOLLOWED
    return bool(compared) and few and sources.isdisjoint(later)


def compared_counts(
    query: BoundQuery,
    graph: Graph,
    offsets: np.ndarray,
    orders: Sequence[tuple[int, Order]],
    owned: Interval | None,
) -> WindowRows | None:
    """Return the numbers of trends of all periods; None if an inverse does not exist.

    Args:
        query: the query.
        graph: the graph of a template for which `compares_once` is true.
        offsets: int64[P + 1], the first entry of each partition.
        orders: the transitions with a comparison.
        owned: only periods that end in this interval; None for every period.

    Raises:
        QueryError: more than `row_bound.MOST_WINDOWS` periods contain an event.
    """
    assert query.window.span is not None
    bound_on_periods(query, graph.times, offsets)
    turned = by_first(query)
    times = -graph.times[::-1] if turned else graph.times
    partitions = graph.times.size - offsets[::-1] if turned else offsets
    given = partitions, times, query.window.span.length, _LEAST
    runs = np.empty((fill_runs(*given, np.empty((0, 5), np.int64)), 5), np.int64)
    fill_runs(*given, runs)
    if not runs.shape[0]:
        return _no_rows()
    ranked = _ranked(graph, orders, runs, turned=turned)
    compared = _compared_graph(graph, times, ranked.orders, [n for n, _ in orders], turned=turned)
    rows, keys = _rows_of_entries(query, times, partitions, owned, turned=turned)
    bits = bound_bits(compared, runs, np.empty(graph.starts.size)) + np.log2(runs.shape[0]) + 1
    work = make_compared_work(
        compared, int((runs[:, 2] - runs[:, 0]).max()), int(ranked.sizes.max())
    )
    primes, parts = primes_below(int(bits) // BITS + 1), list[np.ndarray]()
    for prime in primes:
        totals = np.zeros(keys.shape[0], np.int64)
        if not count_compared(
            compared, runs, ranked.shifts, ranked.sizes, rows, work, prime, totals
        ):
            return None
        parts.append(totals)
    if turned:
        keys[:, 0] = offsets.size - 2 - keys[:, 0]
    totals = make_rows(keys.shape[0], 1, 0, 0, 1)
    return WindowRows(keys, _counts(parts, primes), *totals[1:]).with_trend()


def _no_rows() -> WindowRows:
    return WindowRows(np.empty((0, 3), np.int64), *make_rows(0, 1, 0, 0, 1))


class _Ranked(NamedTuple):
    """The ranks of entries, with the shift and the highest rank of each run."""

    orders: Orders
    shifts: np.ndarray
    sizes: np.ndarray


def _ranked(
    graph: Graph, orders: Sequence[tuple[int, Order]], runs: np.ndarray, *, turned: bool
) -> _Ranked:
    """Return the ranks of the entries of runs."""
    spans = np.zeros((runs.shape[0], 4), np.int64)
    spans[:, :2] = runs[:, [0, 2]]
    if turned:
        spans[:, :2] = graph.times.size - spans[::-1, 1::-1]
    ranks = rank_orders(graph, tuple(orders), spans)
    step = -1 if turned else 1
    return _Ranked(ranks, ranks.shifts[::step].copy(), ranks.sizes[::step].copy())


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
    periods = (-times if turned else times) // query.window.within
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


def _counts(remainders: Sequence[np.ndarray], primes: Sequence[int]) -> np.ndarray:
    """Return the numbers with some remainders, as `WindowRows.counts`."""
    if len(primes) == 1:
        return remainders[0][:, None]
    if len(primes) == 2:
        (first, second), (p, q) = remainders, primes
        more = (second - first) % q * pow(p, -1, q) % q
        return (first + p * more)[:, None]
    return joined_remainders(np.stack(remainders, axis=1).tolist(), primes)
