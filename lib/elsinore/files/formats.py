"""The formats of files: all that reading events and inferring schemas needs of each.

A new format needs a member of `InputFormat`, its suffixes in `catalog.source_rule.SUFFIXES`, an
entry here, a reader with limits, and rows in docs/how-to/connect-files.md and
docs/reference/limits.md. `advice` must no longer suggest to convert it, and `first_rows` must
recognize its first bytes. Ingest needs no change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from elsinore.catalog.source_rule import format_of
from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.choices import InputFormat
from elsinore.files.directory_columns import DirectoryColumns
from elsinore.files.first_rows import (
    Head,
    csv_head,
    json_head,
    parquet_head,
    require_csv,
    require_json,
)
from elsinore.files.read_csv import read_csv
from elsinore.files.read_parquet import parquet_rows, read_parquet
from elsinore.files.row_lines import csv_as_json, rows_as_json
from elsinore.files.type_records import Decoded

#: The attributes that queries read; None: all.
_Read: TypeAlias = Collection[str] | None


@dataclass(frozen=True)
class FileFormat:
    """How files of one format are read.

    Attributes:
        head: Returns the first rows of a file.
        require: Raises DataError if the first line of a file shows that it cannot be read.
        decode: Yields the typed events of a file, given the columns of its directories and the
            attributes to read. None: its lines are JSON.
        rows: Yields the rows of a file as JSON, with their positions. None: its lines are JSON.
        spelt: Types that strings of a file may represent; the first one that fits is inferred.
    """

    head: Callable[[Path], Head]
    require: Callable[[Path], None]
    decode: Callable[[Path, StreamSchema, DirectoryColumns, _Read], Iterator[Decoded]] | None = None
    rows: Callable[[Path, StreamSchema, DirectoryColumns], Iterator[tuple[int, str]]] | None = None
    spelt: tuple[AttributeType, ...] = ()


def _decode_csv(
    path: Path, schema: StreamSchema, columns: DirectoryColumns, _: _Read
) -> Iterator[Decoded]:
    return read_csv(path, schema, columns=columns)


def _decode_parquet(
    path: Path, schema: StreamSchema, columns: DirectoryColumns, read: _Read
) -> Iterator[Decoded]:
    return read_parquet(path, schema, columns=columns, read=read)


def _parquet_as_json(
    path: Path, schema: StreamSchema, columns: DirectoryColumns
) -> Iterator[tuple[int, str]]:
    return rows_as_json(parquet_rows(path, schema, columns=columns), path, schema)


def _has_no_lines(_: Path) -> None:
    """Require nothing: the file is not text."""


FORMATS: Mapping[InputFormat, FileFormat] = {
    InputFormat.JSONL: FileFormat(json_head, require_json, spelt=(AttributeType.TIMESTAMP,)),
    InputFormat.CSV: FileFormat(
        csv_head, require_csv, _decode_csv, csv_as_json,
        (AttributeType.BOOLEAN, AttributeType.LONG, AttributeType.DOUBLE, AttributeType.TIMESTAMP),
    ),
    InputFormat.PARQUET: FileFormat(
        parquet_head, _has_no_lines, _decode_parquet, _parquet_as_json
    ),
}  # fmt: skip


def file_format(path: Path, form: InputFormat | None = None) -> FileFormat:
    """Return the format of a file by its name, or else the given one.

    Raises:
        ValueError: the name has no known format, and none is given.
    """
    form = format_of(path.name) or form
    if form is None:
        raise ValueError(f"the format of {path} is unknown")
    return FORMATS[form]
