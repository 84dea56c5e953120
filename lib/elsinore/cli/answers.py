"""Writes results: tables for people, CSV for spreadsheets, JSON Lines and more for programs."""

from __future__ import annotations

import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.source_rule import format_of
from elsinore.catalog.yaml_text import plain
from elsinore.choices import Format
from elsinore.errors import DataError, ParameterError
from elsinore.files.read_events import files_below
from elsinore.integers import digits_of, to_json
from elsinore.query.print_query import count_of
from elsinore.results.published import (
    shorten_count,
)
from elsinore.results.row import ResultRow, encode_row, plain_value
from elsinore.results.wide import wide_table
from elsinore.safe_files import NO_PROGRAM, open_special, resolve_own_links
from elsinore.terminal import unguarded
from elsinore.timeline import Instant, Length
from elsinore.wording import FORMULA, command, escaped

#: Rows that a table for people has, of all queries together and of one at least.
_ROWS, _LEAST = 40, 3
#: Longer counts are shortened in a table; in files never.
_DIGITS = 40
#: Columns of a table that is not on a terminal, which would say how many it has.
_WIDTH = 160


_SUFFIXES = {
    ".txt": Format.TABLE,
    **dict.fromkeys(("", ".json", ".jsonl", ".ndjson"), Format.JSON),
    **{f".{form}": form for form in (Format.CSV, Format.PARQUET, Format.ARROW)},
}


def format_for(asked: Format | None, output: Path | None) -> Format:
    """Return the format that was asked for, or the format of the output's name, or a default.

    Raises:
        ParameterError: the name has no known ending, bytes would go to a terminal, or standard
            output is closed.
    """
    if output is None and sys.stdout is None:
        raise ParameterError("standard output is closed", hint="add --output FILE")
    if output is None and sys.stdout.isatty():
        if asked in (Format.PARQUET, Format.ARROW):
            raise ParameterError(f"{asked} is binary, not for a terminal", hint="add --output FILE")
        return asked or Format.TABLE
    suffix = "" if output is None else output.suffix.lower()
    if asked is None and suffix not in _SUFFIXES:
        endings = ", ".join(filter(None, _SUFFIXES))
        hint = f"let it end in {endings}, or give --format"
        raise ParameterError(f"no result format has the ending of {output}", hint=hint)
    return asked or _SUFFIXES[suffix]


def require_apart(read: Iterable[Path | None], **written: Path | None) -> None:
    """Refuse to write a file that is read, or one file twice (ParameterError).

    `written` has the paths by option, None if the option was not given. Pipes and devices are not
    files: they may be written at will.
    """
    files, seen = [path for path in read if path], dict[str, str]()
    for option, path in written.items():
        if path is None or is_special(path):
            continue
        if path.is_file() and any(file.samefile(path) for file in _files_of(files)):
            raise ParameterError(
                f"--{option} {path} is also an input", hint="write to another file"
            )
        # Unlike Path.resolve, it accepts a loop of links, which `opened` refuses.
        if (other := seen.setdefault(os.path.realpath(path), option)) != option:
            what = f"--{other} and --{option} name the same file: {path}"
            raise ParameterError(what, hint="write to two files")


def _files_of(read: Iterable[Path]) -> Iterator[Path]:
    """Yield existing files, and for a directory the event files below it."""
    for path in read:
        if path.is_dir():
            yield from (file for file in files_below(path) if format_of(file.name) is not None)
        elif path.exists():
            yield path


class Sheet(NamedTuple):
    """A table for people: its title, the titles of columns, rows of values, and a last line."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    below: str = ""


def write(
    form: Format,
    output: Path | None,
    *,
    sheets: Iterable[Sheet],
    lines: Iterable[str],
    table: Callable[[], pa.Table],
) -> None:
    """Write one of three forms of the same data, to a file or to standard output."""
    with opened(output) as out:
        if form is Format.TABLE:
            out.write(_printed(sheets, output).encode())
            return
        if form is Format.JSON:
            out.writelines(f"{escaped(line)}\n".encode() for line in lines)
            return
        # Lazy import: JSON and tables need none of them.
        from pyarrow import csv, ipc, parquet

        match form:
            case Format.CSV:
                if out.isatty():  # a person reads it; a file gets the values as they are
                    csv.write_csv(table(), text := io.BytesIO())
                    out.write(escaped(text.getvalue().decode()).encode())
                else:
                    csv.write_csv(table(), out)
            case Format.PARQUET:
                parquet.write_table(table(), out)
            case Format.ARROW:
                whole = table()
                with ipc.new_file(out, whole.schema) as writer:
                    writer.write_table(whole)


@contextmanager
def opened(path: Path | None) -> Iterator[BinaryIO]:
    """Open a file to write to, or standard output.

    An existing file keeps its content until the new content is complete. The new file has its
    mode if it belongs to this user. A link of another user in a shared directory is not followed.

    Raises:
        ParameterError: the file cannot be written.
    """
    if path is None:
        out = unguarded(sys.stdout).buffer
        yield out
        out.flush()
        return
    descriptor = _descriptor(path)
    whole = path if descriptor is not None else _resolved(path)
    special = is_special(whole)
    part = whole if special else whole.with_name(f".{uuid4().hex}.part")
    file: BinaryIO
    try:
        if descriptor is not None:  # opened again, a file would be truncated
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            file = os.fdopen(descriptor, "wb", closefd=False)
        elif special:
            file = open_special(whole)
        else:
            # A name that exists is not opened: it might be a link that another user has put there.
            file = part.open("xb")
    except DataError as error:
        raise ParameterError(f"cannot write {path}: {error.message}", hint=error.hint) from error
    except OSError as error:
        hint = None if whole.parent.exists() else command("mkdir", "-p", path.parent)
        raise ParameterError(f"cannot write {path}: {error.strerror}", hint=hint) from error
    try:
        with file:
            if not special:
                _keep_mode(file, whole)
            yield file
        if not special:
            part.replace(whole)
    finally:
        if not special:
            part.unlink(missing_ok=True)


def _resolved(path: Path) -> Path:
    """Return a path without links; links of other users could name any file of this user."""
    try:
        return resolve_own_links(path)
    except DataError as error:
        raise ParameterError(f"cannot write {path}: {error.message}", hint=error.hint) from error
    except OSError as error:
        hint = command("ls", "-l", path)
        raise ParameterError(f"cannot write {path}: {error.strerror}", hint=hint) from error


def _keep_mode(file: BinaryIO, replaced: Path) -> None:
    """Give a new file the mode of the file that it replaces, but not the mode that others chose.

    The file of another user could be open to everybody, or have a set-id bit.
    """
    with suppress(FileNotFoundError):
        status = replaced.stat()
        if status.st_uid == os.geteuid():
            os.fchmod(file.fileno(), status.st_mode & NO_PROGRAM)


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout represents."""
    name = {"/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}.get(str(path), str(path))
    number = name.removeprefix("/dev/fd/").removeprefix("/proc/self/fd/")
    return int(number) if number != name and number.isdecimal() else None


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe, a device or an open file, which no file replaces."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file())


def _printed(sheets: Iterable[Sheet], output: Path | None) -> str:
    from rich.table import Table  # not where answers are JSON
    from rich.text import Text

    from elsinore.console import SafeConsole

    on_terminal = output is None and sys.stdout.isatty()
    console = SafeConsole(width=None if on_terminal else _WIDTH, force_terminal=on_terminal)
    with console.capture() as printed:
        for title, columns, rows, below in sheets:
            table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="cyan")
            for number, head in enumerate(columns):
                right = any(type(row[number]) in (int, float, Length) for row in rows)
                table.add_column(Text(head), justify="right" if right else "left", overflow="fold")
            for row in rows:
                table.add_row(*(Text(plain(value_text(value))) for value in row))
            console.print(Text(title, "bold"), table, Text(f"{below}\n" if below else "", "dim"))
    return printed.get()


def value_text(value: Any) -> str:
    """A value for people: integers in full up to 40 digits, doubles to 10.

    >>> value_text(1234567), value_text(0.1 + 0.2), value_text(Instant(0)), value_text(None)
    ('1,234,567', '0.3', '1970-01-01 00:00:00', '-')
    >>> value_text(Length(5_400_000_000))
    '1 h 30 min'
    """
    match value:
        case None:
            return "-"
        case Instant():
            return str(value).rstrip("Z").removesuffix(".000000").replace("T", " ")
        case Length():
            return str(value)
        case float():
            return f"{value:,.10g}"
        case int() if not isinstance(value, bool):
            return shorten_count(digits_of(value), _DIGITS)
        case list() | dict():
            return _json(value)
    return str(value)


# ---- results


def write_answers(
    rows: Sequence[ResultRow], form: Format, output: Path | None, top: int | None, *, calendar: bool
) -> None:
    """Write the result rows of all queries.

    Args:
        rows: in canonical order.
        form: format to write.
        output: file to write to; None for standard output.
        top: number of rows per query, those with the largest first aggregate. None keeps all rows,
            except that tables show about 40.
        calendar: whether times are timestamps; else they are ticks.
    """
    queries = [list(own) for _, own in groupby(rows, key=lambda row: row.query)]
    if top is not None:
        rows = [row for own in queries for row in _largest(own)[:top]]
    write(
        form, output,
        sheets=_sheets(queries, top),
        lines=map(encode_row, rows),
        table=lambda: (
            _for_spreadsheets(wide_table(rows, calendar=calendar)) if form is Format.CSV
            else wide_table(rows, calendar=calendar)
        ),
    )  # fmt: skip


def write_rows(
    columns: Sequence[str],
    rows: Callable[[], Sequence[Sequence[Any]]],
    form: Format,
    output: Path | None,
    *,
    table: Callable[[], pa.Table],
) -> None:
    """Write a table, given as rows and as an Arrow table; for people only its first rows."""

    def sheets() -> Iterator[Sheet]:
        found = rows()
        left = len(found) - _ROWS
        below = f"and {left:,} more: --output FILE.csv writes all" if left > 0 else ""
        yield Sheet(count_of(len(found), "row"), [*columns], [*map(list, found[:_ROWS])], below)

    def lines() -> Iterator[str]:
        if twice := [name for name, count in Counter(columns).items() if count > 1]:
            raise ParameterError(
                f"two columns have the name {twice[0]}",
                hint="rename one, as in SELECT a AS first, b AS second",
            )
        for row in rows():
            yield _json(dict(zip(columns, row, strict=True)))

    def plain_table() -> pa.Table:
        return _without_formulas(table()) if form is Format.CSV else table()

    write(form, output, sheets=sheets(), lines=lines(), table=plain_table)


def _json(value: Any) -> str:
    return to_json(plain_value(value), ensure_ascii=False, allow_nan=False, default=str)


def _for_spreadsheets(table: pa.Table) -> pa.Table:
    """Return a table with times such as `2013-02-08 10:00:00`, in UTC, and without formulas.

    Lengths of time are microseconds.
    """
    for at, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            table = table.set_column(at, field.name, table[at].cast(pa.int64()))
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, _times_as_text(table[at]))
    return _without_formulas(table)


def _times_as_text(column: pa.ChunkedArray) -> pa.Array:
    micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    return pa.array([None if each is None else value_text(Instant(each)) for each in micros])


def _without_formulas(table: pa.Table) -> pa.Table:
    """Put a quote before strings that a spreadsheet would run as a formula, except numbers."""
    for at, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            texts = table[at]
            is_formula = pc.and_not(
                pc.match_substring_regex(texts, f"^{FORMULA}"),
                pc.match_substring_regex(texts, r"^[+-]?[0-9.]+$"),
            )
            quoted = pc.binary_join_element_wise("'", texts, "")
            table = table.set_column(at, field.name, pc.if_else(is_formula, quoted, texts))
    return table


def _largest(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Sort rows by the first aggregate, largest first, NULL and NaN last."""

    def size(row: ResultRow) -> tuple[bool, int | float]:
        value = row.values[0][1]
        known = isinstance(value, int | float) and value == value
        return (not known, -value if known else 0)  # type: ignore[operator]

    # The rows of the steps of a window stay together, by the size of the first step.
    starts = [at for at, row in enumerate(rows) if row.step in (None, 1)]
    windows = [rows[at:end] for at, end in pairwise([*starts, len(rows)])]
    return [row for window in sorted(windows, key=lambda own: size(own[0])) for row in window]


def _sheets(queries: list[list[ResultRow]], top: int | None) -> Iterator[Sheet]:
    most = top or max(_LEAST, _ROWS // max(1, len(queries)))
    for own in queries:
        first, left = own[0], len(own) - most
        steps = [] if first.step is None else ["step"]
        named = [name for name, _ in first.group] + steps + [name for name, _ in first.values]
        cells = [
            [
                row.window_start, row.window_end, *(value for _, value in row.group),
                *[row.step] * len(steps), *(value for _, value in row.values),
            ]
            for row in _largest(own)[:most]
        ]  # fmt: skip
        title = f"{first.query}: {count_of(len(own), 'row')}, largest {first.values[0][0]} first"
        below = f"and {left:,} more: --top {len(own)} shows all, --output FILE.csv writes all"
        yield Sheet(title, ["from", "until", *named], cells, below if left > 0 else "")
