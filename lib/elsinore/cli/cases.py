"""`elsinore test`: cases of a workload, small streams with the rows that they must return, as YAML.

A file is a list of cases, or a mapping with `cases` and the settings that they have in common:

    - name: Figure 4 (a)
      source: GRETA Figure 4         # where the numbers come from; optional
      why: ...                       # how they were computed; optional
      schema: {A: {v: long}, B: {}}  # types with their attributes, or the path of a schema file
      time: integer                  # or iso, of such types; optional
      workload: shop.sase            # optional: then the query is the name of one in this file
      query: RETURN COUNT(*) PATTERN A+ WITHIN 20
      events: a1(v=3) b2 a-3         # type (in any case), time, attributes; nullable ones
                                     # that are left out are NULL;
                                     # a1..9 is one at each time from 1 to 9, a5min one at 5 minutes
                                     # (also s and h), in a stream with a calendar; values may
                                     # be in quotes; null is NULL, .nan is NaN
      rows:                          # start and end of the window, step and group if any, values
        - [0, 20, {COUNT(*): 3}]
        - [0, 20, {k: 1}, {COUNT(*): 3}]
        - [0, 20, 1, {trends: 3}]    # of step 1
      executors: [twostep]           # optional: executors that can run it; others skip it
      out_of_range: 1                # optional: number of events rejected for their times

Paths start from the file. Events may also be a list of raw events, as lines of a file have them.
Values are as in JSON output: integers in full, timestamps as text, "NaN", "Infinity".
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pydantic
import typer
import yaml

from elsinore.catalog.load_schema import load_schema, read_schema
from elsinore.catalog.stream import ORDER, Attribute, AttributeType, EventType, StreamSchema
from elsinore.catalog.yaml_text import Strict, read_yaml
from elsinore.choices import Executor
from elsinore.errors import ElsinoreError, ParameterError
from elsinore.events import EventTable, arrow_schema
from elsinore.files.read_events import remove_duplicates
from elsinore.files.typed import spelled
from elsinore.files.versions import decode_versioned
from elsinore.integers import from_json, text_of, to_json
from elsinore.library.results import answer
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.given_values import Given, given_in_mapping, given_in_options
from elsinore.query.load_workload import load_workload, read_workload
from elsinore.query.print_query import count_of
from elsinore.results.row import ResultRow, encode_row, nearest_double, plain_value
from elsinore.timeline import (
    HOUR,
    MINUTE,
    SECOND,
    Instant,
    TimeUnit,
    format_instant,
    parse_instant,
)
from elsinore.wording import in_plain_words, some_of, suggest

#: Nothing here backtracks.
_PAIR = r"""\s*+(\w++)\s*+=\s*+("[^"]*+"|'[^']*+'|(?:[^,)"'][^,)]*+)?+)\s*+,?"""
#: A name that ends in digits ends in an @.
_EVENT = re.compile(
    r"\s*+([A-Za-z_]\w*+(?=@)|[A-Za-z_]++)@?(-?\d{1,30})(?:\.\.(-?\d{1,30}))?(s|min|h)?"
    rf"(?:\(((?:{_PAIR})*+)\s*+\))?"
)
_UNITS = {None: 1, "s": SECOND, "min": MINUTE, "h": HOUR}
_NULLS = ("", "null", "~")
_NUMBERS = {".nan": "NaN", ".inf": "Infinity", "-.inf": "-Infinity"}
#: Maximum number of events in the cases of a file.
MOST_EVENTS = 1_000_000
#: Maximum number of characters of these events as JSON: a short case can repeat a long value.
MOST_EVENT_TEXT = 100_000_000
#: Maximum number of characters of all cases, with the settings that they share and with the files
#: that they name. They are read once per case.
MOST_CASE_TEXT = 5_000_000
#: Differing rows of a case that are printed by default.
_SHOWN = 20
_TOO_MANY = f"there are more than {MOST_EVENTS:,} events"
_TOO_LONG = f"the events have more than {MOST_EVENT_TEXT:,} characters"
_EXAMPLE = "`elsinore init DIRECTORY` writes a valid case"


class _Invalid(ValueError):
    """A case is invalid; the hint shows how to correct it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class _Entry(Strict):
    """The settings of a case, with the settings that all cases of its file share."""

    name: str
    given: Annotated[str | dict[str, dict[str, Any] | None], pydantic.Field(alias="schema")]
    query: str
    events: str | list[dict[str, Any]]
    rows: list[list[Any]]
    source: str | None = None
    why: str | None = None
    time: str = "integer"
    workload: str | None = None
    params: dict[str, Any] = pydantic.Field(default_factory=dict)
    executors: list[Annotated[Executor, pydantic.Field(strict=False)]] | None = None
    out_of_range: Annotated[int, pydantic.Field(ge=0)] = 0


@dataclass(frozen=True)
class Case:
    """One case; `rows` are as the JSON lines of `elsinore run` have them, in any order."""

    name: str
    query: BoundQuery
    events: EventTable
    rows: list[dict[str, Any]]
    executors: tuple[Executor, ...] | None

    def __str__(self) -> str:
        return self.name


def run_cases(
    cases: Sequence[Path], executor: Executor, params: Sequence[str] = (), *, verbose: bool = False
) -> int:
    """Run the cases of some files and print a line per case; return 1 if one failed, else 0.

    A failed case also prints its differing rows: all if `verbose`, else the first ones. `params`
    are options `--set`, which replace the parameters of all cases.
    """
    told, given = Counter[str](), given_in_options(params)
    found = [case for path in cases for case in cases_in(read_yaml(path), path, given)]
    for case in found:
        skipped = case.executors and executor not in (Executor.AUTO, *case.executors)
        wrong = [] if skipped else _run(case, executor, None if verbose else _SHOWN)
        said = "skipped" if skipped else "FAILED" if wrong else "ok"
        told[said] += 1
        typer.echo("\n".join([f"{said:8}{case.name}", *wrong]))
    skips = f", {told['skipped']} skipped" if told["skipped"] else ""
    failed = told["FAILED"]
    typer.echo(f"{count_of(len(found), 'case')}: {told['ok']} ok, {failed} failed{skips}")
    return int(failed > 0)


def _run(case: Case, executor: Executor, most: int | None) -> list[str]:
    """Return a line per missing row and per extra row of a case, at most `most` of them."""
    try:
        rows = answer(Workload(case.events.schema, (case.query,)), case.events, executor)
    except ElsinoreError as error:
        return [f"  {error}"]
    kinds = _kinds(rows)
    expected = Counter(row_text(row, kinds) for row in case.rows)
    given = Counter(row_text(from_json(encode_row(row)), kinds) for row in rows)
    lacking, more = expected - given, given - expected
    told = [
        f"  expected {text}" if text in lacking else f"     found {text}"
        for text in sorted((lacking + more).elements())
    ]
    left = 0 if most is None else len(told) - most
    if left > 0:
        told[most:] = [f"  and {count_of(left, 'more row')}: add --verbose to print all"]
    labels = case.query.value_names
    for name in dict.fromkeys(name for row in case.rows for name in row["values"]):
        if name not in labels:
            hint = suggest(name, labels) or f"it returns {some_of(labels)}"
            told.append(f"  the query returns no {name} ({hint})")
    return told


# ---- what a case says


def cases_in(document: Any, path: Path, given: tuple[Given, ...] = ()) -> list[Case]:
    """Return the cases of a YAML document.

    Args:
        document: the cases.
        path: their file.
        given: values of parameters; they replace the values in the cases.

    Raises:
        SchemaError: a schema that it names is missing or invalid.
        QueryError: a query is invalid.
        ParameterError: a case is invalid.
    """
    common = document if isinstance(document, dict) else {"cases": document}
    entries = common.get("cases")
    is_list = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    if not is_list or not entries:
        raise ParameterError(f"{path} has no list of cases", hint=_EXAMPLE)
    shared = {name: value for name, value in common.items() if name != "cases"}
    found, events, size, length = list[Case](), 0, 0, 0
    for number, entry in enumerate(entries, 1):
        case = {"name": f"case {number}"} | shared | entry
        try:
            valid = _Entry.model_validate(case)
            length += _length(valid, path)
            if length > MOST_CASE_TEXT:
                message = f"the cases have more than {MOST_CASE_TEXT:,} characters with the"
                raise _Invalid(f"{message} settings and files that they share", "split the file")
            found.append(_case(valid, path, given))
            events += len(found[-1].events.table)
            size += found[-1].events.table.nbytes
            if events > MOST_EVENTS or size > MOST_EVENT_TEXT:
                raise _Invalid(_TOO_MANY if events > MOST_EVENTS else _TOO_LONG, "split the file")
        except pydantic.ValidationError as error:
            message, hint = _setting_error(error)
            raise ParameterError(f"{path}: {case['name']}: {message}", hint=hint) from error
        except (ValueError, OverflowError) as error:
            hint = error.hint if isinstance(error, _Invalid) else _EXAMPLE
            raise ParameterError(f"{path}: {case['name']}: {error}", hint=hint) from error
    return found


def _length(entry: _Entry, path: Path) -> int:
    """Return the number of characters of a case and of the files that it names."""
    length = len(entry.query) + len(str(entry.given)) + len(str(entry.events))
    named = [entry.workload, entry.given if isinstance(entry.given, str) else None]
    for file in filter(None, named):
        with suppress(OSError, ValueError):  # the reader reports it
            length += (path.parent / file).stat().st_size
    return length


def _setting_error(error: pydantic.ValidationError) -> tuple[str, str]:
    """Return the message of an invalid setting, and a hint."""
    names = sorted(field.alias or name for name, field in _Entry.model_fields.items())
    fault = error.errors()[-1]  # if two forms are valid, a mapping or list is the last
    message, hint = in_plain_words(fault, names)
    return f"{fault['loc'][0]}: {message}", hint or _EXAMPLE


def _case(entry: _Entry, path: Path, given: tuple[Given, ...]) -> Case:
    own = given_in_mapping(entry.params, lambda name: f"{path}: {entry.name}: params: {name}")
    given = tuple(({one.name: one for one in own} | {one.name: one for one in given}).values())
    at, text, events = f"{path}: {entry.name}", entry.query, entry.events
    schema = (
        load_schema(path.parent / _ending(entry.given, ".yaml", ".yml"))
        if isinstance(entry.given, str)
        else stream_schema(entry.given, entry.time, f"{at}: schema")
    )
    if entry.workload is None:
        query = bound_query(text, schema, at, given)
    else:
        known = load_workload(path.parent / _ending(entry.workload, ".sase"), schema, given).by_name
        if text not in known:
            hint = suggest(text, known) or f"there are {', '.join(known)}"
            raise _Invalid(f"the workload has no query {text}", hint)
        query = known[text]
    if isinstance(events, str):
        table = event_table(events, schema, entry.out_of_range)
    else:
        lines = [to_json(event, default=str) for event in events]
        table = _from_lines(lines, schema, entry.out_of_range)
    calendar = schema.time_unit.is_calendar
    rows = [_row(query.name, calendar, row) for row in entry.rows]
    executors = entry.executors and tuple(entry.executors)
    return Case(entry.name, query, table, rows, executors or None)


def _ending(name: str, *endings: str) -> str:
    """Return the name of a file that a case reads, whose errors show a line of it.

    Other files could contain secrets, and the author of a case may not be trusted to read them.
    """
    if not name.endswith(endings):
        raise _Invalid(f"not a file in {' or '.join(endings)}: {name!r}", "rename the file")
    return name


def stream_schema(
    types: Mapping[str, Mapping[str, Any] | None], time: str = "integer", file: str = "<schema>"
) -> StreamSchema:
    """A schema from types with attributes, each a type name or a mapping; NULL unless it says so.

    SchemaError, which names a file: it is none.
    """
    whole = {
        name: {
            attribute: {"nullable": True} | (of if isinstance(of, dict) else {"type": str(of)})
            for attribute, of in (attributes or {}).items()
        }
        for name, attributes in types.items()
    }
    own = {"time": {"field": "time", "unit": str(time)}, "type": {"field": "type"}, "types": whole}
    return read_schema(yaml.safe_dump({"stream": "golden", **own}, sort_keys=False), file)


def bound_query(
    text: str, schema: StreamSchema, file: str = "<text>", given: tuple[Given, ...] = ()
) -> BoundQuery:
    """Return the one query of a text; its name is q if it begins without its QUERY clause."""
    begins = re.match(r"(?:\s|--.*\n)*(QUERY|PARAM)\b", text, re.IGNORECASE)
    whole = text if begins else f"QUERY q {text}"
    queries = read_workload(f"{whole};", schema, file, given).queries
    if len(queries) != 1:
        raise ValueError(f"query: a case has one query, not {len(queries)}")
    return queries[0]


def event_table(text: str, schema: StreamSchema, out_of_range: int = 0) -> EventTable:
    """Return events in the compact notation, in the order written.

    Raises:
        ValueError: an event does not fit the schema, or another number has times out of range.
    """
    unit = TimeUnit.ISO if schema.time_unit.is_calendar else TimeUnit.INTEGER
    kinds = tuple(map(_bare, schema.types))
    bare = StreamSchema(schema.name, "event_time", unit, "event_type", None, kinds)
    events = _from_lines(_lines(text, bare), bare, out_of_range)
    return EventTable(schema, events.table)


def _bare(kind: EventType) -> EventType:
    """Return a type whose attributes have the fields of compact events: their own names."""
    attributes = (replace(each, field="") for each in kind.attributes)
    return EventType(kind.name, tuple(attributes))


def _lines(text: str, schema: StreamSchema) -> list[str]:
    """Compact events as lines of JSON."""
    calendar, lines, end, size = schema.time_unit.is_calendar, list[str](), 0, 0
    names = {name.lower(): name for name in schema.by_name} | {n: n for n in schema.by_name}
    # From one event to the next, because a search would try every position of other text.
    while match := _EVENT.match(text, end):
        name, first, last, unit, pairs, *_ = match.groups()
        own = names.get(name) or names.get(name.lower())
        if own is None:
            break
        end = match.end()
        if unit and not calendar:
            message = f"{match[0].strip()}: integer times have no unit {unit}"
            raise _Invalid(message, f"remove {unit}, or add `time: iso` to the case")
        times = range(int(first), int(last or first) + 1)
        if not times:
            message = f"{match[0].strip()}: {last} is before {first}"
            raise _Invalid(message, f"write {name}{last}..{first}")
        if times.stop - times.start > MOST_EVENTS - len(lines):
            raise _Invalid(_TOO_MANY, "write a shorter range")
        kind = schema.by_name[own]
        values = {key: _value(kind, key, cell) for key, cell in re.findall(_PAIR, pairs or "")}
        size += len(times) * len(pairs or "")
        if size > MOST_EVENT_TEXT:
            raise _Invalid(_TOO_LONG, "write fewer events, or shorter values")
        for time in times:
            at = format_instant(time * _UNITS[unit]) if calendar else time
            event = {"event_type": kind.name, "event_time": at} | (
                {ORDER: len(lines)} if ORDER in kind.by_name else {}
            )
            lines.append(json.dumps(event | values))
    if text[end:].strip():
        example = f"as in {schema.types[0].name}@2{'min' if calendar else ''}"
        raise _Invalid(f"not an event: {text[end:][:40].strip()!r}", example)
    return lines


def _value(kind: EventType, name: str, cell: str) -> Any:
    """A value as JSON has it; what is none of the attribute's is left for the decoder to say."""
    if name not in kind.by_name:
        hint = suggest(name, kind.by_name) or f"its attributes: {', '.join(kind.by_name) or 'none'}"
        raise _Invalid(f"{kind.name} has no attribute {name}", hint)
    attribute: Attribute = kind.by_name[name]
    cell = cell.strip()
    if cell in _NULLS:
        return None
    if cell[0] in "\"'":
        return cell[1:-1]
    if attribute.type is AttributeType.STRING:
        return cell
    return spelled(_NUMBERS.get(cell, cell), attribute.type)


def _from_lines(lines: list[str], schema: StreamSchema, out_of_range: int = 0) -> EventTable:
    """Return events as a file of JSON Lines; `out_of_range` of them have times out of range."""
    numbers = range(1, len(lines) + 1)
    table = pa.table({"file": ["events"] * len(lines), "record_number": numbers, "record": lines})
    decoded = decode_versioned(table, schema)
    reasons = decoded.rejected["reason_code"].to_pylist()
    if reasons != ["time_out_of_range"] * out_of_range:
        rejected = decoded.rejected.select(["record_number", "reason"]).to_pylist()
        said = some_of((f"event {row['record_number']}: {row['reason']}" for row in rejected), 3)
        message = said if rejected else f"0 events have times out of range, expected {out_of_range}"
        raise _Invalid(message, "correct the case, and run it again: `elsinore test FILE`")
    events = remove_duplicates(decoded, schema).events
    return EventTable(schema, events.select(arrow_schema(schema).names))


def _row(query: str, calendar: bool, row: list[Any]) -> dict[str, Any]:
    step: dict[str, int] = {}
    match row:
        case [start, end, int(number), *rest] if not isinstance(number, bool):
            row, step = [start, end, *rest], {"step": number}
    match row:
        case [start, end, dict(values)]:
            group: dict[str, Any] = {}
        case [start, end, dict(group), dict(values)]:
            pass
        case _:
            message = "a row is [start, end, {values}] or [start, end, {group}, {values}]"
            message += f", not {to_json(row, default=str)[:80]}"
            raise _Invalid(message, "as in [0, 20, {COUNT(*): 3}]")
    if calendar:
        start, end = (format_instant(parse_instant(str(bound))) for bound in (start, end))
    elif not type(start) is type(end) is int:
        message = f"a window's bounds are integers, not {text_of(start)} and {text_of(end)}"
        raise _Invalid(message, "as in [0, 20, {COUNT(*): 3}]")
    named = {"window_start": start, "window_end": end}
    parts = ({name: _plain(v) for name, v in part.items()} for part in (group, values))
    return {"query": query, "group": next(parts), **step, **named, "values": next(parts)}


def _plain(value: Any) -> Any:
    """What YAML has read, as JSON output has it."""
    if isinstance(value, date):
        return format_instant(parse_instant(str(value)))
    return plain_value(value)


# ---- what a case lacks


def _kinds(rows: Sequence[ResultRow]) -> dict[str, type]:
    """By label, the type of its values."""
    cells = (cell for row in rows for cell in (*row.group, *row.values))
    return {label: type(value) for label, value in cells if value is not None}


def row_text(row: dict[str, Any], kinds: Mapping[str, type]) -> str:
    """A row on a line, sums and averages to ten digits, so that rounding makes no difference."""
    group, values = (
        {
            name: _short(value, kinds.get(name), 10 if name.startswith(rounded) else 17)
            for name, value in row[part].items()
        }
        for part, rounded in (("group", ()), ("values", ("SUM(", "AVG(")))
    )
    steps = [row["step"]] if "step" in row else []
    groups = [group] if group else []
    parts = [row["window_start"], row["window_end"], *steps, *groups, values]
    return to_json(parts, sort_keys=True, ensure_ascii=False)


def _short(value: Any, kind: type | None, digits: int) -> Any:
    """Return a value in the spelling in which values of its kind are compared."""
    if kind is Instant and isinstance(value, str):
        with suppress(ValueError):
            return format_instant(parse_instant(value))
    if kind is float and type(value) in (int, float):
        value = float(f"{nearest_double(value):.{digits}g}")
    return int(value) if isinstance(value, float) and value.is_integer() else value
