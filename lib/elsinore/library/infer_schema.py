"""A first schema for events that have none, guessed from their columns and values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pyarrow import types

from elsinore.catalog.load_schema import NAME, RESERVED_NAMES
from elsinore.catalog.stream import RECORD_NUMBER, Attribute, AttributeType
from elsinore.catalog.yaml_text import plain
from elsinore.choices import InputFormat
from elsinore.errors import DataError, ParameterError
from elsinore.files.directory_columns import columns_below
from elsinore.files.first_rows import (
    MOST_ROWS,
    OF_KNOWN_FORMAT,
    Head,
    first_of,
    names_problem,
)
from elsinore.files.formats import FORMATS, file_format
from elsinore.files.lake_tables import LakeTable
from elsinore.files.read_delta import delta_rows
from elsinore.files.read_events import Source, files_of
from elsinore.files.read_parquet import (
    UNREADABLE,
    Frame,
    frame_problem,
    frame_table,
)
from elsinore.files.records import ArrowRecords
from elsinore.files.rejection import Fault, shown
from elsinore.files.type_records import check_limits, positions
from elsinore.files.typed import (
    EXACT_IN_DOUBLE,
    LIKELY,
    is_instant,
    one_chunk,
    type_times,
    type_values,
)
from elsinore.library.arguments import hints_in_python
from elsinore.library.infer_order import infer_order
from elsinore.library.workload import Events, sources_of
from elsinore.query.parse import parse_statements
from elsinore.timeline import CALENDAR, NUMBER_LENGTHS, TICKS, TimeUnit
from elsinore.wording import some_of, suggest

#: Maximum number of event types in a column.
_MOST_TYPES = 100
#: A field with more values is not a candidate for the event type; and how many are named.
_MOST_LIKELY_TYPES, _SHOWN_CANDIDATES = 20, 5
#: Share of events that may lack a type; equal to the default share of invalid records.
_MAY_LACK = 0.05
#: The type of all events that have no column for it.
_ONE_TYPE = "Event"
#: Maximum number of characters of a field's name in a schema.
_LONGEST = 200
#: Strings that are lost if read as numbers: 007, +1, and many digits as a double.
_NOT_GIVEN_BACK = {
    AttributeType.TIMESTAMP: r"^\s*[0-9]{8}\s*$",  # digits only are an id rather than a date
    AttributeType.LONG: r"^-?0.|[^0-9-]",
    AttributeType.DOUBLE: r"^\+|^-?0[0-9]|^-?[0-9]{17,}$",
}
#: Strings that end in an offset from UTC. A date also ends in a hyphen and two digits.
_WITH_OFFSET = (
    r"(?i)(z|utc|gmt)\s*$|[t ][0-9]{2}.*[+-][0-9]{2}(:?[0-9]{2}){0,2}\s*$|"
    r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*[+-][0-9]{2}:?[0-9]{2}\s*$"
)
#: Comment on the order of the file as the order of events with equal times.
_IN_FILE_ORDER = " equal times: in the order of the file"
#: Comment on times by how many have an offset; metadata of their column.
_OFFSETS = {
    b"all": [],
    b"none": [" no offset: read as UTC"],
    b"some": [" some values lack an offset: those are read as UTC"],
}
#: Strings that may be times as numbers.
_QUOTED_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?$"
#: Number of strings of a column that are tried before all others.
_PROBE = 256
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
#: Names of fields that often hold event types, but also other things.
_KIND_LIKE = ("status", "state", "code", "operation", "method", "category", "level", "outcome")
_IDS = ("id", "event_id", "uuid", "eventid")
#: Names of other fields that may be event ids, and the number of different values to assume it.
_ID_LIKE, _SURE_IDS = re.compile(r"(?:^|[^A-Za-z])(?:[uU]|[gG][uU])?[iI][dD]$|[a-z]I[dD]$"), 20
#: Share of different values from which a field may be an id whose duplicates are to be removed.
_NEARLY_UNIQUE = 0.9
_ID_USE = "if it identifies an event, so that duplicates are removed"
#: Units of numbers since 1970.
_CALENDAR_NUMBERS = [unit for unit in NUMBER_LENGTHS if unit.is_calendar]
_OTHER_FILE = "pass a file with events"
#: Queries that do not parse if a name is a keyword, which only the grammar defines.
_OF_TYPE = "QUERY q RETURN COUNT(*) PATTERN ? WHERE ?.x = 1"
_OF_ATTRIBUTE = "QUERY q RETURN COUNT(*) PATTERN A WHERE ?.x = 1"


@dataclass(frozen=True)
class Inferred:
    """A schema that fits some events.

    Attributes:
        text: the schema, as YAML.
        type_candidates: fields that may contain the event type, likely ones first; empty if the
            schema has one.
        skipped: which records were skipped as invalid, and why; empty if none was.
        events: the events that were read, by the names of their fields.
    """

    text: str
    type_candidates: tuple[str, ...]
    skipped: str
    events: pa.Table


@hints_in_python()
def infer_schema(events: Events, *, stream: str = "events", type_field: str | None = None) -> str:
    """Infer a schema from the first 100,000 events, as YAML to review.

    It infers the fields of time, type and id from their names and values, and the unit of time
    from the size of the values. For each event type, it infers the attributes, their types, and
    whether they can be NULL. If no column looks like event types, all events have the same type. A
    nested field, or a field whose name is not valid in a query, gets a new name.

    A line to review ends in `# ?`. A field that cannot be an attribute is a comment. Invalid JSON
    records, if they are fewer than half, are skipped, and a comment counts them.

    Args:
        events: as in `Workload`; of several files or tables, the first one is used.
        stream: name of the stream.
        type_field: field that contains the event type; None to infer it.

    Returns:
        The schema as YAML, for `elsinore.workload(..., schema=...)`.

    Raises:
        DataError: no column looks like times, no events were passed, or a file cannot be read.
        ParameterError: no field has this name, or its values cannot be event types.
    """
    return infer(events, stream=stream, type_field=type_field).text


def infer(events: Events, *, stream: str, type_field: str | None) -> Inferred:
    """Return a schema and what it leaves open; see `infer_schema`."""
    sources = sources_of(events)
    files, _ = files_of(sources)
    if not files:
        raise DataError("no events were passed", hint="pass a file or a table")
    table, mixed, skipped = _head(files[0])
    table = _with_directories(table, files, sources)
    named = table.select([name for name in table.column_names if 0 < len(name) <= _LONGEST])
    time, unit = _time_of(named)
    kinds = _types_of(named) if type_field is None else [_type_field(named, type_field)]
    most = _MAY_LACK * table.num_rows
    is_given = type_field is not None
    kind = next((name for name in kinds if is_given or table[name].null_count <= most), None)
    if kind is not None:  # numbers are types by their digits
        table = table.set_column(
            table.column_names.index(kind), kind, table[kind].cast(pa.string())
        )
    ids, maybe_id = _ids_of(named)
    fields = [name for name in table.column_names if name not in (time, kind, *ids)]
    candidates = () if kind is not None else _type_candidates(named, fields)
    inner = {field: field.rpartition(".")[2] for field in fields}
    columns = _names(inner, _OF_ATTRIBUTE, RESERVED_NAMES)
    rows_of = {_ONE_TYPE: table} if kind is None else _by_type(table, kind)
    names = _names({value: value for value in rows_of}, _OF_TYPE)
    doubts = [" records without it are rejected"] * bool(table[time].null_count)
    doubts += _OFFSETS[_offsets(table, time)] if unit is TimeUnit.ISO else []
    is_quoted = unit is not TimeUnit.ISO and types.is_string(table[time].type)
    times = type_times(one_chunk(table[time]), unit, quoted=True).array
    then = infer_order(times, named, [n for n in named.column_names if n not in (time, kind)])
    doubts += [_IN_FILE_ORDER] * (then == RECORD_NUMBER)
    order = "" if then is None else f", then: {_quoted(then)}"
    lines = [
        "# Inferred from events: check the lines that end in a question mark.",
        *[f"# {skipped}"] * bool(skipped),
        f"stream: {_quoted(stream)}",
        f"time: {{field: {_quoted(time)}, unit: {unit}{order}}}  # ?{','.join(doubts)}",
        _no_type_line(kinds, candidates) if kind is None else _type_line(kind, names, table),
        *(f"id: {{field: {_quoted(name)}}}  # ?" for name in ids),
        *(f"# id: {{field: {_quoted(name)}}}  # ? {_ID_USE}" for name in maybe_id),
        *["quoted_numbers: true  # ? times are numbers in quotes"] * is_quoted,
        *(f"# {plain(field)}: {why}; ignored" for field, why in mixed.items()),
        "types:",
    ]
    for value, rows in rows_of.items():
        lines.append(f"  {_quoted(names[value])}:")
        lines += [f"    {_attribute(name, field, rows[field])}" for field, name in columns.items()
                  if rows[field].null_count < rows.num_rows]  # fmt: skip
    return Inferred("\n".join(lines) + "\n", candidates, skipped, table)


def _with_directories(
    table: pa.Table, files: Sequence[Source], sources: Sequence[Source]
) -> pa.Table:
    """Append the columns of directories, with the values of all files in turn.

    The rows are from the first file, and one value does not show the kind of a column.
    """
    roots = [path for path in sources if isinstance(path, Path) and path.is_dir()]
    found = [columns_below(file, roots) for file in files if isinstance(file, Path)]
    for name in dict.fromkeys(chain.from_iterable(found)):
        if name not in table.column_names:
            distinct = dict.fromkeys(columns.get(name) for columns in found)
            texts: list[str | None] = [text for text in distinct if text is not None]
            texts[1:1] = [None] * (None in distinct)  # the second, as rows may be few
            typed = _as_spelt(pa.array(texts, pa.string()), FORMATS[InputFormat.CSV].spelt)
            rows = pa.array([row % len(texts) for row in range(table.num_rows)])
            table = table.append_column(name, typed.take(rows))
    return table


def _head(source: Source) -> Head:
    """Return the first rows, with columns in their plainest form."""
    name = source.name if isinstance(source, Frame) else str(source)
    try:
        head = _first_rows(source)
        table, names = head.rows, head.rows.column_names
    except UnicodeDecodeError as error:
        hint = "convert the file: iconv -f latin1 -t utf-8"
        raise DataError(f"{name}: a column name is not UTF-8", hint=hint) from error
    except (*UNREADABLE, OSError) as error:
        if isinstance(source, Frame) or isinstance(error, MemoryError):
            raise frame_problem(name, error) from error
        if isinstance(source, Path):
            file_format(source).require(source)
        if "Empty CSV" in (why := plain(str(error))):
            raise DataError(f"{name} is empty", hint=_OTHER_FILE) from error
        raise DataError(f"cannot read {name}: {why}", hint=OF_KNOWN_FORMAT) from error
    if not names or not table.num_rows:
        raise DataError(f"{name} has no events", hint=_OTHER_FILE)
    if problem := names_problem(names):
        raise DataError(f"{name}: {problem[0]}", hint=problem[1])
    spelt = file_format(source).spelt if isinstance(source, Path) else ()
    records, flat = ArrowRecords(table), table
    while any(types.is_struct(field.type) for field in flat.schema):
        flat = flat.flatten()  # `a` that holds `b` becomes `a.b`
    columns, fields, seen = [], [], set[str]()
    for name, there in zip(flat.column_names, flat.columns, strict=True):
        if name in seen:  # a field `a.b` next to an `a` that holds `b`; runs read only one
            continue
        seen.add(name)
        column = records.column(name)
        if types.is_null(column.type) and there.null_count < len(column):  # is not found
            column = pa.StructArray.from_arrays([one_chunk(there)], [name])
        columns.append(_as_spelt(column, spelt))
        is_time = types.is_timestamp(columns[-1].type) and not types.is_timestamp(column.type)
        offsets = {"offsets": _offsets_in(column)} if is_time else None
        fields.append(pa.field(name, columns[-1].type, metadata=offsets))
    return head._replace(rows=pa.Table.from_arrays(columns, schema=pa.schema(fields)))


def _first_rows(source: Source) -> Head:
    """Return the first rows as they are stored."""
    if isinstance(source, Frame):
        return Head(frame_table(source.data)[:MOST_ROWS])
    if isinstance(source, LakeTable):
        return Head(first_of(delta_rows(source, None)))
    return file_format(source).head(source)


def _as_spelt(column: pa.Array, kinds: tuple[AttributeType, ...]) -> pa.Array:
    """Return strings as values of the first type that fits all; as bytes if they are not UTF-8."""
    if not (types.is_string(column.type) or (kinds and types.is_binary(column.type))):
        return column
    column = column.cast(pa.binary())
    try:
        texts = column.cast(pa.string())
    except pa.ArrowInvalid:
        return column
    for kind in kinds if texts.null_count < len(texts) else ():
        if _spell(texts[:_PROBE], kind) and _spell(texts, kind):
            values = type_values(texts, kind, quoted=True).array
            return values.cast(pa.timestamp("us")) if kind is AttributeType.TIMESTAMP else values
    return texts


def _spell(texts: pa.Array, kind: AttributeType) -> bool:
    odd = _NOT_GIVEN_BACK.get(kind)
    if odd and pc.any(pc.match_substring_regex(texts, odd)).as_py():
        return False
    return _first_fault(texts, kind) is None


def _first_fault(column: pa.Array, kind: AttributeType) -> Fault | None:
    """Why a nullable attribute cannot have one of the values, texts as in CSV."""
    read = type_values(column, kind, quoted=True)
    limits = check_limits(read.array, Attribute("value", kind, nullable=True))
    return next((fault for _, fault in chain(read.faults, limits)), None)


def _names(texts: Mapping[str, str], query: str, taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a valid name of the query language for each key, as close to its text as possible.

    No two names differ only by case.
    """
    names: dict[str, str] = {}
    used = set(taken)
    for key, text in texts.items():
        spellings = _spellings(text if re.fullmatch(NAME, text) else _cleaned(text))
        free = (name for name in spellings if name.lower() not in used)
        names[key] = next(
            name for name in free if not parse_statements(query.replace("?", name))[1]
        )
        used.add(names[key].lower())
    return names


def _spellings(name: str) -> Iterator[str]:
    """A name and others like it, none too long."""
    yield name
    yield f"{name[:58]}_"
    yield from (f"{name[:58]}_{number}" for number in count(2))


def _cleaned(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return (name if name[:1].isalpha() else f"x_{name}")[:60]


def _named(table: pa.Table, likely: tuple[str, ...]) -> Iterator[str]:
    """Columns with likely names, in the order of these; those inside of others come last."""
    outer_first = sorted(table.column_names, key=lambda name: name.count("."))
    names = {name.lower().rpartition(".")[2]: name for name in reversed(outer_first)}
    yield from (names[name] for name in likely if name in names)


def _time_of(table: pa.Table) -> tuple[str, TimeUnit]:
    # Fields with a value in each event come first.
    likely = sorted(_named(table, _TIMES), key=lambda name: table[name].null_count > 0)
    for name in likely:
        if unit := _unit_of(_telling(table[name])):
            return name, unit
    # Under other names, numbers rank last, and numbers in quotes after them.
    order = (
        (AttributeType.TIMESTAMP, [TimeUnit.ISO]), (AttributeType.STRING, [TimeUnit.ISO]),
        (AttributeType.LONG, _CALENDAR_NUMBERS), (AttributeType.STRING, _CALENDAR_NUMBERS),
    )  # fmt: skip
    others = [(f.name, u) for kind, u in order for f in table.schema if _kind_of(f.type) is kind]
    others.sort(key=lambda other: table[other[0]].null_count > 0)
    for name, units in others:
        if unit := _unit_of(_telling(table[name]), units):
            return name, unit
    for name in likely:
        if len(values := _telling(table[name])):
            at = max((_no_times(values, unit)[0] for unit in _units_of(values)), default=0)
            if is_instant(values.type):  # of which Python has not all
                values = values.cast(pa.string())
            odd = shown(values[at].as_py())
            hint = "write times as 2025-03-03T10:00:00Z or as numbers since 1970"
            raise DataError(f"{name} looks like the time, but {odd} is not a timestamp", hint=hint)
    if likely:
        problem = f"{likely[0]} looks like the time, but no event has a value in it"
        raise DataError(problem, hint=f"fill {likely[0]}, or rename it")
    hint = f"rename one of {some_of(map(plain, table.column_names))} to time"
    hint += ", and write times as 2025-03-03T10:00:00Z or as numbers since 1970"
    raise DataError("no column looks like times", hint=hint)


def _offsets(table: pa.Table, time: str) -> bytes:
    """Return how many times of a column have an offset from UTC: a key of `_OFFSETS`."""
    field = table.schema.field(time)
    if field.metadata:
        return bytes(field.metadata[b"offsets"])
    if types.is_temporal(field.type):
        return b"none" if getattr(field.type, "tz", None) is None else b"all"
    return _offsets_in(table[time])


def _offsets_in(texts: pa.Array | pa.ChunkedArray) -> bytes:
    aware = pc.match_substring_regex(texts.cast(pa.string()), _WITH_OFFSET)
    if pc.all(aware).as_py():
        return b"all"
    return b"some" if pc.any(aware).as_py() else b"none"


def _telling(column: pa.ChunkedArray) -> pa.Array:
    """Return the values; for integers the minimum and the maximum, which suffice."""
    values = one_chunk(column.drop_null())
    if not len(values) or not types.is_integer(values.type):
        return values
    return pa.array([*pc.min_max(values).as_py().values()], values.type)


def _unit_of(values: pa.Array, among: Sequence[TimeUnit] = tuple(TimeUnit)) -> TimeUnit | None:
    """Return the unit in which all values are likely times; None if there is none."""
    units = _units_of(values) if len(values) else []
    return next((unit for unit in units if unit in among and not _no_times(values, unit)), None)


def _units_of(values: pa.Array) -> list[TimeUnit]:
    match _kind_of(values.type):
        case AttributeType.TIMESTAMP:
            return [TimeUnit.ISO]
        case AttributeType.STRING:
            numbers = pc.all(pc.match_substring_regex(values, _QUOTED_NUMBER)).as_py()
            return [TimeUnit.ISO, *NUMBER_LENGTHS] if numbers else [TimeUnit.ISO]
        case AttributeType.LONG:
            return [*NUMBER_LENGTHS]
        case AttributeType.DOUBLE:
            return [*_CALENDAR_NUMBERS]
    return []


def _no_times(values: pa.Array, unit: TimeUnit) -> list[int]:
    """Return which values are not times of a unit, or are unlikely times."""
    read = type_times(values, unit, quoted=True)
    real = CALENDAR if unit is TimeUnit.ISO else LIKELY if unit.is_calendar else TICKS
    outside = pc.or_(pc.less(read.array, real.start), pc.greater_equal(read.array, real.end))
    return sorted([*(at for at, _ in read.faults), *positions(outside)])


def _types_of(table: pa.Table) -> list[str]:
    """Columns whose values look like names of types."""
    found = []
    for name in _named(table, _KINDS):
        values = _distinct(table[name])
        if not 0 < len(values) <= _MOST_TYPES:
            continue
        if types.is_integer(values.type):  # names of types occur many times
            likely = len(values) < table.num_rows
        else:
            likely = pc.max(pc.utf8_length(values)).as_py() <= _LONGEST
        if likely:
            found.append(name)
    return found


def _ids_of(table: pa.Table) -> tuple[list[str], list[str]]:
    """Return the field of the event id, and one that may be it: each a list of at most one name.

    Few events, or events with duplicates, do not show whether a field such as `msg_id` identifies
    an event or, as `user_id` does, something else.
    """
    number = table.num_rows
    if sure := [name for name in _named(table, _IDS) if _different(table[name]) == number]:
        return sure[:1], []
    like = {
        name: _different(table[name])
        for name in table.column_names
        if _ID_LIKE.search(name.rpartition(".")[2])
    }
    if sure := [name for name, values in like.items() if values == number >= _SURE_IDS]:
        return sure[:1], []
    maybe = [name for name, values in like.items() if values >= max(2, _NEARLY_UNIQUE * number)]
    return [], maybe[:1]


def _different(column: pa.ChunkedArray) -> int:
    """Return the number of different values; 0 if they cannot be ids."""
    return len(_distinct(column))


def _type_field(table: pa.Table, name: str) -> str:
    """Return the field that a caller names; ParameterError: its values cannot be types."""
    if name not in table.column_names:
        hint = suggest(name, table.column_names) or f"fields are {some_of(table.column_names)}"
        raise ParameterError(f"no event has a field {plain(name)}", hint=plain(hint))
    number = len(_distinct(table[name]))
    if not 0 < number <= _MOST_TYPES:
        problem = (
            f"has {number:,} values" if number else "has empty values, or neither text nor integers"
        )
        hint = f"choose a field with at most {_MOST_TYPES} names of types"
        raise ParameterError(f"{plain(name)} {problem}", hint=hint)
    return name


def _type_candidates(table: pa.Table, fields: Sequence[str]) -> tuple[str, ...]:
    """Return fields with few values that occur again and again, likely names first."""
    found, names = [], frozenset(table.column_names)
    for name in (field for field in fields if field in names):
        values = len(_distinct(table[name]))
        if 1 < values <= _MOST_LIKELY_TYPES and 2 * values <= table.num_rows:
            is_likely = name.lower().rpartition(".")[2] in _KIND_LIKE
            complete = table[name].null_count <= _MAY_LACK * table.num_rows
            found.append((not is_likely, not complete, values, name))
    return tuple(name for *_, name in sorted(found)[:_SHOWN_CANDIDATES])


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    """The values of texts or whole numbers; none of other types, nor where a text is empty."""
    if not (types.is_string(column.type) or types.is_integer(column.type)):
        return pa.nulls(0)
    values = pc.unique(column).drop_null()
    return values[:0] if "" in values.to_pylist() else values


def _by_type(table: pa.Table, kind: str) -> dict[str, pa.Table]:
    values = pc.unique(table[kind]).drop_null().to_pylist()
    return {value: table.filter(pc.equal(table[kind], value)) for value in values}


def _type_line(kind: str, names: Mapping[str, str], table: pa.Table) -> str:
    why = " records without it are rejected" if table[kind].null_count else ""
    other = ", ".join(f"{name}: {_text(v)}" for v, name in names.items() if v != name)
    return f"type: {{field: {_quoted(kind)}{f', names: {{{other}}}' if other else ''}}}  # ?{why}"


def _no_type_line(likely: list[str], candidates: Sequence[str]) -> str:
    field, why = (_quoted(likely[0]), "some events lack it; ") if likely else ("...", "")
    why += f"candidates: {', '.join(map(plain, candidates))}; " if candidates and not why else ""
    return f"# type: {{field: {field}}}  # ? {why}without it, all events have one type"


def _attribute(name: str, field: str, column: pa.ChunkedArray) -> str:
    """A line of the schema; a comment where the column can be no attribute."""
    kind, values = _kind_of(column.type), one_chunk(column)
    if not 0 < len(field) <= _LONGEST:
        why = f"a name of more than {_LONGEST} characters" if field else "no name"
    elif kind is None:
        dotted = types.is_struct(column.type)  # such as `_head` has left
        why = "hidden by a field of a longer name" if dotted else str(column.type)
        why = "binary or not UTF-8" if types.is_binary(column.type) else why
    elif fault := _first_fault(values, kind):
        why = fault.text.removeprefix("value: ")
    else:
        settings = [f"type: {kind}"]
        settings += [f"field: {_quoted(field)}"] if field != name else []
        settings += ["nullable: true"] if column.null_count else []
        rule = f"{{{', '.join(settings)}}}" if len(settings) > 1 else str(kind)
        commas = kind is AttributeType.STRING and pc.match_substring_regex(values, r"^-?\d+,\d+$")
        if commas and pc.all(commas).as_py():
            return f"{_quoted(name)}: {rule}  # ? numbers need a decimal point, as in 1.5"
        if _may_be_rounded(values):
            return f"{_quoted(name)}: {rule}  # ? its largest numbers may be rounded"
        return f"{_quoted(name)}: {rule}" + ("  # ?" if column.null_count else "")
    return f"# {plain(field or _text(field))}: ignored ({plain(why)})"


def _may_be_rounded(values: pa.Array) -> bool:
    """Return whether they may have been whole numbers that no double holds."""
    if _kind_of(values.type) is not AttributeType.DOUBLE:
        return False
    numbers = values.cast(pa.float64(), safe=False).drop_null()
    large = pc.any(pc.greater(pc.abs(numbers), EXACT_IN_DOUBLE)).as_py()
    return bool(large and pc.all(pc.equal(numbers, pc.floor(numbers))).as_py())


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
    """A text in quotes; YAML 1.1 does not join the two that JSON makes of some signs."""
    return yaml.safe_dump(value, default_style='"', width=math.inf).rstrip()
