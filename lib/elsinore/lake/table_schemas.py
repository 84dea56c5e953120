"""Reads `schemas/tables/`: the columns, partitions and descriptions of the lake's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import pydantic

from elsinore.catalog.stream import StreamSchema
from elsinore.catalog.yaml_text import read_yaml
from elsinore.errors import Diagnostic, Location, SchemaError

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


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class Column(_Strict):
    """One column of a table."""

    type: ColumnType
    nullable: bool = False
    description: Annotated[str, pydantic.Field(min_length=1)]


class TableSchema(_Strict):
    """One table of the lake.

    Attributes:
        name: its name, and that of its folder.
        description: one sentence, for people.
        partition_by: the columns it is partitioned by: the day, for a table of data.
        statistics_of: of a table of data, the columns by which a read tells files apart; to gather
            them of all columns takes longer than writing.
        record: whether it is a record of runs, which delta-rs alone writes; else it is data, which
            Spark alone writes. A table has one writer, since the two commit in different ways.
        columns: by name, in the order in which they are stored.
        stream_attributes_after: the column that those of the stream's attributes follow, if any do.
    """

    name: _Name = pydantic.Field(alias="table")
    description: Annotated[str, pydantic.Field(min_length=1)]
    partition_by: list[_Name] = []
    statistics_of: list[_Name] = []
    record: bool = False
    columns: Annotated[dict[_Name, Column], pydantic.Field(min_length=1)]
    stream_attributes_after: _Name | None = None

    def arrow(self) -> pa.Schema:
        """The columns as Arrow types."""
        columns = self.columns.items()
        return pa.schema([pa.field(name, _ARROW[c.type], c.nullable) for name, c in columns])

    def ddl(self) -> str:
        """The columns as SQL; names are plain identifiers, descriptions are quoted."""
        columns = []
        for name, column in self.columns.items():
            null = "" if column.nullable else " NOT NULL"
            note = sql_text(column.description)
            kind = "BIGINT" if column.type == "long" else column.type.upper()
            columns.append(f"`{name}` {kind}{null} COMMENT {note}")
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
    try:
        declared = TableSchema.model_validate(read_yaml(path))
    except pydantic.ValidationError as error:
        faults = [
            Diagnostic(f"{'.'.join(map(str, f['loc']))}: {f['msg']}", Location(str(path)))
            for f in error.errors()
        ]
        raise SchemaError.of(faults) from error
    if declared.name != path.stem:
        raise SchemaError(f"{path} declares the table {declared.name}", hint="rename the file")
    columns: dict[str, Column] = {}
    for name, column in declared.columns.items():
        columns[name] = column
        if name == declared.stream_attributes_after:
            columns |= _attributes(stream)
    unknown = {*declared.partition_by, *declared.statistics_of} - columns.keys()
    if unknown:
        raise SchemaError(f"{path}: no column {', '.join(sorted(unknown))}")
    return declared.model_copy(update={"columns": columns})


def _attributes(stream: StreamSchema) -> dict[str, Column]:
    """One nullable column an attribute: an event has those of its type only."""
    return {
        name: Column(
            type=kind.value,
            nullable=True,
            description=f"Attribute of {', '.join(sorted(stream.carriers(name)))}.",
        )
        for name, kind in stream.attributes.items()
    }
