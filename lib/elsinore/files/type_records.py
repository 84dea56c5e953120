"""From raw records of any format to typed columns: the rules that all formats share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import ORDER, RECORD_NUMBER, Attribute, AttributeType, StreamSchema
from elsinore.errors import EngineError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, arrow_schema
from elsinore.files.nanoseconds import Nanoseconds, joined, nanoseconds_of
from elsinore.files.plausible import time_faults
from elsinore.files.records import Records, Rows
from elsinore.files.rejection import REJECTED_SCHEMA, Fault, Reason, rejected_rows, shown
from elsinore.files.typed import one_chunk, type_ids, type_times, type_values
from elsinore.timeline import format_instant
from elsinore.wording import some_of


@dataclass(frozen=True)
class Decoded:
    """The events, rejected records and ignored records of one input."""

    events: pa.Table  #: columns of `decoded_schema`, in the order of the input
    rejected: pa.Table  #: columns of `REJECTED_SCHEMA`, in the order of the input
    ignored: int = 0  #: number of records of types that the schema ignores
    #: the nanoseconds that were truncated from the time of each event.
    nanoseconds: Nanoseconds = None
    #: the fields of the file, as paths with dots; None for JSON, and for several files.
    fields: frozenset[str] | None = None
    #: columns that were too large to decode, and that no query reads.
    left_out: tuple[str, ...] = ()
    #: the version of each event, NULL without one; None unless a schema with versions was followed.
    versions: pa.Array | None = None

    @property
    def lines(self) -> int:
        """How many lines or rows were decoded."""
        return int(self.events.num_rows + self.rejected.num_rows) + self.ignored


def decoded_schema(schema: StreamSchema) -> pa.Schema:
    """Return the schema of decoded events.

    The columns are `event_id` (NULL if events have no id), the columns of `arrow_schema`, `file`
    and `record_number`, the line (JSON Lines, CSV) or row (Parquet) in the file, from 1.
    """
    return pa.schema(
        [
            pa.field("event_id", pa.string()),
            *arrow_schema(schema),
            pa.field("file", pa.string(), False),
            pa.field("record_number", pa.int64(), False),
        ]
    )


def concat_decoded(parts: Iterable[Decoded], schema: StreamSchema) -> Decoded:
    """Join parts to one; without parts, its tables are empty."""
    events, rejected = [decoded_schema(schema).empty_table()], [REJECTED_SCHEMA.empty_table()]
    ignored, cut = 0, list[tuple[Nanoseconds, int]]()
    left_out: dict[str, None] = {}
    versions = list[pa.Array]()
    for part in parts:
        events.append(part.events)
        rejected.append(part.rejected)
        ignored += part.ignored
        cut.append((part.nanoseconds, part.events.num_rows))
        left_out.update(dict.fromkeys(part.left_out))
        if part.versions is not None:
            versions.append(part.versions)
    table, refused = pa.concat_tables(events), pa.concat_tables(rejected)
    return Decoded(
        table,
        refused,
        ignored,
        joined(cut),
        left_out=tuple(left_out),
        versions=pa.concat_arrays(versions) if versions else None,
    )


def type_records(
    records: Records, where: pa.Table, faults: dict[int, Fault], schema: StreamSchema
) -> Decoded:
    """Return typed events, and each rejected record with its first error.

    Fields that an event's type does not have are not errors. Records of ignored types, and records
    that are known to be unusable (`faults` by row), are not checked. `where` has `file` and
    `record_number` of each record.

    Errors are checked in this order: the given ones, time, type, id, then the attributes in the
    schema's order.

    Raises:
        EngineError: events and rejected records do not add up to the records.
    """
    found = _Faults(faults)
    rows = np.arange(where.num_rows, dtype=np.int64)
    usable, places = records, where
    if faults:
        rows = np.delete(rows, list(faults))
        usable, places = records.select(rows), where.take(rows)
    own = _own_types(usable, schema) if schema.ignores_others else None
    if own is not None and not own.all():
        rows, places = rows[own], places.filter(own)
        usable = usable.select(np.flatnonzero(own))
    times, cut = _times(usable, rows, schema, found)
    codes = _types(usable, rows, schema, found)
    ids = _ids(usable, rows, schema, found)
    columns = {"event_id": ids, TIME_COLUMN: times, TYPE_COLUMN: codes}
    columns |= _attributes(usable, rows, codes, schema, found, places["record_number"])
    columns |= {name: places[name] for name in ("file", "record_number")}
    events = pa.table(columns)
    if found.first:
        is_good = ~np.isin(rows, list(found.first))
        events, cut = events.filter(pa.array(is_good)), None if cut is None else cut[is_good]
    events = events.cast(decoded_schema(schema))
    rejected = _rejected(records, where, found.first)
    ignored = 0 if own is None else len(own) - int(own.sum())
    decoded = Decoded(events, rejected, ignored, cut)
    if decoded.lines != where.num_rows:
        raise EngineError(
            f"{events.num_rows} events, {rejected.num_rows} rejected and {ignored} ignored lines "
            f"out of {where.num_rows}"
        )
    return decoded


class _Faults:
    """The first error of each row."""

    def __init__(self, first: dict[int, Fault]) -> None:
        self.first = dict(first)

    def add(self, rows: Rows, faults: Iterable[tuple[int, Fault]], field: str = "") -> None:
        """Add errors by index of `rows`; a `field` is the prefix of their texts."""
        for index, fault in faults:
            named = fault._replace(text=f"{field}: {fault.text}") if field else fault
            self.first.setdefault(int(rows[index]), named)

    def add_missing(self, rows: Rows, values: pa.Array, code: Reason, field: str) -> None:
        """Add an error for each NULL of a required field."""
        missing = Fault(code, f"{field} is missing")
        self.add(rows, ((index, missing) for index in positions(pc.is_null(values))))


def _times(
    records: Records, rows: Rows, schema: StreamSchema, found: _Faults
) -> tuple[pa.Array, Nanoseconds]:
    """Return the times of records, and the nanoseconds that these lack."""
    field = schema.time_field
    column = records.column(field)
    typed = type_times(column, schema.time_unit, quoted=records.quoted)
    found.add(rows, typed.faults, field)
    found.add_missing(rows, typed.array, Reason.MISSING_TIME, field)
    found.add(rows, time_faults(typed.array, schema), field)
    return typed.array, nanoseconds_of(column) if schema.time_unit.is_calendar else None


def _own_types(records: Records, schema: StreamSchema) -> npt.NDArray[np.bool_]:
    """Return which records have a listed type or none."""
    assert schema.type_field is not None, "only a field can name other types"
    names = type_values(records.column(schema.type_field), AttributeType.STRING).array
    own = pc.or_(pc.is_null(names), pc.is_in(names, pa.array(schema.raw_types, pa.string())))
    return own.to_numpy(zero_copy_only=False)


def _types(
    records: Records, rows: Rows, schema: StreamSchema, found: _Faults
) -> npt.NDArray[np.int32]:
    """Return the type code of each record; -1 if its type is missing or unknown."""
    field = schema.type_field
    if field is None:
        return np.zeros(len(rows), np.int32)
    typed = type_values(records.column(field), AttributeType.STRING)
    for index, fault in typed.faults:
        found.add(rows, [(index, fault._replace(code=Reason.UNKNOWN_TYPE))], field)
    found.add_missing(rows, typed.array, Reason.MISSING_TYPE, field)
    codes = pc.index_in(typed.array, pa.array(schema.raw_types, pa.string()))
    unknown = pc.and_(pc.is_null(codes), pc.is_valid(typed.array))
    known = f"known types: {some_of(schema.raw_types)}; unknown_types: skip ignores it"
    for index in positions(unknown):
        text = f"{shown(typed.array[index].as_py())} is not an event type; {known}"
        found.add(rows, [(index, Fault(Reason.UNKNOWN_TYPE, text))], field)
    return pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)


def _ids(records: Records, rows: Rows, schema: StreamSchema, found: _Faults) -> pa.Array:
    if schema.id_field is None:
        return pa.nulls(len(rows), pa.string())
    typed = type_ids(records.column(schema.id_field))
    found.add(rows, typed.faults, schema.id_field)
    found.add_missing(rows, typed.array, Reason.MISSING_ID, schema.id_field)
    return typed.array


def _attributes(
    records: Records,
    rows: Rows,
    codes: npt.NDArray[np.int32],
    schema: StreamSchema,
    found: _Faults,
    numbers: pa.ChunkedArray,
) -> dict[str, pa.Array]:
    """Return the attribute columns of the stream, each from the records whose types have it.

    If types have an attribute in different fields, its column combines these fields. `numbers` are
    the positions of records in their files.
    """
    columns: dict[str, pa.Array] = {}
    having: dict[tuple[int, ...], tuple[Records, Rows]] = {
        tuple(range(len(schema.types))): (records, np.arange(len(rows)))
    }
    for (name, field), rules in _rules_of_fields(schema).items():
        kind = schema.attributes[name]
        if (*rules,) not in having:
            own = np.flatnonzero(np.isin(codes, list(rules)))
            having[*rules,] = records.select(own), own
        chosen, places = having[*rules,]
        typed = type_values(chosen.column(field), kind, quoted=records.quoted)
        if (name, field) == (ORDER, RECORD_NUMBER):
            typed = typed._replace(array=pc.coalesce(typed.array, one_chunk(numbers.take(places))))
        found.add(rows[places], typed.faults, name)
        for attribute in dict.fromkeys(rules.values()):
            alike = [code for code, other in rules.items() if other == attribute]
            if len(alike) == len(rules):
                found.add(rows[places], check_limits(typed.array, attribute))
                continue
            own = np.flatnonzero(np.isin(codes[places], alike))
            found.add(rows[places[own]], check_limits(typed.array.take(own), attribute))
        column = typed.array
        column = column if len(places) == len(rows) else _spread(column, places, len(rows))
        columns[name] = pc.coalesce(columns[name], column) if name in columns else column
    return columns


def _rules_of_fields(schema: StreamSchema) -> dict[tuple[str, str], dict[int, Attribute]]:
    """Return the attributes of types by name and raw field, and then by type code."""
    found: dict[tuple[str, str], dict[int, Attribute]] = {}
    for name in schema.attributes:
        for code, event_type in enumerate(schema.types):
            if (attribute := event_type.by_name.get(name)) is not None:
                found.setdefault((name, attribute.raw), {})[code] = attribute
    return found


def _spread(values: pa.Array, places: Rows, size: int) -> pa.Array:
    """Return an array of a size with values at positions, and NULL elsewhere."""
    at = np.full(size, -1, np.int64)
    at[places] = np.arange(len(places))
    return values.take(pa.array(at, mask=at < 0))


def _rejected(records: Records, where: pa.Table, faults: dict[int, Fault]) -> pa.Table:
    if not faults:
        return REJECTED_SCHEMA.empty_table()
    rows = np.array(sorted(faults), np.int64)
    lines, first = records.select(rows).texts(), [faults[row] for row in rows.tolist()]
    return rejected_rows(where.take(rows), lines, first)


def check_limits(column: pa.Array, attribute: Attribute) -> Iterator[tuple[int, Fault]]:
    """Yield the index and the error of each value that breaks a rule of its attribute.

    The rules in order: not NULL unless nullable, not infinite, at least `min`, at most `max`, one
    of `allowed`. NULL can break only the first rule. NaN is never within limits.
    """
    if column.null_count and not attribute.nullable:
        for index in positions(pc.is_null(column)):
            place = f" (field {attribute.field})" if attribute.field else ""
            text = f"{attribute.name}{place} is missing; allow it with nullable: true in the schema"
            yield index, Fault(Reason.MISSING_ATTRIBUTE, text)
    for code, broken, rule in _rules(column, attribute):
        for index in positions(broken):
            value = _spelled(column[index].as_py(), attribute)
            yield index, Fault(code, f"{attribute.name}: {value} {rule}")


def _rules(column: pa.Array, attribute: Attribute) -> Iterator[tuple[Reason, pa.BooleanArray, str]]:
    """Yield the reason, a mask of the values, and a text for each rule that values can break."""
    if attribute.type is AttributeType.DOUBLE:
        yield Reason.NOT_FINITE, pc.is_inf(column), "is not finite"
        if attribute.minimum is not None or attribute.maximum is not None:
            yield Reason.NOT_FINITE, pc.is_nan(column), "is not within the limits"
    if attribute.minimum is not None:
        low = pc.less(column, pa.scalar(attribute.minimum, column.type))
        yield Reason.OUT_OF_RANGE, low, f"is below {_spelled(attribute.minimum, attribute)}"
    if attribute.maximum is not None:
        high = pc.greater(column, pa.scalar(attribute.maximum, column.type))
        yield Reason.OUT_OF_RANGE, high, f"is above {_spelled(attribute.maximum, attribute)}"
    if attribute.allowed is not None:
        known = pc.is_in(column, pa.array(attribute.allowed, column.type))
        strange = pc.and_(pc.is_valid(column), pc.invert(known))
        names = ", ".join(_spelled(value, attribute) for value in attribute.allowed)
        yield Reason.NOT_ALLOWED, strange, f"is not one of {names}"


def positions(mask: pa.BooleanArray) -> list[int]:
    """Return the positions at which a mask is true and not NULL."""
    if not pc.any(mask).as_py():
        return []
    true: npt.NDArray[np.bool_] = pc.fill_null(mask, False).to_numpy(zero_copy_only=False)
    return [int(index) for index in np.flatnonzero(true)]


def _spelled(value: Any, attribute: Attribute) -> str:
    return format_instant(value) if attribute.type is AttributeType.TIMESTAMP else shown(value)
