"""Events from Parquet files and frames."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import Attribute, StreamSchema
from elsinore.errors import DataError, OutOfMemoryError
from elsinore.files.bounded_parquet import BATCH_ROWS, Columns, Piece, parquet_batches
from elsinore.files.directory_columns import NO_COLUMNS, DirectoryColumns, add_columns
from elsinore.files.extension_types import without_extensions
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    ReadLimits,
    column_problem,
    names_read,
    unreadable,
)
from elsinore.files.records import ArrowRecords, field_paths, first_name
from elsinore.files.rejection import Reason, printable
from elsinore.files.type_records import Decoded, decoded_schema, type_records
from elsinore.files.versions import column_versions, follow_versions


def read_parquet(
    path: Path,
    schema: StreamSchema,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    columns: DirectoryColumns = NO_COLUMNS,
    read: Collection[str] | None = None,
) -> Iterator[Decoded]:
    """Yield typed events of a Parquet file in batches of about ten thousand rows.

    Positions are row numbers, from 1. Only columns of the schema are decoded. A rejected row is
    kept as JSON, with these columns. `.parquet.gz` and `.parquet.zst` are decompressed in memory.

    Args:
        path: the file.
        schema: how to read an event.
        limits: bounds on what is decoded.
        columns: the columns of the file's directories.
        read: the attributes that queries read, None: all. If the file exceeds the limits only
            because of columns of other attributes, these are left out and are NULL.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used. Parquet has no checksum of the whole: damage
            to a page may show when earlier batches are out, so use none before the last.
        OutOfMemoryError: there is too little memory.
    """
    label, own = printable(str(path)), list[str]()

    def choose(names: list[str]) -> Columns:
        own.extend(names)
        _require_columns(path, schema, names, columns)
        return columns_read(names, schema, read)

    pieces = (
        piece._replace(rows=add_columns(piece.rows, columns, schema))
        for piece in parquet_batches(path, limits, choose)
    )
    yield from typed_rows(pieces, label, schema, own)


def parquet_rows(
    path: Path,
    schema: StreamSchema | None,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    columns: DirectoryColumns = NO_COLUMNS,
) -> Iterator[pa.Table]:
    """Yield the rows of a Parquet file with all columns, in batches; raises as `read_parquet`."""

    def choose(names: list[str]) -> Columns:
        if schema is not None:
            _require_columns(path, schema, names, columns)
        return Columns(names)

    for piece in parquet_batches(path, limits, choose):
        rows = without_extensions(piece.rows)
        yield rows if schema is None else add_columns(rows, columns, schema)


def typed_rows(
    pieces: Iterable[Piece], label: str, schema: StreamSchema, names: Collection[str]
) -> Iterator[Decoded]:
    """Yield typed events of rows, whose positions count from 1 in the source `label`.

    `names` are the names of all columns, including columns that are not decoded.
    """
    position, labels = 1, pa.repeat(label, BATCH_ROWS)
    for rows, left_out in pieces:
        typed = _without(schema, rows.column_names, left_out) if left_out else schema
        decoded = _typed(without_extensions(rows), position, labels, typed)
        decoded = replace(decoded, fields=(decoded.fields or frozenset()).union(names))
        if left_out:
            events = event_columns(decoded.events, decoded_schema(schema))
            decoded = replace(decoded, events=events, left_out=left_out)
        yield decoded
        position += rows.num_rows


def columns_read(
    names: Sequence[str], schema: StreamSchema, read: Collection[str] | None = None
) -> Columns:
    """Return the columns that contain a schema's fields; see `read_parquet` for `read`."""
    attributes = [each for event_type in schema.types for each in event_type.attributes]
    needed = [*schema.raw_needed, *(a.raw for a in attributes if read is None or a.name in read)]
    if schema.version_field is not None:
        needed.append(schema.version_field)
    required = {first_name(field, names) for field in needed}
    wanted = {first_name(field, names) for field in names_read(schema, nested=False)}
    chosen = [name for name in names if name in wanted]
    return Columns(chosen, [name for name in chosen if name not in required])


def event_columns(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Return a table with all columns of a schema in its order; missing columns are NULL."""
    there = set(table.column_names)
    columns = [
        table[field.name] if field.name in there else pa.nulls(table.num_rows, field.type)
        for field in wanted
    ]
    return pa.table(columns, schema=wanted)


def _without(schema: StreamSchema, there: Sequence[str], left_out: Sequence[str]) -> StreamSchema:
    """Return a schema without the attributes whose columns were left out."""
    names = {*there, *left_out}

    def kept(attribute: Attribute) -> bool:
        return first_name(attribute.raw, names) not in left_out

    types = tuple(replace(t, attributes=tuple(filter(kept, t.attributes))) for t in schema.types)
    return replace(schema, types=types)


def _require_columns(
    path: Path, schema: StreamSchema, names: list[str], columns: DirectoryColumns
) -> None:
    """Raise UnreadableFile if neither a file nor its directories have a column that is needed."""
    of_directories = (name for name in columns if name not in names)
    if problem := column_problem([*names, *of_directories], schema, nested=True):
        raise unreadable(path, f": {problem[0]}", Reason.BAD_HEADER, problem[1])


class Frame(NamedTuple):
    """Events at hand, as a table of anything that speaks Arrow; `name` says where they came from.

    `data` has `__arrow_c_stream__` or `__arrow_c_array__`, as frames of pandas, polars and DuckDB
    have, and Arrow's tables, batches and readers.
    """

    name: str
    data: Any


#: Errors of libraries for objects that are not DataFrames, or columns with values of several types.
UNREADABLE = (pa.ArrowException, TypeError, ValueError, OverflowError)

_CAST = "cast it to a 64-bit integer, a double or a string, or drop the column"


def frame_problem(name: str, error: Exception) -> DataError | OutOfMemoryError:
    """Return the error of a DataFrame that Arrow cannot read."""
    if isinstance(error, MemoryError):
        return OutOfMemoryError.of(f"reading {name}", error)
    why = "; ".join(map(str, error.args))
    hint = "pass a pandas, polars or Arrow table"
    kinds = re.search(r"Conversion failed for column (.+) with type (.+)", why)
    if kinds and kinds[2] != "object":
        why = f"column {kinds[1]} is of the type {kinds[2]}, which Arrow does not have"
        return DataError(f"Arrow cannot read the table {name}: {why}", hint=_CAST)
    if "'_pli128'" in why:  # the name in polars
        why = "a column is of the type Int128, which Arrow does not have"
        return DataError(f"Arrow cannot read the table {name}: {why}", hint=_CAST)
    if kinds:
        why = f"column {kinds[1]} has values of several types"
    if "non-struct" in why:
        why = "it is a single column"
        hint = "pass a table with named columns"
    elif isinstance(error, OverflowError):
        hint = "cast integers of more than 64 bits to doubles or strings, or drop the column"
    elif isinstance(error, pa.ArrowException):
        hint = "give each column one type, or drop it"
    return DataError(f"Arrow cannot read the table {name}: {why}", hint=hint)


def frame_table(data: Any) -> pa.Table:
    """Return the rows of an object that supports Arrow, without empty chunks.

    Empty chunks from Arrow's C interface have no buffers and cannot be joined (pyarrow 26).
    """
    table = pa.table(data)
    filled = [batch for batch in table.to_batches() if batch.num_rows]
    return without_extensions(pa.Table.from_batches(filled, table.schema))


def read_frame(frame: Frame, schema: StreamSchema) -> Iterator[Decoded]:
    """Yield typed events of a DataFrame.

    Raises:
        DataError: A column is missing or repeated, or the DataFrame cannot be read.
    """
    try:
        table = frame_table(frame.data)
    except UNREADABLE as error:
        try:  # the column that Arrow cannot read may be unused
            read = names_read(schema, nested=True)
            columns = [name for name in frame.data.columns if name in read]
            if problem := column_problem(list(map(str, frame.data.columns)), schema, nested=True):
                raise DataError(f"{frame.name}: {problem[0]}", hint=problem[1]) from error
            table = frame_table(frame.data[columns])
        except (AttributeError, LookupError, *UNREADABLE):
            raise frame_problem(frame.name, error) from error
    if problem := column_problem(table.column_names, schema, nested=True):
        raise DataError(f"{frame.name}: {problem[0]}", hint=problem[1])
    labels = pa.repeat(frame.name, BATCH_ROWS)

    def typed(at: int) -> Decoded:
        """Decode a piece of the table, because its batches may have any size."""
        return _typed(table.slice(at, BATCH_ROWS), at + 1, labels, schema)

    # Arrow leaves Python's lock while it computes.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        yield from pool.map(typed, range(0, table.num_rows, BATCH_ROWS))


def _typed(piece: pa.Table, position: int, labels: pa.Array, schema: StreamSchema) -> Decoded:
    """Decode rows that begin at `position` to typed events; all pieces share `labels`."""
    numbers = np.arange(position, position + piece.num_rows)
    where = pa.table({"file": labels[: piece.num_rows], "record_number": numbers})
    records = ArrowRecords(piece, quoted=schema.quoted_numbers)
    fields = frozenset(field_paths(piece.schema))
    decoded = type_records(records, where, {}, schema)
    if schema.version_field is not None:
        decoded = follow_versions(decoded, records, where, schema, column_versions)
    return replace(decoded, fields=fields)
