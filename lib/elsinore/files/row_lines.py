"""Rows of CSV files and tables as lines of JSON, which are read as these rows are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import types

from elsinore.catalog.stream import Attribute, AttributeType, StreamSchema
from elsinore.errors import DataError
from elsinore.files.directory_columns import DirectoryColumns
from elsinore.files.read_csv import csv_rows
from elsinore.files.read_lines import unreadable, unusable_line
from elsinore.files.records import ArrowRecords, few_at_once, number_of_values
from elsinore.files.rejection import Reason
from elsinore.files.typed import is_instant, one_chunk, plain_number, spelled, time_numbers
from elsinore.timeline import TimeUnit

#: Maximum number of rows that become lines at a time, and of their characters.
AT_ONCE, TEXT_AT_ONCE = 8_192, 16 << 20
#: Maximum number of values in one row of Parquet, including those in lists.
_MOST_VALUES = 1_000_000
#: JSON types of CSV cells.
_NOUNS = {
    AttributeType.STRING: "text",
    AttributeType.LONG: "a number",
    AttributeType.DOUBLE: "a number",
    AttributeType.BOOLEAN: "a boolean",
}


def csv_as_json(
    path: Path, schema: StreamSchema, columns: DirectoryColumns
) -> Iterator[tuple[int, str]]:
    """Yield the records of a CSV file as JSON, with their positions; see `as_lines`."""
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


def rows_as_json(
    pieces: Iterable[pa.Table], path: Path, schema: StreamSchema
) -> Iterator[tuple[int, str]]:
    """Yield rows as JSON, with their positions from 1.

    Raises:
        UnreadableFile: a row has too many values, or a value that JSON cannot represent.
    """
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
    for part in few_at_once(rows, AT_ONCE, names=TEXT_AT_ONCE):
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
