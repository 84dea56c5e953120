"""The events that checks of results need: those that can affect a result, or a whole window."""

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
from elsinore.lake.sample import Place
from elsinore.lake.stored_events import files_of
from elsinore.lake.tables import Lake
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.query.expressions import TIME, Applied, BoundExpression, Constant, Field
from elsinore.query.syntax import Semantics, required
from elsinore.timeline import Interval, parse_instant

#: A check with more events is not made: the reference holds each as an object.
MAX_EVENTS = 20_000

#: Events that are handed on at a time, at least.
_MANY = 100_000

#: Queries that have a bit each in one number.
_BITS = 64


def events_of_places(
    lake: Lake, workload: Workload, version: int, places: Sequence[Place]
) -> list[EventTable | None]:
    """For each place the events that can affect it, at a version of `events`.

    Those are the events of its window and of the query's types that neither belong to another group
    for certain nor fail a condition at every position. None where there are more than `MAX_EVENTS`.
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
    """The keys that part the events of a place from those of others: of a whole window none.

    A trend may have no event that carries a key. Its value is NULL then, and it fits any event.
    """
    if place.whole:
        return ()
    values = json.loads(place.group_key)
    return tuple(
        key
        for key in query.group_keys
        if values[str(key.group_label)] is not None or _is_carried(query, key)
    )


def _is_carried(query: BoundQuery, key: Key) -> bool:
    """Return whether every trend has an event that carries a key."""
    aliases = {position.alias for position in query.positions if position.index in key.positions}
    return True in required(query.pattern, lambda one: one.alias in aliases)


class _Key(NamedTuple):
    """A grouping attribute of a query, and what places have of it."""

    attribute: str
    bound: np.ndarray  #: by code of a type, whether its events carry the key at every position
    among: pa.Array  #: the value of each place
    own: dict[int, int]  #: by number of a place, where its value stands first


class Wanted:
    """The events that can affect places of one query, all parted from others by the same keys.

    To be certain, an event is wanted where in doubt. Values of grouping attributes are compared as
    the engine does: NULL is NULL, NaN is NaN, and -0.0 is 0.0.
    """

    def __init__(self, workload: Workload, places: Sequence[tuple[int, Place]]) -> None:
        codes, self.query = workload.schema.type_codes, workload.by_name[places[0][1].query]
        #: By the numbers of the places; without those of which there are more than `MAX_EVENTS`.
        self.windows = {n: self.query.window.bounds(place.window) for n, place in places}
        self._schema = workload.schema
        self._types = _among(codes, types_read(workload, [self.query]))
        self._conditions = {codes[kind]: each for kind, each in _conditions(self.query).items()}
        self.keys: list[_Key] = []
        self._kept: list[pa.Table] = []
        self._size, self._most = 0, 4 * MAX_EVENTS
        for key in _keys_of(self.query, places[0][1]):
            # The types whose events carry the key at whatever position they stand.
            free = {p.type for p in self.query.positions if p.index not in key.positions}
            bound = _among(codes, self.query.event_types - free)
            values = [json.loads(place.group_key)[str(key.group_label)] for _, place in places]
            if key.type is AttributeType.TIMESTAMP:
                values = [None if value is None else parse_instant(value) for value in values]
            among = pa.array(values, ARROW_TYPES[key.type])
            own = dict(zip(self.windows, pc.index_in(among, among).to_pylist(), strict=True))
            self.keys.append(_Key(key.attribute, bound, among, own))

    def reaches(self, events: pa.RecordBatch) -> bool:
        """Whether the window of any place may hold any of some events, which are in order."""
        times = np.asarray(events[TIME_COLUMN])
        return bool(times.size) and any(
            window.start <= times[-1] and times[0] < window.end for window in self.windows.values()
        )

    def allowed(self, attribute: str, values: pa.Array) -> np.ndarray:
        """By code of a type and value of an attribute whether such an event can affect any place.

        A last column stands for all other values.
        """
        found = np.repeat(self._types[:, None], len(values) + 1, axis=1)
        for key in self.keys:
            if key.attribute == attribute:
                there = np.append(np.asarray(pc.is_in(values, key.among)), False)
                found &= there | ~key.bound[:, None]
        return found

    def add(self, events: pa.Table, rows: np.ndarray) -> None:
        """Keep some; more than places may have are let go now and then."""
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
        """The events of each place by its number, if they are not too many."""
        events = event_table(
            self._schema, _joined(self._kept or [EventTable.of(self._schema, ()).table])
        )
        for number, rows in self.by_place(events.table):
            yield number, EventTable(self._schema, events.table.take(pa.array(rows)))

    def by_place(self, events: pa.Table) -> Iterator[tuple[int, np.ndarray]]:
        """Of each place the indices of events that can affect it; others are wanted no more."""
        kinds = np.asarray(events[TYPE_COLUMN])
        rows = np.flatnonzero(self._types[kinds])
        rows = rows[self._may_pass(events, rows)]
        times = np.asarray(events[TIME_COLUMN])[rows]
        near = []  # of each key where an event's value stands, and whether it need not have any
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
        """Of some rows whether no condition is known to keep them from all positions."""
        kinds = np.asarray(events[TYPE_COLUMN])[rows]
        may = np.ones(rows.size, bool)
        for code, positions in self._conditions.items():
            of_type = np.flatnonzero(kinds == code)
            some = pa.array(rows[of_type])
            may[of_type] = np.any([_all_hold(one, events, some) for one in positions], axis=0)
        return may


#: What an attribute has to be, compared to a constant.
_Condition = tuple[str, Callable[[Any, Any], Any], pa.Scalar]

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
    ">=": pc.greater_equal,
}  # fmt: skip


def _conditions(query: BoundQuery) -> dict[str, list[list[_Condition]]]:
    """By type, and by each of its positions, comparisons with constants that its events must pass.

    Only of types that have one at every position; and not under `contiguous`, where any event parts
    those that it lies between.
    """
    if query.semantics is Semantics.CONTIGUOUS:
        return {}
    by_type = defaultdict(list)
    for position in query.positions:
        found = map(_comparison, query.local_conditions(position.index))
        by_type[position.type].append([each for each in found if each is not None])
    return {kind: positions for kind, positions in by_type.items() if all(positions)}


def _comparison(condition: BoundExpression) -> _Condition | None:
    """A comparison of an attribute with a constant of its own type."""
    match condition:
        case Applied(sign, (Field(attribute=name, type=kind), Constant(value, of))) if (
            sign in _SIGNS and kind is of and name != TIME
        ):
            return name, _SIGNS[sign], pa.scalar(value, ARROW_TYPES[kind])
    return None


def _all_hold(conditions: Iterable[_Condition], events: pa.Table, rows: pa.Array) -> np.ndarray:
    """Return whether all hold, of each of some events; a comparison with NULL does not."""
    passed = np.ones(len(rows), bool)
    for name, compare, constant in conditions:
        column = events[name].take(rows)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        passed &= np.asarray(pc.fill_null(compare(column, constant), False))
    return passed


class _Together:
    """Looks each event up once for at most 64 queries: a table has a bit for each of them."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self._wanted = wanted
        self._of_type = self._table(TYPE_COLUMN, pa.nulls(0))[:, 0]
        among = defaultdict(list)
        for key in (key for each in wanted for key in each.keys):
            among[key.attribute].append(key.among)
        values = {name: pa.concat_arrays(parts).unique() for name, parts in among.items()}
        #: Of each attribute its values, and by code of a type and value the bits.
        self._tables = [(name, those, self._table(name, those)) for name, those in values.items()]
        self._waiting: list[tuple[pa.RecordBatch, np.ndarray]] = []

    def _table(self, name: str, values: pa.Array) -> np.ndarray:
        allowed = np.array([each.allowed(name, values) for each in self._wanted], np.uint64)
        places = np.arange(len(self._wanted), dtype=np.uint64)
        found: np.ndarray = np.bitwise_or.reduce(allowed << places[:, None, None], axis=0)
        return found

    def add(self, events: pa.RecordBatch) -> None:
        """Take events that are the next in the order of time."""
        rows, bits = self._near(events)
        self._waiting.append((events.take(pa.array(rows)), bits))
        if sum(bits.size for _, bits in self._waiting) >= _MANY:
            self.hand_on()

    def hand_on(self) -> None:
        """Give each query those of the events taken so far that can affect its places."""
        if not self._waiting:
            return
        events = _joined([near for near, _ in self._waiting])
        every = np.concatenate([bits for _, bits in self._waiting])
        for bit, each in enumerate(self._wanted):
            each.add(events, np.flatnonzero(every & np.uint64(1 << bit)))
        self._waiting = []

    def _near(self, events: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
        """The indices of events that can affect any query whose windows reach them, with bits."""
        alive = sum(1 << bit for bit, each in enumerate(self._wanted) if each.reaches(events))
        of_type = self._of_type & np.uint64(alive)
        kinds = np.asarray(events[TYPE_COLUMN])
        may, found = of_type.astype(bool)[kinds], []
        for name, values, table in self._tables:
            numbers, places = _looked_up(events[name], values)
            # Most are ruled out by what they hold alone. -1, nowhere, is the last column.
            may &= np.bitwise_or.reduce(table).astype(bool)[places][numbers]
            found.append((numbers, table[:, places]))
        rows = np.flatnonzero(may)
        bits = of_type[kinds[rows]]
        for numbers, table in found:
            bits &= table[kinds[rows], numbers[rows]]
        return rows[bits != 0], bits[bits != 0]


def _joined(parts: Iterable[pa.RecordBatch | pa.Table]) -> pa.Table:
    """Some events as one table; texts of files that lack them are NULL."""
    joined = pa.concat_tables([pa.table(part) for part in parts], promote_options="permissive")
    return joined.unify_dictionaries().combine_chunks()


def _among(codes: Mapping[str, int], names: Collection[str]) -> np.ndarray:
    """By code of a type, whether it is among some."""
    return np.array([name in names for name in codes])


def _looked_up(
    column: pa.Array | pa.ChunkedArray, among: pa.Array
) -> tuple[np.ndarray, np.ndarray]:
    """A number for each value, and by that where it stands first in an array; -1: nowhere."""
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
