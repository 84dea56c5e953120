"""Runs queries that compare the same values together: one order tree for all of them.

Queries of one sharable set whose conditions on pairs are single comparisons rank the same values.
So they go through greta as one merged template; a node of a tree has a count for each query whose
trends differ up to there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.engine.climb import climb
from elsinore.engine.columns import EventColumns
from elsinore.engine.entries import StateEntries, at_states, key_codes, make_entries
from elsinore.engine.partial_rows import Reading, partial_tables
from elsinore.engine.run_template import build_graph, spans_of
from elsinore.engine.weights import weigh_events
from elsinore.kernels.graph import Lanes
from elsinore.lowering.carriers import Carrier, WeightColumns, carriers_of
from elsinore.lowering.conditions import is_comparison
from elsinore.lowering.layout import Layout, lay_out
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.sharing.merged import Admission, Link, MergedTemplate, Ways
from elsinore.sharing.sharable import SharableSet, sharable_sets
from elsinore.template.template import ALWAYS
from elsinore.timeline import Interval
from elsinore.windows import Window


@dataclass(frozen=True, eq=False)
class OrderedSet:
    """Queries with one window, lowered."""

    found: SharableSet  #: the queries, a sharable set
    backwards: bool  #: whether events are taken from the last to the first
    #: the arrays of all of them as one template; each condition is answered by order.
    layout: Layout
    #: int64[Q + 1], the column of each query's count of trends in a total; its carriers follow.
    first: np.ndarray
    lanes: Lanes  #: which columns go where
    weights: WeightColumns  #: columns of weights by number


def only_compares(found: SharableSet) -> bool:
    """Return whether every condition on pairs is one comparison, which trees answer."""
    conditions = (link.condition for link in found.merged.links)
    return all(condition == ALWAYS or is_comparison(condition) for condition in conditions)


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


def lower_ordered(found: SharableSet, *, backwards: bool | None = None) -> OrderedSet:
    """All that can be worked out of one of `ordered_sets` before any event.

    A sum over trends is the same from their ends: `SEQ(S1, B+)` to `SEQ(S9, B+)` have one column
    for what follows any S, and nine for what comes after S1 to S9. None takes events from the last
    to the first where trees hold fewer columns that way.
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
    """What a query counts at a merged state: its trends (0), or its carrier of that number."""

    query: int
    carrier: int
    state: int


class _Columns:
    """Which counts of several queries are the same at a state, and so have one column there.

    They are where they start alike and come over the same links from counts that are the same.

    Attributes:
        ways: of the trends.
        first: see `OrderedSet`.
        weight_of: the column of weights that each count adds up; -1 for none.
        class_of: those that are the same have one number.
        column: of each class at its state.
    """

    def __init__(self, merged: MergedTemplate, ways: Ways, weights: WeightColumns) -> None:
        self.ways = ways
        counted = [carriers_of(query).sides[0] for query in merged.queries]
        self.first = np.cumsum([0, *map(len, counted)], dtype=np.int64)
        self.weight_of = {
            _Count(query, number, state): _weight(merged, query, state, carrier, weights)
            for state, merged_state in enumerate(merged.states)
            for query in merged_state.members
            for number, carrier in enumerate(counted[query])
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
        """The coarsest classes: all in one, parted by what they come from until that ends."""
        into: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for number, link in enumerate(self.ways.links):
            for query in link.queries:
                into[query, link.later].append((number, link.earlier))
        found = dict.fromkeys(self.weight_of, 0)
        while True:
            numbers: dict[Hashable, int] = {}
            refined = {}
            for count, weight in self.weight_of.items():
                query, carrier, state = count
                starts = not carrier and query in self.ways.starts[state]
                trends = found[_Count(query, 0, state)] if carrier else -1
                added = frozenset(
                    (link, found[_Count(query, carrier, earlier)])
                    for link, earlier in into[query, state]
                )
                mark = state, weight, starts, trends, added
                refined[count] = numbers.setdefault(mark, len(numbers))
            if len(numbers) == len(set(found.values())):
                return found
            found = refined

    def of(self, query: int, state: int) -> list[int]:
        """The columns of a query's trends and carriers at a state."""
        numbers = range(self.first[query + 1] - self.first[query])
        return [self.column[self.class_of[_Count(query, number, state)]] for number in numbers]

    def over(self, link: Link) -> list[tuple[int, int]]:
        """The columns after and before a link, each pair once."""
        ends = ((self.of(q, link.later), self.of(q, link.earlier)) for q in link.queries)
        return sorted({pair for after, before in ends for pair in zip(after, before, strict=True)})

    @property
    def read(self) -> int:
        """How many columns are read from trees."""
        return sum(len(self.over(link)) for link in self.ways.links if link.condition != ALWAYS)

    def lanes(self) -> Lanes:
        """For kernels."""
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
    merged: MergedTemplate, query: int, state: int, carrier: Carrier | None, weights: WeightColumns
) -> int:
    """The column of weights that a query counts at a merged state; -1 for none."""
    own = merged.templates[query].states[merged.states[state].members[query]]
    counts = carrier is not None and own.positions <= carrier.positions
    return weights.number(0, carrier) if carrier and counts else -1


def _listed(rows: Sequence[Sequence[object]], *width: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each list begins, and all of them in one."""
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return starts, np.array([each for row in rows for each in row], np.int64).reshape(-1, *width)


def aggregate_ordered(
    lowered: OrderedSet, columns: EventColumns, owned: Interval | None = None
) -> pa.Table:
    """Unfinished rows (`results.partial`) of the windows that end in `owned`, or of all."""
    merged = lowered.found.merged
    codes = key_codes(merged.queries[0], columns)
    entries = make_entries(merged.standings, codes, columns)
    placed = at_states(entries, merged.standings, merged.merged_places)
    spans = spans_of(merged.queries[0], placed.offsets, placed.times, owned)
    if lowered.backwards:
        placed, spans = _turned(placed, spans)
    weights = weigh_events(lowered.weights, columns, placed.rows)
    last = np.empty(0, np.int64)
    graph = build_graph(lowered.layout, columns, placed, weights, last, lowered.lanes)
    groups = entries.group_texts(merged.queries[0], codes)
    readings = [Reading(query, groups, []) for query in merged.queries]
    parts = [PARTIAL_SCHEMA.empty_table()]
    for rows in climb(graph, spans, lowered.layout.orders):
        for reading, (low, high) in zip(readings, pairwise(lowered.first.tolist()), strict=True):
            own = replace(rows, counts=rows.counts[:, low:high])
            parts += partial_tables(own.with_trend(), [reading])
    return merge_partials(pa.concat_tables(parts))


def _turned(entries: StateEntries, spans: np.ndarray) -> tuple[StateEntries, np.ndarray]:
    """Entries and spans from the last to the first; partitions keep their numbers in spans."""
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
