"""Events from Parquet files and frames."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.catalog.source_rule import PACKED
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.files.advice import MAGIC, odd_file
from elsinore.files.directory_columns import NO_COLUMNS, DirectoryColumns, add_columns
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    ReadLimits,
    column_problem,
    names_read,
    open_unpacked,
    too_large,
    unreadable,
)
from elsinore.files.records import ArrowRecords, field_paths
from elsinore.files.rejection import Reason, printable
from elsinore.files.type_records import Decoded, type_records

_AT_ONCE = 65_536


def read_parquet(
    path: Path,
    schema: StreamSchema,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    columns: DirectoryColumns = NO_COLUMNS,
) -> Iterator[Decoded]:
    """Typed events of a Parquet file, some ten thousand rows at a time.

    Positions are rows, from 1. A rejected row is kept as JSON. `.parquet.gz` and `.parquet.zst` are
    unpacked in memory. `columns` are those that its directories hold.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used. Parquet has no checksum of the whole: damage
            to a page may show when earlier batches are out, so use none before the last.
    """
    position, labels = 1, pa.repeat(printable(str(path)), _AT_ONCE)
    for piece in parquet_rows(path, schema, limits=limits, columns=columns):
        yield _typed(piece, position, labels, schema)
        position += piece.num_rows


def parquet_rows(
    path: Path,
    schema: StreamSchema,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    columns: DirectoryColumns = NO_COLUMNS,
) -> Iterator[pa.Table]:
    """The rows of a Parquet file with all its columns, in parts; raises as `read_parquet`."""
    with open_unpacked(path, limits) as stream:
        # A packed file, or a pipe.
        whole = path.suffix.lower() in PACKED or not stream.seekable()
        source = pa.BufferReader(stream.read()) if whole else pa.PythonFile(stream, "r")
        for rows in _batches(path, source, schema, limits, columns):
            yield add_columns(rows, columns, schema)


class Frame(NamedTuple):
    """Events at hand, as a table of anything that speaks Arrow; `name` says where they came from.

    `data` has `__arrow_c_stream__` or `__arrow_c_array__`, as frames of pandas, polars and DuckDB
    have, and Arrow's tables, batches and readers.
    """

    name: str
    data: Any


#: How libraries say that a frame is none, or has values of several kinds in a column.
UNREADABLE = (pa.ArrowException, TypeError, ValueError, OverflowError)

_CAST = "cast it to a 64-bit integer, a double or text, or leave the column out"


def frame_problem(name: str, error: Exception) -> DataError:
    """What to say of a frame that Arrow cannot read."""
    why = "; ".join(map(str, error.args))
    hint = None
    kinds = re.search(r"Conversion failed for column (.+) with type (.+)", why)
    if kinds and kinds[2] != "object":
        why = f"column {kinds[1]} is of the type {kinds[2]}, which Arrow does not have"
        return DataError(f"{name} is no table that Arrow can read: {why}", hint=_CAST)
    if "'_pli128'" in why:  # how polars calls it
        why = "a column is of the type Int128, which Arrow does not have"
        return DataError(f"{name} is no table that Arrow can read: {why}", hint=_CAST)
    if kinds:
        why = f"column {kinds[1]} has values of several types"
    if "non-struct" in why:
        why = "it is one column"
        hint = "give columns by their names, as frames have them"
    elif isinstance(error, OverflowError):
        hint = "a whole number has more than 64 bits: mend it, or leave its column out"
    elif isinstance(error, pa.ArrowException):
        hint = "columns have values of one type; mend those, or leave them out"
    return DataError(f"{name} is no table that Arrow can read: {why}", hint=hint)


def frame_table(data: Any) -> pa.Table:
    """The rows of what speaks Arrow, without empty chunks.

    These have no buffers if they came by Arrow's C interface, and cannot be joined (pyarrow 26).
    """
    table = pa.table(data)
    filled = [batch for batch in table.to_batches() if batch.num_rows]
    return pa.Table.from_batches(filled, table.schema)


def read_frame(frame: Frame, schema: StreamSchema) -> Iterator[Decoded]:
    """Typed events of a frame; DataError: a column is missing or twice, or it cannot be read."""
    try:
        table = frame_table(frame.data)
    except UNREADABLE as error:
        try:  # one that nobody reads may be the one that Arrow cannot
            read = names_read(schema, nested=True)
            columns = [name for name in frame.data.columns if name in read]
            if problem := column_problem(list(map(str, frame.data.columns)), schema, nested=True):
                raise DataError(f"{frame.name}: {problem[0]}", hint=problem[1]) from error
            table = frame_table(frame.data[columns])
        except (AttributeError, LookupError, *UNREADABLE):
            raise frame_problem(frame.name, error) from error
    if problem := column_problem(table.column_names, schema, nested=True):
        raise DataError(f"{frame.name}: {problem[0]}", hint=problem[1])
    labels = pa.repeat(frame.name, _AT_ONCE)

    def typed(at: int) -> Decoded:
        """A piece of the table: batches may be of any size."""
        return _typed(table.slice(at, _AT_ONCE), at + 1, labels, schema)

    # Arrow leaves Python's lock while it computes.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        yield from pool.map(typed, range(0, table.num_rows, _AT_ONCE))


def _typed(piece: pa.Table, position: int, labels: pa.Array, schema: StreamSchema) -> Decoded:
    """Typed events of rows of which `position` is the first; `labels` are shared by all pieces."""
    numbers = np.arange(position, position + piece.num_rows)
    where = pa.table({"file": labels[: piece.num_rows], "position": numbers})
    records = ArrowRecords(piece, quoted=schema.quoted_numbers)
    fields = frozenset(field_paths(piece.schema))
    return replace(type_records(records, where, {}, schema), fields=fields)


def _batches(
    path: Path,
    source: pa.NativeFile,
    schema: StreamSchema,
    limits: ReadLimits,
    columns: DirectoryColumns,
) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq  # not needed where lines are decoded

    if odd := odd_file(head := source.read(64), MAGIC[".parquet"]):
        raise unreadable(path, f" {odd[0]}", Reason.CORRUPT_FILE, odd[1])
    source.seek(0)
    try:
        file = pq.ParquetFile(
            source,
            page_checksum_verification=True,
            coerce_int96_timestamp_unit="us",
            # A thread that still held the file as Python ends broke off one run in seven of a file
            # without rows (pyarrow 26).
            pre_buffer=False,
        )
        _check_columns(path, file, schema, limits, columns)
        for batch in file.iter_batches(_AT_ONCE, use_threads=False):
            yield pa.table(batch)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = f" is no sound Parquet file: {str(error).splitlines()[0][:200]}"
        if "magic bytes" in problem and head.startswith(MAGIC[".parquet"]):
            problem = " is cut off: its end is missing"
        raise unreadable(path, problem, Reason.CORRUPT_FILE, "write it anew") from error


def _check_columns(
    path: Path, file: Any, schema: StreamSchema, limits: ReadLimits, columns: DirectoryColumns
) -> None:
    groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > limits.file_bytes:
        raise too_large(path, f"unpacks to more than {limits.file_bytes} bytes")
    names = file.schema_arrow.names
    names = [*names, *(name for name in columns if name not in names)]
    if problem := column_problem(names, schema, nested=True):
        raise unreadable(path, f": {problem[0]}", Reason.BAD_HEADER, problem[1])
