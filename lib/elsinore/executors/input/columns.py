"""Columns of expression values: NumPy values, their validity and their type."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import ORDER, AttributeType
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.expressions import TIME
from elsinore.windows import OrderedWindow, Window

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one expression for N events."""

    #: int64[N] (long, timestamp, string codes), float64[N] or bool[N]; undefined if `known` is
    #: False.
    values: np.ndarray
    known: np.ndarray  #: bool[N], False for NULL
    #: for strings, the distinct values in ascending order; the codes are positions in it.
    dictionary: pa.Array | None = None

    def take(self, rows: np.ndarray) -> Column:
        """Return the column at the given rows."""
        return Column(self.values[rows], self.known[rows], self.dictionary)


def _from_arrow(array: pa.ChunkedArray, kind: AttributeType) -> Column:
    known = np.asarray(pc.is_valid(array)) if array.null_count else np.ones(len(array), bool)
    if kind is AttributeType.STRING:
        return _from_strings(array, known)
    if kind is AttributeType.BOOLEAN:
        return Column(np.asarray(pc.fill_null(array, False)).astype(bool), known)
    if kind is AttributeType.DOUBLE:
        values = np.asarray(pc.fill_null(array, 0.0)).astype(np.float64, copy=False)
        return Column(values + 0.0, known)  # -0.0 counts as 0.0
    return Column(np.asarray(pc.fill_null(array, 0)).astype(np.int64, copy=False), known)


def _from_strings(array: pa.ChunkedArray, known: np.ndarray) -> Column:
    """Return codes into the sorted distinct values; dictionary codes are only renumbered."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    encoded = array.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # without chunks
        return Column(np.empty(0, np.int64), known, pa.array([], pa.string()))
    codes = np.asarray(pc.fill_null(encoded.indices, 0))
    return recoded(codes, known, encoded.dictionary.cast(pa.string()))


def recoded(
    codes: np.ndarray, known: np.ndarray, texts: pa.Array, dictionary: pa.Array | None = None
) -> Column:
    """Return a string column whose dictionary is sorted.

    Args:
        codes: int[N], positions in `texts`.
        known: bool[N], False for NULL.
        texts: distinct strings in any order.
        dictionary: sorted strings that include all of `texts`; by default, `texts` sorted.
    """
    dictionary = _ascending(texts) if dictionary is None else dictionary
    places = np.asarray(pc.index_in(texts, dictionary)).astype(np.int64)
    return Column(places[codes] if places.size else codes.astype(np.int64), known, dictionary)


def _ascending(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    distinct = pc.unique(texts)
    return distinct.take(pc.sort_indices(distinct))


@dataclass
class EventColumns:
    """The columns of a table of events, each converted once, when it is first used.

    Pass one instance to all queries over the same table.
    """

    events: EventTable
    _made: dict[Hashable, Any] = field(default_factory=dict)
    _latest: dict[str, tuple[Hashable, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, events: EventTable | EventColumns) -> Self | EventColumns:
        """Return the columns of a table, or the argument if it already is an `EventColumns`."""
        return cls(events) if isinstance(events, EventTable) else events

    def once(self, name: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the value that `make` returned for this name, calling `make` only once.

        The value is shared, so callers must not change it.
        """
        if name not in self._made:
            self._made[name] = make()
        made: _Made = self._made[name]
        return made

    def latest(self, kind: str, name: Hashable, make: Callable[[], _Made]) -> _Made:
        """Return the value that `make` returned; equal names in succession call it once.

        Only the last value of a kind is kept, because it may be large. Callers must not change it.
        """
        if kind not in self._latest or self._latest[kind][0] != name:
            self._latest.pop(kind, None)  # free the memory before `make` takes more
            self._latest[kind] = name, make()
        made: _Made = self._latest[kind][1]
        return made

    def column(self, name: str) -> Column:
        """Return the column of an attribute, or the times for the name `expressions.TIME`."""
        return self.once((Column, name), lambda: self._column(name))

    def _column(self, name: str) -> Column:
        if name == TIME:
            times = np.asarray(self.events.table[TIME_COLUMN])
            return Column(times, np.ones(len(times), bool))
        return _from_arrow(self.events.table[name], self.events.schema.attributes[name])

    @property
    def times(self) -> np.ndarray:
        """Return int64[N], the times in microseconds since the epoch, or in ticks."""
        return self.column(TIME).values

    @property
    def ranks(self) -> np.ndarray:
        """Return int64[N], the rank of each event among those with its time, by `ORDER`, from 0.

        Events that tie have equal ranks.
        """
        return self.once(ORDER, self._ranks)

    def _ranks(self) -> np.ndarray:
        times, values = self.times, self.column(ORDER).values
        along = np.lexsort((values, times))
        times, values = times[along], values[along]
        begins = np.append(True, times[1:] != times[:-1])
        ascents = np.cumsum(np.append(False, values[1:] != values[:-1]) & ~begins)
        ranks = np.empty(times.size, np.int64)
        ranks[along] = ascents - np.maximum.accumulate(np.where(begins, ascents, 0))
        return ranks

    def positions(self, window: Window) -> np.ndarray:
        """Return int64[N], the positions of the events in a window."""
        times = plain_values(self.events.table[TIME_COLUMN], np.int64)
        if isinstance(window, OrderedWindow):
            return window.ordered(window.plain.positions(times), self.ranks)
        return window.positions(times)

    def rows_of(self, event_type: str) -> np.ndarray:
        """Return int64[*], the rows of the events of one type, ascending."""
        code = self.events.schema.type_codes[event_type]
        by_type = self.once(TYPE_COLUMN, self._rows_by_type)
        return by_type[code]

    def _rows_by_type(self) -> list[np.ndarray]:
        codes = np.asarray(self.events.table[TYPE_COLUMN])
        # NumPy sorts small integers by radix if stable: rows stay in order within a type.
        small = codes.astype(np.uint16) if len(self.events.schema.types) < 2**16 else codes
        order = np.argsort(small, kind="stable")
        counts = np.bincount(codes, minlength=len(self.events.schema.types))
        return np.split(order, np.cumsum(counts)[:-1])


def in_one_dictionary(columns: Sequence[Column]) -> list[Column]:
    """Return string columns with a common dictionary, so that their codes can be compared."""
    dictionaries = [column.dictionary for column in columns]
    if all(other is dictionaries[0] for other in dictionaries):
        return list(columns)
    union = _ascending(
        pa.chunked_array([d.cast(pa.string()) for d in dictionaries if d is not None])
    )
    return [recoded(each.values, each.known, each.dictionary, union) for each in columns]


@dataclass(frozen=True)
class _Memory:
    """The memory of an Arrow array, with NumPy's array interface."""

    array: pa.Array
    __array_interface__: dict[str, Any]


def plain_values(column: pa.ChunkedArray, kind: type[np.generic]) -> np.ndarray:
    """Return the values of a column without NULL, as the type `kind`.

    NumPy's view of Arrow memory is read-only, and Numba compiles a second version of each kernel
    for read-only arrays. This view is writable, but callers must not write to it.
    """
    if column.num_chunks != 1:
        return np.asarray(column).astype(kind)
    chunk = column.chunk(0)
    size = np.dtype(kind).itemsize
    if not len(chunk) or chunk.type.bit_width != 8 * size:
        return np.asarray(chunk).astype(kind)
    address = chunk.buffers()[1].address + chunk.offset * size
    shape = {"shape": (len(chunk),), "typestr": np.dtype(kind).str}
    return np.asarray(_Memory(chunk, {**shape, "data": (address, False), "version": 3}))
