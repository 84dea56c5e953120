"""`elsinore diff`: which results of two workloads, or of two files of answers, are not the same."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.cli.answers import Format, Sheet, format_for, opened, print_sheets, write_table
from elsinore.cli.run import answer, process_cores
from elsinore.engine.plan import Executor, Request
from elsinore.errors import ParameterError
from elsinore.files.read_events import read_events
from elsinore.query.load_workload import load_workload
from elsinore.query.print_query import count_of
from elsinore.reference.budget import Budget
from elsinore.results.published import to_double
from elsinore.results.row import encode_row
from elsinore.timeline import format_instant, parse_instant

_STEPS = 20_000_000
_SHOWN = 20
_KINDS = ("same", "changed", "added", "removed")


class Place(NamedTuple):
    """What a value is of; the group as JSON, bounds of the window as text."""

    query: str
    group_key: str
    window_start: str
    window_end: str
    aggregate: str


_Values = dict[Place, Any]


def diff(
    before: Annotated[Path, typer.Argument(help="A workload, or a file that `run` wrote.")],
    after: Annotated[Path, typer.Argument(help="The other one.")],
    schema: Annotated[Path | None, typer.Option(help="Of two workloads: the schema.")] = None,
    input_: Annotated[
        list[Path] | None, typer.Option("--input", help="Of two workloads: files or folders.")
    ] = None,
    form: Annotated[Format | None, typer.Option("--format", help="As of `run`.")] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write, as of `run`.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Changes that a table shows.")] = _SHOWN,
) -> None:
    """Say which results were added, removed or changed, and by how much."""
    chosen = format_for(form, output)
    if before.suffix == after.suffix == ".sase":
        if schema is None or not input_:
            raise ParameterError("two workloads need --schema FILE and --input FILE")
        old, new = _answers([before, after], schema, input_)
    else:
        old, new = (dict(_stored(path)) for path in (before, after))
    kinds = {place: _kind(place, old, new) for place in {**old, **new}}
    changes = sorted(
        (p for p, kind in kinds.items() if kind != "same"), key=lambda p: _rank(p, old, new)
    )
    table = pa.Table.from_pylist([_row(p, kinds[p], old, new) for p in changes], schema=_SCHEMA)
    with opened(output) as out:
        if chosen is Format.TABLE:
            out.write(print_sheets(_sheets(kinds, table, top), on_terminal=output is None))
        elif chosen is Format.JSON:
            out.writelines(f"{json.dumps(row)}\n".encode() for row in table.to_pylist())
        else:
            write_table(table, chosen, out)
    counts = Counter(kinds.values())
    told = ", ".join(f"{counts[kind]:,} {kind}" for kind in _KINDS)
    typer.echo(f"elsinore: {count_of(len(kinds), 'value')}: {told}", err=True)


# ---- the two sides


def _answers(paths: list[Path], schema: Path, inputs: list[Path]) -> Iterator[_Values]:
    stream = load_schema(schema)
    workloads = [load_workload(path, stream) for path in paths]
    events, _ = read_events(inputs, stream, max_bad_share=1)
    request = Request(threads=process_cores())
    for workload in workloads:
        rows = answer(workload, events, Executor.AUTO, Budget(_STEPS), request=request)
        yield dict(_of_lines(encode_row(row) for row in rows))


def _stored(path: Path) -> Iterator[tuple[Place, Any]]:
    """The values of a file of answers.

    Raises:
        ParameterError: the file is none.
    """
    form = format_for(None, path)
    try:
        if form is Format.JSON:
            yield from _of_lines(path.read_text(encoding="utf-8").splitlines())
            return
        for row in _read(path, form).to_pylist():
            bounds = _bound(row["window_start"]), _bound(row["window_end"])
            exact = row["exact"]
            value = row["value"] if exact in (None, "") else int(exact)
            yield Place(row["query"], row["group_key"], *bounds, row["aggregate"]), value
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise ParameterError(f"{path} holds no answers of `run`: {error}") from error


def _of_lines(lines: Iterable[str]) -> Iterator[tuple[Place, Any]]:
    for row in map(json.loads, lines):
        group = json.dumps(row["group"], ensure_ascii=False)
        bounds = _bound(row["window_start"]), _bound(row["window_end"])
        for label, value in row["values"].items():
            yield Place(row["query"], group, *bounds, label), value


def _read(path: Path, form: Format) -> pa.Table:
    from pyarrow import csv, ipc, parquet

    match form:
        case Format.CSV:
            texts = dict.fromkeys(("query", "group_key", "aggregate", "exact"), pa.string())
            return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=texts))
        case Format.PARQUET:
            return parquet.read_table(path)
        case Format.ARROW:
            with pa.OSFile(str(path)) as file:
                return ipc.open_file(file).read_all()
    raise ParameterError(f"{path} is a table for people", hint="write answers as JSON or CSV")


def _bound(value: Any) -> str:
    return str(value) if isinstance(value, int) else format_instant(parse_instant(str(value)))


# ---- what differs


_SCHEMA = pa.schema(
    [(name, pa.string()) for name in (*Place._fields, "change", "before", "after")]
    + [("difference", pa.float64())]
)


def _kind(place: Place, old: _Values, new: _Values) -> str:
    if place not in old:
        return "added"
    if place not in new:
        return "removed"
    return "same" if str(old[place]) == str(new[place]) else "changed"


def _difference(place: Place, old: _Values, new: _Values) -> int | float | None:
    """By how much a value grew; what is not there counts as 0."""
    one, other = (0 if v is None else v for v in (old.get(place), new.get(place)))
    if isinstance(one, str) or isinstance(other, str):
        return None
    try:
        return other - one
    except OverflowError:  # an integer beyond all doubles beside a double
        return to_double(other) - to_double(one)


def _rank(place: Place, old: _Values, new: _Values) -> tuple[int | float, Place]:
    return -abs(_difference(place, old, new) or 0), place


def _row(place: Place, kind: str, old: _Values, new: _Values) -> dict[str, Any]:
    sides = (None if side.get(place) is None else str(side[place]) for side in (old, new))
    difference = _difference(place, old, new)
    own = dict(zip(("before", "after"), sides, strict=True))
    return place._asdict() | own | {
        "change": kind,
        "difference": None if difference is None else to_double(difference),
    }  # fmt: skip


def _sheets(kinds: dict[Place, str], table: pa.Table, top: int) -> Iterator[Sheet]:
    counts = Counter((place.query, kind) for place, kind in kinds.items())
    queries = sorted({place.query for place in kinds})
    summary = [[query, *(f"{counts[query, kind]:,}" for kind in _KINDS)] for query in queries]
    yield Sheet("values by query", {"query": "left"} | dict.fromkeys(_KINDS, "right"), summary)
    if not table.num_rows:
        return
    columns = dict.fromkeys(_SCHEMA.names[:6], "left") | dict.fromkeys(
        ("before", "after", "difference"), "right"
    )
    rows = [
        [*(row[name] or "-" for name in _SCHEMA.names[:-1]), f"{row['difference'] or 0:+,.10g}"]
        for row in table.slice(0, top).to_pylist()
    ]
    left = table.num_rows - len(rows)
    below = f"and {left:,} more: --output FILE.csv keeps them" if left else ""
    yield Sheet("largest changes first", columns, rows, below)
