"""Read the events that can affect checked results: one result each, or a whole window."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.lake.event_files import attributes_read, event_table, events_in_order, types_read
from elsinore.lake.stored_events import files_of
from elsinore.quality.sample import Place
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.query.expressions import TIME, Applied, BoundExpression, Constant, Field
from elsinore.query.syntax import Semantics, required
from elsinore.store.tables import Lake
from elsinore.timeline import Interval, parse_instant

#: Maximum number of events of a check. The reference holds each event as an object.
MAX_EVENTS = 20_000

#: Minimum number of waiting events that are passed to the queries at a time.
_MANY = 100_000

#: Number of queries that share one number, with a bit each.
_BITS = 64


def events_of_places(
    lake: Lake, workload: Workload, version: int, places: Sequence[Place]
) -> list[EventTable | None]:
    """Read the events that can affect checked positions.

    These are the events in the window with a type of the query. Events are left out if they
    certainly belong to another group, or fail a condition at every position of the pattern.

    Args:
        lake: The lake.
        workload: The queries.
        version: The version of `events`.
        places: The positions of the results, or whole windows.

    Returns:
        The events of each position; None if there are more than `MAX_EVENTS`.
    """
    by_query = defaultdict(list)
    for number, place in enumerate(places):
        keys = _keys_of(workload.by_name[place.query], place)
        by_query[place.query, keys].append((number, place))
    wanted = [Wanted(workload, members) for members in by_query.values()]
    windows = [window for each in wanted for window in each.windows.values()]
    if not windows:
        return []
    hull = Interval(min(w.start for w in windows), max(w.end for w in windows))
    files = [
        file
        for file in files_of(lake.path("events"), version, hull)
        if any(map(file.overlaps, windows))
    ]
    queries = [each.query for each in wanted]
    types, attributes = types_read(workload, queries), attributes_read(queries)
    parts = [_Together(wanted[at : at + _BITS]) for at in range(0, len(wanted), _BITS)]
    for batch in events_in_order(files, hull, workload.schema, types, attributes, ahead=True):
        for part in parts:
            part.add(batch)
        if not any(each.windows for each in wanted):
            break
    for part in parts:
        part.hand_on()
    found = {number: events for each in wanted for number, events in each.found()}
    return [found.get(number) for number in range(len(places))]


def _keys_of(query: BoundQuery, place: Place) -> tuple[Key, ...]:
    """Return the keys whose values select the events of a group; none for a whole window.

    A trend may have no event with a key. The value of the group is NULL then and matches every
    event. Such a key is left out, and so is an expression, whose values are not stored.
    """
    if place.whole:
        return ()
    values = json.loads(place.group_key)
    return tuple(
        key
        for key in query.group_keys
        if key.value is None
        and (values[str(key.group_label)] is not None or _is_carried(query, key))
    )


def _is_carried(query: BoundQuery, key: Key) -> bool:
    """Return whether every trend has an event with a key."""
    return True in required(query.pattern, lambda one: query.position_of(one) in key.positions)


class _Key(NamedTuple):
    """A grouping attribute of a query, and its values in the checked groups."""

    attribute: str
    bound: np.ndarray  #: by type code, whether its events have the key at every position
    among: pa.Array  #: the value of each checked position
    own: dict[int, int]  #: by number of a checked position, the first index of its value


class Wanted:
    """Collect the events that can affect checked positions of one query and the same keys.

    In doubt, an event is kept. Values of grouping attributes are compared as in the engine: NULL
    equals NULL, NaN equals NaN, and -0.0 equals 0.0.
    """

    def __init__(self, workload: Workload, places: Sequence[tuple[int, Place]]) -> None:
        codes, self.query = workload.schema.type_codes, workload.by_name[places[0][1].query]
        #: Extents of windows by the numbers of the positions, without positions of more than
        #: `MAX_EVENTS`.
        self.windows = {n: self.query.window.extent(place.window) for n, place in places}
        self._schema = workload.schema
        self._types = _among(codes, types_read(workload, [self.query]))
        self._conditions = {codes[kind]: each for kind, each in _conditions(self.query).items()}
        self.keys: list[_Key] = []
        self._kept: list[pa.Table] = []
        self._size, self._most = 0, 4 * MAX_EVENTS
        for key in _keys_of(self.query, places[0][1]):
            # Only types with the key at all of their positions are compared.
            free = {p.type for p in self.query.positions if p.index not in key.positions}
            bound = _among(codes, self.query.event_types - free)
            values = [json.loads(place.group_key)[str(key.group_label)] for _, place in places]
            if key.type is AttributeType.TIMESTAMP:
                values = [None if value is None else parse_instant(value) for value in values]
            among = pa.array(values, ARROW_TYPES[key.type])
            own = dict(zip(self.windows, pc.index_in(among, among).to_pylist(), strict=True))
            self.keys.append(_Key(key.attribute, bound, among, own))

    def reaches(self, events: pa.RecordBatch) -> bool:
        """Return whether events in the order of time can be in the window of any position."""
        times = np.asarray(events[TIME_COLUMN])
        return bool(times.size) and any(
            window.start <= times[-1] and times[0] < window.end for window in self.windows.values()
        )

    def allowed(self, attribute: str, values: pa.Array) -> np.ndarray:
        """Return whether events can affect any position, by type code and value of an attribute.

        The last column is for all other values.
        """
        found = np.repeat(self._types[:, None], len(values) + 1, axis=1)
        for key in self.keys:
            if key.attribute == attribute:
                there = np.append(np.asarray(pc.is_in(values, key.among)), False)
                found &= there | ~key.bound[:, None]
        return found

    def add(self, events: pa.Table, rows: np.ndarray) -> None:
        """Keep some rows of a table, and sometimes drop events that no position needs."""
        rows = rows[self._may_pass(events, rows)]
        self._kept.append(events.take(pa.array(rows)))
        self._size += rows.size
        if self._size > self._most:
            table = _joined(self._kept)
            left = [rows for _, rows in self.by_place(table)]
            every = np.unique(np.concatenate([*left, np.zeros(0, np.int64)]))
            self._kept = [table.take(pa.array(every))]
            self._size, self._most = every.size, 4 * MAX_EVENTS + 2 * every.size

    def found(self) -> Iterator[tuple[int, EventTable]]:
        """Yield the number and the events of each position with at most `MAX_EVENTS`."""
        events = event_table(
            self._schema, _joined(self._kept or [EventTable.of(self._schema, ()).table])
        )
        for number, rows in self.by_place(events.table):
            yield number, EventTable(self._schema, events.table.take(pa.array(rows)))

    def by_place(self, events: pa.Table) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the number of each position and the indices of events that can affect it.

        Positions with more than `MAX_EVENTS` are removed from `windows`.
        """
        kinds = np.asarray(events[TYPE_COLUMN])
        rows = np.flatnonzero(self._types[kinds])
        rows = rows[self._may_pass(events, rows)]
        times = np.asarray(events[TIME_COLUMN])[rows]
        near = []  # per key: the index of each event's value, and whether any value matches
        for key in self.keys:
            numbers, places = _looked_up(events[key.attribute], key.among)
            near.append((key.own, places[numbers[rows]], ~key.bound[kinds[rows]]))
        for number, window in list(self.windows.items()):
            fits = (times >= window.start) & (times < window.end)
            for own, at, is_free in near:
                fits &= is_free | (at == own[number])
            if np.count_nonzero(fits) <= MAX_EVENTS:
                yield number, rows[fits]
            else:
                del self.windows[number]

    def _may_pass(self, events: pa.Table, rows: np.ndarray) -> np.ndarray:
        """Return for each row whether it can pass the conditions of any position."""
        kinds = np.asarray(events[TYPE_COLUMN])[rows]
        may = np.ones(rows.size, bool)
        for code, positions in self._conditions.items():
            of_type = np.flatnonzero(kinds == code)
            some = pa.array(rows[of_type])
            may[of_type] = np.any([_all_hold(one, events, some) for one in positions], axis=0)
        return may


#: A condition: an attribute, a comparison function, and a constant.
_Condition = tuple[str, Callable[[Any, Any], Any], pa.Scalar]

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
    ">=": pc.greater_equal,
}  # fmt: skip


def _conditions(query: BoundQuery) -> dict[str, list[list[_Condition]]]:
    """Return the comparisons with constants that events must pass, by type and position.

    Types with a position without a comparison are left out. Under `contiguous` the result is
    empty, because every event between two others separates them.
    """
    if query.semantics is Semantics.CONTIGUOUS:
        return {}
    by_type = defaultdict(list)
    for position in query.positions:
        found = map(_comparison, query.local_conditions(position.index))
        by_type[position.type].append([each for each in found if each is not None])
    return {kind: positions for kind, positions in by_type.items() if all(positions)}


def _comparison(condition: BoundExpression) -> _Condition | None:
    """Return a condition that compares an attribute with a constant of its type; None: another."""
    match condition:
        case Applied(sign, (Field(attribute=name, type=kind), Constant(value, of))) if (
            sign in _SIGNS and kind is of and name != TIME
        ):
            return name, _SIGNS[sign], pa.scalar(value, ARROW_TYPES[kind])
    return None


def _all_hold(conditions: Iterable[_Condition], events: pa.Table, rows: pa.Array) -> np.ndarray:
    """Return for each event whether all conditions hold; comparisons with NULL are false."""
    passed = np.ones(len(rows), bool)
    for name, compare, constant in conditions:
        column = events[name].take(rows)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        passed &= np.asarray(pc.fill_null(compare(column, constant), False))
    return passed


class _Together:
    """Test each event once for at most 64 queries, by tables with a bit per query."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self._wanted = wanted
        self._of_type = self._table(TYPE_COLUMN, pa.nulls(0))[:, 0]
        among = defaultdict(list)
        for key in (key for each in wanted for key in each.keys):
            among[key.attribute].append(key.among)
        values = {name: pa.concat_arrays(parts).unique() for name, parts in among.items()}
        #: Each attribute with its values and with the bits by type code and value.
        self._tables = [(name, those, self._table(name, those)) for name, those in values.items()]
        self._waiting: list[tuple[pa.RecordBatch, np.ndarray]] = []

    def _table(self, name: str, values: pa.Array) -> np.ndarray:
        allowed = np.array([each.allowed(name, values) for each in self._wanted], np.uint64)
        places = np.arange(len(self._wanted), dtype=np.uint64)
        found: np.ndarray = np.bitwise_or.reduce(allowed << places[:, None, None], axis=0)
        return found

    def add(self, events: pa.RecordBatch) -> None:
        """Add the next events in the order of time."""
        rows, bits = self._near(events)
        self._waiting.append((events.take(pa.array(rows)), bits))
        if sum(bits.size for _, bits in self._waiting) >= _MANY:
            self.hand_on()

    def hand_on(self) -> None:
        """Pass the waiting events to the queries that they can affect."""
        if not self._waiting:
            return
        events = _joined([near for near, _ in self._waiting])
        every = np.concatenate([bits for _, bits in self._waiting])
        for bit, each in enumerate(self._wanted):
            each.add(events, np.flatnonzero(every & np.uint64(1 << bit)))
        self._waiting = []

    def _near(self, events: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices of events that can affect any query, with the bits of the queries."""
        alive = sum(1 << bit for bit, each in enumerate(self._wanted) if each.reaches(events))
        of_type = self._of_type & np.uint64(alive)
        kinds = np.asarray(events[TYPE_COLUMN])
        may, found = of_type.astype(bool)[kinds], []
        for name, values, table in self._tables:
            numbers, places = _looked_up(events[name], values)
            # The values rule out most events, whatever their type. -1 (unknown value) selects the
            # last column.
            may &= np.bitwise_or.reduce(table).astype(bool)[places][numbers]
            found.append((numbers, table[:, places]))
        rows = np.flatnonzero(may)
        bits = of_type[kinds[rows]]
        for numbers, table in found:
            bits &= table[kinds[rows], numbers[rows]]
        return rows[bits != 0], bits[bits != 0]


def _joined(parts: Iterable[pa.RecordBatch | pa.Table]) -> pa.Table:
    """Join events to one table; columns that a file lacks are NULL."""
    joined = pa.concat_tables([pa.table(part) for part in parts], promote_options="permissive")
    return joined.unify_dictionaries().combine_chunks()


def _among(codes: Mapping[str, int], names: Collection[str]) -> np.ndarray:
    """Return for each type code whether its name is among the given names."""
    return np.array([name in names for name in codes])


def _looked_up(
    column: pa.Array | pa.ChunkedArray, among: pa.Array
) -> tuple[np.ndarray, np.ndarray]:
    """Return a number per value, and by number the value's first index in `among`; -1: none."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if pa.types.is_dictionary(column.type):
        values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.type.value_type)])
        numbers = pc.fill_null(column.indices, len(values) - 1)
        return np.asarray(numbers), np.asarray(pc.fill_null(pc.index_in(values, among), -1))
    if pa.types.is_floating(column.type):
        column = pc.add(column, 0.0)
    numbers = pc.fill_null(pc.index_in(column, among), len(among))
    return np.asarray(numbers), np.append(np.arange(len(among)), -1)
