"""Rows of CSV and Parquet made into lines of JSON that are read as these rows are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import types

from elsinore.catalog.source_rule import InputFormat
from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.files.read_csv import csv_rows
from elsinore.files.read_lines import lines_batch, read_lines, unreadable, unusable_line
from elsinore.files.read_parquet import parquet_rows
from elsinore.files.records import ArrowRecords
from elsinore.files.rejection import Reason, printable
from elsinore.files.typed import is_instant, one_chunk, plain_number, spelled, type_times
from elsinore.timeline import NUMBER_LENGTHS, TimeUnit

_AT_ONCE = 8_192


def as_lines(path: Path, form: InputFormat, schema: StreamSchema) -> Iterator[pa.RecordBatch]:
    """The lines of a file, or its rows as lines of JSON with all their columns, in parts.

    Lines stay as they are. Cells of CSV are typed by the schema where they spell a value of their
    type, and stay text elsewhere; so `decode_lines` makes the same events of these lines as
    `read_csv` and `read_parquet` of the rows, and refuses the others for the same reasons.

    Returns:
        Batches of `LINES_SCHEMA`, positions as those functions count.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used; earlier parts neither.
    """
    if form is InputFormat.JSONL:
        yield from read_lines(path)
        return
    label = printable(str(path))
    rows = _csv_lines(path, schema) if form is InputFormat.CSV else _parquet_lines(path, schema)
    while part := list(islice(rows, _AT_ONCE)):
        yield lines_batch(label, [position for position, _ in part], [line for _, line in part])


def _csv_lines(path: Path, schema: StreamSchema) -> Iterator[tuple[int, str]]:
    time = {} if schema.time_unit is TimeUnit.ISO else {schema.time_field: AttributeType.DOUBLE}
    kinds = {
        raw: time | {a.raw: a.type for a in event_type.attributes}
        for raw, event_type in zip(schema.raw_types, schema.types, strict=True)
    }
    only = schema.raw_types[0]
    for position, cells, text, fault in csv_rows(path, schema):
        if fault:
            yield position, unusable_line(fault.code, fault.text, text)
            continue
        own = kinds.get(cells[schema.type_field] if schema.type_field else only, {})
        yield position, _encode({name: spelled(cells[name], own.get(name)) for name in cells})


def _parquet_lines(path: Path, schema: StreamSchema) -> Iterator[tuple[int, str]]:
    position = 0
    for piece in parquet_rows(path, schema):
        for begin in range(0, piece.num_rows, _AT_ONCE):
            try:
                lines = _row_lines(piece.slice(begin, _AT_ONCE), schema)
            except (ValueError, OverflowError) as error:  # times and texts that Python lacks
                problem = f" holds a value that JSON cannot: {str(error)[:200]}"
                raise unreadable(path, problem, Reason.CORRUPT_FILE, "write it anew") from error
            yield from enumerate(lines, position + 1)
            position += len(lines)


def _row_lines(rows: pa.Table, schema: StreamSchema) -> list[str]:
    columns = {name: _values(one_chunk(rows[name])) for name in rows.column_names}
    told = ArrowRecords(rows).column(schema.time_field)
    if schema.time_unit is not TimeUnit.ISO and is_instant(told.type):
        # Under its whole name also where it lies inside of another column: that name comes first.
        columns[schema.time_field] = _numbers(told, schema.time_unit)
    records = zip(*columns.values(), strict=True)
    return [_encode(dict(zip(columns, row, strict=True))) for row in records]


def _values(column: pa.Array) -> list[Any]:
    """As Python's, but for instants, some of which Python lacks."""
    of = column.type
    if types.is_timestamp(of):
        column = column.cast(pa.timestamp(of.unit, of.tz and "UTC")).cast(pa.string())
    if not types.is_struct(of):
        return column.to_pylist()
    names, inside = [field.name for field in of], zip(*map(_values, column.flatten()), strict=True)
    pairs = zip(column.is_valid().to_pylist(), inside, strict=True)
    return [dict(zip(names, row, strict=True)) if is_there else None for is_there, row in pairs]


def _numbers(instants: pa.Array, unit: TimeUnit) -> list[int | float | None]:
    length = NUMBER_LENGTHS[unit]
    micros = type_times(instants, unit).array.to_pylist()
    return [m if m is None else m // length if m % length == 0 else m / length for m in micros]


def _as_json(value: Any) -> Any:
    """What JSON lacks; what is no value of an attribute's must not become one, so it is a list."""
    if isinstance(value, Decimal):
        return plain_number(value)
    return str(value) if isinstance(value, date) else [str(value)]


_encode = json.JSONEncoder(ensure_ascii=False, default=_as_json).encode
