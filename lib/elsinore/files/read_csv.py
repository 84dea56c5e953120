"""Events from CSV files with a header."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    TOO_LONG,
    RawLine,
    ReadLimits,
    column_problem,
    raw_lines,
    unreadable,
)
from elsinore.files.rejection import Fault, Reason, printable
from elsinore.files.type_records import Decoded, Rows, type_records
from elsinore.files.typed import (
    PLAIN_DOUBLE,
    PLAIN_LONG,
    Typed,
    boolean_in,
    iso_instants,
    json_values,
    nothing,
    number_in,
    numeric_times,
    one_chunk,
)
from elsinore.timeline import TimeUnit

_AT_ONCE = 8_192


def read_csv(
    path: Path, schema: StreamSchema, *, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Decoded]:
    """Typed events of a CSV file (comma, double quotes, UTF-8), some thousand rows at a time.

    An empty field is NULL, quoted or not. Fields are not trimmed. Columns that an event's type
    does not have are ignored for it. Positions are lines, the header's being 1; a record that runs
    over several lines has its first. A field has at most 131,072 characters, which also ends the
    reach of a quote that is never closed. Blank lines are no records.

    Args:
        path: a `.csv` or `.csv.gz` file.
        schema: what events may be.
        limits: bounds on what is read.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used; a header without the columns for time, type and
            id, or with a column twice, counts as such.
    """
    records = _records(path, limits)
    header = next(records, None)
    if header is None:
        return
    _check_header(path, header, schema)
    columns = {name: index for index, name in enumerate(header.cells)}
    label = printable(str(path))
    block: list[_Record] = []
    for record in records:
        block.append(record)
        if len(block) == _AT_ONCE:
            yield _decode(block, columns, label, schema)
            block = []
    if block:
        yield _decode(block, columns, label, schema)


class _Record(NamedTuple):
    position: int
    cells: list[str]
    text: str
    fault: Fault | None


class _Lines:
    """Lines as the csv module wants them, and what they were since the last record."""

    def __init__(self, lines: Iterator[RawLine]) -> None:
        self._lines = lines
        self.taken: list[RawLine] = []

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.taken.append(line)
        # A line that was cut may have lost the end of a quote, and would take others with it.
        return "\n" if line.fault is Reason.LINE_TOO_LONG else line.text + "\n"


def _records(path: Path, limits: ReadLimits) -> Iterator[_Record]:
    """Records that are not blank, each with the text and the fault of its lines."""
    lines = _Lines(raw_lines(path, limits))
    # Strict: otherwise half-quoted fields are read in ways that nobody can foresee.
    reader = csv.reader(lines, strict=True)
    while True:
        lines.taken = []
        fault: Fault | None = None
        cells: list[str] = []
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = Fault(Reason.BAD_CSV, str(error))
        for line in lines.taken:
            if line.fault is Reason.LINE_TOO_LONG:
                fault = Fault(line.fault, TOO_LONG)
            elif line.fault is not None and fault is None:
                fault = Fault(line.fault, "the line is not UTF-8")
        if cells or fault:
            text = "\n".join(line.text for line in lines.taken).rstrip("\r")
            yield _Record(lines.taken[0].position, cells, text, fault)


def _check_header(path: Path, header: _Record, schema: StreamSchema) -> None:
    problem = header.fault.text if header.fault else column_problem(header.cells, schema)
    if problem:
        hint = "the first line of a CSV file names its columns"
        raise unreadable(path, f":{header.position}: {problem}", Reason.BAD_HEADER, hint)


def _decode(
    block: list[_Record],
    columns: dict[str, int],
    label: str,
    schema: StreamSchema,
) -> Decoded:
    faults: dict[int, Fault] = {}
    for row, record in enumerate(block):
        if record.fault:
            faults[row] = record.fault
        elif len(record.cells) != len(columns):
            text = f"{len(record.cells)} fields, but the header has {len(columns)}"
            faults[row] = Fault(Reason.BAD_CSV, text)
    positions = pa.array([record.position for record in block], pa.int64())
    where = pa.table({"file": pa.repeat(label, len(block)), "position": positions})
    return type_records(_CsvRecords(block, columns), where, faults, schema)


class _CsvRecords:
    """Records with as many cells as there are columns; others are never asked for their cells."""

    def __init__(self, records: list[_Record], columns: dict[str, int]) -> None:
        self._records = records
        self._columns = columns

    def select(self, rows: Rows) -> _CsvRecords:
        return _CsvRecords([self._records[row] for row in rows.tolist()], self._columns)

    def times(self, field: str, unit: TimeUnit) -> Typed:
        return text_times(self._texts_of(field), unit)

    def values(self, field: str, kind: AttributeType) -> Typed:
        if field not in self._columns:
            return nothing(kind, len(self._records))
        return text_values(self._texts_of(field), kind)

    def ids(self, field: str) -> Typed:
        return text_values(self._texts_of(field), AttributeType.STRING)

    def texts(self) -> list[str]:
        return [record.text for record in self._records]

    def _texts_of(self, field: str) -> list[str | None]:
        index = self._columns[field]
        return [record.cells[index] or None for record in self._records]


def text_values(texts: list[str | None], kind: AttributeType) -> Typed:
    """A column of texts as an attribute's type.

    Numbers are plain decimals without blanks around them; a double may also be `nan` or, for
    `check_limits` to refuse, `inf`; booleans are `true` and `false`; all of these in any case. A
    long may be written with a fraction of zero, as for JSON.

    Args:
        texts: None where a field is empty.
        kind: the type to give them.
    """
    match kind:
        case AttributeType.STRING:
            return Typed(one_chunk(pa.array(texts, pa.string())), [])
        case AttributeType.TIMESTAMP:
            return iso_instants(one_chunk(pa.array(texts, pa.string())), Reason.WRONG_TYPE)
        case AttributeType.BOOLEAN:
            return json_values([boolean_in(text) for text in texts], kind)
    column = one_chunk(pa.array(texts, pa.string()))
    plain = PLAIN_LONG if kind is AttributeType.LONG else PLAIN_DOUBLE
    if pc.all(pc.match_substring_regex(column, plain)).as_py() is not False:
        return Typed(column.cast(pa.int64() if kind is AttributeType.LONG else pa.float64()), [])
    return json_values([number_in(text) for text in texts], kind)


def text_times(texts: list[str | None], unit: TimeUnit) -> Typed:
    """A column of event times, in microseconds (or ticks)."""
    if unit is TimeUnit.ISO:
        return iso_instants(one_chunk(pa.array(texts, pa.string())), Reason.BAD_TIME)
    return numeric_times([number_in(text) for text in texts], unit)
