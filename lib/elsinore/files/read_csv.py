"""Events from CSV files with a header."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from elsinore.catalog.stream import StreamSchema
from elsinore.files.directory_columns import NO_COLUMNS, DirectoryColumns, add_texts
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    TOO_LONG,
    RawLine,
    ReadLimits,
    column_problem,
    names_read,
    raw_lines,
    require_few_columns,
    unreadable,
)
from elsinore.files.records import ArrowRecords
from elsinore.files.rejection import Fault, Reason, printable
from elsinore.files.type_records import Decoded, type_records
from elsinore.files.versions import cell_versions, follow_versions

#: Lines that are decoded at a time, and characters of them at most.
_AT_ONCE = 8_192
_MOST_TEXT = 16 << 20
#: Lines that are read before their lengths are looked at.
_AT_A_TIME = 64

CR_ALONE = "a CR without LF outside of quotes; end lines with LF"

#: A quote that opens or closes a field: others inside of fields in quotes come in pairs.
_TURN = re.compile(r'(?<!")"(?:"")*+(?!")')
#: Lines whose quotes are only around whole fields.
_QUOTED = re.compile(r'(?:(?:"(?:[^"\n]++|"")*+"|[^",\n]*+)[,\n])*+')


def read_csv(
    path: Path,
    schema: StreamSchema,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    columns: DirectoryColumns = NO_COLUMNS,
) -> Iterator[Decoded]:
    """Yield typed events of a CSV file (comma, double quotes, UTF-8) in batches.

    - An empty field is NULL, quoted or not. Fields are not trimmed, and have at most 131,072
      characters. Blank lines are not records.
    - Columns that an event's type does not have are ignored.
    - Positions are line numbers; the header is line 1. A record of several lines has the position
      of its first line. If it is invalid, for example because a quote is not closed, its first line
      is rejected and the other lines are read again.
    - The file may be compressed as `.csv.gz` or `.csv.zst`.

    `columns` are the columns in the names of its directories.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used; a header without the columns for time, type and
            id, or with one that is read twice, counts as such.
    """
    lines = _Lines(raw_lines(path, limits))
    records = _records(lines)
    header = _header(path, records, schema, columns)
    if header is None:
        return
    fields, there = names_read(schema, nested=False), frozenset(header.cells) | columns.keys()
    names, read = header.cells, [name for name in header.cells if name in fields]
    label = printable(str(path))
    while ahead := lines.ahead(_AT_ONCE):
        clean = _clean_block(ahead, names, read, columns)
        if clean is not None:
            positions = [line.position for line in ahead]
            decoded = _typed(clean, _places(label, positions), {}, schema)
            # Invalid lines are parsed again one by one, for their errors.
            if not decoded.rejected.num_rows:
                lines.pass_over()
                yield replace(decoded, fields=there)
                continue
        last, block = ahead[-1].position, []
        while lines.position < last and (record := next(records, None)):
            block.append(record)
        if block:
            decoded = _decode(block, names, read, label, schema, columns)
            yield replace(decoded, fields=there)


def csv_rows(
    path: Path,
    schema: StreamSchema,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    columns: DirectoryColumns = NO_COLUMNS,
) -> Iterator[tuple[int, dict[str, str], str, Fault | None]]:
    """Yield each record of a CSV file: position, cells by column, text, and an error of the record.

    Columns with repeated names are left out, as they are ambiguous. Raises as `read_csv`.
    """
    records = _records(_Lines(raw_lines(path, limits)))
    if header := _header(path, records, schema, columns):
        below = {name: text or "" for name, text in columns.items() if name not in header.cells}
        twice = [name for name, count in Counter(header.cells).items() if count > 1]
        for record in records:
            cells = dict(zip(header.cells, record.cells, strict=False))
            for name in twice:
                cells.pop(name, None)
            yield record.position, cells | below, record.text, record.fault


class _Record(NamedTuple):
    position: int
    cells: list[str]
    text: str
    fault: Fault | None


class _Lines:
    """An iterator of lines for the csv module, which records the lines of the current record."""

    def __init__(self, lines: Iterator[RawLine]) -> None:
        self._lines = lines
        self._ahead: deque[RawLine] = deque()
        self._turns = 0
        self.taken: list[RawLine] = []
        self.position = 0
        self.width = 0  #: how many fields the header has, once it is known

    def ahead(self, count: int) -> list[RawLine]:
        """Return at most `count` unread lines, fewer if they are long."""
        size = sum(len(line.text) for line in self._ahead)
        while len(self._ahead) < count and size < _MOST_TEXT:
            more = list(islice(self._lines, min(_AT_A_TIME, count - len(self._ahead))))
            if not more:
                break
            self._ahead.extend(more)
            size += sum(len(line.text) for line in more)
        return list(self._ahead)

    def pass_over(self) -> None:
        """Skip the lines that were read ahead."""
        self._ahead.clear()

    def begin(self) -> None:
        """Start a new record."""
        self.taken, self._turns = [], 0

    def give_back(self) -> None:
        """Return all lines of a record except the first, to read them again."""
        self._ahead.extendleft(reversed(self.taken[1:]))
        del self.taken[1:]
        self.position = self.taken[0].position

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._ahead.popleft() if self._ahead else next(self._lines)
        self.taken.append(line)
        self.position = line.position
        if len(self.taken) > 1 and _TURN.search(line.text):
            # It ends a field. Without a limit a record might go on to the end of the file, and so
            # the next, and the one after that.
            self._turns += 1
            if self.width and self._turns > self.width:
                raise csv.Error(f"more than {self.width} fields")
        # A line that was cut may have lost the end of a quote, and would take others with it.
        return "\n" if line.fault is TOO_LONG else line.text + "\n"


def _records(lines: _Lines) -> Iterator[_Record]:
    """Yield the records that are not blank, the header first, each with its text and its error.

    If a record of several lines is invalid, its quote may be the mistake, so its other lines are
    read again as records.
    """
    # Strict: otherwise half-quoted fields are read in unexpected ways.
    reader = csv.reader(lines, strict=True)
    while True:
        lines.begin()
        cells: list[str] = []
        problem = ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = CR_ALONE if "new-line" in str(error) else str(error)
        if cells and lines.width and len(cells) != lines.width:
            problem = f"{len(cells)} fields, but the header has {lines.width}"
        if len(lines.taken) > 1 and any(line.fault is TOO_LONG for line in lines.taken):
            problem = TOO_LONG.text
        if len(lines.taken) > 1 and problem:
            lines.give_back()
            problem = f"a quoted value spans several lines: {problem}"
        fault = next((line.fault for line in lines.taken if line.fault), None)
        if problem and fault is None:
            fault = Fault(Reason.BAD_CSV, problem)
        if cells or fault:
            lines.width = lines.width or len(cells)
            if fault:
                cells = []  # a line of commas has millions
            text = "\n".join(line.text for line in lines.taken).rstrip("\r")
            yield _Record(lines.taken[0].position, cells, text, fault)


def _header(
    path: Path, records: Iterator[_Record], schema: StreamSchema, columns: DirectoryColumns
) -> _Record | None:
    """Return the first record, which contains the column names; None if the file is empty."""
    header = next(records, None)
    if header is None:
        return None
    fault = header.fault
    require_few_columns(path, header.cells)
    names = [*header.cells, *(name for name in columns if name not in header.cells)]
    if found := (fault.text, "correct the header") if fault else column_problem(names, schema):
        problem = (
            f":{header.position}: {found[0]}; the first line of a CSV file must name its columns"
        )
        raise unreadable(path, problem, Reason.BAD_HEADER, found[1])
    return header


def _clean_block(
    lines: list[RawLine],
    names: list[str],
    read: list[str],
    columns: DirectoryColumns = NO_COLUMNS,
) -> ArrowRecords | None:
    """Parse lines with Arrow, one record per line, and return the columns to read.

    A million rows of five fields take 2.2 s, and 8 s with the csv module. The result is None if
    Arrow might read the lines differently than the csv module: if Arrow rejects them, if lines are
    blank, too long or damaged, if the first one begins with a BOM, which Arrow drops, or if quotes
    are not around a whole field of one line.
    """
    texts = [line.text for line in lines]
    text = "\n".join([*texts, ""]).replace("\r\n", "\n")
    if (
        any(line.fault for line in lines)
        or max(map(len, texts)) > csv.field_size_limit()
        or text.startswith(("\n", "\ufeff"))
        or any(sign in text for sign in ("\n\n", "\r", "\0"))
        or ('"' in text and not _QUOTED.fullmatch(text))
    ):
        return None
    data = text.encode()
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(read, pa.string()),
                include_columns=read,
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(lines):
        return None
    return ArrowRecords(add_texts(table, columns), texts, quoted=True)


def _decode(
    block: list[_Record],
    names: list[str],
    read: list[str],
    label: str,
    schema: StreamSchema,
    columns: DirectoryColumns,
) -> Decoded:
    """Decode records of the csv module to events and rejected records."""
    faults = {row: record.fault for row, record in enumerate(block) if record.fault}
    # Only columns that are read: all cells of a wide file would take gigabytes.
    at = {name: index for index, name in enumerate(names)}
    texts = {
        name: [record.cells[at[name]] or None if record.cells else None for record in block]
        for name in read
    }
    table = pa.table({name: pa.array(column, pa.string()) for name, column in texts.items()})
    table = add_texts(table, columns)
    records = ArrowRecords(table, [record.text for record in block], quoted=True)
    places = _places(label, [record.position for record in block])
    return _typed(records, places, faults, schema)


def _typed(
    records: ArrowRecords, places: pa.Table, faults: dict[int, Fault], schema: StreamSchema
) -> Decoded:
    decoded = type_records(records, places, faults, schema)
    if schema.version_field is None:
        return decoded
    return follow_versions(decoded, records, places, schema, cell_versions)


def _places(label: str, positions: list[int]) -> pa.Table:
    return pa.table({"file": pa.repeat(label, len(positions)), "record_number": positions})
