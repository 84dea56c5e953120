"""Files and tables of any format as lines of JSON that are read as their events are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.choices import InputFormat
from elsinore.files.directory_columns import NO_COLUMNS, DirectoryColumns, add_to_lines
from elsinore.files.formats import FORMATS
from elsinore.files.lake_tables import LakeTable
from elsinore.files.read_delta import delta_rows
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    LINES_SCHEMA,
    read_lines,
    too_large,
)
from elsinore.files.rejection import printable
from elsinore.files.row_lines import AT_ONCE, TEXT_AT_ONCE, rows_as_json


def as_lines(
    path: Path | LakeTable,
    form: InputFormat,
    schema: StreamSchema,
    columns: DirectoryColumns = NO_COLUMNS,
) -> Iterator[pa.RecordBatch]:
    """Yield the lines of a file, or the rows of a file or table as JSON lines with all columns.

    Lines are unchanged, except that `columns` of the file's directories are added to objects
    without such a key. Cells of CSV are converted to the type of the schema, or stay strings if
    they are not valid. So `decode_lines` returns the same events for these lines as `read_csv` and
    `read_parquet` for the rows, and rejects other rows for the same reasons.

    Returns:
        Batches of `LINES_SCHEMA`, positions as those functions count.

    Raises:
        DataError: the file cannot be read, or a cell of CSV would have to be text and a number.
        UnreadableFile: nothing of it can be used; earlier parts neither.
    """
    if isinstance(path, LakeTable):
        rows = rows_as_json(delta_rows(path, schema), path.path, schema)
    elif (rows_of := FORMATS[form].rows) is not None:
        rows = rows_of(path, schema, columns)
    else:  # its lines are JSON
        size = 0
        for batch in read_lines(path):
            lines = with_columns(batch, columns, schema)
            size += lines.nbytes if columns else 0
            _require_short(size, path)
            yield lines
        return
    label, size = printable(str(path)), 0
    for part in _parts(rows):
        size += sum(len(text) for _, text in part)
        _require_short(size, path)
        arrays = [pa.repeat(label, len(part)), *map(pa.array, zip(*part, strict=True))]
        yield pa.record_batch(arrays, schema=LINES_SCHEMA)


def _parts(rows: Iterator[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Yield rows in parts of a bounded number and length."""
    part, size = list[tuple[int, str]](), 0
    for row in rows:
        part.append(row)
        size += len(row[1])
        if len(part) == AT_ONCE or size >= TEXT_AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part


def _require_short(size: int, path: Path | LakeTable) -> None:
    """Refuse a file whose rows, with the names of all columns, become too much text.

    Raises:
        UnreadableFile: `size` is more than a file may have.
    """
    if size > DEFAULT_LIMITS.file_bytes:
        where = path.path if isinstance(path, LakeTable) else path
        raise too_large(where, f"becomes more than {DEFAULT_LIMITS.file_bytes} bytes of JSON")


def with_columns(
    lines: pa.RecordBatch, columns: DirectoryColumns, schema: StreamSchema
) -> pa.RecordBatch:
    """Return lines of JSON with the columns of their file's directories."""
    if not columns:
        return lines
    texts = add_to_lines(lines["record"], columns, schema)
    return pa.record_batch([lines["file"], lines["record_number"], texts], schema=LINES_SCHEMA)
