"""Rows of CSV and Parquet made into lines of JSON that are read as these rows are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import types

from elsinore.catalog.stream import Attribute, AttributeType, StreamSchema
from elsinore.choices import InputFormat
from elsinore.errors import DataError
from elsinore.files.directory_columns import NO_COLUMNS, DirectoryColumns, add_to_lines
from elsinore.files.lake_tables import LakeTable
from elsinore.files.read_csv import csv_rows
from elsinore.files.read_delta import delta_rows
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    LINES_SCHEMA,
    read_lines,
    too_large,
    unreadable,
    unusable_line,
)
from elsinore.files.read_parquet import parquet_rows
from elsinore.files.records import ArrowRecords, few_at_once, number_of_values
from elsinore.files.rejection import Reason, printable
from elsinore.files.typed import is_instant, one_chunk, plain_number, spelled, time_numbers
from elsinore.timeline import TimeUnit

#: Maximum number of rows that become lines at a time, and of their characters.
_AT_ONCE, _TEXT_AT_ONCE = 8_192, 16 << 20
#: Maximum number of values in one row of Parquet, including those in lists.
_MOST_VALUES = 1_000_000
#: JSON types of CSV cells.
_NOUNS = {
    AttributeType.STRING: "text",
    AttributeType.LONG: "a number",
    AttributeType.DOUBLE: "a number",
    AttributeType.BOOLEAN: "a boolean",
}


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
        rows = _row_by_row(delta_rows(path, schema), path.path, schema)
    elif form is InputFormat.JSONL:
        size = 0
        for batch in read_lines(path):
            lines = with_columns(batch, columns, schema)
            size += lines.nbytes if columns else 0
            _require_short(size, path)
            yield lines
        return
    elif form is InputFormat.CSV:
        rows = _csv_lines(path, schema, columns)
    else:
        rows = _row_by_row(parquet_rows(path, schema, columns=columns), path, schema)
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
        if len(part) == _AT_ONCE or size >= _TEXT_AT_ONCE:
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


def _csv_lines(
    path: Path, schema: StreamSchema, columns: DirectoryColumns
) -> Iterator[tuple[int, str]]:
    kinds = {
        raw: _kinds(schema, event_type.attributes)
        for raw, event_type in zip(schema.raw_types, schema.types, strict=True)
    }
    only, of_others = schema.raw_types[0], _kinds(schema, ())
    for position, cells, text, fault in csv_rows(path, schema, columns=columns):
        if fault:
            yield position, unusable_line(fault.code, fault.text, text)
            continue
        own = kinds.get(cells[schema.type_field] if schema.type_field else only, of_others)
        yield position, _encode({name: spelled(cells[name], own.get(name)) for name in cells})


def _kinds(schema: StreamSchema, attributes: Iterable[Attribute]) -> dict[str, AttributeType]:
    """Return the JSON type of each field's cells, for an event with such attributes.

    A cell that is read as a string and as another type stays a string if quoted numbers are
    allowed.
    """
    is_iso = schema.time_unit is TimeUnit.ISO
    kinds = dict.fromkeys(schema.raw_needed[1:], AttributeType.STRING)
    uses = [(schema.time_field, AttributeType.STRING if is_iso else AttributeType.DOUBLE)]
    for attribute in attributes:
        kind = attribute.type if attribute.type in _NOUNS else AttributeType.STRING
        uses.append((attribute.raw, kind))
    for field, kind in uses:
        known = kinds.setdefault(field, kind)
        if known is kind:
            continue
        if known.is_number and kind.is_number:
            kinds[field] = AttributeType.DOUBLE
            continue
        if not schema.quoted_numbers:
            raise DataError(
                f"field {field!r} is read as {_NOUNS[known]} and as {_NOUNS[kind]}, but a CSV cell "
                "can have only one type",
                hint="set quoted_numbers: true in the schema to read it as both",
            )
        kinds[field] = AttributeType.STRING
    if schema.version_field is not None:
        # A version is a number or a timestamp; a cell without a number stays a string.
        kinds.setdefault(schema.version_field, AttributeType.DOUBLE)
    return kinds


def _row_by_row(
    pieces: Iterable[pa.Table], path: Path, schema: StreamSchema
) -> Iterator[tuple[int, str]]:
    position = 0
    for piece in pieces:
        for part in _of_few_values(piece, path):
            try:
                lines = _row_lines(part, schema)
            except (ValueError, OverflowError) as error:  # times and texts that Python lacks
                problem = f" contains a value that JSON cannot represent: {str(error)[:200]}"
                raise unreadable(
                    path, problem, Reason.CORRUPT_FILE, "export the file again"
                ) from error
            yield from enumerate(lines, position + 1)
            position += len(lines)


def _of_few_values(rows: pa.Table, path: Path) -> Iterator[pa.Table]:
    """Yield rows in their order, so few at once that their values fit in memory as objects.

    Raises:
        UnreadableFile: a single row has too many values.
    """
    for part in few_at_once(rows, _AT_ONCE, names=_TEXT_AT_ONCE):
        if len(part) == 1 and (values := number_of_values(part)) > _MOST_VALUES:
            problem = f" has a row of {values:,} values, more than {_MOST_VALUES:,}"
            raise unreadable(path, problem, Reason.TOO_LARGE, "shorten its lists")
        yield part


def _row_lines(rows: pa.Table, schema: StreamSchema) -> list[str]:
    texts = schema.raw_texts
    columns = {name: _values(one_chunk(rows[name]), name, texts) for name in rows.column_names}
    told, is_text = ArrowRecords(rows).column(schema.time_field), schema.time_field in texts
    if schema.time_unit is not TimeUnit.ISO and is_instant(told.type) and not is_text:
        # Under its whole name also where it lies inside of another column: that name comes first.
        columns[schema.time_field] = time_numbers(told, schema.time_unit)
    records = zip(*columns.values(), strict=True)
    return [_encode(dict(zip(columns, row, strict=True))) for row in records]


def _values(column: pa.Array, field: str, texts: Collection[str]) -> list[Any]:
    """Return Python values, but strings for timestamps, some of which Python lacks.

    If a field has strings (`texts`), a timestamp is not a value.
    """
    of = column.type
    if is_instant(of):
        plain = pa.timestamp(of.unit, of.tz and "UTC") if types.is_timestamp(of) else of
        values = column.cast(plain).cast(pa.string()).to_pylist()
        return [value and [value] for value in values] if field in texts else values
    if not types.is_struct(of):
        return column.to_pylist()
    names = [inner.name for inner in of]
    parts = zip(names, column.flatten(), strict=True)
    inside = zip(*(_values(part, f"{field}.{name}", texts) for name, part in parts), strict=True)
    pairs = zip(column.is_valid().to_pylist(), inside, strict=True)
    return [dict(zip(names, row, strict=True)) if is_there else None for is_there, row in pairs]


def _as_json(value: Any) -> Any:
    """Return a list for values that JSON lacks, so that no attribute accepts them."""
    if isinstance(value, bytes):
        return [value.decode(errors="backslashreplace")]
    return plain_number(value) if isinstance(value, Decimal) else [str(value)]


_encode = json.JSONEncoder(ensure_ascii=False, default=_as_json).encode
