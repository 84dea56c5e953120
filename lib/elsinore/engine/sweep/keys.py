"""Key columns as dense codes, and the groups that they stand for as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import EventColumns, plain_values
from elsinore.engine.key_codes import KeyCodes
from elsinore.query.bound import Key

#: Types whose values Arrow tells apart as SQL does; doubles have NaN and -0.0.
_PLAIN = (AttributeType.LONG, AttributeType.STRING, AttributeType.TIMESTAMP, AttributeType.BOOLEAN)

_INTEGERS = (AttributeType.LONG, AttributeType.TIMESTAMP)
#: Distances of values that are codes as they are.
_MOST_DENSE = 2**24


@dataclass(frozen=True)
class SweptKey:
    """A key of all events of a table.

    Attributes:
        codes: int32[N]; 0 is NULL.
        usable: bool[N], False where an equivalence key keeps the event out; None if it never does.
        values: the value of each code from 1 on.
    """

    codes: np.ndarray
    usable: np.ndarray | None
    values: pa.Array

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values) + 1


def swept_key(key: Key, columns: EventColumns) -> SweptKey:
    """The codes of one key."""
    if key.type not in _PLAIN:
        found = KeyCodes.of(key, columns)
        usable = None if found.usable.all() else found.usable
        values = pa.array(found.meaning[1:], pa.float64())
        return SweptKey(found.values.astype(np.int32), usable, values)
    table = columns.events.table[key.attribute]
    if key.type in _INTEGERS and not table.null_count and len(table):
        dense = _dense_key(plain_values(table, np.int64))
        if dense is not None:
            return dense
    column = columns.column(key.attribute)
    usable = column.known if key.equivalence and table.null_count else None
    if column.dictionary is not None:
        codes = np.where(column.known, column.values + 1, 0).astype(np.int32)
        return SweptKey(codes, usable, column.dictionary)
    encoded = table.combine_chunks().dictionary_encode()
    codes = np.asarray(pc.fill_null(encoded.indices, -1)) + np.int32(1)
    return SweptKey(codes, usable, encoded.dictionary)


def _dense_key(values: np.ndarray) -> SweptKey | None:
    """The codes of integers that lie close together, without a look at each: their distances."""
    low, high = int(values.min()), int(values.max())
    if high - low >= min(values.size, _MOST_DENSE):
        return None
    # Neither low - 1 nor high + 1 need fit in 64 bits.
    codes = (values - low).astype(np.int32) + np.int32(1)
    return SweptKey(codes, None, pa.array(np.arange(high - low + 1) + low))


def group_texts(
    keys: Sequence[Key], found: Mapping[str, SweptKey], codes: Mapping[str, np.ndarray], size: int
) -> pa.Array:
    """The JSON array of group values of each partition.

    Args:
        keys: the grouping keys.
        found: the meaning of codes, by attribute.
        codes: int64[size], the code of each partition, by attribute; NULL stands for a key that
            trends do not carry, too.
        size: number of partitions.
    """
    texts = []
    for key in keys:
        if key.attribute in codes:
            texts.append(
                _value_texts(key, found[key.attribute]).take(pa.array(codes[key.attribute]))
            )
        else:
            texts.append(pa.array(["null"] * size, pa.string()))
    if not texts:
        return pa.array(["[]"] * size, pa.string())
    inside = pc.binary_join_element_wise(*texts, ", ")
    return pc.binary_join_element_wise("[", inside, "]", "")


def _value_texts(key: Key, found: SweptKey) -> pa.Array:
    """The JSON text of each code."""
    if key.type in (AttributeType.LONG, AttributeType.TIMESTAMP):
        texts = found.values.cast(pa.string())
    else:
        texts = pa.array(
            [json.dumps(value, ensure_ascii=False) for value in found.values.to_pylist()],
            pa.string(),
        )
    return pa.concat_arrays([pa.array(["null"], pa.string()), texts])
