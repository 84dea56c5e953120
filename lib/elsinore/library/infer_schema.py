"""A first schema for events that have none, guessed from their columns and values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pyarrow import csv, types
from pyarrow import json as arrow_json
from pyarrow.parquet import ParquetFile

from elsinore.catalog.load_schema import NAME, RESERVED_NAMES
from elsinore.catalog.source_rule import InputFormat, format_of
from elsinore.catalog.stream import AttributeType
from elsinore.catalog.yaml_text import plain
from elsinore.errors import DataError
from elsinore.files.decode import ARRAY
from elsinore.files.read_events import Source, files_of
from elsinore.files.read_parquet import Frame
from elsinore.files.records import ArrowRecords
from elsinore.files.rejection import Reason, shown
from elsinore.files.typed import iso_instants, one_chunk, plausible_times
from elsinore.library.workload import Events, sources_of
from elsinore.timeline import NUMBER_LENGTHS, TimeUnit

#: Rows that are looked at.
_ROWS = 100_000
#: A column with more values holds no names of event types.
_MOST_TYPES = 100
#: The type of all events that have no column for it.
_ONE_TYPE = "Event"
#: Bytes of a file of text that are looked at.
_BYTES = 16 << 20
_AS_READ = csv.ConvertOptions(
    null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True,
    true_values=["true", "True", "TRUE"], false_values=["false", "False", "FALSE"],
)  # fmt: skip
_KINDS_OF = {
    AttributeType.STRING: (types.is_string,),
    AttributeType.LONG: (types.is_integer,),
    AttributeType.DOUBLE: (types.is_floating, types.is_decimal),
    AttributeType.BOOLEAN: (types.is_boolean,),
    AttributeType.TIMESTAMP: (types.is_timestamp, types.is_date),
}
#: How fields are called, likely names first.
_TIMES = ("time", "timestamp", "ts", "event_time", "occurred_at", "created_at", "datetime", "date")
_KINDS = ("type", "event", "event_type", "kind", "event_name", "action")
_IDS = ("id", "event_id", "uuid", "eventid")


def infer_schema(events: Events, *, stream: str = "events") -> str:
    """YAML of a schema that fits the first events, at most 100,000, for a person to correct.

    Guessed are the fields of time, type and id by their names and values, the unit of time by its
    size, and for each type which attributes it has, their types, and whether they may be NULL. All
    events are of one type where no column looks like names of types. What lies inside of other
    fields, or has a name that no attribute can have, is given one. What is a guess ends in `# ?`;
    what cannot be an attribute is a comment.

    Args:
        events: as in `Workload`; of several files or frames the first is looked at.
        stream: what to call the stream.

    Raises:
        DataError: no column looks like times, or a file cannot be read.
    """
    table = _head(files_of(sources_of(events))[0][0])
    time, unit = _time_of(table)
    kind = _type_of(table)
    ids = [name for name in _named(table, _IDS) if _is_id(table[name])][:1]
    fields = [name for name in table.column_names if name not in (time, kind, *ids)]
    columns = _names({field: field.rpartition(".")[2] for field in fields}, RESERVED_NAMES)
    rows_of = {_ONE_TYPE: table} if kind is None else _by_type(table, kind)
    names = _names({value: value for value in rows_of})
    lines = [
        "# Guessed from events: look at what ends in a question mark.",
        f"stream: {_quoted(stream)}",
        f"time: {{field: {_quoted(time)}, unit: {unit}}}  # ?",
        _type_line(kind, names),
        *(f"id: {{field: {_quoted(name)}}}  # ?" for name in ids),
        "types:",
    ]
    for value, rows in rows_of.items():
        lines.append(f"  {_quoted(names[value])}:")
        lines += [f"    {_attribute(name, field, rows[field])}" for field, name in columns.items()
                  if rows[field].null_count < rows.num_rows]  # fmt: skip
    return "\n".join(lines) + "\n"


def _head(source: Source) -> pa.Table:
    """The first rows, with columns in their plainest form."""
    try:
        if isinstance(source, Frame):
            table = pa.table(source.data)[:_ROWS]
        elif format_of(source.name) is InputFormat.PARQUET:
            table = pa.table(next(ParquetFile(source).iter_batches(_ROWS)))
        else:
            with pa.input_stream(source, compression="detect") as file:
                if format_of(source.name) is InputFormat.CSV:
                    many = csv.ReadOptions(block_size=_BYTES)
                    reader = csv.open_csv(file, many, convert_options=_AS_READ)
                else:
                    many = arrow_json.ReadOptions(block_size=_BYTES)
                    reader = arrow_json.open_json(file, many)
                table = pa.Table.from_batches([reader.read_next_batch()])[:_ROWS]
    except (pa.ArrowException, OSError, StopIteration) as error:
        name = source.name if isinstance(source, Frame) else source
        why = ARRAY if "from object to array" in str(error) else error or "it holds no events"
        raise DataError(f"cannot read {name}: {why}") from error
    records, flat = ArrowRecords(table), table
    while any(types.is_struct(field.type) for field in flat.schema):
        flat = flat.flatten()  # `a` that holds `b` becomes `a.b`
    columns = {name: records.column(name) for name in flat.column_names}
    for name, column in columns.items():
        if types.is_null(column.type) and flat[name].null_count < len(column):  # is not found
            columns[name] = pa.StructArray.from_arrays([one_chunk(flat[name])], [name])
    return pa.table(columns)


def _names(texts: Mapping[str, str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A name for each key, as like its text as can be; no two differ only by case."""
    names: dict[str, str] = {}
    used = set(taken)
    for key, text in texts.items():
        name = text if re.fullmatch(NAME, text) else _cleaned(text)
        while name.lower() in used:
            name += "_"
        used.add(name.lower())
        names[key] = name
    return names


def _cleaned(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return (name if name[:1].isalpha() else f"x_{name}")[:60]


def _named(table: pa.Table, likely: tuple[str, ...]) -> Iterator[str]:
    """Columns with likely names, in the order of these; those inside of others come last."""
    outer_first = sorted(table.column_names, key=lambda name: name.count("."))
    names = {name.lower().rpartition(".")[2]: name for name in reversed(outer_first)}
    yield from (names[name] for name in likely if name in names)


def _time_of(table: pa.Table) -> tuple[str, TimeUnit]:
    likely = [*_named(table, _TIMES)]
    kinds = {field.name: _kind_of(field.type) for field in table.schema}
    # Under other names what has a value in each event comes first, and numbers last.
    others = [
        name
        for has_null in (False, True)
        for kind in (AttributeType.TIMESTAMP, AttributeType.STRING, AttributeType.LONG)
        for name in table.column_names
        if kinds[name] is kind and (table[name].null_count > 0) is has_null
    ]
    for name in [*likely, *others]:
        unit = _unit_of(table[name].drop_null())
        if unit and (unit is not TimeUnit.INTEGER or name in likely):
            return name, unit
    for name in likely:
        if table[name].null_count < table.num_rows:
            value = shown(table[name].drop_null()[0].as_py())
            hint = "write times as 2025-03-03T10:00:00Z, or as numbers since 1970"
            raise DataError(f"{name} looks like the time, but {value} is none", hint=hint)
    hint = f"the columns are {', '.join(table.column_names)}; call one of them time"
    raise DataError("no column looks like times", hint=hint)


def _unit_of(column: pa.ChunkedArray) -> TimeUnit | None:
    """The unit in which all values are plausible; None if they are no times."""
    kind = _kind_of(column.type)
    if kind is AttributeType.TIMESTAMP:
        return TimeUnit.ISO
    if kind is AttributeType.STRING:
        read = iso_instants(one_chunk(column), Reason.BAD_TIME)
        return None if read.faults or not len(column) else TimeUnit.ISO
    if not len(column) or kind not in (AttributeType.LONG, AttributeType.DOUBLE):
        return None
    low, high = pc.min_max(column).as_py().values()
    for unit in (TimeUnit.SECONDS, TimeUnit.MILLISECONDS, TimeUnit.MICROSECONDS):
        length, real = NUMBER_LENGTHS[unit], plausible_times(unit)
        if real.contains(int(low * length)) and real.contains(int(high * length)):
            return unit
    return TimeUnit.INTEGER if kind is AttributeType.LONG else None


def _type_of(table: pa.Table) -> str | None:
    for name in _named(table, _KINDS):
        values = _distinct(table[name])
        if types.is_string(values.type) and 0 < len(values) <= _MOST_TYPES:
            return name
    return None


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """The values of texts or whole numbers; none of other types, nor where a text is empty."""
    if not (types.is_string(column.type) or types.is_integer(column.type)):
        return pa.nulls(0)
    values = pc.unique(column).drop_null()
    return values[:0] if "" in values.to_pylist() else values


def _by_type(table: pa.Table, kind: str) -> dict[str, pa.Table]:
    values = pc.unique(table[kind]).drop_null().to_pylist()
    return {value: table.filter(pc.equal(table[kind], value)) for value in values}


def _type_line(kind: str | None, names: Mapping[str, str]) -> str:
    if kind is None:
        return "# type: {field: ...}  # ? without it all events are of one type"
    other = ", ".join(f"{name}: {_text(v)}" for v, name in names.items() if v != name)
    return f"type: {{field: {_quoted(kind)}{f', names: {{{other}}}' if other else ''}}}  # ?"


def _is_id(column: pa.ChunkedArray) -> bool:
    return len(_distinct(column)) == len(column)


def _attribute(name: str, field: str, column: pa.ChunkedArray) -> str:
    """A line of the schema; a comment where the column can be no attribute."""
    kind = _kind_of(column.type)
    if kind is None:
        dotted = types.is_struct(column.type)  # such as `_head` has left
        why = "what a field of a longer name hides" if dotted else str(column.type)
        return f"# {plain(field)}: {plain(why)} is not read"
    elsewhere = f", field: {_quoted(field)}" if field != name else ""
    if column.null_count:
        return f"{_quoted(name)}: {{type: {kind}{elsewhere}, nullable: true}}  # ?"
    return f"{_quoted(name)}: " + (f"{{type: {kind}{elsewhere}}}" if elsewhere else str(kind))


def _kind_of(of: pa.DataType) -> AttributeType | None:
    """The type of an attribute whose values have an Arrow type."""
    for kind, tests in _KINDS_OF.items():
        if any(test(of) for test in tests):
            return kind
    return None


def _quoted(name: str) -> str:
    """A name as YAML reads it back: `on` and `no` would be read as booleans."""
    with suppress(yaml.YAMLError):
        if re.fullmatch(NAME, name) and yaml.safe_load(name) == name:
            return name
    return _text(name)


def _text(value: str) -> str:
    """A text in quotes; as JSON, a sign beyond 65,535 would be two, which YAML does not join."""
    return yaml.safe_dump(value, default_style='"', width=math.inf).rstrip()
