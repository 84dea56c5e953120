"""Typed events of one stream as Arrow columns: the output of readers and input of executors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.timeline import HOUR

#: Names of the columns that every event has; attribute names cannot begin like this by accident,
#: since a schema that declares them is refused.
TIME_COLUMN = "_time"
TYPE_COLUMN = "_type"

ARROW_TYPES: dict[AttributeType, pa.DataType] = {
    AttributeType.STRING: pa.string(),
    AttributeType.LONG: pa.int64(),
    AttributeType.DOUBLE: pa.float64(),
    AttributeType.BOOLEAN: pa.bool_(),
    AttributeType.TIMESTAMP: pa.int64(),
}


def arrow_schema(schema: StreamSchema) -> pa.Schema:
    """Return the columns of a stream's typed events.

    `_time` is int64 (microseconds since the epoch, or ticks). `_type` is an int32 index of
    `schema.types`. Then there is one column per attribute, which is NULL if the event's type does
    not have it.
    """
    fixed = [pa.field(TIME_COLUMN, pa.int64(), False), pa.field(TYPE_COLUMN, pa.int32(), False)]
    return pa.schema(
        [*fixed, *(pa.field(name, ARROW_TYPES[kind]) for name, kind in schema.attributes.items())]
    )


def id_keys(events: pa.Table, schema: StreamSchema, *, time: str = "event_time") -> pa.ChunkedArray:
    """Return the deduplication key of each event: its `event_id`, NULL without one.

    If ids are unique only within a span of time, the key contains the start of the span.
    """
    ids = events["event_id"].cast(pa.string())
    if schema.id_span is None:
        return ids
    instants = events[time].cast(pa.timestamp("us"))
    spans = pc.floor_temporal(instants, schema.id_span // HOUR, "hour").cast(pa.int64())
    return pc.binary_join_element_wise(ids, spans.cast(pa.string()), " ")


def same_values(left: pa.ChunkedArray, right: pa.ChunkedArray) -> np.ndarray:
    """Return which pairs of values are equal, both NULL, or both NaN."""
    same = pc.or_(pc.equal(left, right), pc.and_(_is_nan(left), _is_nan(right)))
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(same, False), both_null).to_numpy()


def _is_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.not_equal(column, column)


@dataclass(frozen=True)
class EventTable:
    """Events of one stream in no particular order; `table` has the columns of `arrow_schema`.

    Strings may come in dictionaries, as readers have them; so they need no second look.
    """

    schema: StreamSchema
    table: pa.Table

    @classmethod
    def of(
        cls, schema: StreamSchema, events: Iterable[tuple[str, int, Mapping[str, Any]]]
    ) -> EventTable:
        """Create a table from `(type, time, attributes)` triples, for tests and small examples."""
        rows = [
            {**values, TIME_COLUMN: time, TYPE_COLUMN: schema.type_codes[kind]}
            for kind, time, values in events
        ]
        return cls(schema, pa.Table.from_pylist(rows, schema=arrow_schema(schema)))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def between(self, start: int, end: int) -> EventTable:
        """Return the events with `start <= time < end`."""
        time = self.table[TIME_COLUMN]
        inside = pc.and_(pc.greater_equal(time, start), pc.less(time, end))
        return EventTable(self.schema, self.table.filter(inside))
