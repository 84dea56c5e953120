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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import gcd
from operator import add, mul
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.weights import NO_RANK, Extremes, stack_rows
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import LARGEST_SET, Member, SweepSet, sweep_template
from elsinore.executors.output.window_rows import (
    LOWEST,
    Reading,
    States,
    WindowRows,
    combine_groups,
    normal,
    partial_tables,
)
from elsinore.query.bound import BoundQuery
from elsinore.template.placement import partition_signature
from elsinore.template.template import Template, leading_to, reachable
from elsinore.timeline import Interval
from elsinore.windows import Window

#: A row of a pane's map: number of the opening, and the state at which trends end.
_Place = tuple[int, int]


def carried_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Return why the panes of a query cannot be cached; empty if they can."""
    if query.participating:
        return ("EACH and DISTINCT read the events of whole windows",)
    template = sweep_template(query)
    if isinstance(template, str):
        return (template,)
    every = frozenset(range(len(query.keys)))
    if any(template.states[state].keys != every for state in template.trend_states):
        return ("some of its events lack a key: their groups depend on the whole window",)
    return ()


@dataclass(frozen=True, eq=False)
class CarriedPanes:
    """Collapsed queries whose windows are computed from cached panes."""

    queries: tuple[BoundQuery, ...]  #: queries without `carried_refusals`
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

    def pane_rows(
        self, events: EventTable | EventColumns, owned: Interval | None = None
    ) -> Iterator[pa.Table]:
        """Yield the maps of the panes that end in an interval, as rows of `executors.output.wire`.

        The window of a row is its pane. Its group contains the values of all keys.

        Args:
            events: events in any order, of all partitions.
            owned: the interval; None for all panes.
        """
        columns = EventColumns.of(events)
        for rows in self._sets:
            yield aggregate_sweep(rows, columns, owned=owned)

    def folded(self, panes: pa.Table, block: int) -> Iterator[pa.Table]:
        """Yield the maps of longer panes, given all rows of the shorter panes in them.

        So the panes of a long block can be computed in parts.

        Args:
            panes: rows of `pane_rows`.
            block: length of the longer blocks.
        """
        wider = replace(self, block=block)
        for number, own in _by_query(panes):
            yield from self._members[number].folded(own, wider._members[number])

    def names(self, number: int) -> list[str]:
        """Return the names of the rows of a query's panes, given the number of the query."""
        return [query.name for query, _ in self._members[number].rows]

    def window_rows(self, panes: pa.Table, owned: Interval | None = None) -> Iterator[pa.Table]:
        """Yield unfinished rows of windows, given all rows of their panes.

        Args:
            panes: rows of `pane_rows` or `folded`.
            owned: only windows that end in this interval; None: all windows that contain a pane
                with a row.
        """
        for number, own in _by_query(panes):
            yield from self._members[number].window_rows(own, owned)


def _by_query(panes: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the number of each query that has rows, with its rows."""
    names = panes["query"].combine_chunks().dictionary_encode()
    numbers = np.array([int(n.split(" ")[0]) for n in names.dictionary.to_pylist()], np.int64)
    owners = numbers[np.asarray(names.indices)] if len(names) else np.empty(0, np.int64)
    for number in np.unique(owners).tolist():
        mine = owners == number
        yield number, panes if mine.all() else panes.filter(pa.array(mine))


@dataclass(frozen=True, eq=False)
class _Member:
    """One query of `CarriedPanes`."""

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
        follow = Member(query, template).after
        openings = {frozenset(s for s in template.starts if s in follow): 0}
        after = {state: openings.setdefault(follow[state], len(openings)) for state in follow}
        places = [
            (opening, state)
            for states, opening in openings.items()
            for state in sorted(reachable(states, follow.__getitem__))
        ]
        pane = gcd(query.window.within, query.window.slide, block)
        return cls(number, query, template, pane, tuple(openings), after, tuple(places))

    @property
    def rows(self) -> Iterator[tuple[BoundQuery, Template]]:
        """Yield each row of the map as a query by all keys, with tumbling windows of one pane."""
        keys = tuple(replace(k, group_label=k.group_label or k.attribute) for k in self.query.keys)
        window = Window(self.pane, self.pane)
        for place in self.places:
            name = " ".join(map(str, (self.number, *place)))
            source = replace(self.query.source, name=name)
            query = replace(self.query, source=source, keys=keys, window=window)
            yield query, self._between(*place)

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

    def window_rows(self, rows: pa.Table, owned: Interval | None) -> Iterator[pa.Table]:
        """Yield unfinished rows of the query's windows; see `CarriedPanes.window_rows`."""
        maps, partitions, extremes = self._maps(rows)
        window = self.query.window
        reached = Interval(min(maps), max(maps) + self.pane + window.within - 1)
        numbers = window.ending_in(owned or reached)
        found = [trends.rows_of(number) for number, trends in self._products(maps, numbers)]
        groups = self._group_texts(partitions)
        reading = Reading(self.query, groups, extremes)
        for combined in combine_groups(found, [reading]):
            yield from partial_tables(combined, [reading])

    def folded(self, rows: pa.Table, wider: _Member) -> Iterator[pa.Table]:
        """Yield the rows of another member's longer panes, given the rows of its own panes."""
        maps, partitions, extremes = self._maps(rows)
        readings = [Reading(query, partitions, extremes) for query, _ in wider.rows]
        found = []
        for number in sorted({start // wider.pane for start in maps}):
            start = number * wider.pane
            product = self._product({}, maps, start, start + wider.pane, every=True)
            places = (place for place in enumerate(self.places) if place[1] in product)
            found += [product[place].rows_of(number, query) for query, place in places]
        yield from partial_tables(WindowRows.joined(found), readings)

    def _maps(self, rows: pa.Table) -> tuple[dict[int, _Map], pa.Array, tuple[Extremes, ...]]:
        """Return the maps by the start of their pane, ascending, of all panes that have rows.

        Also return the key values of each partition, and the values of the ranks.
        """
        partitions = rows["group"].combine_chunks().dictionary_encode()
        owners, size = np.asarray(partitions.indices), len(partitions.dictionary)
        states = States.of(self.query, rows)
        extremes = tuple(
            Extremes(column, column.known, largest=accumulator.largest)
            for accumulator, column in states.extremes.items()
        )
        trends = _Trends.of(states, extremes)
        names = rows["query"].combine_chunks().dictionary_encode()
        places = [tuple(map(int, n.split(" ")[1:])) for n in names.dictionary.to_pylist()]
        starts = np.asarray(rows["window_start"])
        where = np.stack([starts, np.asarray(names.indices)])
        order = np.lexsort(where[::-1])
        cuts = np.flatnonzero((np.diff(where[:, order]) != 0).any(axis=0)) + 1
        maps: dict[int, _Map] = defaultdict(dict)
        for each in np.split(order, cuts):
            opening, state = places[where[1, each[0]]]
            maps[int(starts[each[0]])][opening, state] = trends.spread(each, owners[each], size)
        return maps, partitions.dictionary, extremes

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

#: Results below this are computed in 64 bits, others with Python's integers of any size.
_SAFE = 2.0**62


@dataclass(frozen=True)
class _Trends:
    """The accumulators of some trends, for each of P partitions."""

    #: int64[K, P], or object[K, P] of any size: the count, and the other integer accumulators.
    integers: np.ndarray
    #: float64[D, P] and int64[D, P], sums of doubles `sum * 2**exponent`.
    sums: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray  #: int64[R, P], ranks of minima and maxima

    @classmethod
    def of(cls, states: States, extremes: Sequence[Extremes]) -> _Trends:
        """Return the accumulators of rows, as if each row were a partition.

        Args:
            states: the states of the rows.
            extremes: the ranks of their minima and maxima.
        """
        integers = np.stack([*states.integers.values()])
        sums, exponents = (
            stack_rows([scaled[n] for scaled in states.sums.values()], integers.shape[1], kind)
            for n, kind in enumerate((np.float64, np.int64))
        )
        ranks = stack_rows([each.ranks for each in extremes], integers.shape[1], np.int64)
        return cls(integers, *normal(sums, exponents), ranks)

    def spread(self, rows: np.ndarray, partitions: np.ndarray, size: int) -> _Trends:
        """Return some of these, each moved to a partition; the other partitions are empty.

        Args:
            rows: int64[n], the partitions to take.
            partitions: int64[n], the partition to which each is moved.
            size: number of partitions of the result.
        """

        def placed(columns: np.ndarray, nothing: object) -> np.ndarray:
            found = np.full((columns.shape[0], size), nothing, columns.dtype)
            found[:, partitions] = columns[:, rows]
            return found

        return _Trends(
            placed(self.integers, 0),
            placed(self.sums, 0.0),
            placed(self.exponents, LOWEST),
            placed(self.ranks, NO_RANK),
        )

    def __add__(self, other: _Trends) -> _Trends:
        """Return the accumulators of these trends and others."""
        return _Trends(
            _exactly(add, self.integers, other.integers),
            *_add_scaled((self.sums, self.exponents), (other.sums, other.exponents)),
            np.minimum(self.ranks, other.ranks),
        )

    def then(self, other: _Trends) -> _Trends:
        """Return the accumulators of each of these trends followed by each of the others.

        The value of a concatenated trend is the sum of its parts' values (Hamlet, section 2: linear
        aggregates).
        """
        ours, theirs = self.integers[:1], other.integers[:1]
        both = _exactly(mul, ours, theirs)
        first = _exactly(mul, self.integers[1:], theirs)
        linear = _exactly(add, first, _exactly(mul, other.integers[1:], ours))
        here = _times_scaled((self.sums, self.exponents), theirs[0])
        there = _times_scaled((other.sums, other.exponents), ours[0])
        ranks = np.where(both != 0, np.minimum(self.ranks, other.ranks), NO_RANK)
        return _Trends(np.concatenate([both, linear]), *_add_scaled(here, there), ranks)

    def rows_of(self, number: int, query: int = 0) -> WindowRows:
        """Return a query's rows of a window, for the partitions that have a trend."""
        there = np.flatnonzero(self.integers[0] != 0)
        keys = np.zeros((there.size, 3), np.int64)
        keys[:, 0], keys[:, 1], keys[:, 2] = there, number, query
        sums = self.sums[:, there].T
        exponents = np.where(sums == 0.0, 0, self.exponents[:, there].T)
        return WindowRows(keys, self.integers[:, there].T, sums, exponents, self.ranks[:, there].T)


#: The rows of a map that are not all zero.
_Map = dict[_Place, _Trends]
_Scaled = tuple[np.ndarray, np.ndarray]


# Most queries have no sums of doubles, and many only count: empty arrays are returned as they are.


def _exactly(combine: Callable[[Any, Any], Any], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the sums or products of integers, exactly."""
    if not left.size:
        return left
    fits = left.dtype == right.dtype == np.int64
    if not fits or combine(_largest(left), _largest(right)) >= _SAFE:
        left, right = left.astype(object), right.astype(object)
    found: np.ndarray = combine(left, right)
    return found


def _largest(numbers: np.ndarray) -> float:
    return float(np.abs(numbers.astype(np.float64)).max(initial=0.0))


def _add_scaled(left: _Scaled, right: _Scaled) -> _Scaled:
    if not left[0].size:
        return left
    top = np.maximum(left[1], right[1])
    both = [np.ldexp(m, np.maximum(e - top, -(2**20)).astype(np.int32)) for m, e in (left, right)]
    with np.errstate(invalid="ignore"):  # infinities of both signs make NaN
        return normal(both[0] + both[1], top)


def _times_scaled(sums: _Scaled, counts: np.ndarray) -> _Scaled:
    """Return sums multiplied by counts, which are not negative.

    If the count is 0, the product is 0, even if the sum is not finite.
    """
    if not sums[0].size:
        return sums
    shifts = np.zeros(counts.size, np.int64)
    if counts.dtype == object:
        shifts = np.array([max(count.bit_length() - 64, 0) for count in counts], np.int64)
        counts = np.array(
            [count >> shift for count, shift in zip(counts, shifts.tolist(), strict=True)]
        )
    many = counts.astype(np.float64)
    product = np.where(many == 0.0, 0.0, sums[0] * np.where(many == 0.0, 1.0, many))
    return normal(product, sums[1] + shifts)
