"""Schemas of generated streams, their YAML, and columns of NumPy as a table of their events."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN, EventTable, arrow_schema
from elsinore.timeline import TimeUnit


def text(name: str, *allowed: str) -> Attribute:
    """An attribute of text; of these values only, where some are given."""
    return Attribute(name, AttributeType.STRING, allowed=allowed or None)


def long(name: str, minimum: int = 0, maximum: int | None = None) -> Attribute:
    """An integer attribute."""
    return Attribute(name, AttributeType.LONG, minimum=minimum, maximum=maximum)


def double(name: str, minimum: float = 0.0, maximum: float | None = None) -> Attribute:
    """An attribute of doubles."""
    return Attribute(name, AttributeType.DOUBLE, minimum=minimum, maximum=maximum)


def stream_schema(name: str, types: Mapping[str, tuple[Attribute, ...]]) -> StreamSchema:
    """A stream whose records have `id`, `time` (ISO 8601) and `type`."""
    kinds = tuple(EventType(kind, attributes) for kind, attributes in types.items())
    return StreamSchema(name, "time", TimeUnit.ISO, "type", "id", kinds)


def schema_yaml(schema: StreamSchema, notes: tuple[str, ...] = ()) -> str:
    """The YAML file that `load_schema` reads as this schema.

    Args:
        schema: without timestamps among its attributes.
        notes: lines of comment for the beginning.
    """
    lines = [f"# {note}" for note in notes]
    lines += [
        f"stream: {schema.name}",
        f"time: {{field: {_yaml_name(schema.time_field)}, unit: {schema.time_unit}}}",
        f"type: {{field: {_yaml_name(schema.type_field)}}}",
    ]
    if schema.id_field is not None:
        lines.append(f"id: {{field: {_yaml_name(schema.id_field)}}}")
    lines.append("types:")
    for kind in schema.types:
        lines.append(f"  {kind.name}:" if kind.attributes else f"  {kind.name}: {{}}")
        lines += [f"    {item.name}: {_entry(item)}" for item in kind.attributes]
    return "\n".join(lines) + "\n"


def _yaml_name(field: str) -> str:
    """A field's name, quoted where YAML might take it for something else."""
    return field if re.fullmatch("[a-z]{2,}", field) else json.dumps(field)


def _entry(item: Attribute) -> str:
    limits = {"min": item.minimum, "max": item.maximum, "allowed": item.allowed}
    # JSON is YAML too, and quotes what has to be.
    said = [f"{name}: {json.dumps(value)}" for name, value in limits.items() if value is not None]
    if item.nullable:
        said.insert(0, "nullable: true")
    return f"{{{', '.join([f'type: {item.type}', *said])}}}" if said else str(item.type)


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
