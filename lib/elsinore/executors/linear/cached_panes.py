"""Compute the maps of panes once, and use them for all later windows of collapsed queries.

An event is a linear map on a query's accumulators, and so is a pane (Hamlet, section 3.1: panes).
Here the map of a pane is computed from its events only, as rows that can be cached. Windows are
products of such maps and read no event again. So an hour costs an hour, however long WITHIN is.

A trend continues in a pane at a state that may directly follow its last state. So the effect of a
pane on a trend depends on the set of states at which it may continue, an *opening*: the start
states, or the successors of a state. A map has a row per opening and state. The row contains the
number of trends inside the pane that begin in the opening and end at the state, and the query's
other accumulators over them.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import gcd

import numpy as np
import pyarrow as pa

from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import LARGEST_SET, Member, SweepSet, sweep_template
from elsinore.executors.output.partial_rows import PartialRows, by_shape, merge
from elsinore.executors.output.state_columns import StateColumn
from elsinore.executors.output.window_rows import Groups
from elsinore.executors.output.wire import Place
from elsinore.numbers.exact_columns import Integers
from elsinore.query.bound import BoundQuery
from elsinore.query.query_keys import Part, PartKind, QueryKey
from elsinore.sorting import ascending
from elsinore.template.placement import partition_signature
from elsinore.template.template import Template, leading_to, reachable
from elsinore.timeline import Interval
from elsinore.windows import Window

#: Maximum number of rows of a pane's map. Each is compiled like a query, with all of its states:
#: 400 rows take about a second, and quantifiers can ask for a million.
MOST_ROWS = 400

#: A row of a pane's map: number of the opening, and the state at which trends end.
_Place = tuple[int, int]


def cache_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Return why the panes of a query cannot be cached; empty if they can."""
    if query.step_of is not None:
        return ("the steps of a query are finished together",)
    if query.participating:
        return ("EACH and DISTINCT read the events of whole windows",)
    if query.measured or query.refinement is not None:
        return ("measures of trends are computed for whole windows",)
    if query.window.axis:
        return ("windows with OFFSET, windows of a calendar, and sessions are computed whole",)
    if query.order is not None:
        return ("time.then orders events with equal times",)
    template = sweep_template(query)
    if isinstance(template, str):
        return (template,)
    if len(_map_of(query, template)[-1]) > MOST_ROWS:
        return ("its panes have too many pairs of states",)
    every = frozenset(range(len(query.keys)))
    if any(template.states[state].keys != every for state in template.trend_states):
        return ("some of its events lack a key: their groups depend on the whole window",)
    return ()


@dataclass(frozen=True, eq=False)
class CachedPanes:
    """Collapsed queries whose windows are computed from cached panes."""

    queries: tuple[BoundQuery, ...]  #: queries without `cache_refusals`
    block: int  #: length of the cached time ranges, a multiple of the pane of each query

    @cached_property
    def _members(self) -> tuple[_Member, ...]:
        return tuple(_Member.of(n, query, self.block) for n, query in enumerate(self.queries))

    @cached_property
    def _sets(self) -> tuple[SweepSet, ...]:
        """Return every row of every map as a query, grouped into sets that are swept together."""
        alike: dict[object, list[tuple[BoundQuery, Template]]] = defaultdict(list)
        for member in self._members:
            for each in member.rows:
                alike[partition_signature(*each)].append(each)
        return tuple(
            SweepSet(*zip(*rows[first : first + LARGEST_SET], strict=True))
            for rows in alike.values()
            for first in range(0, len(rows), LARGEST_SET)
        )

    @cached_property
    def places(self) -> dict[QueryKey, Place]:
        """Return the place of each row of every map, by the key of its query."""
        return {
            query.key: Place(member.number, *place)
            for member in self._members
            for (query, _), place in zip(member.rows, member.places, strict=True)
        }

    @cached_property
    def pane_queries(self) -> dict[Place, BoundQuery]:
        """Return the query of each row of every map, by its place."""
        queries = (query for member in self._members for query, _ in member.rows)
        return {self.places[query.key]: query for query in queries}

    def pane_rows(
        self, events: EventTable | EventColumns, owned: Interval | None = None
    ) -> Iterator[PartialRows]:
        """Yield the maps of the panes that end in an interval.

        The window of a row is its pane. Its group contains the values of all keys.

        Args:
            events: events in any order, of all partitions.
            owned: the interval; None for all panes.
        """
        columns = EventColumns.of(events)
        for rows in self._sets:
            yield from aggregate_sweep(rows, columns, owned=owned)

    def folded(self, panes: Sequence[PartialRows], block: int) -> Iterator[PartialRows]:
        """Yield the maps of longer panes, given all rows of the shorter panes in them.

        So the panes of a long block can be computed in parts.

        Args:
            panes: rows of `pane_rows`.
            block: length of the longer blocks.
        """
        wider = replace(self, block=block)
        for number, own in self._by_member(panes):
            yield from self._members[number].folded(own, wider._members[number])

    def window_rows(
        self, panes: Sequence[PartialRows], owned: Interval | None = None
    ) -> Iterator[PartialRows]:
        """Yield partial rows of windows, given all rows of their panes.

        Args:
            panes: rows of `pane_rows` or `folded`.
            owned: only windows that end in this interval; None: all windows that contain a pane
                with a row.
        """
        for number, own in self._by_member(panes):
            yield from self._members[number].window_rows(own, owned)

    def _by_member(self, panes: Sequence[PartialRows]) -> Iterator[tuple[int, PartialRows]]:
        """Yield the number of each member that has rows, with its rows."""
        found: dict[int, list[PartialRows]] = {}
        for part in panes:
            members = np.array([self.places[query.key].query for query in part.queries])
            owners = members[part.query]
            for number in np.unique(owners).tolist():
                mine = np.flatnonzero(owners == number)
                own = part if mine.size == len(part) else part.take(mine)
                found.setdefault(number, []).append(own)
        for number in sorted(found):
            yield number, PartialRows.joined(found[number])


def _map_of(
    query: BoundQuery, template: Template
) -> tuple[tuple[frozenset[int], ...], dict[int, int], tuple[_Place, ...]]:
    """Return `openings`, `after` and `places` of the `_Member` of a query."""
    follow = Member(query, template).after
    openings = {frozenset(s for s in template.starts if s in follow): 0}
    after = {state: openings.setdefault(follow[state], len(openings)) for state in follow}
    places = [
        (opening, state)
        for states, opening in openings.items()
        for state in sorted(reachable(states, follow.__getitem__))
    ]
    return tuple(openings), after, tuple(places)


@dataclass(frozen=True, eq=False)
class _Member:
    """One query of `CachedPanes`."""

    number: int
    #: the query, and its template of trends.
    query: BoundQuery
    template: Template
    pane: int  #: length of its panes
    openings: tuple[frozenset[int], ...]  #: the sets of states; the start states are the first
    after: Mapping[int, int]  #: number of the opening after each state
    places: tuple[_Place, ...]  #: the rows of a pane's map

    @classmethod
    def of(cls, number: int, query: BoundQuery, block: int) -> _Member:
        """Return the member for a query; `block` is the length that its panes must divide."""
        template = sweep_template(query)
        assert isinstance(template, Template), template
        openings, after, places = _map_of(query, template)
        pane = gcd(query.window.within, query.window.slide, block)
        return cls(number, query, template, pane, openings, after, places)

    @cached_property
    def rows(self) -> tuple[tuple[BoundQuery, Template], ...]:
        """Return each row of the map as a query by all keys, with tumbling windows of one pane."""
        keys = tuple(replace(k, group_label=k.group_label or k.attribute) for k in self.query.keys)
        window, found = Window(self.pane, self.pane), []
        for place in self.places:
            part = Part(PartKind.PANE, place)
            query = replace(self.query, part=part, keys=keys, window=window)
            found.append((query, self._between(*place)))
        return tuple(found)

    def _between(self, opening: int, end: int) -> Template:
        """Return the template of the trends that begin in an opening and end at a state."""
        arrows = [(arrow.earlier, arrow.later) for arrow in self.template.transitions]
        useful = leading_to([end], arrows)
        ways = [t for t in self.template.transitions if {t.earlier, t.later} <= useful]
        starts = self.openings[opening] & useful
        return replace(
            self.template,
            transitions=tuple(ways),
            starts=dict.fromkeys(starts),
            ends={end: None},
        )

    def window_rows(self, rows: PartialRows, owned: Interval | None) -> list[PartialRows]:
        """Return partial rows of the query's windows; see `CachedPanes.window_rows`."""
        maps, partitions = self._maps(rows)
        window = self.query.window
        reached = Interval(min(maps), max(maps) + self.pane + window.within - 1)
        numbers = window.ending_in(owned or reached)
        groups = Groups.of(self._group_texts(partitions))
        found = [
            trends.rows_of(number, self.query, groups)
            for number, trends in self._products(maps, numbers)
        ]
        return merge(found) if groups.are_shared else by_shape(found)

    def folded(self, rows: PartialRows, wider: _Member) -> list[PartialRows]:
        """Return the rows of another member's longer panes, given the rows of its own panes."""
        maps, partitions = self._maps(rows)
        groups, found = Groups.of(partitions), []
        for number in sorted({start // wider.pane for start in maps}):
            start = number * wider.pane
            product = self._product({}, maps, start, start + wider.pane, every=True)
            for place, (query, _) in zip(self.places, wider.rows, strict=True):
                if place in product:
                    found.append(product[place].rows_of(number, query, groups))
        return by_shape(found)

    def _maps(self, rows: PartialRows) -> tuple[dict[int, _Map], pa.Array]:
        """Return the maps by the start of their pane, ascending, of all panes that have rows.

        Also return the key values of each partition.
        """
        used, owners = np.unique(rows.group, return_inverse=True)
        own = zip((query.key for query, _ in self.rows), self.places, strict=True)
        place_of, maps = dict(own), defaultdict[int, _Map](dict)
        order = ascending(rows.window, rows.query)
        where = np.stack([rows.window[order], rows.query[order]])
        for each in np.split(order, np.flatnonzero(np.diff(where).any(axis=0)) + 1):
            window, query = int(rows.window[each[0]]), rows.queries[rows.query[each[0]]]
            position = np.full(used.size, each.size)
            position[owners[each]] = np.arange(each.size)
            columns = (
                type(column).joined([column.take(each), column.zero(1)]).take(position)
                for column in rows.columns
            )
            maps[window * self.pane][place_of[query.key]] = _Trends.of(columns)
        return maps, rows.groups.take(pa.array(used))

    def _products(self, maps: Mapping[int, _Map], numbers: range) -> Iterator[tuple[int, _Trends]]:
        """Yield the number and the trends of each of some windows that has any.

        The panes that all these windows share are multiplied once, for every opening. This is
        skipped if there are not more windows than openings.
        """
        if not numbers:
            return
        bounds = self.query.window.bounds
        low = bounds(numbers[-1]).start
        high = max(bounds(numbers[0]).end, low) if len(numbers) > len(self.openings) else low
        middle = self._product({}, maps, low, high, every=True)
        for number in numbers:
            window = bounds(number)
            found = self._product({}, maps, window.start, min(low, window.end))
            if window.end > low:
                found = self._then(found, middle, [0])
                found = self._product(found, maps, high, window.end)
            ends = [found[0, end] for end in sorted(self.template.ends) if (0, end) in found]
            if ends:
                yield number, reduce(_Trends.__add__, ends)

    def _product(
        self, found: _Map, maps: Mapping[int, _Map], start: int, end: int, *, every: bool = False
    ) -> _Map:
        """Return a map followed by the panes between two timestamps.

        The result has the rows of the start opening, or with `every`, of all openings.
        """
        openings = range(len(self.openings)) if every else [0]
        starts = list(maps)
        for pane in starts[bisect_left(starts, start) : bisect_left(starts, end)]:
            found = self._then(found, maps[pane], openings)
        return found

    def _then(self, earlier: _Map, later: _Map, openings: Iterable[int]) -> _Map:
        """Return some rows of the product of two consecutive maps.

        A trend is in the earlier part, in the later part, or continues from one to the other.
        """
        found: _Map = {}
        for opening, state in self.places:
            if opening not in openings:
                continue
            parts = [part[opening, state] for part in (earlier, later) if (opening, state) in part]
            for middle, onwards in self.after.items():
                if (opening, middle) in earlier and (onwards, state) in later:
                    parts.append(earlier[opening, middle].then(later[onwards, state]))
            if parts:
                found[opening, state] = reduce(_Trends.__add__, parts)
        return found

    def _group_texts(self, partitions: pa.Array) -> pa.Array:
        """Return the group of each partition as a JSON array."""
        keys = self.query.keys
        if len(self.query.group_keys) == len(keys):
            return partitions
        chosen = [n for n, key in enumerate(keys) if key.group_label is not None]
        values = ([json.loads(text)[n] for n in chosen] for text in partitions.to_pylist())
        return pa.array([json.dumps(each, ensure_ascii=False) for each in values], pa.string())


# ---- numbers over all partitions at once


@dataclass(frozen=True, eq=False)
class _Trends:
    """The accumulators of some trends, for each of P partitions."""

    count: Integers  #: the numbers of trends
    others: tuple[StateColumn, ...]  #: the other accumulators, in the order of partial rows

    @classmethod
    def of(cls, columns: Iterable[StateColumn]) -> _Trends:
        """Return the trends with some columns of partial rows."""
        count, *others = columns
        assert isinstance(count, Integers)
        return cls(count, tuple(others))

    def __add__(self, other: _Trends) -> _Trends:
        """Return the accumulators of these trends and others."""
        pairs = zip(self.others, other.others, strict=True)
        return _Trends(self.count.plus(other.count), tuple(ours.plus(more) for ours, more in pairs))

    def then(self, other: _Trends) -> _Trends:
        """Return the accumulators of each of these trends followed by each of the others.

        The value of a concatenated trend is the sum of its parts' values (Hamlet, section 2: linear
        aggregates).
        """
        both = (
            ours.times(other.count).plus(theirs.times(self.count))
            for ours, theirs in zip(self.others, other.others, strict=True)
        )
        return _Trends(self.count.times(other.count), tuple(both))

    def rows_of(self, number: int, query: BoundQuery, groups: Groups) -> PartialRows:
        """Return a query's rows of a window, for the partitions that have a trend."""
        there = np.flatnonzero(self.count.nonzero)
        return PartialRows(
            (query,),
            groups.texts,
            np.zeros(there.size, np.int32),
            groups.numbers[there],
            np.full(there.size, number),
            tuple(column.take(there) for column in (self.count, *self.others)),
        )


#: The rows of a map that are not all zero.
_Map = dict[_Place, _Trends]
