"""The first rows of files, as tables in their plainest form, to infer a schema from them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import csv, types
from pyarrow import json as arrow_json

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.catalog.yaml_text import plain
from elsinore.errors import DataError
from elsinore.files.decode import MAX_DEPTH, PARTED, parse_json
from elsinore.files.read_csv import CR_ALONE
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    UTF8_BOM,
    column_problem,
    open_unpacked,
    read_lines,
    require_few_columns,
    too_large,
)
from elsinore.files.read_parquet import parquet_rows
from elsinore.files.rejection import Fault, Reason
from elsinore.files.typed import type_values
from elsinore.results.row import nearest_double
from elsinore.timeline import TimeUnit

#: Maximum number of rows to read.
MOST_ROWS = 100_000
#: Maximum number of bytes to read of a text file.
_BYTES = 16 << 20
#: Maximum number of values (missing keys count, too) and decoded bytes of the rows to read.
_VALUES, _DECODED = 20_000_000, 128 << 20
#: Escapes that may be a half of a surrogate pair, and numbers that a double may not hold: Arrow
#: stops at both.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(rb"[0-9]{300}|[0-9][eE]\+?[0-9]{2}|Inf")
#: Maximum number of fields of JSON with values of several types: each one is read again.
_MOST_MIXED = 100
#: How Arrow reports values of two kinds.
_CHANGED = re.compile(r"Column\(/(.+)\) changed from (\w+) to (\w+)")
#: Hint for a file of another format.
OF_KNOWN_FORMAT = "pass CSV with a header, JSON Lines or Parquet"


class Head(NamedTuple):
    """The first rows of a source."""

    rows: pa.Table
    omitted: Mapping[str, str] = MappingProxyType({})  #: fields, and why they are left out
    skipped: str = ""  #: which records were skipped as invalid, and why; empty if none was


def json_head(path: Path) -> Head:
    """Return the first valid records of a file of JSON lines.

    Raises:
        DataError: the records have too many fields or levels, or the file cannot be read.
        ValueError: half of the records or more are invalid, or Arrow cannot read them.
    """
    block, skipped = _few_values(path, _first_bytes(path))
    return Head(*_json_rows(block), skipped)


def csv_head(path: Path) -> Head:
    """Return the first rows of a CSV file as strings.

    Raises:
        DataError: the file cannot be read, or has too many columns.
        ValueError: Arrow cannot read it.
    """
    block = _first_bytes(path)
    require_few_columns(path, block.partition(b"\n")[0].split(b","))
    # Arrow takes 007 for a number and 10:15 for a time: columns are read as texts.
    head = Head(_csv_rows(block, _csv_rows(block, []).column_names))
    require_csv(path)  # Arrow reads some files that runs do not
    return head


def parquet_head(path: Path) -> Head:
    """Return the first rows of a Parquet file.

    Raises:
        DataError: the file cannot be read.
    """
    return Head(first_of(parquet_rows(path, None)))


def _first_bytes(path: Path) -> bytes:
    """Return the first lines of an unpacked text file."""
    with open_unpacked(path, DEFAULT_LIMITS) as stream:
        block = stream.read(_BYTES)
        block += stream.readline(DEFAULT_LIMITS.line_bytes)
    return block.removeprefix(UTF8_BOM)


def require_json(path: Path) -> None:
    """Raise DataError if the first line of a file shows that its records have several lines."""
    if _goes_on(_first_line(path)):
        raise DataError(f"{path}: {PARTED}", hint=OF_KNOWN_FORMAT)


def require_csv(path: Path) -> None:
    """Raise DataError if the first line of a file shows that runs cannot read it as CSV."""
    header, problem = _first_line(path), None
    if "\r" in header[:-1]:
        problem = CR_ALONE, OF_KNOWN_FORMAT
    elif "," not in header:
        problem = names_problem([header])
    if problem:
        raise DataError(f"{path}: {problem[0]}", hint=problem[1])


def _first_line(path: Path) -> str:
    lines = (line for part in read_lines(path) for line in part["record"].to_pylist())
    return next(lines, "")


def names_problem(columns: list[str]) -> tuple[str, str] | None:
    """Return the problem of a header apart from missing columns, and a hint."""
    if twice := [name for name, number in Counter(columns).items() if number > 1]:
        return f"column {twice[0]!r} occurs twice", "rename one of them"
    schema = StreamSchema("any", columns[0], TimeUnit.ISO, None, None, ())
    return column_problem(columns, schema, nested=True)


def first_of(pieces: Iterable[pa.Table]) -> pa.Table:
    """Return the first rows of some tables with the same columns."""
    first, rows, size = list[pa.Table](), 0, 0
    for piece in pieces:
        first.append(piece)
        rows += piece.num_rows
        size += piece.nbytes
        if rows >= MOST_ROWS or size >= _DECODED:
            break
    return pa.concat_tables(first)[:MOST_ROWS] if first else pa.table({})


def _csv_rows(block: bytes, texts: list[str]) -> pa.Table:
    """Return the first rows of CSV; some columns stay text."""
    as_read = csv.ConvertOptions(
        column_types=dict.fromkeys(texts, pa.binary()), null_values=[""],
        strings_can_be_null=True, quoted_strings_can_be_null=True,
    )  # fmt: skip
    options = csv.ReadOptions(block_size=len(block) + 1)
    return csv.read_csv(pa.BufferReader(block), options, convert_options=as_read)[:MOST_ROWS]


def _json_rows(block: bytes) -> tuple[pa.Table, dict[str, str]]:
    """Return the first rows of JSON lines, and the omitted fields of several kinds."""
    mixed: dict[str, str] = {}
    if not block.strip():
        return pa.table({}), mixed
    rounds = 0
    while True:
        try:
            columns = _parsed_json(block, pa.schema([])).schema
            return _parsed_json(block, columns)[:MOST_ROWS], mixed
        except pa.ArrowInvalid as error:
            changed = _CHANGED.search(str(error))
            without = changed and _of_one_kind(block, changed[1], {changed[2], changed[3]})
            if not changed or not without or without[0] == block:
                raise
            block, is_text = without
            rounds += 1
            if rounds > _MOST_MIXED:
                problem = f"more than {_MOST_MIXED} fields have values of several types"
                raise ValueError(problem) from error
            if not is_text:
                field = changed[1].replace("/[]", "[]").replace("/", ".")
                mixed[field] = f"{changed[2]} in some records and {changed[3]} in others"


def _few_values(path: Path, block: bytes) -> tuple[bytes, str]:
    """Return the first valid records of JSON, fewer if they have many different fields.

    Every field becomes a column with a value for each record, or for each value of the lists
    that contain it.

    Returns:
        The records, a line each, and which invalid ones were skipped.

    Raises:
        DataError: the records have too many fields, too long ones, or too many levels, on which
            Arrow ends the process.
        ValueError: half of the records or more are invalid.
    """
    fields, kept = _Fields(path), list[bytes]()
    faults: dict[int, Fault] = {}  # by the number of the line
    read = values = 0
    is_full = False  # then records are only searched for fields
    for number, line in enumerate(block.split(b"\n"), 1):
        if not (line := line.strip(b" \t\r")):
            continue
        if read == MOST_ROWS:
            break
        read += 1
        record = _record(line)
        if isinstance(record, Fault):
            faults[number] = record
            continue
        values += 1 + fields.add(record)
        if not is_full and values * len(fields.names) > _VALUES:
            is_full = True
            if not kept:
                raise too_large(path, f"has a record with more than {_VALUES:,} values")
        if not is_full:
            kept.append(line)
    if not faults:
        return b"\n".join(kept), ""
    first, fault = next(iter(faults.items()))
    if 2 * len(faults) >= read:
        if fault.code is Reason.TOO_DEEP:
            raise fields.too_deep()
        raise ValueError(f"line {first}: {fault.text}")
    verb = "is" if len(faults) == 1 else "are"
    why = f"{len(faults):,} of {read:,} records {verb} invalid and skipped: line {first}: "
    return b"\n".join(kept), plain(f"{why}{fault.text}")


def _record(line: bytes) -> dict[str, Any] | Fault:
    """Return a record, with a character per byte in its texts, or why runs or Arrow reject it."""
    record = parse_json(line.decode("latin-1"))
    if isinstance(record, Fault):
        again = parse_json(line.decode("utf-8", "replace"))  # for names in the reason
        return again if isinstance(again, Fault) else record
    if _SURROGATE.search(line):
        try:
            json.dumps(json.loads(line.decode("latin-1")), ensure_ascii=False).encode()
        except ValueError:
            return Fault(Reason.BAD_JSON, "a half of a surrogate pair in a string")
    if _LONG_NUMBER.search(line) and _has_infinite(record):
        return Fault(Reason.BAD_JSON, "a number is too large for a double")
    return record


def _has_infinite(value: Any) -> bool:
    """Return whether a value is, or contains, a number that no double holds."""
    match value:
        case dict():
            return any(map(_has_infinite, value.values()))
        case list():
            return any(map(_has_infinite, value))
        case int() | float():
            return math.isinf(nearest_double(value))
    return False


class _Fields:
    """The different fields of JSON records, as paths of keys.

    Attributes:
        names: the last key of each field.
    """

    def __init__(self, path: Path) -> None:
        self.names: list[str] = []
        self._path = path
        self._tree: dict[str, Any] = {}

    def add(self, record: dict[str, Any]) -> int:
        """Add the fields of a record; return how many values its lists have.

        Raises:
            DataError: there are too many fields, too long ones, or too many levels.
        """
        number = len(self.names)
        values = self._add(record, self._tree, MAX_DEPTH)
        if len(self.names) > number:
            require_few_columns(self._path, self.names)
        return values

    def too_deep(self) -> DataError:
        """Return the error of a record with too many levels."""
        return DataError(
            f"{self._path} has a record that is nested deeper than {MAX_DEPTH}",
            hint="remove the record from the file",
        )

    def _add(self, value: Any, tree: dict[str, Any], levels: int) -> int:
        if not levels:
            raise self.too_deep()
        if isinstance(value, list):
            inner = [part for part in value if isinstance(part, dict | list)]
            return len(value) + sum(self._add(part, tree, levels - 1) for part in inner)
        if not isinstance(value, dict):
            return 0
        values = 0
        for key, part in value.items():
            below = tree.get(key)
            if below is None:
                below = tree[key] = {}
                self.names.append(key)
            if isinstance(part, dict | list):
                values += self._add(part, below, levels - 1)
        return values


def _parsed_json(block: bytes, columns: pa.Schema) -> pa.Table:
    """Return rows of JSON lines; in some columns, times stay text."""
    fields = [field.with_type(_as_texts(field.type)) for field in columns]
    return arrow_json.read_json(
        pa.BufferReader(block),
        arrow_json.ReadOptions(block_size=len(block) + 1),
        arrow_json.ParseOptions(explicit_schema=pa.schema(fields)),
    )


def _of_one_kind(block: bytes, path: str, kinds: set[str]) -> tuple[bytes, bool]:
    """Return JSON lines in which a field has values of one kind: text, or none.

    Args:
        block: the lines.
        path: the field as Arrow reports it: names separated by `/`, and `[]` inside of a list.
        kinds: the two kinds of its values, as Arrow calls them.

    Returns:
        The lines, and whether the field is text.
    """
    records = [_loaded(line) for line in block.splitlines()]
    holders = [holder for record in records if (holder := _holder(record, path))]
    values = [outer[name] for outer, name in holders]
    texts = type_values(values, AttributeType.STRING)
    is_text = "string" in kinds and "[]" not in path and not texts.faults
    for (outer, name), text in zip(holders, texts.array.to_pylist(), strict=True):
        if is_text:
            outer[name] = text
        else:
            del outer[name]
    return "\n".join(map(json.dumps, records)).encode(), is_text


def _loaded(line: bytes) -> Any:
    """Return a line's value; an empty object if it is not JSON, which Arrow reports."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return {}


def _holder(record: Any, path: str) -> tuple[dict[str, Any], str] | None:
    """Return the object or list that contains a field, and the key in it."""
    if not isinstance(record, dict):
        return None
    for name, value in record.items():
        if path == name or path.startswith(f"{name}/[]"):
            return record, name
        if path.startswith(f"{name}/") and (found := _holder(value, path[len(name) + 1 :])):
            return found
    return None


def _as_texts(of: pa.DataType) -> pa.DataType:
    """A type of JSON values with what Arrow takes for times as the texts that they are."""
    if types.is_struct(of):
        return pa.struct([field.with_type(_as_texts(field.type)) for field in of.fields])
    return pa.string() if types.is_timestamp(of) else of


def _goes_on(line: str) -> bool:
    """Return whether a JSON object that a line begins does not end in it."""
    try:
        json.loads(line)
    except (ValueError, RecursionError) as error:
        return line.startswith("{") and getattr(error, "pos", 0) >= len(line.rstrip())
    return False
