"""Columns that expressions work on: NumPy values, what is known of them, and their type."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.expressions import TIME

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one expression for a number of events."""

    #: int64[N] (long, timestamp, string codes), float64[N] or bool[N]; what stands where `known` is
    #: False means nothing.
    values: np.ndarray
    known: np.ndarray  #: bool[N], False for NULL
    #: for strings, the distinct values in ascending order; codes index it.
    dictionary: pa.Array | None = None

    def take(self, rows: np.ndarray) -> Column:
        """The column at the given rows."""
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
    """Codes into the distinct values in order; what comes in codes already is only renumbered."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    encoded = array.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk at all
        return Column(np.empty(0, np.int64), known, pa.array([], pa.string()))
    codes = np.asarray(pc.fill_null(encoded.indices, 0))
    return recoded(codes, known, encoded.dictionary.cast(pa.string()))


def recoded(
    codes: np.ndarray, known: np.ndarray, texts: pa.Array, dictionary: pa.Array | None = None
) -> Column:
    """A string column from codes into texts in any order; its dictionary, or theirs, ascends."""
    dictionary = _ascending(texts) if dictionary is None else dictionary
    places = np.asarray(pc.index_in(texts, dictionary)).astype(np.int64)
    return Column(places[codes] if places.size else codes.astype(np.int64), known, dictionary)


def _ascending(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    distinct = pc.unique(texts)
    return distinct.take(pc.sort_indices(distinct))


@dataclass
class EventColumns:
    """The events of a table column by column, each converted once, when it is first asked for.

    Several queries over one table should be given one of these.
    """

    events: EventTable
    _made: dict[Hashable, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, events: EventTable | EventColumns) -> Self | EventColumns:
        """Of a table; what is that already stays as it is."""
        return cls(events) if isinstance(events, EventTable) else events

    def once(self, name: Hashable, make: Callable[[], _Made]) -> _Made:
        """What `make` makes of these columns, made once under a name; it must not be changed."""
        if name not in self._made:
            self._made[name] = make()
        made: _Made = self._made[name]
        return made

    def column(self, name: str) -> Column:
        """A column by attribute name, or the time as `expressions.TIME`."""
        return self.once((Column, name), lambda: self._column(name))

    def _column(self, name: str) -> Column:
        if name == TIME:
            times = np.asarray(self.events.table[TIME_COLUMN])
            return Column(times, np.ones(len(times), bool))
        return _from_arrow(self.events.table[name], self.events.schema.attributes[name])

    @property
    def times(self) -> np.ndarray:
        """int64[N]: microseconds since the epoch, or ticks."""
        return self.column(TIME).values

    def rows_of(self, event_type: str) -> np.ndarray:
        """int64 row numbers of the events of one type."""
        code = self.events.schema.type_codes[event_type]
        by_type = self.once(TYPE_COLUMN, self._rows_by_type)
        return by_type[code]

    def _rows_by_type(self) -> list[np.ndarray]:
        codes = np.asarray(self.events.table[TYPE_COLUMN])
        # A stable sort of small integers is by radix: rows stay in order within a type.
        small = codes.astype(np.uint16) if len(self.events.schema.types) < 2**16 else codes
        order = np.argsort(small, kind="stable")
        counts = np.bincount(codes, minlength=len(self.events.schema.types))
        return np.split(order, np.cumsum(counts)[:-1])


def in_one_dictionary(columns: Sequence[Column]) -> list[Column]:
    """String columns recoded to the union of their dictionaries, so that codes compare."""
    dictionaries = [column.dictionary for column in columns]
    if all(other is dictionaries[0] for other in dictionaries):
        return list(columns)
    union = _ascending(
        pa.chunked_array([d.cast(pa.string()) for d in dictionaries if d is not None])
    )
    return [recoded(each.values, each.known, each.dictionary, union) for each in columns]


@dataclass(frozen=True)
class _Memory:
    """The memory of an Arrow array, as NumPy's array interface asks for it."""

    array: pa.Array
    __array_interface__: dict[str, Any]


def plain_values(column: pa.ChunkedArray, kind: type[np.generic]) -> np.ndarray:
    """The values of a column without NULL, of the type `kind`.

    Arrow's own view is read-only, of which kernels would have to be compiled once more; nothing
    writes to this one.
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
