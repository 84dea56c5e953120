"""Columns of NumPy as a table of typed events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN, EventTable, arrow_schema


@dataclass(frozen=True)
class Names:
    """A column of text with few distinct values.

    Attributes:
        codes: int64, one an event; whatever they are where the event lacks the attribute.
        labels: the text of each code.
    """

    codes: np.ndarray
    labels: tuple[str, ...]

    @classmethod
    def numbered(cls, prefix: str, codes: np.ndarray, count: int) -> Names:
        """`d0`, `d1` and so on."""
        return cls(codes, tuple(f"{prefix}{number}" for number in range(count)))


def event_table(
    schema: StreamSchema,
    times: np.ndarray,
    types: np.ndarray,
    attributes: Mapping[str, np.ndarray | Names],
) -> EventTable:
    """Events in the order given; an event has those attributes that its type has.

    Args:
        schema: the stream.
        times: int64 microseconds.
        types: codes of event types.
        attributes: for each attribute of the schema a whole column, one value an event.
    """
    columns: dict[str, pa.Array] = {
        TIME_COLUMN: pa.array(times),
        TYPE_COLUMN: pa.array(types.astype(np.int32)),
    }
    for name in schema.attributes:
        carriers = schema.carriers(name)
        lacking = np.array([kind.name not in carriers for kind in schema.types])[types]
        columns[name] = _column(attributes[name], lacking, ARROW_TYPES[schema.attributes[name]])
    return EventTable(schema, pa.table(columns, schema=arrow_schema(schema)))


def _column(values: np.ndarray | Names, lacking: np.ndarray, kind: pa.DataType) -> pa.Array:
    if isinstance(values, Names):
        codes = pa.array(np.where(lacking, 0, values.codes), pa.int64(), mask=lacking)
        return pa.DictionaryArray.from_arrays(codes, pa.array(values.labels)).cast(kind)
    return pa.array(values, kind, mask=lacking)
