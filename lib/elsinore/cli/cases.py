"""`elsinore test`: cases of a workload, small streams with the rows that they must give, as YAML.

A file is a list of cases, or a mapping with `cases` and with what they have in common:

    - name: Figure 4 (a)
      source: GRETA Figure 4         # where the numbers come from; optional
      why: ...                       # how they were worked out; optional
      schema: {A: {v: long}, B: {}}  # types with their attributes, or the path of a schema file
      time: integer                  # or iso, of such types; optional
      workload: shop.sase            # optional: then the query is the name of one in this file
      query: RETURN COUNT(*) PATTERN A+ WITHIN 20
      events: a1(v=3) b2 a-3         # type (in any case), time, attributes; NULL where left out;
                                     # a1..9 is one at each time from 1 to 9, a5min one at 5 minutes
                                     # (also s and h), in a stream with a calendar
      rows:                          # start and end of the window, group if any, values
        - [0, 20, {COUNT(*): 3}]
        - [0, 20, {k: 1}, {COUNT(*): 3}]
      executors: [twostep]           # optional; every executor unless it refuses the query
      out_of_range: 1                # optional: so many events are set aside for their times

Paths start from the file. Events may also be a list of raw events, as lines of a file have them.
Values are as in JSON output: integers in full, instants as text, "NaN", "Infinity".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
import yaml

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.catalog.yaml_text import read_yaml
from elsinore.engine.plan import Executor
from elsinore.errors import ParameterError
from elsinore.events import EventTable, arrow_schema
from elsinore.files.decode import decode_lines
from elsinore.library.results import answer
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.load_workload import load_workload
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import count_of
from elsinore.results.row import encode_row
from elsinore.timeline import HOUR, MINUTE, SECOND, TimeUnit, format_instant, parse_instant
from elsinore.wording import suggest

#: A name that ends in digits ends in an @.
_EVENT = re.compile(
    r"\s*([A-Za-z_]\w*(?=@)|[A-Za-z_]+)@?(-?\d+)(?:\.\.(-?\d+))?(s|min|h)?(?:\(([^)]*)\))?"
)
_UNITS = {None: 1, "s": SECOND, "min": MINUTE, "h": HOUR}
_NEEDED = {"schema", "query", "events", "rows"}
_PARTS = {"name", "source", "why", "time", "workload", *_NEEDED,
          "executors", "out_of_range"}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One case; `rows` are as the JSON lines of `elsinore run` have them, in any order."""

    name: str
    query: BoundQuery
    events: EventTable
    rows: list[dict[str, Any]]
    executors: tuple[str, ...] | None

    def __str__(self) -> str:
        return self.name


def run_cases(
    cases: Annotated[list[Path], typer.Argument(help="Cases, .yaml files.")],
    executor: Annotated[Executor, typer.Option(help="Who works them out.")] = Executor.AUTO,
) -> int:
    """Run CASES of your queries: small streams with the rows that they must give."""
    failed = 0
    found = [case for path in cases for case in cases_in(read_yaml(path), path)]
    for case in found:
        workload = Workload(case.events.schema, (case.query,))
        rows = answer(workload, case.events, executor)
        expected = {row_text(row) for row in case.rows}
        given = {row_text(json.loads(encode_row(row))) for row in rows}
        failed += expected != given
        typer.echo(f"{'ok' if expected == given else 'FAILED':8}{case.name}")
        for row in sorted(expected ^ given):
            typer.echo(f"  expected {row}" if row in expected else f"     found {row}")
    typer.echo(f"{count_of(len(found), 'case')}: {len(found) - failed} ok, {failed} failed")
    return int(failed > 0)


# ---- what a case says


def cases_in(document: Any, path: Path) -> list[Case]:
    """The cases of a YAML document; `path` is where it is from.

    Raises:
        SchemaError: a schema that it names is missing or is not as it should be.
        QueryError: a query does not bind.
        ParameterError: a case is not as it should be.
    """
    common = document if isinstance(document, dict) else {"cases": document}
    entries = common.get("cases")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ParameterError(f"{path} holds no list of cases", hint="as in - name: ..., query: ...")
    shared = {name: value for name, value in common.items() if name != "cases"}
    found = []
    for number, entry in enumerate(entries, 1):
        case = shared | entry
        name = case.get("name", f"case {number}")
        try:
            for part in case.keys() - _PARTS:
                raise ValueError(f"there is no {part} ({suggest(part, _PARTS) or 'leave it out'})")
            for part in _NEEDED - case.keys():
                raise ValueError(f"{part} is missing")
            found.append(_case(path.parent, name, case))
        except (ValueError, TypeError, KeyError) as error:
            raise ParameterError(f"{path}: {name}: {error}") from error
    return found


def _case(folder: Path, name: str, case: dict[str, Any]) -> Case:
    given, text, events = case["schema"], case["query"], case["events"]
    schema = (
        load_schema(folder / given)
        if isinstance(given, str)
        else stream_schema(given, case.get("time", "integer"))
    )
    executors, aside = case.get("executors"), case.get("out_of_range")
    calendar = schema.time_unit.is_calendar
    if case.get("workload") is None:
        query = bound_query(text, schema)
    else:
        known = load_workload(folder / case["workload"], schema).by_name
        if text not in known:
            hint = suggest(text, known) or f"there are {', '.join(known)}"
            raise ValueError(f"the workload has no query {text} ({hint})")
        query = known[text]
    if isinstance(events, list):
        table = _from_lines([json.dumps(event, default=str) for event in events], schema, 0)
    elif aside is not None:
        lines = [json.dumps({"type": k, "time": t} | v) for k, t, v in _events(events, schema)]
        table = _from_lines(lines, schema, aside)
    else:
        table = event_table(events, schema)
    rows = [_row(query.name, calendar, *row) for row in case["rows"]]
    return Case(name, query, table, rows, None if executors is None else tuple(executors))


def stream_schema(types: dict[str, dict[str, Any]], time: str = "integer") -> StreamSchema:
    """A schema from types with attributes, each a type name (nullable) or a mapping."""
    kinds = [
        EventType(name, tuple(Attribute(a, AttributeType(k), True) for a, k in fields.items()))
        for name, fields in types.items()
    ]
    return StreamSchema("golden", "time", TimeUnit(time), "type", None, tuple(kinds))


def bound_query(text: str, schema: StreamSchema) -> BoundQuery:
    """A query named q, written without its QUERY clause."""
    return bind_workload(parse_workload(f"QUERY q {text};"), schema).queries[0]


def event_table(text: str, schema: StreamSchema) -> EventTable:
    """Events in the compact notation, in the order written."""
    return EventTable.of(schema, _events(text, schema))


def _events(text: str, schema: StreamSchema) -> list[tuple[str, int, dict[str, Any]]]:
    names = {name.lower(): name for name in schema.by_name}
    events = []
    end = 0
    for match in _EVENT.finditer(text):
        kind, first, last, unit, attributes = match.groups()
        if match.start() != end or kind.lower() not in names:
            break
        end = match.end()
        for time in range(int(first), int(last or first) + 1):
            values = _attributes(attributes or "")
            events.append((names[kind.lower()], time * _UNITS[unit], values))
    if text[end:].strip():
        raise ValueError(f"no event: {text[end:][:40].strip()!r}")
    return events


def _attributes(text: str) -> dict[str, Any]:
    pairs = [pair.split("=") for pair in text.split(",") if pair.strip()]
    return {name.strip(): yaml.safe_load(value) for name, value in pairs}


def _from_lines(lines: list[str], schema: StreamSchema, out_of_range: int) -> EventTable:
    """The events as a file of JSON lines gives them."""
    numbers = range(1, len(lines) + 1)
    table = pa.table({"file": ["events"] * len(lines), "position": numbers, "line": lines})
    decoded = decode_lines(table, schema)
    reasons = decoded.rejected["reason_code"].to_pylist()
    if reasons != ["time_out_of_range"] * out_of_range:
        told = decoded.rejected.select(["position", "reason"]).to_pylist()
        raise ValueError("; ".join(f"event {row['position']}: {row['reason']}" for row in told))
    return EventTable(schema, decoded.events.select(arrow_schema(schema).names))


def _row(query: str, calendar: bool, start: Any, end: Any, *rest: dict[str, Any]) -> dict[str, Any]:
    group, values = rest if len(rest) == 2 else ({}, rest[0])
    bounds = (format_instant(parse_instant(str(t))) if calendar else t for t in (start, end))
    named = dict(zip(("window_start", "window_end"), bounds, strict=True))
    return {"query": query, "group": group, **named, "values": values}


# ---- what a case lacks


def row_text(row: dict[str, Any]) -> str:
    """A row on a line, doubles to ten digits, so that rounding makes no difference."""
    values = {name: _short(value) for name, value in row["values"].items()}
    group = [row["group"]] if row["group"] else []
    parts = [row["window_start"], row["window_end"], *group, values]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False)


def _short(value: Any) -> Any:
    short = float(f"{value:.10g}") if isinstance(value, float) else value
    return int(short) if isinstance(short, float) and short.is_integer() else short
