"""Runs queries that compare the same values together: one order tree for all of them.

Queries of one sharable set whose conditions on pairs are single comparisons rank the same values.
So they go through greta as one merged template; a node of a tree has a count for each query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from elsinore.engine.climb import Totals, climb
from elsinore.engine.columns import EventColumns
from elsinore.engine.entries import StateEntries, at_states, key_codes, make_entries
from elsinore.engine.partial_rows import partial_rows
from elsinore.engine.run_template import fill_slots, spans_of
from elsinore.engine.weights import NO_RANK, stack_rows, weigh_events
from elsinore.kernels.graph import Graph, Lanes
from elsinore.kernels.rows import Rows
from elsinore.lowering.carriers import Carriers, WeightColumns, carriers_of
from elsinore.lowering.conditions import is_comparison
from elsinore.lowering.layout import Layout, lay_out
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.sharing.merged import Admission, MergedTemplate
from elsinore.sharing.sharable import SharableSet, sharable_sets
from elsinore.timeline import Interval
from elsinore.windows import Window


@dataclass(frozen=True, eq=False)
class OrderedSet:
    """Queries with one window, lowered.

    Attributes:
        found: the queries, a sharable set.
        layout: the arrays of all of them as one template; each condition is answered by order.
        carriers: of each query.
        first: int64[Q + 1], the column of each query's count of trends; its carriers follow.
        lanes: which columns go where.
        weights: columns of weights by number.
        counted: for each row of weights its column there, and bool[S]: the states that have it.
    """

    found: SharableSet
    layout: Layout
    carriers: tuple[Carriers, ...]
    first: np.ndarray
    lanes: Lanes
    weights: WeightColumns
    counted: tuple[tuple[int, np.ndarray], ...]


def only_compares(found: SharableSet) -> bool:
    """Whether every condition on pairs is one comparison, which trees answer."""
    conditions = (link.condition for link in found.merged.links)
    return all(condition is None or is_comparison(condition) for condition in conditions)


def ordered_sets(found: SharableSet) -> list[SharableSet]:
    """Those queries of a set that only compares values that can share trees.

    Their windows are the same; they ask for counts and whole numbers alone, and take the same
    events at each state that they have in common.
    """
    merged = found.merged
    groups: list[tuple[Window, dict[int, Admission], list[BoundQuery]]] = []
    for q, query in enumerate(merged.queries):
        carriers = carriers_of(query)
        if carriers.sums or carriers.extremes:
            continue
        mine = {s: asked[q] for s, asked in enumerate(merged.admissions) if q in asked}
        for window, asked, held in groups:
            if window == query.window and all(
                asked.get(s, what) == what for s, what in mine.items()
            ):
                asked |= mine
                held.append(query)
                break
        else:
            groups.append((query.window, mine, [query]))
    return [part for _, _, held in groups for part in sharable_sets(held).sets]


def lower_ordered(found: SharableSet) -> OrderedSet:
    """All that can be worked out before any event."""
    merged = found.merged
    carriers = tuple(carriers_of(query) for query in merged.queries)
    widths = [1 + len(each.counts) for each in carriers]
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    weights = WeightColumns()
    counted: dict[tuple[int, tuple[bool, ...]], int] = {}
    weight_of = np.full(first[-1], -1, np.int64)
    for q, each in enumerate(carriers):
        for index, carrier in enumerate(each.counts, 1):
            places = range(len(merged.states))
            states = tuple(_counts_at(merged, q, place, carrier.positions) for place in places)
            key = weights.number(0, carrier), states
            weight_of[first[q] + index] = counted.setdefault(key, len(counted))
    return OrderedSet(
        found,
        lay_out(merged.as_template()),
        carriers,
        first,
        _lanes(merged, first, weight_of),
        weights,
        tuple((column, np.array(states, np.bool_)) for column, states in counted),
    )


def _counts_at(merged: MergedTemplate, query: int, state: int, positions: frozenset[int]) -> bool:
    """Whether events at a merged state are at some positions of a query."""
    own = merged.states[state].members.get(query)
    return own is not None and merged.templates[query].states[own].positions <= positions


def _lanes(merged: MergedTemplate, first: np.ndarray, weights: np.ndarray) -> Lanes:
    def columns(queries: tuple[int, ...]) -> list[int]:
        return [k for q in queries for k in range(first[q], first[q + 1])]

    states = range(len(merged.states))
    starts = [[int(first[q]) for q in merged.starts(state)] for state in states]
    ends = [columns(merged.ends(state)) for state in states]
    links = [columns(link.queries) for link in merged.links]
    trends = np.repeat(first[:-1], np.diff(first))
    return Lanes(trends, weights, *_listed(starts), *_listed(ends), *_listed(links))


def _listed(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Where each list begins, and all of them in one."""
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return starts, np.array([number for row in rows for number in row], np.int64)


def aggregate_ordered(
    lowered: OrderedSet, columns: EventColumns, owned: Interval | None = None
) -> pa.Table:
    """Unfinished rows (`results.partial`) of the windows that end in `owned`, or of all."""
    merged = lowered.found.merged
    codes = key_codes(merged.queries[0], columns)
    entries = make_entries(merged.standings, codes, columns)
    placed = at_states(entries, merged.standings, merged.merged_places)
    graph = _graph(lowered, columns, placed)
    spans = spans_of(merged.queries[0].window, placed.offsets, placed.times, owned)
    groups = entries.group_texts(merged.queries[0], codes)
    parts = [PARTIAL_SCHEMA.empty_table()]
    for totals in climb(graph, spans, lowered.layout.orders):
        parts += _rows(lowered, groups, totals)
    return merge_partials(pa.concat_tables(parts))


def _graph(lowered: OrderedSet, columns: EventColumns, entries: StateEntries) -> Graph:
    size = entries.rows.size
    slots = fill_slots(lowered.layout.slots, columns, entries.rows, entries.states)
    longs, doubles, known = slots
    weights = weigh_events(lowered.weights, columns, entries.rows).longs
    own = [weights[column] * states[entries.states] for column, states in lowered.counted]
    return Graph(
        times=entries.times,
        states=entries.states,
        slots_l=longs,
        slots_d=doubles,
        known=known,
        count_weights=stack_rows(own, size, np.int64),
        sum_weights=np.empty((0, size)),
        ranks=np.empty((0, size), np.int64),
        no_rank=NO_RANK,
        base=np.empty(0, np.int64),
        lanes=lowered.lanes,
        **lowered.layout.arrays,
    )


def _rows(lowered: OrderedSet, groups: pa.Array, totals: Totals) -> Iterator[pa.Table]:
    """Partial rows of each query that has trends in these windows."""
    for q, query in enumerate(lowered.found.merged.queries):
        low, high = lowered.first[q : q + 2]
        rows = Rows(totals.rows.counts[:, low:high], *totals.rows[1:])
        own = Totals(totals.spans, rows).with_trend()
        if len(own.spans):
            yield from partial_rows(query, lowered.carriers[q], groups, [], [own])
