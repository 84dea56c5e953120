"""Columns in the names of directories, as in `country=DE/part-0.parquet` (Hive's layout)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import DataError
from elsinore.files.rejection import printable
from elsinore.files.typed import spelled
from elsinore.timeline import TimeUnit

#: How Hive and Spark write NULL as the name of a directory.
_NULL = "__HIVE_DEFAULT_PARTITION__"
#: The end of an index that no string reaches.
_END = 2**62

#: By column, the text in a directory's name; None is NULL.
DirectoryColumns: TypeAlias = Mapping[str, str | None]
NO_COLUMNS: DirectoryColumns = MappingProxyType({})


def columns_below(file: Path, roots: Sequence[Path]) -> dict[str, str | None]:
    """Return the columns in the names of the directories between one of some roots and a file.

    Args:
        file: the path of a file.
        roots: directories that were given as input. Other files have no columns.

    Raises:
        DataError: see `directory_columns`.
    """
    root = next((root for root in roots if file.is_relative_to(root)), None)
    return {} if root is None else directory_columns(file.relative_to(root))


def has_columns(path: PurePath) -> bool:
    """Return whether a relative path has directories with columns, valid or not."""
    return any(map(_pair, path.parts[:-1]))


def directory_columns(path: PurePath) -> dict[str, str | None]:
    """Return the columns in the names of a relative path's directories, percent-decoded.

    Raises:
        DataError: two directories have the same column, or a column is not UTF-8.

    >>> directory_columns(PurePath("k=a%2Fb/day=__HIVE_DEFAULT_PARTITION__/x=1.csv"))
    {'k': 'a/b', 'day': None}
    """
    columns: dict[str, str | None] = {}
    shown = printable(str(path))
    for name, value in filter(None, map(_pair, path.parts[:-1])):
        try:
            name, value = (_decoded(text) for text in (name, value))
        except UnicodeError as error:
            raise DataError(
                f"{shown}: the directory of the column {printable(name)} is not UTF-8",
                hint="rename the directory",
                file=shown,
            ) from error
        if name in columns:
            raise DataError(
                f"{shown}: two directories have the column {name}",
                hint=f"keep one directory {name}=... in the path",
                file=shown,
            )
        columns[name] = None if value in ("", _NULL) else value
    return columns


def _pair(part: str) -> tuple[str, str] | None:
    """Return the name and the value in the name of a directory; None if it has no column."""
    name, equals, value = part.partition("=")
    return (name, value) if name and equals else None


def _decoded(text: str) -> str:
    """Return percent-decoded text; UnicodeError: it is not UTF-8."""
    decoded = unquote(text, errors="strict")
    decoded.encode()
    return decoded


def add_columns(table: pa.Table, columns: DirectoryColumns, schema: StreamSchema) -> pa.Table:
    """Append columns to the rows of a file. A column of the same name in the file wins."""
    for name, text in columns.items():
        if name not in table.column_names:
            value = pa.scalar(column_value(name, text, schema))
            table = table.append_column(name, pa.repeat(value, table.num_rows))
    return table


def add_texts(table: pa.Table, columns: DirectoryColumns) -> pa.Table:
    """Append columns to cells of CSV, which are text. A column of the same name wins."""
    for name, text in columns.items():
        if name not in table.column_names:
            table = table.append_column(
                name, pa.repeat(pa.scalar(text, pa.string()), table.num_rows)
            )
    return table


def add_to_lines(lines: pa.Array, columns: DirectoryColumns, schema: StreamSchema) -> pa.Array:
    """Append columns to the JSON objects in some lines. A key of the same name in a line wins.

    Other text stays as it is, so that a number keeps all its digits. Lines that are not objects do
    not change either: decoding rejects them with their reason.
    """
    for name, text in columns.items():
        key = json.dumps(name, ensure_ascii=False)
        pair = f"{key}: {json.dumps(column_value(name, text, schema), ensure_ascii=False)}}}"
        trimmed = pc.ascii_trim(lines, " \t\r")
        is_object = pc.and_(pc.starts_with(trimmed, "{"), pc.ends_with(trimmed, "}"))
        has_key = _have_key(lines, name, key)
        is_empty = pc.match_substring_regex(trimmed, r"^\{[ \t]*\}$")
        longer = pc.binary_replace_slice(trimmed, -1, _END, f", {pair}")
        longer = pc.if_else(is_empty, f"{{{pair}", longer)
        lines = pc.if_else(pc.and_(is_object, pc.invert(has_key)), longer, lines)
    return lines


def _have_key(lines: pa.Array, name: str, key: str) -> pa.Array:
    """Return which lines are objects with a key. Only lines that contain its text are parsed."""
    escaped = json.dumps(name)
    may_have = pc.match_substring(lines, key)
    may_have = pc.or_(may_have, pc.match_substring(lines, escaped))
    if not pc.any(may_have).as_py():
        return may_have

    def has(line: str) -> bool:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return True  # not an object: the line stays as it is
        return isinstance(record, dict) and name in record

    pairs = zip(may_have.to_pylist(), lines.to_pylist(), strict=True)
    return pa.array([may and has(line) for may, line in pairs], pa.bool_())


def column_value(name: str, text: str | None, schema: StreamSchema) -> Any:
    """Return the value of a column, of the type that the schema reads the field as.

    Text that does not spell a value of this type stays text, and so does a field that is read as
    several types: decoding then names what is wrong.
    """
    kinds = {kind for field, kind in schema.raw_attributes if field == name}
    kinds = {AttributeType.DOUBLE if kind.is_number else kind for kind in kinds}
    kinds |= {AttributeType.STRING for field in schema.raw_needed[1:] if field == name}
    if name == schema.time_field:
        is_text = schema.time_unit is TimeUnit.ISO
        kinds.add(AttributeType.STRING if is_text else AttributeType.DOUBLE)
    if name == schema.version_field and not kinds:
        kinds.add(AttributeType.DOUBLE)  # text that is not a number stays a timestamp
    return spelled(text, kinds.pop()) if text and len(kinds) == 1 else text
