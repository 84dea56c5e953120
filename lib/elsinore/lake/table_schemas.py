"""Reads `schemas/tables/`: the columns, partitions and descriptions of the lake's tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import pydantic

from elsinore.catalog.stream import StreamSchema
from elsinore.catalog.yaml_text import Strict, read_model
from elsinore.errors import SchemaError

ColumnType = Literal["string", "long", "double", "boolean", "timestamp", "date"]

_Name = Annotated[str, pydantic.Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]

_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
}


def sql_text(text: str) -> str:
    """A text as a literal of Spark's SQL, whatever it holds."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    type: ColumnType
    nullable: bool
    description: str


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One table of the lake.

    Attributes:
        name: its name, and that of its folder.
        description: one sentence, for people.
        partition_by: the columns it is partitioned by: the day, for a table of data.
        statistics_of: of a table of data, the columns by which a read tells files apart; to gather
            them of all columns takes longer than writing.
        record: whether it is a record of runs, which delta-rs alone writes; else it is data, which
            Spark alone writes. A table has one writer, since the two commit in different ways.
        columns: in the order in which they are stored.
    """

    name: str
    description: str
    partition_by: tuple[str, ...]
    statistics_of: tuple[str, ...]
    record: bool
    columns: tuple[Column, ...]

    def arrow(self) -> pa.Schema:
        """The columns as Arrow types."""
        return pa.schema([pa.field(c.name, _ARROW[c.type], c.nullable) for c in self.columns])

    def ddl(self) -> str:
        """The columns as SQL; names are plain identifiers, descriptions are quoted."""
        columns = []
        for column in self.columns:
            null = "" if column.nullable else " NOT NULL"
            note = sql_text(column.description)
            kind = "BIGINT" if column.type == "long" else column.type.upper()
            columns.append(f"`{column.name}` {kind}{null} COMMENT {note}")
        return ", ".join(columns)


def load_tables(folder: Path, stream: StreamSchema) -> dict[str, TableSchema]:
    """Every table declared in a folder, by name; the attributes of `stream` are columns of events.

    Raises:
        SchemaError: the folder holds no tables, or a file is no valid declaration.
    """
    tables = [_load(path, stream) for path in sorted(folder.glob("*.yaml"))]
    if not tables:
        raise SchemaError(f"{folder} holds no tables", hint="it belongs to the checkout")
    return {table.name: table for table in tables}


def _load(path: Path, stream: StreamSchema) -> TableSchema:
    declared = read_model(path, _TableFile, "a table")
    if declared.table != path.stem:
        raise SchemaError(f"{path} declares the table {declared.table}", hint="rename the file")
    columns: list[Column] = []
    for name, entry in declared.columns.items():
        columns.append(Column(name, entry.type, entry.nullable, entry.description))
        if name == declared.stream_attributes_after:
            columns += _attributes(stream)
    named = {*declared.partition_by, *declared.statistics_of}
    unknown = named - {column.name for column in columns}
    if unknown:
        raise SchemaError(f"{path}: no column {', '.join(sorted(unknown))}")
    return TableSchema(
        declared.table,
        declared.description,
        tuple(declared.partition_by),
        tuple(declared.statistics_of),
        declared.record,
        tuple(columns),
    )


def _attributes(stream: StreamSchema) -> list[Column]:
    """One nullable column an attribute: an event has those of its type only."""
    return [
        Column(name, kind.value, True, f"Attribute of {', '.join(sorted(stream.carriers(name)))}.")
        for name, kind in stream.attributes.items()
    ]


class _ColumnEntry(Strict):
    type: ColumnType
    nullable: bool = False
    description: Annotated[str, pydantic.Field(min_length=1)]


class _TableFile(Strict):
    table: _Name
    description: Annotated[str, pydantic.Field(min_length=1)]
    partition_by: list[_Name] = pydantic.Field(default_factory=list)
    statistics_of: list[_Name] = pydantic.Field(default_factory=list)
    record: bool = False
    columns: Annotated[dict[_Name, _ColumnEntry], pydantic.Field(min_length=1)]
    stream_attributes_after: _Name | None = None
