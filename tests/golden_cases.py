"""The golden cases: queries over small streams with rows worked out by hand, as YAML.

Each file of `tests/golden/trends` is a list of cases:

    - name: Figure 4 (a)             # unique over all files
      source: GRETA Figure 4         # where the numbers come from; optional
      why: ...                       # how they were worked out; optional
      schema: {A: {v: long}, B: {}}  # types with their attributes, as in a schema file
      time: integer                  # or iso; optional
      query: RETURN COUNT(*) PATTERN A+ WITHIN 20
      events: a1(v=3) b2 a-3         # type (in any case), time, attributes; NULL where left out;
                                     # a1..9 is one at each time from 1 to 9, a5min one at 5 minutes
      rows:                          # start and end of the window, group if any, values
        - [0, 20, {COUNT(*): 3}]
        - [0, 20, {k: 1}, {COUNT(*): 3}]
      executors: [twostep]           # optional; every executor unless it refuses the query
      out_of_range: 1                # optional: the events come from a file, and so many of them
                                     # are set aside for their times

Values are as in JSON output: integers in full, instants as text, "NaN", "Infinity".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.events import EventTable, arrow_schema
from elsinore.files.decode import decode_lines
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery
from elsinore.query.parse import parse_workload
from elsinore.results.row import ResultRow, encode_row
from elsinore.timeline import MINUTE, TimeUnit

GOLDEN = Path(__file__).parent / "golden" / "trends"

_EVENT = re.compile(r"\s*([A-Za-z_]+)(-?\d+)(?:\.\.(-?\d+))?(min)?(?:\(([^)]*)\))?")


@dataclass(frozen=True)
class GoldenCase:
    """One case; `rows` are texts as `row_texts` makes them, in any order."""

    name: str
    query: BoundQuery
    events: EventTable
    rows: list[str]
    executors: tuple[str, ...] | None

    def __str__(self) -> str:
        return self.name


def golden_cases(executor: str, files: str = "*.yaml") -> list[GoldenCase]:
    """The cases that an executor must answer, from the files that match a pattern."""
    return [c for c in _cases(files) if c.executors is None or executor in c.executors]


@cache
def _cases(files: str) -> tuple[GoldenCase, ...]:
    found: dict[str, GoldenCase] = {}
    for path in sorted(GOLDEN.glob(files)):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            case = _case(entry)
            assert case.name not in found, f"two cases are called {case.name}"
            found[case.name] = case
    assert found, f"no golden case in {files}"
    return tuple(found.values())


def row_texts(rows: Iterable[ResultRow]) -> list[str]:
    """Rows as JSON texts that compare strictly: 1 is not 1.0."""
    return sorted(_text(json.loads(encode_row(row))) for row in rows)


def stream_schema(types: dict[str, dict[str, Any]], time: str = "integer") -> StreamSchema:
    """A schema from types with attributes, each a type name (nullable) or a mapping."""
    return StreamSchema(
        "golden",
        "time",
        TimeUnit(time),
        "type",
        None,
        tuple(
            EventType(name, tuple(Attribute(a, AttributeType(k), True) for a, k in fields.items()))
            for name, fields in types.items()
        ),
    )


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
        assert match.start() == end, f"no event: {text[end:]!r}"
        end = match.end()
        kind, first, last, minutes, attributes = match.groups()
        for time in range(int(first), int(last or first) + 1):
            ticks = time * MINUTE if minutes else time
            events.append((names[kind.lower()], ticks, _attributes(attributes or "")))
    assert not text[end:].strip(), f"no event: {text[end:]!r}"
    return events


def _from_file(text: str, schema: StreamSchema, out_of_range: int) -> EventTable:
    """The events as a file of JSON lines gives them."""
    lines = [json.dumps({"type": k, "time": t} | v) for k, t, v in _events(text, schema)]
    numbers = range(1, len(lines) + 1)
    table = pa.table({"file": ["f"] * len(lines), "position": numbers, "line": lines})
    decoded = decode_lines(table, schema)
    reasons = decoded.rejected["reason_code"].to_pylist()
    assert reasons == ["time_out_of_range"] * out_of_range, reasons
    return EventTable(schema, decoded.events.select(arrow_schema(schema).names))


def _attributes(text: str) -> dict[str, Any]:
    pairs = [pair.split("=") for pair in text.split(",") if pair.strip()]
    return {name.strip(): yaml.safe_load(value) for name, value in pairs}


def _case(entry: dict[str, Any]) -> GoldenCase:
    known = {"name", "source", "why", "schema", "time", "query", "events", "rows", "executors"}
    assert set(entry) <= known | {"out_of_range"}, f"{entry.get('name')}: {set(entry) - known}"
    schema = stream_schema(entry["schema"], entry.get("time", "integer"))
    executors, aside = entry.get("executors"), entry.get("out_of_range")
    text = entry["events"]
    return GoldenCase(
        entry["name"],
        bound_query(entry["query"], schema),
        event_table(text, schema) if aside is None else _from_file(text, schema, aside),
        sorted(_text(_row(*row)) for row in entry["rows"]),
        None if executors is None else tuple(executors),
    )


def _row(start: Any, end: Any, *rest: dict[str, Any]) -> dict[str, Any]:
    group, values = rest if len(rest) == 2 else ({}, rest[0])
    return {
        "query": "q",
        "group": group,
        "window_start": start,
        "window_end": end,
        "values": values,
    }


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, allow_nan=False)
