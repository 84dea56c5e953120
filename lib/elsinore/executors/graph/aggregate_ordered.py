"""Run queries that compare the same values together, with common order trees.

If all conditions on pairs are single comparisons, greta can run the queries of a sharable set as
one merged template. Queries whose trends are the same up to a state share the counts of the tree
nodes there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from elsinore.executors.aggregates import Accumulator, WeightColumns, accumulators_of
from elsinore.executors.graph.climb import climb
from elsinore.executors.graph.kernels.graph import Lanes
from elsinore.executors.graph.layout import Layout, lay_out
from elsinore.executors.graph.run_template import build_graph
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.conditions import is_comparison
from elsinore.executors.input.entries import StateEntries, at_states, key_codes, make_entries
from elsinore.executors.input.slots import spans_of
from elsinore.executors.input.weights import weigh_events
from elsinore.executors.kinds import Kind
from elsinore.executors.output.partial_rows import PartialRows, by_shape
from elsinore.executors.output.window_rows import Groups, Reading, partial_rows
from elsinore.query.bound import BoundQuery
from elsinore.sharing.merged import Link, MergedTemplate, Ways
from elsinore.sharing.sharable import SharableSet, sharable_sets
from elsinore.template.placement import Admission
from elsinore.template.template import ALWAYS
from elsinore.timeline import Interval
from elsinore.windows import Window


@dataclass(frozen=True, eq=False)
class OrderedSet:
    """Queries with one window clause, lowered to arrays."""

    found: SharableSet  #: the queries, a sharable set
    backwards: bool  #: whether events are processed from the last to the first
    #: the arrays of the merged template; order trees evaluate each of its conditions.
    layout: Layout
    #: int64[Q + 1], the column of each query's count of trends in a total; its other integer
    #: accumulators follow.
    first: np.ndarray
    lanes: Lanes  #: the columns of each state, link and total
    weights: WeightColumns  #: the columns of weights, numbered


def only_compares(found: SharableSet) -> bool:
    """Return whether trees can evaluate each condition on pairs: one comparison, or none."""
    conditions = (link.condition for link in found.merged.links)
    return all(condition == ALWAYS or is_comparison(condition) for condition in conditions)


def ordered_sets(found: SharableSet) -> list[SharableSet]:
    """Return the sharable sets of queries that can share order trees.

    The queries of a set have the same window clause, and they admit the same events at each state
    that they have in common. Queries with sums of doubles or extremes are left out, because the
    common rows hold only integers.

    Args:
        found: a sharable set for which `only_compares` is true.
    """
    merged = found.merged
    groups: list[tuple[Window, dict[int, Admission], list[BoundQuery]]] = []
    for q, query in enumerate(merged.queries):
        if not accumulators_of(query).are_integers:
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


def lower_ordered(found: SharableSet, *, backwards: bool | None = None) -> OrderedSet:
    """Return the arrays of one of `ordered_sets`, as far as they do not depend on events.

    Totals do not depend on the direction in which events are processed, but the number of columns
    does. For example, take `SEQ(S1, B+)` to `SEQ(S9, B+)`. Forward, B has nine columns, one per
    query. Backward, B has one column, because all trends end in the same B+.

    Args:
        found: the set.
        backwards: whether to process events from the last to the first; None: do so if trees then
            hold fewer columns.
    """
    merged = found.merged
    weights = WeightColumns()
    ways = [merged.ways, merged.ways.turned()]
    both = [_Columns(merged, each, weights) for each in ways]
    turned = both[1].read < both[0].read if backwards is None else backwards
    columns = both[turned]
    return OrderedSet(
        found,
        turned,
        lay_out(merged.as_template(columns.ways)),
        columns.first,
        columns.lanes(),
        weights,
    )


class _Count(NamedTuple):
    """A count of a query at a merged state.

    `accumulator` is its number among the query's integer accumulators; 0 counts trends.
    """

    query: int
    accumulator: int
    state: int


class _Columns:
    """The columns of the counts of several queries; equal counts at a state share a column.

    Counts are equal if they start trends alike, add the same weights, and add equal counts over the
    same links.

    Attributes:
        ways: the paths of the trends.
        first: see `OrderedSet`.
        weight_of: the column of weights that each count adds; -1 for none.
        class_of: the number of each count's class; equal counts have the same class.
        column: the column of each class at its state.
        columns: the largest number of columns at a state.
    """

    def __init__(self, merged: MergedTemplate, ways: Ways, weights: WeightColumns) -> None:
        self.ways = ways
        counted = [accumulators_of(query).columns[Kind.INTEGER] for query in merged.queries]
        self.first = np.cumsum([0, *map(len, counted)], dtype=np.int64)
        self.weight_of = {
            _Count(query, number, state): _weight(merged, query, state, accumulator, weights)
            for state, merged_state in enumerate(merged.states)
            for query in merged_state.members
            for number, accumulator in enumerate(counted[query])
        }
        self.class_of = self._refined()
        self.column: dict[int, int] = {}
        taken: Counter[int] = Counter()
        for count, number in self.class_of.items():
            if number not in self.column:
                self.column[number] = taken[count.state]
                taken[count.state] += 1
        self.columns = max(taken.values())

    def _refined(self) -> dict[_Count, int]:
        """Return the coarsest classes of equal counts, by partition refinement.

        All counts begin in one class. Classes are split by what their counts add, until none
        changes.
        """
        into: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for number, link in enumerate(self.ways.links):
            for query in link.queries:
                into[query, link.later].append((number, link.earlier))
        found = dict.fromkeys(self.weight_of, 0)
        while True:
            numbers: dict[Hashable, int] = {}
            refined = {}
            for count, weight in self.weight_of.items():
                query, number, state = count
                starts = not number and query in self.ways.starts[state]
                trends = found[_Count(query, 0, state)] if number else -1
                added = frozenset(
                    (link, found[_Count(query, number, earlier)])
                    for link, earlier in into[query, state]
                )
                mark = state, weight, starts, trends, added
                refined[count] = numbers.setdefault(mark, len(numbers))
            if len(numbers) == len(set(found.values())):
                return found
            found = refined

    def of(self, query: int, state: int) -> list[int]:
        """Return the columns of a query's trends and accumulators at a state."""
        numbers = range(self.first[query + 1] - self.first[query])
        return [self.column[self.class_of[_Count(query, number, state)]] for number in numbers]

    def over(self, link: Link) -> list[tuple[int, int]]:
        """Return the pairs (later column, earlier column) of a link, sorted and distinct."""
        ends = ((self.of(q, link.later), self.of(q, link.earlier)) for q in link.queries)
        return sorted({pair for after, before in ends for pair in zip(after, before, strict=True)})

    @property
    def read(self) -> int:
        """Return the number of columns that are read from trees."""
        return sum(len(self.over(link)) for link in self.ways.links if link.condition != ALWAYS)

    def lanes(self) -> Lanes:
        """Return the columns in the form that the kernels read."""
        shape = len(self.ways.starts), self.columns
        trends, weights = np.zeros(shape, np.int64), np.full(shape, -1, np.int64)
        for count, number in self.class_of.items():
            place = count.state, self.column[number]
            weights[place] = self.weight_of[count]
            trends[place] = self.of(count.query, count.state)[0]
        starts = [
            sorted({self.of(query, state)[0] for query in queries})
            for state, queries in enumerate(self.ways.starts)
        ]
        ends = [
            [pair for q in queries for pair in enumerate(self.of(q, state), int(self.first[q]))]
            for state, queries in enumerate(self.ways.ends)
        ]
        links = [self.over(link) for link in self.ways.links]
        return Lanes(
            self.columns, int(self.first[-1]), trends, weights,
            *_listed(starts), *_listed(ends, 2), *_listed(links, 2),
        )  # fmt: skip


def _weight(
    merged: MergedTemplate, query: int, state: int, accumulator: Accumulator, weights: WeightColumns
) -> int:
    """Return the column of weights that a query adds at a merged state; -1 for none."""
    own = merged.templates[query].states[merged.states[state].members[query]]
    return weights.number(accumulator) if accumulator.counts_at(own.positions) else -1


def _listed(rows: Sequence[Sequence[object]], *width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first index of each row, int64[R + 1], and all rows in one int64 array."""
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return starts, np.array([each for row in rows for each in row], np.int64).reshape(-1, *width)


def aggregate_ordered(
    lowered: OrderedSet, columns: EventColumns, owned: Interval | None = None
) -> list[PartialRows]:
    """Return partial rows of queries that share order trees.

    Args:
        lowered: the queries.
        columns: the events.
        owned: compute only windows that end in this interval; None for every window.
    """
    merged = lowered.found.merged
    codes = key_codes(merged.queries[0], columns)
    entries = make_entries(merged.placements, codes, columns, merged.queries[0].window)
    placed = at_states(entries, merged.placements, merged.merged_places)
    spans = spans_of(merged.queries[0], placed.offsets, placed.times, owned)
    if lowered.backwards:
        placed, spans = _turned(placed, spans)
    weights = weigh_events(lowered.weights, columns, placed.rows)
    last = np.empty(0, np.int64)
    graph = build_graph(lowered.layout, columns, placed, weights, last, lowered.lanes)
    groups = Groups.of(entries.group_texts(merged.queries[0], codes))
    climbed, found = climb(graph, spans, lowered.layout.orders), list[PartialRows]()
    for query, (low, high) in zip(merged.queries, pairwise(lowered.first.tolist()), strict=True):
        own = (replace(rows, counts=rows.counts[:, low:high]).with_trend() for rows in climbed)
        found += partial_rows(own, [Reading(query, groups, [])])
    return by_shape(found)


def _turned(entries: StateEntries, spans: np.ndarray) -> tuple[StateEntries, np.ndarray]:
    """Return entries and spans from the last to the first, with negated times.

    Spans keep the numbers of their partitions.
    """
    size = entries.times.size
    turned = spans[::-1].copy()
    turned[:, :2] = size - spans[::-1, 1::-1]
    return StateEntries(
        times=-entries.times[::-1],
        rows=entries.rows[::-1].copy(),
        states=entries.states[::-1].copy(),
        accepts=entries.accepts[::-1].copy(),
        offsets=size - entries.offsets[::-1],
    ), turned
