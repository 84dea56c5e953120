"""Key columns as small integers, their values as JSON, and the join of such columns."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.executors.input.columns import EventColumns, plain_values
from elsinore.executors.input.evaluate import values_of
from elsinore.executors.input.numbering import numbered
from elsinore.query.bound import Key
from elsinore.sorting import ascending

_INTEGERS = (AttributeType.LONG, AttributeType.TIMESTAMP)
#: Maximum range of integers whose distance from the smallest one is their code.
_MOST_DENSE = 2**24


@dataclass(frozen=True)
class KeyCodes:
    """Codes of a key's values for the N events of a table."""

    values: np.ndarray  #: int32[N]; 0 is NULL
    #: bool[N]: neither NULL nor NaN. An equivalence key excludes other events from all trends.
    usable: np.ndarray
    distinct: pa.Array  #: the value of each code from 1 on; some may have no event

    @classmethod
    def of(cls, key: Key, columns: EventColumns) -> KeyCodes:
        """Return the codes of one key; they are cached for all queries over these events."""
        if key.value is not None:
            return columns.once((cls, key.value), lambda: cls._of_expression(key, columns))
        return columns.once((cls, key.attribute), lambda: cls._made(key, columns))

    @classmethod
    def _of_expression(cls, key: Key, columns: EventColumns) -> KeyCodes:
        assert key.value is not None
        column = values_of(key.value, columns)
        usable = column.known
        if column.dictionary is not None:
            codes, distinct = column.values, column.dictionary
        else:
            if key.type is AttributeType.DOUBLE:
                usable = usable & ~np.isnan(column.values)
            values = np.where(column.known, column.values, column.values.dtype.type(0))
            numbers, codes = np.unique(values, return_inverse=True)
            distinct = pa.array(numbers)
        return cls(np.where(column.known, codes + 1, 0).astype(np.int32), usable, distinct)

    @classmethod
    def _made(cls, key: Key, columns: EventColumns) -> KeyCodes:
        table = columns.events.table[key.attribute]
        if key.type in _INTEGERS and not table.null_count and len(table):
            values = plain_values(table, np.int64)
            low, high = int(values.min()), int(values.max())
            if high - low < min(values.size, _MOST_DENSE):  # no search for distinct values needed
                # Neither low - 1 nor high + 1 need fit in 64 bits.
                codes = (values - low).astype(np.int32) + np.int32(1)
                distinct = pa.array(np.arange(high - low + 1) + low)
                return cls(codes, np.ones(values.size, np.bool_), distinct)
        column = columns.column(key.attribute)
        usable = column.known
        if column.dictionary is not None:
            codes, distinct = column.values, column.dictionary
        elif key.type is AttributeType.DOUBLE:  # which has NaN and -0.0
            usable = usable & ~np.isnan(column.values)
            numbers, codes = np.unique(column.values, return_inverse=True)
            distinct = pa.array(numbers, pa.float64())
        else:  # Arrow compares the values as SQL does
            encoded = table.combine_chunks().dictionary_encode()
            codes, distinct = np.asarray(pc.fill_null(encoded.indices, -1)), encoded.dictionary
        return cls(np.where(column.known, codes + 1, 0).astype(np.int32), usable, distinct)

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.distinct) + 1

    @cached_property
    def meaning(self) -> list[Any]:
        """Return the value of each code; None for code 0."""
        return [None, *self.distinct.to_pylist()]

    def texts(self, key: Key, codes: np.ndarray) -> pa.Array:
        """Return the values of some codes as JSON strings."""
        if key.type in _INTEGERS:
            texts = self.distinct.cast(pa.string())
        else:
            values = self.distinct.to_pylist()
            texts = pa.array([json.dumps(v, ensure_ascii=False) for v in values], pa.string())
        null = pa.array(["null"], pa.string())
        return pa.concat_arrays([null, texts]).take(pa.array(codes))


def joined_texts(texts: Sequence[pa.Array], size: int) -> pa.Array:
    """Return the groups of `size` partitions as JSON arrays, given the JSON strings per key."""
    if not texts:
        return pa.array(["[]"] * size, pa.string())
    inside = pc.binary_join_element_wise(*texts, ", ")
    return pc.binary_join_element_wise("[", inside, "]", "")


#: Columns of integers from 0, all of one length: codes of keys by `KeyName`, numbers of rows.
Columns = Mapping[Hashable, np.ndarray]


def join_keys(left: Columns, right: Columns) -> Columns:
    """Return the natural join of two tables: all pairs of rows that agree in the common columns.

    >>> join_keys({"a": np.array([1, 2])}, {"a": np.array([2, 2]), "b": np.array([5, 6])})
    {'a': array([2, 2]), 'b': array([5, 6])}
    """
    shared = [name for name in right if name in left]
    size, more = (next(iter(columns.values())).size for columns in (left, right))
    both = [np.concatenate([left[n], right[n]]) for n in shared]
    together = numbered(both, size + more)[0]
    ours, theirs = together[:size], together[size:]
    order = ascending(theirs)
    first = np.searchsorted(theirs[order], ours, "left")
    counts = np.searchsorted(theirs[order], ours, "right") - first
    lefts = np.repeat(np.arange(size), counts)
    within = np.arange(lefts.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rights = order[np.repeat(first, counts) + within]
    found: dict[Hashable, np.ndarray] = {name: column[lefts] for name, column in left.items()}
    return found | {n: column[rights] for n, column in right.items() if n not in shared}
