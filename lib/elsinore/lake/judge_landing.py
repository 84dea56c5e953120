"""Judges landed lines: which of them stay as events, and what that changes in `events`.

What stays of an event is decided among all landed lines with its id, so that the order of landings
does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.events import id_keys
from elsinore.files.rejection import Reason
from elsinore.lake.landing_zone import scanned_schema
from elsinore.timeline import hour_label

#: Values of the column `fate`.
ACCEPTED, DUPLICATE, QUARANTINED = "accepted", "duplicate", "quarantined"

#: Values of the column `op`.
INSERT, UPDATE, DELETE = "insert", "update", "delete"

#: Where a line was; of lines with one id the greatest place wins.
PLACE = ("landing", "file", "position")

#: The column that tells rows of `events` from lines.
HELD = "held"

_SHOWN = 60

#: By hour or landing, the first and the last instant of some events.
Spans = dict[str, tuple[int, int]]

_Rows = np.ndarray[Any, np.dtype[np.int64]]
_Mask = np.ndarray[Any, np.dtype[np.bool_]]


def to_judge_schema(stream: StreamSchema) -> pa.Schema:
    """What `judge_lines` takes: lines as they were scanned, and held events beside them."""
    return scanned_schema(stream).append(pa.field(HELD, pa.bool_()))


def judged_schema(stream: StreamSchema) -> pa.Schema:
    """What `judge_lines` gives."""
    return pa.schema(
        [
            *scanned_schema(stream),
            pa.field("fate", pa.string()),
            pa.field("op", pa.string()),
            pa.field("was", pa.timestamp("us", tz="UTC")),
            pa.field("alike", pa.bool_()),
        ]
    )


def judge_lines(rows: pa.Table, stream: StreamSchema) -> pa.Table:
    """Lines with their `fate`, a reason where it is quarantine, and what changes in `events`.

    Of all lines with one event id (`id_keys`) the last one by (landing, file, position) stays: what
    comes later corrects what came before. Another with the same type, time and attributes is a
    duplicate; one that differs goes to quarantine as `superseded`, with the place of the
    correction. Nothing else decides, least of all when a line was landed: the same lines always end
    the same.

    Args:
        rows: of `to_judge_schema`: lines, and where `held` the rows of `events` of the same ids and
            those that the same landings brought; of each id that there is, all of them.
        stream: the stream's schema.

    Returns:
        Rows of `judged_schema`, one for each of `rows`: `fate` of a line, NULL of a held event;
        `line` where it is quarantined; `op`, where `events` is to change by this row; `was`, the
        time of the event that an update replaces; `alike`, whether that says the same.
    """
    rows = rows.combine_chunks()
    is_held, is_event = _mask(rows[HELD]), _mask(pc.is_null(rows["reason_code"]))
    codes = _key_codes(rows, stream)
    new, old = (_last_of_key(rows, codes, those) for those in (is_event & ~is_held, is_held))
    here, is_line = np.arange(rows.num_rows), is_event & ~is_held
    stays = is_line & (new == here)
    alike_new = _says_same(rows, is_line & ~stays, new)
    replaces = stays & (old >= 0)
    alike_old = _says_same(rows, replaces, old)
    moved = replaces & ~(alike_old & _same(rows, PLACE, replaces, old))
    is_bad = ~is_held & ~stays & ~alike_new
    superseded = is_bad & is_event
    none = pa.scalar(None, pa.string())
    fate = _first_of({None: is_held, ACCEPTED: stays, DUPLICATE: alike_new}, QUARANTINED)
    op = _first_of({DELETE: is_held & (new < 0), INSERT: stays & (old < 0), UPDATE: moved}, None)
    code, text = pa.scalar(Reason.SUPERSEDED.value), _corrected(rows, superseded, new)
    columns = {name: rows[name] for name in scanned_schema(stream).names}
    columns["reason_code"] = pc.if_else(pa.array(superseded), code, columns["reason_code"])
    columns["reason"] = pc.if_else(pa.array(superseded), text, columns["reason"])
    columns["line"] = pc.if_else(pa.array(is_bad), columns["line"], none)
    columns["fate"], columns["op"] = fate, op
    columns["was"] = rows["event_time"].take(pa.array(old, mask=~moved))
    columns["alike"] = pa.array(alike_old & moved)
    return pa.table(columns, schema=judged_schema(stream))


def _mask(column: pa.ChunkedArray | pa.Array) -> _Mask:
    return np.asarray(column, np.bool_)


def _first_of(masks: Mapping[str | None, _Mask], otherwise: str | None) -> pa.Array:
    """For each row the text of the first mask that holds."""
    texts = pa.array([*masks, otherwise], pa.string())
    return texts.take(pa.array(np.select([*masks.values()], range(len(masks)), len(masks))))


def _last_of_key(rows: pa.Table, codes: _Rows, among: _Mask) -> _Rows:
    """For each row the one of its key that is the last by place among some; -1 for none."""
    chosen = np.flatnonzero(among)
    last = np.full(codes.max(initial=-1) + 1, -1)
    # Where several of a key are chosen their order decides; few are.
    several = np.bincount(codes[chosen], minlength=len(last))[codes[chosen]] > 1
    alone, many = chosen[~several], chosen[several]
    last[codes[alone]] = alone
    if len(many):
        placed = (
            rows.select(PLACE).take(pa.array(many)).append_column("code", pa.array(codes[many]))
        )
        by_place = [(name, "ascending") for name in ("code", *PLACE)]
        ordered = many[pc.sort_indices(placed, by_place).to_numpy()]
        ends = np.append(np.diff(codes[ordered]) != 0, True)
        last[codes[ordered[ends]]] = ordered[ends]
    return last[codes]


def _key_codes(rows: pa.Table, stream: StreamSchema) -> _Rows:
    """A number for each event id; where a row has none, or is no event, for the line's place."""
    has_id = _mask(pc.and_(pc.is_null(rows["reason_code"]), pc.is_valid(rows["event_id"])))
    codes = np.empty(rows.num_rows, np.int64)
    known = rows.select(["event_id", "event_time"]).filter(pa.array(has_id))
    ids = id_keys(known, stream).dictionary_encode().combine_chunks()
    codes[has_id] = ids.indices.to_numpy()
    others = rows.select(["file", "position"]).filter(pa.array(~has_id))
    places = pc.binary_join_element_wise(others["position"].cast(pa.string()), others["file"], ":")
    numbers = places.dictionary_encode().combine_chunks().indices.to_numpy()
    codes[~has_id] = len(ids.dictionary) + numbers
    return codes


def _says_same(rows: pa.Table, which: _Mask, others: _Rows) -> _Mask:
    """Of some rows, whether another says the same: type, time and the values of all attributes."""
    schema = rows.schema.names
    said = schema[schema.index("event_type") : schema.index(HELD)]
    return _same(rows, said, which & (others >= 0), others)


def _same(rows: pa.Table, names: Iterable[str], which: _Mask, others: _Rows) -> _Mask:
    """Of some rows, whether they have the same values as others, NULL like NULL."""
    chosen = np.flatnonzero(which)
    same = np.zeros(rows.num_rows, np.bool_)
    if not len(chosen):
        return same
    same[chosen] = True
    for name in names:
        column = rows[name].combine_chunks()
        mine, theirs = column.take(pa.array(chosen)), column.take(pa.array(others[chosen]))
        equal = pc.fill_null(pc.equal(mine, theirs), False)
        same[chosen] &= _mask(pc.or_(equal, pc.and_(pc.is_null(mine), pc.is_null(theirs))))
    return same


def _corrected(rows: pa.Table, superseded: _Mask, new: _Rows) -> pa.Array:
    """What is told of a superseded line: its id, and where it was corrected."""
    winner = pa.array(new, mask=~superseded)
    file, position = rows["file"].take(winner), rows["position"].take(winner).cast(pa.string())
    event_id = pc.utf8_slice_codeunits(rows["event_id"], 0, _SHOWN)
    told = ["id '", event_id, "' was corrected by ", file, ":", position, ""]
    return pc.binary_join_element_wise(*told).combine_chunks()


# ---- counts


@dataclass(frozen=True)
class LandingCounts:
    """What judged rows come to."""

    fates: Counter[tuple[str, str, str | None]]  #: lines by landing, fate and reason
    accepted: Spans  #: by landing, the first and the last instant of its accepted events
    held: int  #: how many events were held against the lines
    changes: Counter[str]  #: how many events are inserted, updated and deleted
    days: frozenset[date]  #: the days of event time that hold these, before or after
    #: by hour of event time, the first and the last instant at which what events say changes; not
    #: those where only the line changes that an event is taken from. That is all that it takes to
    #: tell which hours own a window that holds a changed event: windows that lie between the two
    #: and hold neither end in this very hour, as one that holds the first does (SLIDE is never
    #: longer than WITHIN).
    touched: Spans


def count_judged(judged: pa.Table, whole: Collection[str]) -> LandingCounts:
    """What rows that `judge_lines` gives come to.

    Of landings that are not judged as a `whole` only changes count.
    """
    names = ["landing", "fate", "reason_code", "event_time", "op", "was", "alike"]
    rows = judged.select(names)
    is_line = pc.is_valid(rows["fate"])
    is_whole = pc.is_in(rows["landing"], pa.array(sorted(whole), pa.string()))
    lines = rows.filter(pc.and_(is_line, is_whole))
    fates = lines.group_by(names[:3], use_threads=False).aggregate([([], "count_all")])
    accepted = lines.filter(pc.field("fate") == ACCEPTED)
    changed = rows.filter(pc.field("op").is_valid())
    touched = _times(changed.filter(~pc.field("alike")))
    hours = pc.floor_temporal(touched, unit="hour").cast(pa.int64())
    return LandingCounts(
        Counter({tuple(row.values())[:3]: row["count_all"] for row in fates.to_pylist()}),
        _spans(accepted["landing"], accepted["event_time"]),
        held=pc.sum(pc.invert(is_line)).as_py() or 0,
        changes=Counter(
            {op["values"]: op["counts"] for op in changed["op"].value_counts().to_pylist()}
        ),
        days=frozenset(_times(changed).cast(pa.date32()).unique().to_pylist()),
        touched={hour_label(hour): span for hour, span in sorted(_spans(hours, touched).items())},
    )


def _times(changed: pa.Table) -> pa.ChunkedArray:
    """Of events that change, before and after."""
    chunks = [*changed["event_time"].chunks, *changed["was"].drop_null().chunks]
    return pa.chunked_array(chunks, changed["was"].type)


def _spans(keys: pa.ChunkedArray, times: pa.ChunkedArray) -> dict[Any, tuple[int, int]]:
    """By key, the first and the last time."""
    table = pa.table({"key": keys, "time": times.cast(pa.int64())})
    found = table.group_by("key", use_threads=False).aggregate([("time", "min"), ("time", "max")])
    return {row["key"]: (row["time_min"], row["time_max"]) for row in found.to_pylist()}
