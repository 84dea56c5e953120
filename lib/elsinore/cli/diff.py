"""`elsinore diff`: which results of two workloads, or of two files of answers, are not the same."""

from __future__ import annotations

import math
import os
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.dataset as ds
import typer
from pyarrow import csv

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.answers import Format, Sheet, format_for, long_table, require_apart, write
from elsinore.cli.main import MaxBadShare
from elsinore.cli.run import tell_set_aside
from elsinore.engine.plan import Request
from elsinore.errors import ParameterError
from elsinore.files.read_events import read_events
from elsinore.integers import from_json, integer_of, text_of, to_json
from elsinore.library.results import answer, process_cores
from elsinore.query.load_workload import load_workload
from elsinore.results.row import ResultRow, nearest_double, plain_value
from elsinore.timeline import Instant, format_instant, parse_border

#: Changes that a table shows if nobody says how many.
_SHOWN = 20
_KEYS = ["query", "group_key", "window_start", "window_end", "aggregate"]
#: As CSV is read: nothing in it is a NULL, a boolean or a whole number by its looks.
_TYPES = {
    **dict.fromkeys(("query", "group_key", "aggregate", "exact"), pa.string()),
    "value": pa.float64(),
}
#: Errors of reading a file of another kind; JSON that is nested too deeply: RecursionError.
_NO_RESULTS = OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError
_KINDS = ["same", "changed", "added", "removed"]


def diff(
    before: Annotated[Path, typer.Argument(help="A workload, or a file that `run` wrote.")],
    after: Annotated[Path, typer.Argument(help="The other one.")],
    schema: Annotated[Path | None, typer.Option(help="Of two workloads: the schema.")] = None,
    input_: Annotated[
        list[Path] | None, typer.Option("--input", help="Of two workloads: files or folders.")
    ] = None,
    max_bad_share: MaxBadShare = 0.05,
    form: Annotated[Format | None, typer.Option("--format", help="As of `run`.")] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write, as of `run`.")] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only the N largest changes (a table: 20).")
    ] = None,
) -> None:
    """Say which results were added, removed or changed, and by how much; largest change first."""
    chosen = format_for(form, output)
    require_apart([before, after, schema, *(input_ or [])], output=output)
    if before.suffix == after.suffix == ".sase":
        if schema is None or not input_:
            raise ParameterError("two workloads need --schema FILE and --input FILE")
        stream = load_schema(schema)
        workloads = [load_workload(path, stream) for path in (before, after)]
        events, report = read_events(input_, stream, max_bad_share=max_bad_share)
        tell_set_aside(report)
        request = Request(threads=process_cores())
        answers = (answer(workload, events, request=request) for workload in workloads)
        calendar = stream.time_unit.is_calendar
        old, new = (_values(long_table(rows, text=True, calendar=calendar)) for rows in answers)
    elif ".sase" in (before.suffix, after.suffix):
        raise ParameterError("a workload and a file of answers: give two of either")
    else:
        old, new = (_stored(path) for path in (before, after))
    kinds, changes = _compare(old, new)
    counts = Counter(kinds.values())
    by_query = Counter((place[0], kind) for place, kind in kinds.items())
    queries = [[q, *(by_query[q, k] for k in _KINDS)] for q in sorted({key[0] for key in kinds})]
    most = top or _SHOWN
    left = len(changes) - most
    below = f"and {left:,} more: --output FILE.csv keeps them" if left > 0 else ""
    shown = [list(change.values()) for change in changes[:most]]
    changes = changes[:top]
    write(
        form=chosen, output=output,
        sheets=[Sheet("values of each query", ["query", *_KINDS], queries),
                Sheet("changes, the largest first", [*_SCHEMA.names], shown, below)],
        lines=(
            to_json(change | {"difference": plain_value(change["difference"])})
            for change in changes
        ),
        table=lambda: pa.Table.from_pylist(changes, schema=_SCHEMA),
    )  # fmt: skip
    told = ", ".join(f"{counts[kind]:,} {kind}" for kind in _KINDS)
    typer.echo(f"elsinore: {len(kinds):,} values: {told}", err=True)


_SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*_KEYS, "change", "before", "after")]
    + [("difference", pa.float64())]
)


def _stored(path: Path) -> dict[tuple[str, ...], int | float | None]:
    """The values of a file of answers; ParameterError: it is none."""
    form = format_for(None, path)
    if form is Format.TABLE:
        raise ParameterError(
            f"{path} is a table for people",
            hint="`elsinore run --output FILE.json` writes results that can be compared",
        )
    try:
        if form is not Format.JSON:
            options = csv.ConvertOptions(column_types=_TYPES, null_values=[""])
            text = ds.CsvFileFormat(convert_options=options)
            stored = ds.dataset(path, format=text if form is Format.CSV else str(form))
            return _values(stored.to_table([*_KEYS, "exact", "value"]))
        with path.open(encoding="utf-8") as lines:
            rows = [_row(from_json(line)) for line in lines]
        calendar = any(isinstance(row.window_start, Instant) for row in rows)
        return _values(long_table(rows, text=True, calendar=calendar))
    except FileNotFoundError as error:
        raise ParameterError(f"no such file: {path}", hint="check the path") from error
    except _NO_RESULTS as error:
        if isinstance(error, OSError) and error.errno:
            raise ParameterError(f"cannot read {path}: {os.strerror(error.errno)}") from error
        hint = "`elsinore run --output FILE.json` writes results"
        raise ParameterError(f"{path} holds no answers of `run`", hint=hint) from error


def _row(line: dict[str, Any]) -> ResultRow:
    """A result row from its JSON line."""
    start, end = (
        Instant(parse_border(bound)) if isinstance(bound, str) else bound
        for bound in (line["window_start"], line["window_end"])
    )
    values = {label: _number(value) for label, value in line["values"].items()}
    group = tuple(line["group"].items())
    return ResultRow(line["query"], group, start, end, tuple(values.items()))


def _number(value: Any) -> Any:
    """A value as it was before it was written as JSON."""
    if not isinstance(value, str):
        return value
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else parse_border(value)


def _values(table: pa.Table) -> dict[tuple[str, ...], int | float | None]:
    """The value of each place, which is its `_KEYS` as text."""
    places = zip(*(_texts(table[name]) for name in _KEYS), strict=True)
    exact, values = table["exact"].to_pylist(), table["value"].to_pylist()
    return {
        place: value if whole in (None, "") else _integer(whole)
        for place, whole, value in zip(places, exact, values, strict=True)
    }


def _integer(exact: str | int | Decimal) -> int:
    """An exact value, which is text in CSV and a number in Parquet and Arrow."""
    return integer_of(exact) if isinstance(exact, str) else int(exact)


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Return values as text; datetimes of Python do not reach borders beyond year 9999."""
    if not pa.types.is_timestamp(column.type):
        return list(map(str, column.to_pylist()))
    micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    texts = (format_instant(each)[:-1].replace("T", " ") for each in micros)
    return [text.removesuffix(".000000") for text in texts]


def _compare(
    old: dict[tuple[str, ...], Any], new: dict[tuple[str, ...], Any]
) -> tuple[dict[tuple[str, ...], str], list[dict[str, Any]]]:
    """The kind of each place, and what is not the same as rows of `_SCHEMA`."""
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
    """How large a change is; to NaN, or from it, as large as any."""
    by = abs(change["difference"])
    return math.inf if math.isnan(by) else by


def _difference(one: int | float, other: int | float) -> float:
    if isinstance(one, int) and isinstance(other, int):
        return nearest_double(other - one)
    return nearest_double(other) - nearest_double(one)
