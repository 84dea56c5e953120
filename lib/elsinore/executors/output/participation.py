"""Compute EACH and DISTINCT of a query, given a pass that finds the participating events.

The templates have a state per position, also for ambiguous patterns: an event participates if at
least one match of a trend contains it. `executors.linear.time_bounds` finds these events if no
condition is on pairs of events, `executors.graph.reach` if there are such conditions.

Most accumulators are sums and extremes over the participating events of each partition. The others
need a list of events, because an event or a value could occur in several partitions of a group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Diagnostic, QueryError
from elsinore.events import EventTable
from elsinore.executors.aggregates import (
    TRENDS,
    Accumulator,
    Weight,
    WeightColumns,
    accumulators_of,
    exceeds_64_bits,
    participation_query,
)
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.digits import in_digits
from elsinore.executors.input.entries import Entries, key_codes, latest_entries
from elsinore.executors.input.exact import exact_values, fitting_values
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.executors.input.numbering import numbered
from elsinore.executors.input.weights import NO_RANK, weigh_events
from elsinore.executors.kinds import Kind
from elsinore.executors.output.digits import restored
from elsinore.executors.output.exact_states import IntegerExtremes
from elsinore.executors.output.kernels.members import (
    LISTED,
    PART,
    SCALE,
    At,
    Members,
)
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.state_columns import Extremes, ScaledDoubles, StateColumn
from elsinore.executors.output.value_lists import ValueLists
from elsinore.executors.output.window_rows import Groups, Reading, WindowRows, partial_rows
from elsinore.executors.row_bound import RowBound
from elsinore.numbers.exact_columns import Integers, from_limbs
from elsinore.query import expressions
from elsinore.query.bound import BoundQuery, Key, columns_of
from elsinore.query.expressions import TIME, Applied
from elsinore.query.print_query import print_bound
from elsinore.template.build import position_templates
from elsinore.template.placement import placements_of
from elsinore.template.template import Template
from elsinore.timeline import Interval

#: Maximum number of (row, event) or (row, value) pairs of a query, which take 24 bytes each.
MOST_LISTED = 20_000_000
#: Maximum number of rows in an output buffer.
_ROWS = 1 << 14
#: Minimum number of pairs in an output buffer.
_PAIRS = 1 << 14
#: Sums of integers below this have no carry from the low part.
_SAFE = 2.0**62

#: The number of a query, and the state of its template that an entry can be at.
Place = tuple[int, int]


def aggregate_participation(
    queries: Sequence[BoundQuery],
    events: EventTable | EventColumns,
    make: Callable[[Sought, Sequence[Template]], Pass],
    *,
    owned: Interval | None = None,
) -> list[PartialRows]:
    """Return partial rows of EACH and DISTINCT of queries.

    The rows have the keys of `participation_query`.

    Args:
        queries: a query without `participation_refusals`, or several that share a pass
            (`executors.plan.participation_sets`).
        events: events in any order, of all partitions.
        make: returns the pass of a template of each query.
        owned: compute only windows that end in this interval; None for every window.

    Raises:
        QueryError: there are too many rows, or too many events in lists.
    """
    columns, asked = EventColumns.of(events), [*map(participation_query, queries)]
    sought = Sought([in_digits(query, columns) for query in asked], columns)
    templates = zip(*map(position_templates, queries), strict=True)
    passes = [make(sought, each) for each in templates]
    several = len(passes) > 1
    bound, parts, lists = RowBound(queries), list[WindowRows](), _Lists(queries, sought)
    groups, partitions = list[pa.Array](), 0
    for each in passes:
        for found in each.run(owned, several=several):
            found.rows.keys[:, 0] += partitions
            bound.add(found.rows.owners)
            lists.add(found)
            parts.append(found.rows)
        groups.append(each.groups)
        partitions += len(groups[-1])
    if not sum(rows.keys.shape[0] for rows in parts):
        return []
    joined = Groups.of(pa.concat_arrays(groups))
    readings = [Reading(q, joined, sought.weights.meanings(q)) for q in sought.queries]
    partial = partial_rows(parts, readings)
    if any(query.window.span for query in queries):  # a period can have several rows
        partial = merge(partial)
    filled = (each for rows in partial for each in lists.filled(rows, joined.numbers))
    return restored(filled, asked)


# ---- accumulators


@dataclass(frozen=True)
class Placed:
    """An accumulator and its columns."""

    of: Accumulator
    query: int  #: number of its query
    weight: int  #: column of weights; -1 for DISTINCT, for lists, and if each event adds 1
    column: int  #: column of its kind
    position: int  #: column of partial rows


class Sought:
    """The accumulators of queries and the weights of all events.

    Attributes:
        queries: the `participation_query` of each query, in digits.
        columns: the events.
        accumulators: the accumulators of all queries.
        asked, weights: the columns of weights, and their values for all events of the table.
    """

    def __init__(self, queries: Sequence[BoundQuery], columns: EventColumns) -> None:
        self.queries, self.columns = queries, columns
        self.asked = WeightColumns()
        self.accumulators = [
            placed for number in range(len(queries)) for placed in self._placed(number)
        ]
        self.weights = weigh_events(self.asked, columns)

    def _placed(self, number: int) -> Iterator[Placed]:
        position, accumulators = count(), accumulators_of(self.queries[number])
        for of_kind in accumulators.columns:
            for column, (accumulator, place) in enumerate(zip(of_kind, position, strict=False)):
                if accumulator != TRENDS:
                    counts = accumulator.weight is Weight.DISTINCT
                    counts = counts or self._adds_one(self.queries[number], accumulator)
                    weight = -1 if counts else self.asked.number(accumulator)
                    yield Placed(accumulator, number, weight, column, place)
        for accumulator, place in zip(accumulators.lists, position, strict=False):
            yield Placed(accumulator, number, -1, 0, place)

    def _adds_one(self, query: BoundQuery, accumulator: Accumulator) -> bool:
        """Return whether each event adds 1 to an accumulator of a query."""
        if accumulator.weight is Weight.EVENT:
            return True
        source, columns = accumulator.attribute, self.columns
        if accumulator.weight is not Weight.PRESENT or source is None:
            return False
        known = exact_values(source, columns).column.known
        types = {query.positions[index].type for index in accumulator.positions}
        return bool(known.all()) or all(known[columns.rows_of(name)].all() for name in types)


class Found(NamedTuple):
    """Windows with a trend."""

    rows: WindowRows  #: their accumulators, except for those in lists
    #: int64[*, 3], the row, the accumulator and the event (its row in the table) of each pair.
    events: np.ndarray


class Pass(ABC):
    """A template of each query over the events of a table.

    Attributes:
        sought: the accumulators.
        templates: the templates, which partition events alike.
        entries: the events at their states.
        groups: string[P], the group of each partition.
    """

    def __init__(self, sought: Sought, templates: Sequence[Template]) -> None:
        self.sought, self.templates = sought, templates
        query = sought.queries[0]
        self.codes = key_codes(query, sought.columns)
        self.placements = placements_of(sought.queries, templates)
        window = sought.queries[0].window
        self.entries: Entries[Place] = latest_entries(
            self.placements, self.codes, sought.columns, window
        )
        self.groups = self.entries.group_texts(query, self.codes)

    @abstractmethod
    def found(self, kinds: Sequence[int], owned: Interval | None) -> Iterator[Found]:
        """Yield the windows with a trend, and their participating events in lists.

        Args:
            kinds: `kind_of` each accumulator.
            owned: compute only windows that end in this interval; None for every window.
        """

    def run(self, owned: Interval | None, *, several: bool) -> Iterator[Found]:
        """Yield the windows with a trend, and the events in lists.

        Args:
            owned: compute only windows that end in this interval; None for every window.
            several: whether a query has several templates.
        """
        kinds = [self.kind_of(each, several=several) for each in self.sought.accumulators]
        keys = [k for k, kind in enumerate(kinds) if kind < 0]
        for rows, listed in self.found(kinds, owned):
            yield Found(rows, np.concatenate([listed, *self._of_keys(rows, keys)]))

    def _of_keys(self, rows: WindowRows, keys: Sequence[int]) -> Iterator[np.ndarray]:
        """Yield an event per row for accumulators that read a key of all events."""
        first = self._first_events() if keys else np.empty(0, np.int64)
        for k in keys:
            own = np.flatnonzero(rows.owners == self.sought.accumulators[k].query)
            events = first[rows.keys[own, 0]]
            yield np.stack([own, np.full(own.size, k), events], axis=1)

    def _first_events(self) -> np.ndarray:
        """Return int64[P], the first event of each partition that can be part of a trend.

        All of these events of a partition have the same keys. Events of NOT can lack some.
        """
        size = self.entries.codes.size
        if not size:
            return np.zeros(self.entries.offsets.size - 1, np.int64)
        if not any(template.guards for template in self.templates):
            # A partition can be empty, also the last one; it has no trend.
            first = np.minimum(self.entries.offsets[:-1], size - 1)
            return first if self.entries.rows is None else self.entries.rows[first]
        trends = {(n, s) for n, each in enumerate(self.templates) for s in each.trend_states}
        of_trends = np.zeros(int(self.entries.codes.max(initial=-1)) + 1, np.bool_)
        for code, places in enumerate(self.entries.classes[: of_trends.size]):
            of_trends[code] = not trends.isdisjoint(places)
        entries = np.append(np.flatnonzero(of_trends[self.entries.codes]), 0)
        found = entries[np.searchsorted(entries[:-1], self.entries.offsets[:-1])]
        return found if self.entries.rows is None else self.entries.rows[found]

    # ---- which accumulators need lists

    def kind_of(self, accumulator: Placed, *, several: bool) -> int:
        """Return the kind of an accumulator for the kernel, -1 if it does not count events.

        Args:
            accumulator: the accumulator.
            several: whether its query has several templates.
        """
        query, template = self.sought.queries[accumulator.query], self.templates[accumulator.query]
        if accumulator.of.weight is Weight.DISTINCT:
            return -1 if reads_key(query, accumulator.of) else LISTED
        if accumulator.of.weight is Weight.EACH_VALUE:
            return LISTED
        states = (s for s in template.states if accumulator.of.counts_at(s.positions))
        # Each event is in one partition if it has all keys.
        alone = not several and all(s.keys >= template.keys for s in states)
        return accumulator.of.kind if alone else LISTED

    # ---- arrays of the kernels

    def buffer(self, pairs: int) -> Members:
        """Return an output buffer for a number of pairs (row, event)."""
        queries = self.sought.queries
        sizes = np.array([[*map(len, accumulators_of(query).columns)] for query in queries])
        longs, doubles, ranks = sizes.max(axis=0).tolist()
        rows = max(_ROWS, len(queries))
        return Members(
            np.zeros((rows, 3), np.int64),
            np.zeros((rows, longs, 2), np.int64),
            np.zeros((rows, doubles, 2), np.float64),
            np.full((rows, ranks), NO_RANK),
            np.zeros((min(max(pairs, _PAIRS), MOST_LISTED), 3), np.int64),
            np.zeros(len(At), np.int64),
        )

    def columns_of(self, kinds: Sequence[int]) -> np.ndarray:
        """Return `Asked.columns`."""
        columns = [
            [kind, each.weight, each.column]
            for each, kind in zip(self.sought.accumulators, kinds, strict=True)
        ]
        return np.array(columns, np.int64).reshape(len(columns), 3)


def reads_key(query: BoundQuery, accumulator: Accumulator) -> bool:
    """Return whether DISTINCT reads a key that every event of every trend has."""
    every = {position.index for position in query.positions if not position.negated}
    keys = {key.attribute for key in query.keys if key.positions >= every}
    return accumulator.positions >= every and set(columns_of(accumulator.attribute)) <= keys


def take(query: BoundQuery, members: Members, *, done: bool) -> Found:
    """Return the rows and the listed events of an output buffer, and clear it.

    Args:
        query: the query.
        members: the buffer.
        done: whether the kernel is done; otherwise the buffer had no room.

    Raises:
        QueryError: the buffer has no room for a single window.
    """
    if not (done or members.state[At.ROWS] or members.state[At.LISTED]):
        raise too_many(query)
    size, listed = int(members.state[At.ROWS]), int(members.state[At.LISTED])
    keys = members.keys[:size].copy()
    high, low = members.longs[:size, :, 0], members.longs[:size, :, 1]
    counts = _joined(high, low)
    sums, exponents = _scaled(members.sums[:size, :, 0], members.sums[:size, :, 1])
    rows = WindowRows(keys, counts, sums, exponents, members.ranks[:size].copy())
    events = members.events[:listed].copy()
    members.longs[:size] = 0
    members.sums[:size] = 0.0
    members.ranks[:size] = NO_RANK
    members.state[[At.ROWS, At.LISTED]] = 0
    return Found(rows, events)


def _joined(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return integers given in two parts, as int64 if all of them fit."""
    sizes = np.abs(high.astype(np.float64)) * 2.0**PART + low.astype(np.float64)
    if sizes.max(initial=0.0) < _SAFE:
        return (high << PART) + low
    return (high.astype(object) << PART) + low.astype(object)


def _scaled(sums: np.ndarray, scaled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sums and their exponents, given sums that may have overflowed and scaled sums."""
    overflowed = ~np.isfinite(sums)
    return np.where(overflowed, scaled, sums), np.where(overflowed, SCALE, 0)


# ---- lists of events and of values


@dataclass
class _Lists:
    """The events and values that are counted once per row, for accumulators that need lists.

    Each part is an accumulator, the partition and the window of each row, and the items: rows of
    events, or codes of values.
    """

    queries: Sequence[BoundQuery]
    sought: Sought
    parts: dict[int, list[np.ndarray]] = field(default_factory=dict)
    sizes: Counter[int] = field(default_factory=Counter)  #: number of items by query

    def add(self, found: Found) -> None:
        """Add listed events of rows with final partitions.

        Raises:
            QueryError: there are too many.
        """
        for k in np.unique(found.events[:, 1]).tolist():
            mine = found.events[found.events[:, 1] == k]
            events = mine[:, 2]
            accumulator = self.sought.accumulators[k].of
            if accumulator.weight is Weight.DISTINCT:
                codes = _codes_of(accumulator, self.sought.columns)[events].astype(np.int64)
                mine, events = mine[codes > 0], codes[codes > 0]
            keys = found.rows.keys[mine[:, 0]]
            part = np.stack([keys[:, 0], keys[:, 1], events], axis=1)
            _, chosen = numbered(part.T, part.shape[0])
            self.parts.setdefault(k, []).append(part[chosen])
            query = self.sought.accumulators[k].query
            self.sizes[query] += chosen.size
            if self.sizes[query] > MOST_LISTED:
                raise too_many(self.queries[query])

    def filled(self, rows: PartialRows, groups: np.ndarray) -> Iterator[PartialRows]:
        """Yield rows with the values of the accumulators.

        Args:
            rows: the rows without these values.
            groups: int[P], the group of each partition.
        """
        keys = [query.key for query in self.sought.queries]
        listed = {self.sought.accumulators[k].query for k in self.parts}
        numbers = [keys.index(query.key) for query in rows.queries]
        if listed.isdisjoint(numbers):
            yield rows
            return
        for place, number in enumerate(numbers):
            yield self._filled(rows.take(np.flatnonzero(rows.query == place)), number, groups)

    def _filled(self, rows: PartialRows, number: int, groups: np.ndarray) -> PartialRows:
        """Return the rows of one query with the values of the accumulators."""
        columns, size = list(rows.columns), len(rows)
        for k, parts in self.parts.items():
            accumulator = self.sought.accumulators[k]
            if accumulator.query != number:
                continue
            items = np.concatenate(parts)
            items[:, 0] = groups[items[:, 0]]
            _, chosen = numbered(items.T, items.shape[0])
            items = items[chosen]
            there = np.stack([rows.group, rows.window], axis=1)
            both = np.concatenate([there, items[:, :2]])
            numbers, _ = numbered(both.T, both.shape[0])
            row_of = np.empty(both.shape[0], np.int64)
            row_of[numbers[:size]] = np.arange(size)
            places = row_of[numbers[size:]]
            columns[accumulator.position] = self._column(accumulator, places, items[:, 2], size)
        return replace(rows, columns=tuple(columns))

    def _column(
        self, accumulator: Placed, places: np.ndarray, items: np.ndarray, size: int
    ) -> StateColumn:
        """Return the sums or extremes of some events for `size` rows.

        Args:
            accumulator: the accumulator.
            places: int64[*], the row of each item.
            items: int64[*], rows of events, or codes of distinct values.
            size: number of rows.
        """
        weights, of = self.sought.weights, accumulator.of
        if of.weight is Weight.EACH_VALUE:
            assert of.attribute is not None, "a list has values"
            read = fitting_values(of.attribute, self.sought.columns, items)
            return ValueLists.of(places[read.known], read.values[read.known], size)
        if of.kind is Kind.DOUBLE:
            values = weights.doubles[accumulator.weight][items]
            sums = (np.bincount(places, part, size) for part in (values, values * 2.0**-SCALE))
            return ScaledDoubles.of(*_scaled(*sums))
        if of.kind is Kind.RANK:
            ranks = np.full(size, NO_RANK)
            np.minimum.at(ranks, places, weights.ranks[accumulator.weight][items])
            distinct = weights.extremes[of.event_weight].distinct
            if exceeds_64_bits(of.attribute):
                return IntegerExtremes.from_ranks(ranks, distinct, largest=of.largest)
            return Extremes.from_ranks(ranks, distinct, largest=of.largest)
        if accumulator.weight < 0:
            return Integers(np.bincount(places, minlength=size))
        values = weights.longs[accumulator.weight][items]
        high, low = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(high, places, values >> PART)
        np.add.at(low, places, values & (1 << PART) - 1)
        return from_limbs(_joined(high, low)[:, None])[0]


def _codes_of(accumulator: Accumulator, columns: EventColumns) -> np.ndarray:
    """Return int[N], the codes of the values that DISTINCT compares; 0 is NULL."""
    source, types = accumulator.attribute, columns.events.schema.attributes
    match source:
        case Applied(name=expressions.COMBINATION):
            return columns.once((_combined, source), lambda: _combined(source, columns))
        case Applied() if exceeds_64_bits(source):
            values = exact_values(source, columns)
            _, codes = np.unique(values.numbers, return_inverse=True)
            return np.where(values.column.known, codes + 1, 0)
        case Applied():
            key = Key(print_bound(source), source.type, frozenset(), value=source)
        case str() if source == TIME:
            key = Key(source, AttributeType.LONG, frozenset())
        case str():
            key = Key(source, types[source], frozenset())
        case None:
            raise AssertionError("DISTINCT reads a value")
    return KeyCodes.of(key, columns).values


def _combined(source: Applied, columns: EventColumns) -> np.ndarray:
    """Return int32[N], the codes of combinations of attributes; 0 if one of them is NULL."""
    keys = (Key(name, columns.events.schema.attributes[name], frozenset())
            for name in columns_of(source))  # fmt: skip
    codes = [KeyCodes.of(key, columns).values for key in keys]
    numbers, _ = numbered(codes, codes[0].size)
    known = np.logical_and.reduce([each > 0 for each in codes])
    return np.where(known, numbers + 1, 0).astype(np.int32)


def too_many(query: BoundQuery) -> QueryError:
    """Return the error of a query whose lists of events are too large."""
    name = query.key.query
    message = (
        f"query {name}: more than {MOST_LISTED:,} events or values of EACH and DISTINCT must be "
        "compared"
    )
    hint = "shorten WITHIN, or group by a key that all events of the pattern have"
    return QueryError.of([Diagnostic(message, query.at, hint)])
