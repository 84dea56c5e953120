"""Events with the same id: the last is kept, equal ones are counted, others rejected."""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, arrow_schema
from elsinore.files.rejection import REJECTED_SCHEMA, Reason, shown
from elsinore.timeline import format_instant

_Rows = npt.NDArray[np.int64]


class Distinct(NamedTuple):
    """What is left of events once their ids are unique.

    Attributes:
        events: the events that are kept, in the order given.
        duplicates: how many equalled the one that was kept.
        superseded: columns of `REJECTED_SCHEMA`; those that did not.
    """

    events: pa.Table
    duplicates: int
    superseded: pa.Table


def remove_duplicates(events: pa.Table, schema: StreamSchema) -> Distinct:
    """Keep, of all events with one id, the last by (file, position): it corrects the others.

    Another with the same time, type and attributes is a duplicate; one that differs is rejected as
    `superseded`. Events without an id are all kept.

    Args:
        events: columns of `decoded_schema`.
        schema: the stream's.
    """
    none = REJECTED_SCHEMA.empty_table()
    events = events.combine_chunks()
    if schema.id_field is None or not events.num_rows:
        return Distinct(events, 0, none)
    earlier, last = _repeated(events)
    if not len(earlier):
        return Distinct(events, 0, none)
    names = [field.name for field in arrow_schema(schema)]
    before, after = events.select(names).take(earlier), events.select(names).take(last)
    equal = np.ones(len(earlier), np.bool_)
    for name in names:
        equal &= _same(before[name], after[name])
    keep = np.ones(events.num_rows, np.bool_)
    keep[earlier] = False
    superseded = _superseded(events.take(earlier[~equal]), events.take(last[~equal]), schema)
    return Distinct(events.filter(pa.array(keep)), int(equal.sum()), superseded)


def _repeated(events: pa.Table) -> tuple[_Rows, _Rows]:
    """Rows whose id a later row has, by (file, position), and the last of these rows."""
    ids = _codes(events["event_id"])
    files = _codes(events["file"])
    order = np.lexsort((events["position"].to_numpy(), files, ids))
    ends = np.ones(len(order), np.bool_)
    ends[:-1] = ids[order[1:]] != ids[order[:-1]]
    # The run of a row is as many runs along as ended before it.
    run: _Rows = np.cumsum(ends) - ends
    last_of_run = np.flatnonzero(ends)[run]
    earlier, last = order[~ends], order[last_of_run][~ends]
    # By row, so that rejected ones come out in the order of the input.
    by_row = np.argsort(earlier)
    return earlier[by_row], last[by_row]


def _codes(column: pa.ChunkedArray) -> _Rows:
    """Integers in the order of the texts (by code point)."""
    encoded = column.combine_chunks().dictionary_encode()
    rank = pc.rank(encoded.dictionary).to_numpy().astype(np.int64)
    return rank[encoded.indices.to_numpy()]


def _same(left: pa.ChunkedArray, right: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Equal values, or both NULL, or both NaN."""
    same = pc.or_(pc.equal(left, right), pc.and_(_is_nan(left), _is_nan(right)))
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(same, False), both_null).to_numpy()


def _is_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.not_equal(column, column)


def _superseded(events: pa.Table, kept: pa.Table, schema: StreamSchema) -> pa.Table:
    rows = events.to_pylist()
    reasons = [
        f"id {shown(row['event_id'])} was corrected by {file}:{position}"
        for row, file, position in zip(
            rows, kept["file"].to_pylist(), kept["position"].to_pylist(), strict=True
        )
    ]
    columns = {
        "file": events["file"],
        "position": events["position"],
        "line": pa.array([_as_json(row, schema) for row in rows], pa.string()),
        "reason_code": pa.repeat(Reason.SUPERSEDED.value, len(rows)),
        "reason": pa.array(reasons, pa.string()),
    }
    return pa.table(columns, schema=REJECTED_SCHEMA)


def _as_json(row: dict[str, object], schema: StreamSchema) -> str:
    """A typed event in the fields of a raw one; the raw line itself is not kept that long."""
    event_type = schema.types[int(str(row[TYPE_COLUMN]))]
    time = int(str(row[TIME_COLUMN]))
    fields: dict[str, object] = {
        schema.id_field or "id": row["event_id"],
        schema.time_field: format_instant(time) if schema.time_unit.is_calendar else time,
        schema.type_field: event_type.name,
    }
    for attribute in event_type.attributes:
        value = row[attribute.name]
        if attribute.type is AttributeType.TIMESTAMP and isinstance(value, int):
            value = format_instant(value)
        fields[attribute.name] = value
    return json.dumps(fields, ensure_ascii=False)
