"""From raw records of any format to typed columns: the rules that all formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType, EventType, StreamSchema
from elsinore.errors import EngineError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.files.check_limits import check_limits, positions
from elsinore.files.decoded import Decoded, bounded, decoded_schema
from elsinore.files.instants import plausible_times, ticks_text
from elsinore.files.rejection import REJECTED_SCHEMA, Fault, Reason, shown
from elsinore.files.typed import Typed, nothing
from elsinore.timeline import Interval, TimeUnit, format_instant

Rows = npt.NDArray[np.int64]

_ROW = "_row"


class Records(Protocol):
    """Raw records of one format, addressed by field name and by row number from 0."""

    def select(self, rows: Rows) -> Self:
        """These records only, in this order."""

    def times(self, field: str, unit: TimeUnit) -> Typed:
        """A field as int64 times, microseconds or ticks."""

    def values(self, field: str, kind: AttributeType) -> Typed:
        """A field as an attribute's type."""

    def ids(self, field: str) -> Typed:
        """A field as event ids; NULL where missing or empty."""

    def other_fields(self, known: frozenset[str]) -> Counter[str]:
        """How many records have a value in each field that is not among the known ones."""

    def texts(self) -> list[str]:
        """Each record as it came."""


def type_records(
    records: Records,
    where: pa.Table,
    faults: dict[int, Fault],
    schema: StreamSchema,
    plausible: Interval | None = None,
) -> Decoded:
    """Typed events, and every record that is none with the first fault found in it.

    Faults are looked for in this order: those given, time, type, id, then the attributes in the
    schema's order.

    Args:
        records: the raw records.
        where: columns `file` and `position` of each.
        faults: by row, records known to be unusable as a whole; their fields are not looked at.
        schema: what they may be.
        plausible: event times that are taken for real; None: those of `plausible_times`.

    Raises:
        EngineError: events and rejected lines do not add up to the records.
    """
    found = _Faults(faults)
    rows = np.setdiff1d(np.arange(where.num_rows, dtype=np.int64), list(faults))
    usable = records.select(rows)
    plausible = plausible or plausible_times(schema.time_unit)
    times = _times(usable, rows, schema, plausible, found)
    codes = _types(usable, rows, schema, found)
    ids = _ids(usable, rows, schema, found)

    extra: Counter[str] = Counter()
    parts: list[pa.Table] = []
    for code, event_type in enumerate(schema.types):
        of_type = np.flatnonzero(codes == code)
        if len(of_type) == 0:
            continue
        chosen = usable if len(of_type) == len(rows) else usable.select(of_type)
        fixed = {
            _ROW: rows[of_type],
            "event_id": ids.take(of_type),
            TIME_COLUMN: times.take(of_type),
            TYPE_COLUMN: np.full(len(of_type), code, np.int32),
        }
        attributes = _attributes(chosen, rows[of_type], schema, event_type, found)
        parts.append(pa.table(fixed | attributes))
        extra += chosen.other_fields(_fields_of(schema, event_type))
    events = _in_order(parts, where, found.first, schema)
    rejected = _rejected(records, where, found.first)
    if events.num_rows + rejected.num_rows != where.num_rows:
        raise EngineError(
            f"{events.num_rows} events and {rejected.num_rows} rejected lines "
            f"out of {where.num_rows}"
        )
    return Decoded(events, rejected, bounded(extra))


class _Faults:
    """The first fault of each row."""

    def __init__(self, first: dict[int, Fault]) -> None:
        self.first = dict(first)

    def add(self, rows: Rows, faults: Iterable[tuple[int, Fault]], field: str = "") -> None:
        """Faults by index into `rows`; `field` names what the texts do not name themselves."""
        for index, fault in faults:
            named = fault._replace(text=f"{field}: {fault.text}") if field else fault
            self.first.setdefault(int(rows[index]), named)


def _times(
    records: Records, rows: Rows, schema: StreamSchema, plausible: Interval, found: _Faults
) -> pa.Array:
    field = schema.time_field
    typed = records.times(field, schema.time_unit)
    found.add(rows, typed.faults, field)
    missing = Fault(Reason.MISSING_TIME, f"{field} is missing")
    found.add(rows, ((index, missing) for index in positions(pc.is_null(typed.array))))
    outside = pc.or_(
        pc.less(typed.array, plausible.start), pc.greater_equal(typed.array, plausible.end)
    )
    faults = (
        (
            i,
            Fault(
                Reason.TIME_OUT_OF_RANGE, _implausible(typed.array[i].as_py(), schema, plausible)
            ),
        )
        for i in positions(outside)
    )
    found.add(rows, faults, field)
    return typed.array


def _implausible(time: int, schema: StreamSchema, plausible: Interval) -> str:
    unit = schema.time_unit
    if not unit.is_calendar:
        return f"{time} is not in {ticks_text(plausible)}"
    doubt = "" if unit is TimeUnit.ISO else f"; is its unit {unit}?"
    return f"{_instant(time)} is not in {plausible}{doubt}"


def _instant(micros: int) -> str:
    try:
        return format_instant(micros)
    except OverflowError:
        return f"{micros} microseconds"


def _types(
    records: Records, rows: Rows, schema: StreamSchema, found: _Faults
) -> npt.NDArray[np.int32]:
    """Code of each record's type, -1 where there is none."""
    field = schema.type_field
    typed = records.values(field, AttributeType.STRING)
    found.add(
        rows, ((i, fault._replace(code=Reason.UNKNOWN_TYPE)) for i, fault in typed.faults), field
    )
    missing = Fault(Reason.MISSING_TYPE, f"{field} is missing")
    found.add(rows, ((index, missing) for index in positions(pc.is_null(typed.array))))
    codes = pc.index_in(typed.array, pa.array(list(schema.type_codes), pa.string()))
    unknown = pc.and_(pc.is_null(codes), pc.is_valid(typed.array))
    found.add(
        rows,
        (
            (i, Fault(Reason.UNKNOWN_TYPE, f"{shown(typed.array[i].as_py())} is no event type"))
            for i in positions(unknown)
        ),
        field,
    )
    return pc.fill_null(codes, -1).to_numpy(zero_copy_only=False)


def _ids(records: Records, rows: Rows, schema: StreamSchema, found: _Faults) -> pa.Array:
    if schema.id_field is None:
        return nothing(AttributeType.STRING, len(rows)).array
    typed = records.ids(schema.id_field)
    found.add(rows, typed.faults, schema.id_field)
    missing = Fault(Reason.MISSING_ID, f"{schema.id_field} is missing")
    found.add(rows, ((index, missing) for index in positions(pc.is_null(typed.array))))
    return typed.array


def _attributes(
    records: Records, rows: Rows, schema: StreamSchema, event_type: EventType, found: _Faults
) -> dict[str, pa.Array]:
    """The attribute columns of the stream for records of one type."""
    columns: dict[str, pa.Array] = {}
    for name, kind in schema.attributes.items():
        attribute = event_type.by_name.get(name)
        if attribute is None:
            columns[name] = nothing(kind, len(rows)).array
            continue
        typed = records.values(name, kind)
        found.add(rows, typed.faults, name)
        found.add(rows, check_limits(typed.array, attribute))
        # Adding zero makes -0.0 plain 0.0: as a group or key the two would differ.
        columns[name] = pc.add(typed.array, 0.0) if kind is AttributeType.DOUBLE else typed.array
    return columns


def _fields_of(schema: StreamSchema, event_type: EventType) -> frozenset[str]:
    fixed = {schema.time_field, schema.type_field, schema.id_field or schema.type_field}
    return frozenset(fixed | event_type.by_name.keys())


def _in_order(
    parts: list[pa.Table], where: pa.Table, faults: dict[int, Fault], schema: StreamSchema
) -> pa.Table:
    """The faultless rows of the tables by type, in the order of the input."""
    wanted = decoded_schema(schema)
    if not parts:
        return wanted.empty_table()
    table = pa.concat_tables(parts).combine_chunks()
    rows = table[_ROW].to_numpy()
    order = np.argsort(rows)
    good = order[~np.isin(rows[order], list(faults))]
    table = table.take(good)
    from_where = where.select(["file", "position"]).take(rows[good])
    for name in from_where.column_names:
        table = table.append_column(name, from_where[name])
    return table.select(wanted.names).cast(wanted)


def _rejected(records: Records, where: pa.Table, faults: dict[int, Fault]) -> pa.Table:
    rows = np.array(sorted(faults), np.int64)
    first = [faults[int(row)] for row in rows]
    taken = where.take(rows)
    columns = {
        "file": taken["file"],
        "position": taken["position"],
        "line": pa.array(records.select(rows).texts(), pa.string()),
        "reason_code": pa.array([fault.code.value for fault in first], pa.string()),
        "reason": pa.array([fault.text for fault in first], pa.string()),
    }
    return pa.table(columns, schema=REJECTED_SCHEMA)
