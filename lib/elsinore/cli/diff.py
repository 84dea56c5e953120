"""`elsinore diff`: the differences between the results of two workloads or of two result files."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import Error as HeaderError
from csv import reader as header_of
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer
from pyarrow import csv

from elsinore.catalog.load_schema import load_schema
from elsinore.choices import Format
from elsinore.cli.answers import Sheet, format_for, long_table, require_apart, write
from elsinore.cli.run import tell_set_aside
from elsinore.errors import ParameterError
from elsinore.executors.plan import Request
from elsinore.files.bounded_arrow import arrow_batches
from elsinore.files.bounded_parquet import Columns, parquet_batches
from elsinore.files.read_events import read_events
from elsinore.files.read_lines import DEFAULT_LIMITS, require_few_columns, too_large
from elsinore.integers import from_json, integer_of, text_of, to_json
from elsinore.library.results import answer, process_cores
from elsinore.query.load_workload import load_workload
from elsinore.results.row import ResultRow, nearest_double, plain_value
from elsinore.timeline import Instant, format_instant, parse_border
from elsinore.wording import FORMULA, shown

#: Number of changes that a table shows by default.
_SHOWN = 20
_KEYS = ["query", "group_key", "window_start", "window_end", "aggregate"]
#: Columns of CSV results that belong to every query; the others are of groups and aggregates.
_COMMON = ["query", "window_start", "window_end"]
#: Errors of reading a file of another kind. RecursionError: JSON that is nested too deeply.
#: OverflowError: a window of many digits. ArrowException: a type that Arrow lacks. HeaderError: a
#: CSV header with a very long name.
_NO_RESULTS = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError,
    pa.ArrowException, HeaderError,
)  # fmt: skip
#: Values of a file, whose rows may take few bytes: each needs about 600 here.
_MOST_VALUES = 10_000_000
_KINDS = ["same", "changed", "added", "removed"]

_INSTANT = re.compile(r"([-+]?[0-9]+-[0-9]{2}-[0-9]{2})T([0-9:]{8}\.[0-9]{6})Z")
#: Numbers as results have them; 1.10 and 007 are strings.
_NUMBER = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.(?:0|[0-9]*[1-9]))?(?:e[+-]?[0-9]{1,3})?|NaN|nan|-?(?:inf|Infinity)"
)
#: The quote that CSV results have before strings that a spreadsheet would run.
_QUOTED_FORMULA = re.compile(f"^'(?={FORMULA})")

#: Values by their `_KEYS` as text.
_Values = dict[tuple[str, ...], int | float | None]


@dataclass(frozen=True, kw_only=True)
class DiffOptions:
    """Arguments and options of `elsinore diff`."""

    before: Path
    after: Path
    schema: Path | None
    inputs: Sequence[Path]
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
    elif ".sase" in (before.suffix, after.suffix):
        raise ParameterError(
            "a file of queries cannot be compared with results",
            hint="give two .sase files, or two files that `elsinore run --output` wrote",
        )
    else:
        old, new = (_stored(path) for path in (before, after))
        if Format.CSV in (format_for(None, before), format_for(None, after)):
            old, new = _as_in_csv([old, new])
    kinds, changes = _compare(old, new)
    counts = Counter(kinds.values())
    by_query = Counter((place[0], kind) for place, kind in kinds.items())
    queries = [[q, *(by_query[q, k] for k in _KINDS)] for q in sorted({key[0] for key in kinds})]
    most = top or _SHOWN
    left = len(changes) - most
    below = f"and {left:,} more: --output FILE.csv writes all" if left > 0 else ""
    shown = [list(change.values()) for change in changes[:most]]
    changes = changes[:top]
    write(
        form=chosen, output=output,
        sheets=[Sheet("values per query", ["query", *_KINDS], queries),
                Sheet("changes, largest first", [*_SCHEMA.names], shown, below)],
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
    workloads = [load_workload(path, stream) for path in (options.before, options.after)]
    events, report = read_events(options.inputs, stream, max_error_rate=options.max_error_rate)
    tell_set_aside(report)
    request = Request(threads=process_cores())
    answers = (answer(workload, events, request=request) for workload in workloads)
    calendar = stream.time_unit.is_calendar
    return [_values(long_table(rows, text=True, calendar=calendar)) for rows in answers]


_SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*_KEYS, "change", "before", "after")]
    + [("difference", pa.float64())]
)


def _stored(path: Path) -> _Values:
    """Return the values of a file of results; ParameterError: it is not one."""
    form = format_for(None, path)
    if form is Format.TABLE:
        raise ParameterError(
            f"{path} is a table for people",
            hint="`elsinore run --output FILE.json` writes results that can be compared",
        )
    try:
        if form is Format.CSV:
            return _csv_values(path)
        if form is Format.PARQUET:
            pieces = parquet_batches(path, DEFAULT_LIMITS, _result_columns)
            return _gathered(path, (piece.rows for piece in pieces))
        if form is Format.ARROW:
            return _gathered(path, arrow_batches(path, DEFAULT_LIMITS, _RESULT_COLUMNS))
        with path.open(encoding="utf-8") as lines:
            rows = list(_few(path, (_row(from_json(line)) for line in lines)))
        calendar = any(isinstance(row.window_start, Instant) for row in rows)
        return _values(long_table(rows, text=True, calendar=calendar))
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


_RESULT_COLUMNS = [*_KEYS, "exact", "value"]


def _result_columns(names: list[str]) -> Columns:
    """Choose the columns of results; KeyError: the file lacks one."""
    if missing := [name for name in _RESULT_COLUMNS if name not in names]:
        raise KeyError(missing[0])
    return Columns(_RESULT_COLUMNS)


def _few(path: Path, rows: Iterable[ResultRow]) -> Iterator[ResultRow]:
    """Yield the rows of a file; UnreadableFile: they have too many values."""
    number = 0
    for row in rows:
        number += len(row.values)
        _require_few(path, number)
        yield row


def _require_few(path: Path, number: int) -> None:
    if number > _MOST_VALUES:
        raise too_large(path, f"has more than {_MOST_VALUES:,} values")


def _gathered(path: Path, tables: Iterable[pa.Table]) -> _Values:
    """Return the values of the batches of a file; UnreadableFile: there are too many.

    Raises:
        ValueError: a group is not a JSON object.
        TypeError: a value is not a number.
    """
    values: _Values = {}
    number = 0
    for table in tables:
        number += table.num_rows
        _require_few(path, number)
        of_table = _values(table)
        if not all(isinstance(json.loads(group), dict) for group in {key[1] for key in of_table}):
            raise ValueError("a group is not a JSON object")
        if not all(isinstance(each, Decimal | float | int | None) for each in of_table.values()):
            raise TypeError("a value is not a number")
        values |= of_table
    return values


def _csv_values(path: Path) -> _Values:
    """Return the values of CSV results, whose columns are groups and aggregates.

    Only labels of aggregates have a parenthesis.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        columns = next(header_of(lines), [])
    require_few_columns(path, columns)
    # Without types, Arrow guesses them from the values; quoted empty strings are not NULL.
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(columns, pa.string()),
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False,
    )  # fmt: skip
    # A group can have line ends.
    parse = csv.ParseOptions(newlines_in_values=True)
    values: _Values = {}
    number = 0
    for batch in csv.open_csv(path, parse_options=parse, convert_options=convert):
        number += batch.num_rows * batch.num_columns
        _require_few(path, number)
        _add_rows(values, batch.to_pylist())
    return values


def _add_rows(values: _Values, rows: Iterable[dict[str, Any]]) -> None:
    """Add the values of rows of CSV.

    Raises:
        ValueError: they have no column of an aggregate.
        ParameterError: two rows have the same group and window.
    """
    for row in rows:
        query, start, end = (row.pop(name) for name in _COMMON)
        if not any("(" in name for name in row):
            raise ValueError("no column of an aggregate")
        group = {name: text for name, text in row.items() if "(" not in name}
        for label, text in row.items():
            if label not in group:
                _add(values, (query, json.dumps(group), start, end, label), _csv_value(text))


def _csv_value(text: str | None) -> int | float | None:
    if text is None:
        return None
    if re.fullmatch(r"-?[0-9]+", text):
        return integer_of(text)
    return parse_border(text) if ":" in text else float(text)


def _as_in_csv(sides: Sequence[_Values]) -> list[_Values]:
    """Return the values of two files as CSV can hold them, so that they compare in any formats.

    CSV does not distinguish 2.0 from 2, nor NULL from the columns of another query: an aggregate
    that is always NULL for a query is left out.

    Raises:
        ParameterError: CSV does not distinguish two groups of a file.
    """
    cells = {place: _csv_cells(place[1]) for side in sides for place in _groups_of(side)}
    strings = {name for side in sides for name in _strings(side, cells)}
    groups = {
        (query, group): json.dumps(
            {n: text if (query, n) in strings else _csv_number(text) for n, text in own.items()},
            ensure_ascii=False, sort_keys=True,
        )
        for (query, group), own in cells.items()
    }  # fmt: skip
    return [_side_in_csv(side, groups) for side in sides]


def _side_in_csv(values: _Values, groups: Mapping[tuple[str, str], str]) -> _Values:
    has_value = {(key[0], key[4]) for key, value in values.items() if value is not None}
    found: _Values = {}
    for (query, group, start, end, label), value in values.items():
        if (query, label) in has_value:
            _add(found, (query, groups[query, group], start, end, label), _whole(value))
    return found


def _add(values: _Values, place: tuple[str, ...], value: int | float | None) -> None:
    """Add a value; ParameterError: another row has the same group and window."""
    if place in values:
        problem = f"CSV does not distinguish two groups of {place[0]}: {shown(place[1])}"
        raise ParameterError(
            problem, hint="compare results in JSON: `elsinore run --output FILE.json`"
        )
    values[place] = value


def _groups_of(values: _Values) -> Iterable[tuple[str, str]]:
    """Return the different queries and groups of values."""
    return dict.fromkeys((query, group) for query, group, *_ in values)


def _strings(
    values: _Values, cells: Mapping[tuple[str, str], Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield the query and name of each attribute of groups that has strings, not numbers.

    The values of an attribute are of one type, and a number has one spelling in a file. So
    versions such as 1.1 and 1.10 are strings.
    """
    spelled: dict[tuple[str, str, str], str] = {}
    for place in _groups_of(values):
        for name, text in cells[place].items():
            number = _csv_number(text) if _NUMBER.fullmatch(text) else None
            if number is None or spelled.setdefault((place[0], name, number), text) != text:
                yield place[0], name


def _whole(value: int | float | None) -> int | float | None:
    """Return a double without a fraction as an integer: CSV has 2 for 2.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _csv_cells(group: str) -> dict[str, str]:
    """Return the values of a group as text; NULL is left out."""
    held: Mapping[str, Any] = json.loads(group)
    return {name: _csv_word(value) for name, value in held.items() if value is not None}


def _csv_word(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if time := _INSTANT.fullmatch(text):
        return f"{time[1]} {time[2]}".removesuffix(".000000")
    return _QUOTED_FORMULA.sub("", text)


def _csv_number(text: str) -> str:
    """Return a number in the one spelling in which numbers are compared."""
    return text if re.fullmatch(r"-?[0-9]+", text) else str(_whole(float(text)))


def _row(line: dict[str, Any]) -> ResultRow:
    """Return a result row from its JSON line."""
    start, end = (
        Instant(parse_border(bound)) if isinstance(bound, str) else bound
        for bound in (line["window_start"], line["window_end"])
    )
    values = {label: _number(value) for label, value in line["values"].items()}
    group = tuple(line["group"].items())
    return ResultRow(line["query"], group, start, end, tuple(values.items()))


def _number(value: Any) -> Any:
    """Return a value as it was before it was written as JSON.

    Raises:
        TypeError: it is not a value of an aggregate.
    """
    if not isinstance(value, str):
        if not isinstance(value, int | float | None):
            raise TypeError("a value is not a number")
        return value
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else parse_border(value)


def _values(table: pa.Table) -> _Values:
    """Return values by their `_KEYS` as text."""
    places = zip(*(_texts(table[name]) for name in _KEYS), strict=True)
    exact, values = table["exact"].to_pylist(), table["value"].to_pylist()
    return {
        place: value if whole in (None, "") else _integer(whole)
        for place, whole, value in zip(places, exact, values, strict=True)
    }


def _integer(exact: str | int | Decimal) -> int:
    """Return an exact value, which is a number in files and text in tables made here."""
    return integer_of(exact) if isinstance(exact, str) else int(exact)


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Return values as text; datetimes of Python do not reach borders beyond year 9999."""
    if not pa.types.is_timestamp(column.type):
        return list(map(str, column.to_pylist()))
    micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    texts = (format_instant(each)[:-1].replace("T", " ") for each in micros)
    return [text.removesuffix(".000000") for text in texts]


def _compare(old: _Values, new: _Values) -> tuple[dict[tuple[str, ...], str], list[dict[str, Any]]]:
    """Return the kind of change of each value, and the changes as rows of `_SCHEMA`."""
    kinds, changes = {}, []
    for place in {**old, **new}:
        one, other = old.get(place), new.get(place)
        kind = "removed" if place not in new else "added" if place not in old else "changed"
        kinds[place] = "same" if kind == "changed" and text_of(one) == text_of(other) else kind
        if kinds[place] != "same":
            sides = (None if value is None else text_of(value) for value in (one, other))
            cells = (*place, kind, *sides, _difference(one or 0, other or 0))
            changes.append(dict(zip(_SCHEMA.names, cells, strict=True)))
    return kinds, sorted(changes, key=_size, reverse=True)


def _size(change: dict[str, Any]) -> float:
    """Return the size of a change; changes to or from NaN are the largest."""
    by = abs(change["difference"])
    return math.inf if math.isnan(by) else by


def _difference(one: int | float, other: int | float) -> float:
    if isinstance(one, int) and isinstance(other, int):
        return nearest_double(other - one)
    return nearest_double(other) - nearest_double(one)
