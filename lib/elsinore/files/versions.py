"""Versions of events: a raw field with numbers or ISO 8601 timestamps that orders their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow import types

from elsinore.catalog.stream import Attribute, AttributeType, StreamSchema
from elsinore.events import TYPE_COLUMN
from elsinore.files.decode import decode_lines, field_values
from elsinore.files.records import ArrowRecords, Rows
from elsinore.files.rejection import Fault, Reason, rejected_rows, shown
from elsinore.files.type_records import Decoded
from elsinore.files.typed import (
    is_instant,
    is_plain,
    plain_number,
    spelled,
    time_numbers,
    type_times,
)
from elsinore.timeline import TimeUnit, parse_instant

#: Versions as numbers; a timestamp is its microseconds since 1970.
VERSION_TYPE = pa.decimal128(38, 9)

#: The version of each record, NULL without one, and the errors of invalid ones by row.
Versions: TypeAlias = tuple[pa.Array, dict[int, Fault]]

_DECIMALS = 9
#: Python's decimals are exact with 28 digits, 9 of which are behind the point.
_LIMIT = Decimal(10) ** 19

#: Is less than all versions: a record without a version loses.
BELOW_VERSIONS = pa.scalar(-_LIMIT, VERSION_TYPE)


def record_versions(lines: Iterable[str], schema: StreamSchema) -> Versions:
    """Return the version of each record, and the errors of others by row.

    A version is a number or an ISO 8601 timestamp. A record without one, or with NULL, has none.
    The numbers have at most 19 digits before the point and 9 behind it. Quoted numbers are versions
    if the schema accepts them.

    Args:
        lines: JSON objects, one per record.
        schema: a schema that names the field.

    Returns:
        An array of `VERSION_TYPE`, NULL without a version; and faults `bad_version`.
    """
    return _versions(field_values(lines, _field(schema)), schema)


def column_versions(column: pa.Array, codes: Rows, schema: StreamSchema) -> Versions:
    """Return the versions in a column of Parquet or a DataFrame, as `record_versions` of its JSON.

    Args:
        column: the values of the field.
        codes: unused; the type of each event, as for `cell_versions`.
        schema: a schema that names the field.
    """
    field, of = _field(schema), column.type
    if not is_instant(of):
        if types.is_integer(of) and of != pa.uint64():
            return column.cast(VERSION_TYPE), {}
        if is_plain(of):
            return _versions(map(_json_number, _python_values(column)), schema)
    elif field not in schema.raw_texts:
        if field == schema.time_field and schema.time_unit is not TimeUnit.ISO:
            return _versions(time_numbers(column, schema.time_unit), schema)
        micros, faults = type_times(column, TimeUnit.ISO)
        wrong = {row: Fault(Reason.BAD_VERSION, f"{field}: {fault.text}") for row, fault in faults}
        return micros.cast(VERSION_TYPE), wrong
    fault = _fault(field, f"a {of}")
    return pa.nulls(len(column), VERSION_TYPE), dict.fromkeys(_valid(column), fault)


def cell_versions(column: pa.Array, codes: Rows, schema: StreamSchema) -> Versions:
    """Return the versions in cells of CSV, as `record_versions` of the JSON that they become.

    Args:
        column: the strings, NULL if empty.
        codes: the type of each event.
        schema: a schema that names the field.
    """
    kinds = [_cell_kind(schema, event_type.attributes) for event_type in schema.types]
    cells = zip(column.to_pylist(), codes.tolist(), strict=True)
    return _versions((text and spelled(text, kinds[code]) for text, code in cells), schema)


def follow_versions(
    decoded: Decoded,
    records: ArrowRecords,
    where: pa.Table,
    schema: StreamSchema,
    read: Callable[[pa.Array, Rows, StreamSchema], Versions],
) -> Decoded:
    """Return decoded rows with the version of each event; invalid versions are rejected.

    Args:
        decoded: the events and rejected records.
        records: what they were decoded from.
        where: the position of each record, ascending.
        schema: a schema that names the field.
        read: returns the versions of a column of events, whose types it gets, too.
    """
    numbers = where["record_number"].to_numpy()
    rows = np.searchsorted(numbers, decoded.events["record_number"].to_numpy())
    column = records.column(_field(schema)).take(pa.array(rows))
    found = read(column, decoded.events[TYPE_COLUMN].to_numpy(), schema)
    return _with_versions(decoded, found, lambda bad: records.select(rows[bad]).texts())


def decode_versioned(lines: pa.Table, schema: StreamSchema) -> Decoded:
    """Decode JSON records, with the version of each event if the schema names a version.

    Args:
        lines: as for `decode_lines`.
        schema: how to read an event.
    """
    if schema.version_field is None:
        return decode_lines(lines, schema)
    at, numbers = lines.schema.get_field_index("record_number"), lines["record_number"]
    # Row numbers replace the positions, which occur in several files.
    numbered = lines.set_column(at, lines.schema.field(at), pa.array(np.arange(lines.num_rows)))
    decoded = decode_lines(numbered, schema)
    texts = lines["record"].take(decoded.events["record_number"])
    found = record_versions(texts.to_pylist(), schema)
    decoded = _with_versions(decoded, found, lambda bad: texts.take(pa.array(bad)).to_pylist())
    events, rejected = (_at(numbers, table) for table in (decoded.events, decoded.rejected))
    return replace(decoded, events=events, rejected=rejected)


def _at(numbers: pa.ChunkedArray, table: pa.Table) -> pa.Table:
    """Return decoded records with their positions instead of row numbers."""
    at = table.schema.get_field_index("record_number")
    return table.set_column(at, table.schema.field(at), numbers.take(table["record_number"]))


def _with_versions(
    decoded: Decoded, found: Versions, texts: Callable[[Rows], list[str]]
) -> Decoded:
    """Return decoded records with the versions of the events; events with errors are rejected.

    `texts` returns the records of events, by index. Record numbers are different.
    """
    versions, faults = found
    if not faults:
        return replace(decoded, versions=versions)
    bad = np.array(sorted(faults), np.int64)
    keep = np.ones(decoded.events.num_rows, np.bool_)
    keep[bad] = False
    reasons = [faults[row] for row in bad.tolist()]
    new = rejected_rows(decoded.events.take(pa.array(bad)), texts(bad), reasons)
    return replace(
        decoded,
        events=decoded.events.filter(pa.array(keep)),
        rejected=pa.concat_tables([decoded.rejected, new]).sort_by("record_number"),
        nanoseconds=None if decoded.nanoseconds is None else decoded.nanoseconds[keep],
        versions=versions.filter(pa.array(keep)),
    )


def _field(schema: StreamSchema) -> str:
    assert schema.version_field is not None, "the caller checks it"
    return schema.version_field


def _cell_kind(schema: StreamSchema, attributes: Iterable[Attribute]) -> AttributeType:
    """Return the JSON type of the version's cells, for an event with such attributes.

    A cell that is read as a string, too, stays one.
    """
    field = _field(schema)
    kinds = {each.type for each in attributes if each.raw == field}
    if field in schema.raw_needed[1:]:
        kinds.add(AttributeType.STRING)
    if field == schema.time_field:
        is_iso = schema.time_unit is TimeUnit.ISO
        kinds.add(AttributeType.STRING if is_iso else AttributeType.DOUBLE)
    if all(kind.is_number for kind in kinds):
        return kinds.pop() if len(kinds) == 1 else AttributeType.DOUBLE
    return AttributeType.BOOLEAN if kinds == {AttributeType.BOOLEAN} else AttributeType.STRING


def _valid(column: pa.Array) -> list[int]:
    rows: list[int] = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)).tolist()
    return rows


def _python_values(column: pa.Array) -> list[Any]:
    """Return plain values; strings that are not UTF-8 have surrogates, which no version has."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        raw = column.cast(pa.binary()).to_pylist()
        return [None if one is None else one.decode("utf-8", "surrogateescape") for one in raw]


def _json_number(value: Any) -> Any:
    return plain_number(value) if isinstance(value, Decimal) else value


def _versions(values: Iterable[Any], schema: StreamSchema) -> Versions:
    """Return JSON values as versions, and the errors of others by row."""
    versions: list[Decimal | None] = []
    faults: dict[int, Fault] = {}
    for row, value in enumerate(values):
        try:
            versions.append(_version(value, quoted=schema.quoted_numbers))
        except ValueError:
            versions.append(None)
            faults[row] = _fault(_field(schema), shown(value))
    return pa.array(versions, VERSION_TYPE), faults


def _fault(field: str, value: str) -> Fault:
    text = f"{field}: {value} is not a number or ISO 8601 timestamp"
    return Fault(Reason.BAD_VERSION, text)


def _version(value: Any, *, quoted: bool) -> Decimal | None:
    """Return a version as a number; ValueError: it is of another kind."""
    if value is None or (quoted and value == ""):
        return None
    if isinstance(value, str):
        number = _quoted(value) if quoted else None
        return Decimal(parse_instant(value)) if number is None else number
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("of another kind")
    return _bounded(Decimal(str(value)))


def _quoted(text: str) -> Decimal | None:
    try:
        return _bounded(Decimal(text.strip()))
    except ArithmeticError:
        return None


def _bounded(number: Decimal) -> Decimal:
    """Return a number that fits; ValueError: it is too large or has too many decimals."""
    if not number.is_finite() or abs(number) >= _LIMIT:
        raise ValueError("too large")
    if number != (rounded := round(number, _DECIMALS)):
        raise ValueError("too many decimals")
    return rounded
