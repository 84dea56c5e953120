"""Compute EACH and DISTINCT of a query without conditions on pairs of events.

The templates have a state per position, also for ambiguous patterns: an event participates if at
least one match of a trend contains it. Events are read once per window (`kernels.bounds`).

Most accumulators are sums and extremes over the participating events of each partition. The others
need a list of events, because an event or a value could occur in several partitions of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

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
    asked_name,
    participation_query,
)
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import Entries, key_codes, make_entries
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.executors.input.numbering import numbered
from elsinore.executors.input.weights import NO_RANK, weigh_events
from elsinore.executors.kinds import Kind
from elsinore.executors.linear.kernels.bounds import (
    LISTED,
    PART,
    SCALE,
    Asked,
    At,
    Cells,
    Entered,
    Members,
    Scratch,
    find_members,
)
from elsinore.executors.linear.sweep import make_runs
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.state_columns import Extremes, ScaledDoubles, StateColumn
from elsinore.executors.output.window_rows import Groups, Reading, WindowRows, partial_rows
from elsinore.executors.row_bound import RowBound
from elsinore.numbers.exact_columns import Integers, from_limbs
from elsinore.query.bound import BoundQuery, Key
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

#: The state of a template that an entry can be at: `placements_of` a single query.
_Place = tuple[int, int]


def aggregate_participation(
    query: BoundQuery, events: EventTable | EventColumns, *, owned: Interval | None = None
) -> list[PartialRows]:
    """Return partial rows of EACH and DISTINCT of a query.

    The rows have the name of `participation_query`.

    Args:
        query: a query without `participation_refusals`.
        events: events in any order, of all partitions.
        owned: compute only windows that end in this interval; None for every window.

    Raises:
        QueryError: there are too many rows, or too many events in lists.
    """
    sought = _Sought(participation_query(query), EventColumns.of(events))
    passes = [_Pass(sought, template) for template in position_templates(query)]
    several = len(passes) > 1
    bound, parts, lists = RowBound([query]), list[WindowRows](), _Lists(query, sought)
    groups, partitions = list[pa.Array](), 0
    for each in passes:
        for rows, listed in each.run(owned, several=several):
            rows.keys[:, 0] += partitions
            bound.add(rows.owners)
            lists.add(each, rows, listed, partitions)
            parts.append(rows)
        groups.append(each.groups)
        partitions += len(groups[-1])
    if not sum(rows.keys.shape[0] for rows in parts):
        return []
    joined = Groups.of(pa.concat_arrays(groups))
    reading = Reading(sought.query, joined, sought.weights.meanings(sought.query))
    [found] = partial_rows(parts, [reading])
    return [lists.filled(found, joined.numbers)]


# ---- accumulators


@dataclass(frozen=True)
class _Placed:
    """An accumulator and its columns."""

    of: Accumulator
    weight: int  #: column of weights; -1 for DISTINCT
    column: int  #: column of its kind
    position: int  #: column of partial rows


class _Sought:
    """The accumulators of a query and the weights of all events.

    Attributes:
        query: the `participation_query`.
        columns: the events.
        accumulators: the accumulators.
        asked, weights: the columns of weights, and their values for all events of the table.
    """

    def __init__(self, query: BoundQuery, columns: EventColumns) -> None:
        self.query, self.columns = query, columns
        self.accumulators: list[_Placed] = []
        self.asked = WeightColumns()
        position = count()
        for of_kind in accumulators_of(query).columns:
            for column, (accumulator, place) in enumerate(zip(of_kind, position, strict=False)):
                if accumulator != TRENDS:
                    counts_values = accumulator.weight is Weight.DISTINCT
                    weight = -1 if counts_values else self.asked.number(accumulator)
                    self.accumulators.append(_Placed(accumulator, weight, column, place))
        self.weights = weigh_events(self.asked, columns)


class _Pass:
    """One template of a query over the events of a table.

    Attributes:
        sought: the accumulators.
        template: the template.
        entries: the events at its states.
        groups: string[P], the group of each partition.
    """

    def __init__(self, sought: _Sought, template: Template) -> None:
        self.sought, self.query, self.template = sought, sought.query, template
        codes = key_codes(self.query, sought.columns)
        placements = placements_of([self.query], [template])
        self.entries: Entries[_Place] = make_entries(placements, codes, sought.columns)
        self.groups = self.entries.group_texts(self.query, codes)

    # ---- which accumulators need lists

    def kind_of(self, accumulator: _Placed, *, several: bool) -> int:
        """Return the kind of an accumulator for the kernel, -1 if it does not count events.

        Args:
            accumulator: the accumulator.
            several: whether the query has several templates.
        """
        if accumulator.weight < 0:
            return -1 if self.is_key(accumulator.of) else LISTED
        states = (s for s in self.template.states if accumulator.of.counts_at(s.positions))
        # Each event is in one partition if it has all keys.
        alone = not several and all(s.keys >= self.template.keys for s in states)
        return accumulator.of.kind if alone else LISTED

    def is_key(self, accumulator: Accumulator) -> bool:
        """Return whether DISTINCT reads a key that every event of every trend has."""
        every = {position.index for position in self.query.positions}
        keys = (key for key in self.query.keys if key.attribute == accumulator.attribute)
        return accumulator.positions >= every and any(key.positions >= every for key in keys)

    # ---- rows

    def run(
        self, owned: Interval | None, *, several: bool
    ) -> Iterator[tuple[WindowRows, np.ndarray]]:
        """Yield the rows of windows with a trend, and the events in lists.

        Args:
            owned: compute only windows that end in this interval; None for every window.
            several: whether the query has several templates.

        Yields:
            The rows; int64[*, 3], the row, the accumulator and the entry of each event.
        """
        window = self.query.window
        runs = make_runs(self.entries, window, owned, 1)
        if not runs or not self.template.states:
            return
        kinds = [self.kind_of(each, several=several) for each in self.sought.accumulators]
        cells, asked = self._cells(), self._asked(kinds)
        listed = int(asked.listed[0])
        longest = int((runs[0][:, 1] - runs[0][:, 0]).max())
        members = self._buffer(min(max(longest * listed, _PAIRS), MOST_LISTED))
        size = len(self.template.states)
        scratch = Scratch(
            np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(len(kinds), np.int64)
        )
        weights, entries = self.sought.weights, self.entries
        chosen = slice(None) if entries.rows is None else entries.rows
        columns = (weights.longs, weights.doubles, weights.ranks)
        weighed = (np.ascontiguousarray(column[:, chosen]) for column in columns)
        entered = Entered(entries.times, entries.codes, *weighed)
        done = False
        while not done:
            done = find_members(
                cells, asked, entered, runs[0], window.within, window.slide, scratch, members
            )
            if not done and not members.state[At.ROWS] and not members.state[At.LISTED]:
                raise too_many(self.query)
            rows, events = _take(members)
            yield rows, self._with_keys(kinds, rows, events)

    def _with_keys(self, kinds: list[int], rows: WindowRows, events: np.ndarray) -> np.ndarray:
        """Return the listed events with one entry per row for each DISTINCT of a key."""
        numbers = np.arange(rows.keys.shape[0])
        first = self.entries.offsets[rows.keys[:, 0]]
        parts = [events]
        for k in (k for k, kind in enumerate(kinds) if kind < 0):
            parts.append(np.stack([numbers, np.full(numbers.size, k), first], axis=1))
        return np.concatenate(parts)

    def _buffer(self, pairs: int) -> Members:
        longs, doubles, ranks = map(len, accumulators_of(self.query).columns)
        return Members(
            np.zeros((_ROWS, 2), np.int64),
            np.zeros((_ROWS, longs, 2), np.int64),
            np.zeros((_ROWS, doubles, 2), np.float64),
            np.full((_ROWS, ranks), NO_RANK),
            np.zeros((pairs, 3), np.int64),
            np.zeros(len(At), np.int64),
        )

    def _cells(self) -> Cells:
        template, size = self.template, len(self.template.states)
        starts, ends = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        starts[[*template.starts]] = True
        ends[[*template.ends]] = True
        after: list[list[int]] = [[] for _ in range(size)]
        before: list[list[int]] = [[] for _ in range(size)]
        for arrow in template.transitions:
            after[arrow.earlier].append(arrow.later)
            before[arrow.later].append(arrow.earlier)
        classes = [sorted(state for _, state in places) for places in self.entries.classes]
        most = int(self.entries.codes.max(initial=-1)) + 1
        classes += [[]] * (most - len(classes))
        lists = (*_joined_lists(after), *_joined_lists(before), *_joined_lists(classes))
        return Cells(starts, ends, *lists)

    def _asked(self, kinds: list[int]) -> Asked:
        of_cells = [
            [
                k
                for k, (each, kind) in enumerate(zip(self.sought.accumulators, kinds, strict=True))
                if kind >= 0 and each.of.counts_at(state.positions)
            ]
            for state in self.template.states
        ]
        columns = [
            [kind, each.weight, each.column]
            for each, kind in zip(self.sought.accumulators, kinds, strict=True)
        ]
        listed = np.array([kinds.count(LISTED)])
        table = np.array(columns, np.int64).reshape(len(columns), 3)
        return Asked(*_joined_lists(of_cells), table, listed)


def _joined_lists(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each list begins, and their elements."""
    begins = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return begins, np.array([*chain.from_iterable(lists)], np.int64)


def _take(members: Members) -> tuple[WindowRows, np.ndarray]:
    """Return the rows and the listed events of an output buffer, and clear it."""
    size, listed = int(members.state[At.ROWS]), int(members.state[At.LISTED])
    keys = np.zeros((size, 3), np.int64)
    keys[:, :2] = members.keys[:size]
    high, low = members.longs[:size, :, 0], members.longs[:size, :, 1]
    counts = _joined(high, low)
    sums, exponents = _scaled(members.sums[:size, :, 0], members.sums[:size, :, 1])
    rows = WindowRows(keys, counts, sums, exponents, members.ranks[:size].copy())
    events = members.events[:listed].copy()
    members.longs[:size] = 0
    members.sums[:size] = 0.0
    members.ranks[:size] = NO_RANK
    members.state[[At.ROWS, At.LISTED]] = 0
    return rows, events


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

    query: BoundQuery
    sought: _Sought
    parts: dict[int, list[np.ndarray]] = field(default_factory=dict)
    size: int = 0

    def add(self, found: _Pass, rows: WindowRows, listed: np.ndarray, partitions: int) -> None:
        """Add listed events.

        Args:
            found: the pass that listed them.
            rows: its rows, with final partitions.
            listed: int64[*, 3], the row, the accumulator and the entry of each event.
            partitions: the first partition of the pass.

        Raises:
            QueryError: there are too many.
        """
        for k in np.unique(listed[:, 1]).tolist():
            mine = listed[listed[:, 1] == k]
            events = mine[:, 2] if found.entries.rows is None else found.entries.rows[mine[:, 2]]
            accumulator = self.sought.accumulators[k].of
            if accumulator.weight is Weight.DISTINCT:
                codes = _codes_of(accumulator, self.sought.columns)[events].astype(np.int64)
                mine, events = mine[codes > 0], codes[codes > 0]
            keys = rows.keys[mine[:, 0]]
            part = np.stack([keys[:, 0], keys[:, 1], events], axis=1)
            _, chosen = numbered(part.T, part.shape[0])
            self.parts.setdefault(k, []).append(part[chosen])
            self.size += chosen.size
        if self.size > MOST_LISTED:
            raise too_many(self.query)

    def filled(self, rows: PartialRows, groups: np.ndarray) -> PartialRows:
        """Return rows with the values of the accumulators.

        Args:
            rows: the rows without these values.
            groups: int[P], the group of each partition.
        """
        columns, size = list(rows.columns), len(rows)
        for k, parts in self.parts.items():
            items = np.concatenate(parts)
            items[:, 0] = groups[items[:, 0]]
            _, chosen = numbered(items.T, items.shape[0])
            items = items[chosen]
            there = np.stack([rows.group, rows.window], axis=1)
            both = np.concatenate([there, items[:, :2]])
            numbers, _ = numbered(both.T, both.shape[0])
            row_of = np.empty(both.shape[0], np.int64)
            row_of[numbers[:size]] = np.arange(size)
            accumulator, places = self.sought.accumulators[k], row_of[numbers[size:]]
            columns[accumulator.position] = self._column(accumulator, places, items[:, 2], size)
        return replace(rows, columns=tuple(columns))

    def _column(
        self, accumulator: _Placed, places: np.ndarray, items: np.ndarray, size: int
    ) -> StateColumn:
        """Return the sums or extremes of some events for `size` rows.

        Args:
            accumulator: the accumulator.
            places: int64[*], the row of each item.
            items: int64[*], rows of events, or codes of distinct values.
            size: number of rows.
        """
        weights, of = self.sought.weights, accumulator.of
        if of.kind is Kind.DOUBLE:
            values = weights.doubles[accumulator.weight][items]
            sums = (np.bincount(places, part, size) for part in (values, values * 2.0**-SCALE))
            return ScaledDoubles.of(*_scaled(*sums))
        if of.kind is Kind.RANK:
            ranks = np.full(size, NO_RANK)
            np.minimum.at(ranks, places, weights.ranks[accumulator.weight][items])
            distinct = weights.extremes[of.event_weight].distinct
            return Extremes.from_ranks(ranks, distinct, largest=of.largest)
        if accumulator.weight < 0:
            return Integers(np.bincount(places, minlength=size))
        values = weights.longs[accumulator.weight][items]
        high, low = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(high, places, values >> PART)
        np.add.at(low, places, values & (1 << PART) - 1)
        return from_limbs(_joined(high, low)[:, None])[0]


def _codes_of(accumulator: Accumulator, columns: EventColumns) -> np.ndarray:
    """Return int32[N], the codes of the values that DISTINCT compares; 0 is NULL."""
    source, types = accumulator.attribute, columns.events.schema.attributes
    match source:
        case Applied():
            key = Key(print_bound(source), source.type, frozenset(), value=source)
        case str() if source == TIME:
            key = Key(source, AttributeType.LONG, frozenset())
        case str():
            key = Key(source, types[source], frozenset())
        case None:
            raise AssertionError("DISTINCT reads a value")
    return KeyCodes.of(key, columns).values


def too_many(query: BoundQuery) -> QueryError:
    """Return the error of a query whose lists of events are too large."""
    name = asked_name(query.name)
    message = (
        f"query {name}: more than {MOST_LISTED:,} events or values of EACH and DISTINCT must be "
        "compared"
    )
    hint = "shorten WITHIN, or group by a key that all events of the pattern have"
    return QueryError.of([Diagnostic(message, query.at, hint)])
