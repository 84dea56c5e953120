"""How answers are written: tables for people, JSON lines and files of long rows for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from elsinore.errors import ParameterError
from elsinore.query.print_query import count_of
from elsinore.results.published import exact_integers, group_key, numbers_of, shorten_count
from elsinore.results.row import ResultRow, Value, encode_row
from elsinore.timeline import Instant

#: Rows that a table on a terminal has, of all queries together and of one at least.
_ROWS, _LEAST = 40, 3
#: Counts of more digits are shortened in a table; in files never.
_DIGITS = 40
#: Columns of a table that is not on a terminal, which would say how many it has.
_WIDTH = 160


class Format(StrEnum):
    """How answers can be written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"


_SUFFIXES = {
    ".txt": Format.TABLE,
    **dict.fromkeys(("", ".json", ".jsonl", ".ndjson"), Format.JSON),
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".arrow": Format.ARROW,
}


def format_for(asked: Format | None, output: Path | None) -> Format:
    """The format that is asked for, or that the output's name says; else what suits the reader.

    Raises:
        ParameterError: the name says none, or bytes would go to a terminal.
    """
    on_terminal = output is None and sys.stdout.isatty()
    if asked is None:
        suffix = "" if output is None else output.suffix.lower()
        if suffix not in _SUFFIXES:
            raise ParameterError(
                f"cannot tell a format for answers from {output}",
                hint=f"let it end in {', '.join(filter(None, _SUFFIXES))}, or give --format",
            )
        return Format.TABLE if on_terminal else _SUFFIXES[suffix]
    if on_terminal and asked in (Format.PARQUET, Format.ARROW):
        raise ParameterError(f"{asked} is not for a terminal", hint="add --output FILE")
    return asked


@contextmanager
def opened(path: Path | None) -> Iterator[BinaryIO]:
    """A file to write to, or standard output.

    Raises:
        ParameterError: the file cannot be written.
    """
    if path is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise ParameterError(f"cannot write {path}: {error.strerror}") from error
    with file:
        yield file


def write_answers(
    rows: Sequence[ResultRow], form: Format, output: Path | None, top: int | None
) -> None:
    """Write the rows of all queries.

    Args:
        rows: in canonical order.
        form: how.
        output: a file, or None for standard output.
        top: of each query so many rows with the largest first aggregate; None: all of them, in a
            table as many as people look at.
    """
    with opened(output) as out:
        if form is Format.TABLE:
            on_terminal = output is None and sys.stdout.isatty()
            out.write(print_sheets(_sheets(rows, top), on_terminal=on_terminal))
            return
        if top is not None:
            rows = [row for _, own in _by_query(rows) for row in _largest(own)[:top]]
        if form is Format.JSON:
            out.writelines(f"{encode_row(row)}\n".encode() for row in rows)
        else:
            write_table(long_table(rows, text=form is Format.CSV), form, out)


def write_table(table: pa.Table, form: Format, out: BinaryIO) -> None:
    """Write an Arrow table as CSV, Parquet or an Arrow file."""
    from pyarrow import csv, ipc, parquet  # not where answers are JSON

    match form:
        case Format.CSV:
            csv.write_csv(table, out)
        case Format.PARQUET:
            parquet.write_table(table, out)
        case _:
            with ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)


def long_table(rows: Sequence[ResultRow], *, text: bool) -> pa.Table:
    """Rows as one table that plain SQL can query, a row for each aggregate.

    Returns:
        `query`, `group_key` (a JSON object), `window_start` and `window_end` (timestamps in UTC, or
        int64 ticks), `aggregate`, `exact` (integers in full, instants as microseconds: see
        `exact_integers`, or digits where `text`), `value` (the nearest double).
    """
    flat = [(row, group_key(row), *item) for row in rows for item in row.values]
    numbers = [numbers_of(value)[:2] for *_, value in flat]
    calendar = bool(rows) and isinstance(rows[0].window_start, Instant)
    time = pa.timestamp("us", "UTC") if calendar else pa.int64()
    exact = [None if digits is None else int(digits) for _, digits in numbers]
    return pa.table(
        {
            "query": pa.array([row.query for row, *_ in flat], pa.string()),
            "group_key": pa.array([key for _, key, *_ in flat], pa.string()),
            "window_start": pa.array([int(row.window_start) for row, *_ in flat], time),
            "window_end": pa.array([int(row.window_end) for row, *_ in flat], time),
            "aggregate": pa.array([label for *_, label, _ in flat], pa.string()),
            "exact": pa.array([digits for _, digits in numbers], pa.string())
            if text
            else exact_integers(exact),
            "value": pa.array([value for value, _ in numbers], pa.float64()),
        }
    )


# ---- tables for people


@dataclass(frozen=True)
class Sheet:
    """A table for people: columns by how they are set (left, right), and a last line."""

    title: str
    columns: dict[str, str]
    rows: list[list[str]]
    below: str = ""


def print_sheets(sheets: Iterable[Sheet], *, on_terminal: bool) -> bytes:
    """Tables as text, each with an empty line after it; nothing of a cell is left out."""
    from rich.console import Console  # not where answers are JSON
    from rich.table import Table
    from rich.text import Text

    width = None if on_terminal else _WIDTH
    console = Console(width=width, force_terminal=on_terminal, soft_wrap=False)
    with console.capture() as printed:
        for sheet in sheets:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="cyan")
            for head, side in sheet.columns.items():
                table.add_column(Text(head), justify=side, overflow="fold")  # type: ignore[arg-type]
            for row in sheet.rows:
                table.add_row(*map(Text, row))
            console.print(Text(sheet.title, "bold"))
            console.print(table)
            console.print(Text(f"{sheet.below}\n" if sheet.below else "", "dim"))
    return printed.get().encode()


def _sheets(rows: Sequence[ResultRow], top: int | None) -> Iterator[Sheet]:
    """A table for each query that has rows, its largest rows first."""
    parts = list(_by_query(rows))
    most = top or max(_LEAST, _ROWS // max(1, len(parts)))
    for query, own in parts:
        first, left = own[0], len(own) - most
        window = "window (UTC)" if isinstance(first.window_start, Instant) else "window"
        columns = {window: "left"} | {name: "left" for name, _ in first.group}
        columns |= {label: "right" for label, _ in first.values}
        cells = [
            [window_text(row), *(value_text(v) for _, v in (*row.group, *row.values))]
            for row in _largest(own)[:most]
        ]
        title = f"{query}: {count_of(len(own), 'row')}"
        if left <= 0:
            yield Sheet(title, columns, cells)
        else:
            below = f"and {left:,} more: --top {len(own)} shows them, --output FILE.csv keeps them"
            yield Sheet(f"{title}, largest {first.values[0][0]} first", columns, cells, below)


def _by_query(rows: Sequence[ResultRow]) -> Iterator[tuple[str, list[ResultRow]]]:
    for query, own in groupby(rows, key=lambda row: row.query):
        yield query, list(own)


def _largest(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """By the first aggregate, largest first; what has no value last."""

    def size(row: ResultRow) -> tuple[bool, int | float]:
        value = row.values[0][1]
        known = isinstance(value, int | float) and value == value
        return (not known, -value if known else 0)  # type: ignore[operator]

    return sorted(rows, key=size)


def window_text(row: ResultRow) -> str:
    """A window for people: the day once, no zeros that say nothing.

    >>> window_text(ResultRow("q", (), Instant(0), Instant(90_000_000), ()))
    '1970-01-01 00:00 to 00:01:30'
    """
    start, end = (value_text(bound) for bound in (row.window_start, row.window_end))
    same_day = isinstance(row.window_start, Instant) and start[:10] == end[:10]
    return f"{start} to {end[11:] if same_day else end}"


def value_text(value: Value) -> str:
    """A value for people: integers in full up to 40 digits, doubles to 10.

    >>> value_text(1234567), value_text(0.1 + 0.2), value_text(Instant(0)), value_text(None)
    ('1,234,567', '0.3', '1970-01-01 00:00', '-')
    """
    match value:
        case None:
            return "-"
        case Instant():
            text = str(value).rstrip("Z").rstrip("0").rstrip(".").replace("T", " ")
            return f"{text:0<19}".removesuffix(":00")
        case bool() | str():
            return str(value)
        case int():
            return shorten_count(str(value), _DIGITS)
    return f"{value:,.10g}"
