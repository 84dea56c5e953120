"""`elsinore diff`: the differences between the results of two workloads or of two result files."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.choices import Format
from elsinore.cli.answers import Sheet, format_for, require_apart, value_text, write
from elsinore.cli.run import tell_set_aside
from elsinore.errors import ParameterError
from elsinore.executors.plan import Request
from elsinore.files.bounded_arrow import arrow_batches
from elsinore.files.bounded_parquet import Columns, parquet_batches
from elsinore.files.read_events import read_events
from elsinore.files.read_lines import DEFAULT_LIMITS, too_large
from elsinore.integers import from_json, text_of, to_json
from elsinore.library.results import answer, process_cores
from elsinore.query.given_values import given_in_options
from elsinore.query.load_workload import load_workload
from elsinore.results.published import group_text
from elsinore.results.row import ResultRow, nearest_double, plain_value
from elsinore.results.wide import rows_of
from elsinore.timeline import Instant, parse_border
from elsinore.wording import shown, value_label

#: Number of changes that a table shows by default.
_SHOWN = 20
_KEYS = ["query", "group_key", "window_start", "window_end", "aggregate"]
#: Errors of reading a file of another kind. RecursionError: JSON that is nested too deeply.
#: OverflowError: a window of many digits. ArrowException: a type that Arrow lacks.
_NO_RESULTS = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError,
    pa.ArrowException,
)  # fmt: skip
#: Values of a file, whose rows may take few bytes: each needs about 600 here.
_MOST_VALUES = 10_000_000
#: Bytes of a row of JSON. Counts can have millions of digits.
_LONGEST_ROW = 256 << 20
_KINDS = ["same", "changed", "added", "removed"]

_INSTANT = re.compile(r"[-+]?[0-9]+-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{6}Z")

#: Values by their `_KEYS`; as in JSON, but NaN and infinities are doubles.
_Values = dict[tuple[str, ...], int | float | str | bool | None]


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """Arguments and options of `elsinore diff`."""

    before: Path
    after: Path
    schema: Path | None
    inputs: Sequence[Path]
    params: Sequence[str]
    max_error_rate: float
    form: Format | None
    output: Path | None
    top: int | None


def show_differences(options: DiffOptions) -> None:
    """Print which results were added, removed or changed, largest change first."""
    before, after, output, top = options.before, options.after, options.output, options.top
    chosen = format_for(options.form, output)
    require_apart([before, after, options.schema, *options.inputs], output=output)
    if before.suffix == after.suffix == ".sase":
        old, new = _answers(options)
    elif options.params:
        raise ParameterError(
            "--set needs two files of queries", hint="remove --set, or give two .sase files"
        )
    elif ".sase" in (before.suffix, after.suffix):
        raise ParameterError(
            "a file of queries cannot be compared with results",
            hint="give two .sase files, or two files that `elsinore run --output` wrote",
        )
    else:
        old, new = (_stored(path) for path in (before, after))
    kinds, changes = _compare(old, new)
    counts = Counter(kinds.values())
    by_query = Counter((place[0], kind) for place, kind in kinds.items())
    queries = [[q, *(by_query[q, k] for k in _KINDS)] for q in sorted({key[0] for key in kinds})]
    most = top or _SHOWN
    left = len(changes) - most
    below = f"and {left:,} more: --output FILE.csv writes all" if left > 0 else ""
    first = [list(change.values()) for change in changes[:most]]
    changes = changes[:top]
    write(
        form=chosen, output=output,
        sheets=[Sheet("values per query", ["query", *_KINDS], queries),
                Sheet("changes, largest first", [*_SCHEMA.names], first, below)],
        lines=(
            to_json(change | {"difference": plain_value(change["difference"])})
            for change in changes
        ),
        table=lambda: pa.Table.from_pylist(changes, schema=_SCHEMA),
    )  # fmt: skip
    numbers = ", ".join(f"{counts[kind]:,} {kind}" for kind in _KINDS)
    typer.echo(f"elsinore: {len(kinds):,} values: {numbers}", err=True)


def _answers(options: DiffOptions) -> list[_Values]:
    """Run both workloads over the same events; return their values."""
    if options.schema is None or not options.inputs:
        raise ParameterError(
            "two files of queries need a schema and events",
            hint="add --schema FILE and --input FILE",
        )
    stream = load_schema(options.schema)
    given = given_in_options(options.params)
    workloads = [load_workload(path, stream, given) for path in (options.before, options.after)]
    events, report = read_events(options.inputs, stream, max_error_rate=options.max_error_rate)
    tell_set_aside(report)
    request = Request(threads=process_cores())
    answers = (answer(workload, events, request=request) for workload in workloads)
    return [_values(rows) for rows in answers]


_SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*_KEYS, "change", "before", "after")]
    + [("difference", pa.float64())]
)


def _stored(path: Path) -> _Values:
    """Return the values of a file of results; ParameterError: it is not one."""
    form = format_for(None, path)
    if form in (Format.TABLE, Format.CSV):
        problem = "is a table for people"
        if form is Format.CSV:
            problem = "is CSV, in which groups and values look alike"
        raise ParameterError(
            f"{path} {problem}",
            hint="`elsinore run --output FILE.json` writes results that can be compared",
        )
    try:
        return _values(_few(path, _rows(path, form)))
    except FileNotFoundError as error:
        raise ParameterError(f"no such file: {path}", hint="check the path") from error
    except _NO_RESULTS as error:
        if isinstance(error, OSError) and error.errno:
            raise ParameterError(
                f"cannot read {path}: {os.strerror(error.errno)}",
                hint=f"check the file: ls -l {shlex.quote(str(path))}",
            ) from error
        hint = "`elsinore run --output FILE.json` writes results"
        raise ParameterError(f"{path} has no results of `elsinore run`", hint=hint) from error


def _rows(path: Path, form: Format) -> Iterator[ResultRow]:
    """Yield the rows of a file of results."""
    match form:
        case Format.PARQUET:
            for piece in parquet_batches(path, DEFAULT_LIMITS, Columns):
                yield from rows_of(piece.rows)
        case Format.ARROW:
            for table in arrow_batches(path, DEFAULT_LIMITS):
                yield from rows_of(table)
        case _:
            with path.open("rb") as lines:
                yield from (_row(from_json(line)) for line in _lines(path, lines))


def _lines(path: Path, lines: BinaryIO) -> Iterator[str]:
    """Yield the lines of a file, or of a device without an end.

    Raises:
        UnreadableFile: a line is too long.
        UnicodeDecodeError: a line is not UTF-8.
    """
    while line := lines.readline(_LONGEST_ROW + 1):
        if len(line) > _LONGEST_ROW:
            raise too_large(path, f"has a row of more than {_LONGEST_ROW:,} bytes")
        yield line.decode()


def _few(path: Path, rows: Iterable[ResultRow]) -> Iterator[ResultRow]:
    """Yield the rows of a file; UnreadableFile: they have too many values."""
    number = 0
    for row in rows:
        number += max(1, len(row.values))
        if number > _MOST_VALUES:
            raise too_large(path, f"has more than {_MOST_VALUES:,} values")
        yield row


def _row(line: dict[str, Any]) -> ResultRow:
    """Return a result row from its JSON line.

    Raises:
        KeyError, TypeError, ValueError: it is not one.
    """
    start, end = (
        Instant(parse_border(bound)) if isinstance(bound, str) else _tick(bound)
        for bound in (line["window_start"], line["window_end"])
    )
    values = {label: _number(value) for label, value in line["values"].items()}
    if not isinstance(line["query"], str):
        raise TypeError("not a query")
    step = line.get("step")
    if not isinstance(step, int | None):
        raise TypeError("not a step")
    group = tuple(line["group"].items())
    return ResultRow(line["query"], group, start, end, tuple(values.items()), step=step)


def _tick(bound: Any) -> int:
    if isinstance(bound, int) and abs(bound) < 2**63:
        return bound
    raise ValueError("not a time")


def _number(value: Any) -> Any:
    """Return a value as it was before it was written as JSON.

    Raises:
        TypeError: it is a list or an object.
    """
    if not isinstance(value, str | int | float | None):
        raise TypeError("not a value")
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def _values(rows: Iterable[ResultRow]) -> _Values:
    """Return the values of rows; ParameterError: two rows have the same group and window."""
    found: _Values = {}
    for row in rows:
        group = group_text(tuple((label, plain_value(value)) for label, value in row.group))
        place = (row.query, group, _border_text(row.window_start), _border_text(row.window_end))
        for name, value in row.values:
            label = value_label(name, row.step)
            if (*place, label) in found:
                problem = f"two rows of {row.query} have one window and the group {shown(group)}"
                raise ParameterError(problem, hint="write the results again with `elsinore run`")
            found[*place, label] = str(value) if isinstance(value, Instant) else value
    return found


def _border_text(time: int) -> str:
    return value_text(time) if isinstance(time, Instant) else str(time)


def _compare(old: _Values, new: _Values) -> tuple[dict[tuple[str, ...], str], list[dict[str, Any]]]:
    """Return the kind of change of each value, and the changes as rows of `_SCHEMA`."""
    kinds, changes = {}, []
    for place in {**old, **new}:
        one, other = old.get(place), new.get(place)
        kind = "removed" if place not in new else "added" if place not in old else "changed"
        kinds[place] = "same" if kind == "changed" and text_of(one) == text_of(other) else kind
        if kinds[place] != "same":
            sides = (None if value is None else _text(value) for value in (one, other))
            cells = (*place, kind, *sides, _difference(one, other))
            changes.append(dict(zip(_SCHEMA.names, cells, strict=True)))
    return kinds, sorted(changes, key=_size, reverse=True)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else text_of(value)


def _size(change: dict[str, Any]) -> float:
    """Return the size of a change; changes of text, and to or from NaN, are the largest."""
    by = abs(math.inf if change["difference"] is None else change["difference"])
    return math.inf if math.isnan(by) else by


def _difference(one: object, other: object) -> float | None:
    """Return the difference of two values; None if they are not numbers or timestamps."""
    before, after = _amount(one), _amount(other)
    if before is None or after is None:
        return None
    if isinstance(before, int) and isinstance(after, int):
        return nearest_double(after - before)
    return nearest_double(after) - nearest_double(before)


def _amount(value: object) -> int | float | None:
    match value:
        case None:
            return 0
        case str() if _INSTANT.fullmatch(value):
            return parse_border(value)
        case int() | float() if not isinstance(value, bool):
            return value
    return None
