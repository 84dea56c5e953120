"""Columns that expressions work on: NumPy values, what is known of them, and their type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.events.table import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.expressions import TIME


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one expression for a number of events.

    Attributes:
        values: int64[N] (long, timestamp, string codes), float64[N] or bool[N]; what stands where
            `known` is False means nothing.
        known: bool[N], False for NULL.
        dictionary: for strings, the distinct values in ascending order; codes index it.
    """

    values: np.ndarray
    known: np.ndarray
    dictionary: pa.Array | None = None

    def take(self, rows: np.ndarray) -> Column:
        """The column at the given rows."""
        return Column(self.values[rows], self.known[rows], self.dictionary)


def _from_arrow(array: pa.ChunkedArray, kind: AttributeType) -> Column:
    known = np.asarray(pc.is_valid(array))
    if kind is AttributeType.STRING:
        dictionary = pc.unique(array.drop_null())
        if isinstance(dictionary, pa.ChunkedArray):
            dictionary = dictionary.combine_chunks()
        dictionary = dictionary.take(pc.sort_indices(dictionary))
        codes = pc.fill_null(pc.index_in(array, dictionary), 0)
        return Column(np.asarray(codes).astype(np.int64), known, dictionary)
    if kind is AttributeType.BOOLEAN:
        return Column(np.asarray(pc.fill_null(array, False)).astype(bool), known)
    if kind is AttributeType.DOUBLE:
        values = np.asarray(pc.fill_null(array, 0.0)).astype(np.float64)
        return Column(values + 0.0, known)  # -0.0 counts as 0.0
    return Column(np.asarray(pc.fill_null(array, 0)).astype(np.int64), known)


@dataclass
class EventColumns:
    """The events of a table column by column, each converted once, when it is first asked for."""

    events: EventTable
    _ready: dict[str, Column] = field(default_factory=dict)

    def column(self, name: str) -> Column:
        """A column by attribute name, or the time as `expressions.TIME`."""
        if name not in self._ready:
            if name == TIME:
                times = np.asarray(self.events.table[TIME_COLUMN])
                self._ready[name] = Column(times, np.ones(len(times), bool))
            else:
                kind = self.events.schema.attributes[name]
                self._ready[name] = _from_arrow(self.events.table[name], kind)
        return self._ready[name]

    @property
    def times(self) -> np.ndarray:
        """int64[N]: microseconds since the epoch, or ticks."""
        return self.column(TIME).values

    def rows_of(self, event_type: str) -> np.ndarray:
        """int64 row numbers of the events of one type."""
        code = self.events.schema.type_codes[event_type]
        return np.flatnonzero(np.asarray(self.events.table[TYPE_COLUMN]) == code)


def in_one_dictionary(columns: Sequence[Column]) -> list[Column]:
    """String columns recoded to the union of their dictionaries, so that codes compare."""
    dictionaries = [column.dictionary for column in columns]
    if all(other is dictionaries[0] for other in dictionaries):
        return list(columns)
    union = pc.unique(
        pa.chunked_array([d.cast(pa.string()) for d in dictionaries if d is not None])
    )
    union = union.take(pc.sort_indices(union))
    recoded = []
    for column in columns:
        places = np.asarray(pc.index_in(column.dictionary, union)).astype(np.int64)
        values = places[column.values] if places.size else column.values
        recoded.append(Column(values, column.known, union))
    return recoded
