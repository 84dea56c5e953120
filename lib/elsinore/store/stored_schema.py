"""Compare a stored table with its declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from elsinore.errors import SetupError
from elsinore.store.delta_log import BUCKETS
from elsinore.store.sql_text import quote_name, quote_text
from elsinore.store.tables import ID_FIELD, ID_SPAN, Difference, TableSchema

#: Properties that say how a table depends on the schema of its stream, in words.
_OF_STREAM = {
    ID_FIELD: "the field of its ids", ID_SPAN: "the uniqueness of its ids", BUCKETS: "its buckets",
}  # fmt: skip


def compare(declared: TableSchema, stored: StructType, properties: Mapping[str, str]) -> Difference:
    """Return how a stored table differs from its declaration.

    Columns that only the stored table has are left out, because other jobs may add some.

    Args:
        declared: The declaration.
        stored: The columns of the table.
        properties: Its properties, if the declaration has some of the stream.
    """
    there = {field.name: field.dataType.simpleString() for field in stored}
    wanted = from_arrow_schema(declared.arrow())
    new = [field for field in wanted if field.name not in there]
    others = [f"it has no column {field.name}" for field in new if not field.nullable]
    others += [
        f"{field.name} is {there[field.name]}, but {kind} in its declaration"
        for field in wanted
        if (kind := field.dataType.simpleString()) != there.get(field.name, kind)
    ]
    others += [
        f"{name} is {properties.get(key)}, but {declared.of_stream.get(key)} in its declaration"
        for key, name in _OF_STREAM.items()
        if declared.of_stream and properties.get(key) != declared.of_stream.get(key)
    ]
    return Difference(tuple(field.name for field in new if field.nullable), tuple(others))


def require_fitting(declared: TableSchema, path: str, found: Difference) -> None:
    """Raise SetupError if new nullable columns cannot make a table match its declaration."""
    if found.others:
        raise SetupError(
            f"the table {declared.name} in {path} differs from its declaration: "
            f"{'; '.join(found.others)}",
            hint="restore the schema, or set ELSINORE_HOME to a new directory and ingest the files "
            "again",
        )


def definition(column: StructField | Any) -> str:
    """Return the definition of a column in CREATE TABLE."""
    null = "" if column.nullable else " NOT NULL"
    comment = (column.metadata or {}).get("comment", "")
    about = f" COMMENT {quote_text(comment)}" if comment else ""
    return f"{quote_name(column.name)} {column.dataType.simpleString()}{null}{about}"
