"""Judges landed lines: which of them stay as events, and what that changes in `events`.

What stays of an event is decided among all landed lines with its id, so that the order of landings
does not matter. For the same reason lines may be judged by buckets of ids, each by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import filters_to_expression

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ConflictError
from elsinore.events import id_keys, same_values
from elsinore.files.file_names import BY_ENDING, sorts_by_ending
from elsinore.files.read_lines import unusable_line
from elsinore.files.rejection import Reason
from elsinore.lake.delta_log import BUCKET, commits
from elsinore.lake.event_files import bucket_numbers
from elsinore.lake.landing_zone import decode_again, scanned_schema
from elsinore.lake.regions import Condition, Conditions, Landings, day_of
from elsinore.lake.tables import Lake, with_column
from elsinore.row_hashes import row_hashes
from elsinore.timeline import (
    EPOCH,
    HOUR,
    MIN_INSTANT,
    hour_label,
    stretches,
)

#: Values of the column `_fate`.
ACCEPTED, DUPLICATE, QUARANTINED = "accepted", "duplicate", "quarantined"

#: Values of the column `_op`.
INSERT, UPDATE, DELETE = "insert", "update", "delete"

#: Where a line was; of lines with one id the greatest place wins.
PLACE = ("file_hour", "file", "record_number")

#: The column that tells rows of `events` from lines.
HELD = "_held"

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
            pa.field("_fate", pa.string()),
            pa.field("_op", pa.string()),
            pa.field("_was", pa.timestamp("us", tz="UTC")),
            pa.field("_alike", pa.bool_()),
        ]
    )


def judge_lines(rows: pa.Table, stream: StreamSchema) -> pa.Table:
    """Lines with their `_fate`, a reason where it is quarantine, and what changes in `events`.

    Of all lines with one event id (`id_keys`) the last one by (landing, file, position) stays: what
    comes later corrects what came before. Another with the same type, time and attributes is a
    duplicate; one that differs goes to quarantine as `superseded`, with the place of the
    correction. Nothing else decides, least of all when a line was landed: the same lines always end
    the same.

    Args:
        rows: of `to_judge_schema`: lines, and where `_held` the rows of `events` of the same ids
            and those that the same landings brought; of each id that there is, all of them.
        stream: the stream's schema.

    Returns:
        Rows of `judged_schema`, one for each of `rows`: `_fate` of a line, NULL of a held event;
        `_line` where it is quarantined; `_op`, where `events` is to change by this row; `_was`, the
        time of the event that an update replaces; `_alike`, whether that says the same.
    """
    rows = rows.combine_chunks()
    is_held, is_event = _mask(rows[HELD]), _mask(pc.is_null(rows["_reason_code"]))
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
    columns["_reason_code"] = pc.if_else(pa.array(superseded), code, columns["_reason_code"])
    columns["_reason"] = pc.if_else(pa.array(superseded), text, columns["_reason"])
    # Of a file that is unusable as a whole the line says why, as the reason does.
    shown = pc.if_else(pc.equal(rows["record_number"], 0), "", rows["_record"])
    columns["_record"] = pc.if_else(pa.array(is_bad), shown, none)
    columns["_fate"], columns["_op"] = fate, op
    columns["_was"] = rows["event_time"].take(pa.array(old, mask=~moved))
    columns["_alike"] = pa.array(alike_old & moved)
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
    has_id = _mask(pc.and_(pc.is_null(rows["_reason_code"]), pc.is_valid(rows["event_id"])))
    codes = np.empty(rows.num_rows, np.int64)
    known = rows.select(["event_id", "event_time"]).filter(pa.array(has_id))
    ids = id_keys(known, stream).dictionary_encode().combine_chunks()
    codes[has_id] = ids.indices.to_numpy()
    others = rows.select(["file", "record_number"]).filter(pa.array(~has_id))
    places = pc.binary_join_element_wise(
        others["record_number"].cast(pa.string()), others["file"], ":"
    )
    numbers = places.dictionary_encode().combine_chunks().indices.to_numpy()
    codes[~has_id] = len(ids.dictionary) + numbers
    return codes


def _says_same(rows: pa.Table, which: _Mask, others: _Rows) -> _Mask:
    """Of some rows, whether another says the same: type, time and the values of all attributes."""
    schema = rows.schema.names
    said = schema[schema.index("event_type") : schema.index(HELD)]
    return _same(rows, said, which & (others >= 0), others)


def _same(rows: pa.Table, names: Iterable[str], which: _Mask, others: _Rows) -> _Mask:
    """Of some rows, whether they have the same values as others, NULL like NULL, NaN like NaN."""
    same, chosen = which.copy(), np.flatnonzero(which)
    mine, theirs = pa.array(chosen), pa.array(others[chosen])
    for name in names:
        same[chosen] &= same_values(rows[name].take(mine), rows[name].take(theirs))
    return same


def _corrected(rows: pa.Table, superseded: _Mask, new: _Rows) -> pa.Array:
    """Return the reason of a superseded line: its id, and the position of its correction."""
    winner = pa.array(new, mask=~superseded)
    file, position = rows["file"].take(winner), rows["record_number"].take(winner).cast(pa.string())
    event_id = pc.utf8_slice_codeunits(rows["event_id"], 0, _SHOWN)
    doubt = _doubts(rows, superseded, new)
    parts = ["id '", event_id, "' was corrected by ", file, ":", position, doubt, ""]
    return pc.binary_join_element_wise(*parts).combine_chunks()


def _doubts(rows: pa.Table, superseded: _Mask, new: _Rows) -> pa.Array:
    """Return a note for superseded lines whose file sorts first only by its extension."""
    chosen = np.flatnonzero(superseded)
    found = np.full(rows.num_rows, "", object)
    own = rows.select(["file_hour", "file"])
    losers = own.take(pa.array(chosen)).to_pylist()
    winners = own.take(pa.array(new[chosen])).to_pylist()
    for row, loser, winner in zip(chosen.tolist(), losers, winners, strict=True):
        # A later hour wins, whatever the names of its files.
        if loser["file_hour"] == winner["file_hour"] and sorts_by_ending(
            loser["file"], winner["file"]
        ):
            found[row] = f", {BY_ENDING}"
    return pa.array(found, pa.string())


# ---- counts


#: What judged rows are counted by.
_COUNTED_BY = ["file_hour", "_fate", "_reason_code", "_op", "_alike"]


@dataclass(frozen=True)
class LandingCounts:
    """What judged rows come to."""

    fates: Counter[tuple[str, str, str | None]]  #: lines by landing, fate and reason
    accepted: Spans  #: by landing, the first and the last instant of its accepted events
    changes: Counter[str]  #: how many events are inserted, updated and deleted
    days: frozenset[date]  #: the days of event time that hold these, before or after
    #: by hour of event time, the first and the last instant at which what events say changes; not
    #: those where only the line changes that an event is taken from. That is all that it takes to
    #: tell which hours own a window that holds a changed event: windows that lie between the two
    #: and hold neither end in this very hour, as one that holds the first does (SLIDE is never
    #: longer than WITHIN).
    touched: Spans

    @classmethod
    def of(cls, counted: Iterable[Sequence[Any]], ours: Landings, again: Landings | None) -> Self:
        """What `count_judged` gives, of all buckets, adds up to.

        Of landings that are not judged as a whole only changes count.
        """
        whole = {*ours.labels, *(again.labels if again else ())}
        fates: Counter[tuple[str, str, str | None]] = Counter()
        changes: Counter[str] = Counter()
        accepted, touched, days = Spans(), Spans(), set[date]()
        for landing, fate, reason, op, alike, *times, count in counted:
            hour, first, last = times[:3]
            if fate is not None and landing in whole:
                fates[landing, fate, reason] += count
                if fate == ACCEPTED:
                    _widen(accepted, landing, first, last)
            if op is None:
                continue
            changes[op] += count
            for hour, first, last in (times[:3], times[3:]):
                if hour is not None:
                    days.add(day_of(hour))
                    if not alike:
                        _widen(touched, hour_label(hour), first, last)
        return cls(fates, accepted, changes, frozenset(days), dict(sorted(touched.items())))


def _widen(spans: Spans, name: str, first: int, last: int) -> None:
    known = spans.get(name, (first, last))
    spans[name] = min(known[0], first), max(known[1], last)


def count_judged(judged: pa.Table) -> list[tuple[Any, ...]]:
    """How many rows of `judge_lines` are alike in what is counted, for `LandingCounts.of`.

    Of each group also the hour, first and last time of its events, and of those that they replace.
    """
    rows = judged.filter(pc.or_(pc.is_valid(judged["_fate"]), pc.is_valid(judged["_op"])))
    columns = {name: rows[name] for name in _COUNTED_BY}
    aggregates: list[Any] = []
    for name in "event_time", "_was":
        hours = pc.floor_temporal(rows[name], unit="hour").cast(pa.int64())
        columns |= {f"{name}_hour": hours, name: rows[name].cast(pa.int64())}
        aggregates += [(name, "min"), (name, "max")]
    keys = [*_COUNTED_BY, "event_time_hour", "_was_hour"]
    found = pa.table(columns).group_by(keys, use_threads=False)
    found = found.aggregate([*aggregates, ([], "count_all")])
    names = [f"{n}_{of}" for n in ("event_time", "_was") for of in ("hour", "min", "max")]
    told = (found[name].to_pylist() for name in (*_COUNTED_BY, *names, "count_all"))
    return list(zip(*told, strict=True))


# ---- with what the tables hold


@dataclass(frozen=True, slots=True)
class Seen:
    """The versions of the tables that a landing is judged at.

    `raw_events` holds at `raw` the lines of all landings which `events` has.
    """

    events: int
    raw: int

    @classmethod
    def of(cls, lake: Lake) -> Self:
        """The latest ones, in this order: a landing stores its lines before it changes `events`."""
        events = lake.version("events")
        return cls(events, lake.version("raw_events"))

    def require_alone(self, lake: Lake, *, stored: bool, merged: bool) -> None:
        """Refuse to go on where others have changed rows since.

        This landing may have stored its lines and merged its events since.

        Raises:
            ConflictError: others have.
        """
        own = {"raw_events": (self.raw, stored), "events": (self.events, merged)}
        for table, (version, mine) in own.items():
            since = commits(lake.path(table), after=version)
            if sum(commit.changes_rows for commit in since) > mine:
                raise ConflictError("another run ingested events at the same time")


def id_buckets(table: pa.Table, of: int) -> np.ndarray:
    """Of each line or event the number of its bucket: all that have an id have the same.

    Those without one are shared out by their places.
    """
    has_id = _mask(pc.is_valid(table["event_id"]))
    hashes = np.empty(table.num_rows, np.uint64)
    for names, which in ((["event_id"], has_id), (["file", "record_number"], ~has_id)):
        if which.any():
            hashes[which] = row_hashes(table.filter(pa.array(which)), names)
    return hashes % np.uint64(of)


@dataclass(frozen=True)
class Stored:
    """What the tables hold beside the lines of a landing."""

    lake: Lake
    seen: Seen

    def events(self, of: Landings) -> pa.Table:
        """The events of some landings."""
        return self.lake.log("events", self.seen.events).of(of).to_table()

    def lines(self, of: Landings) -> pa.Table:
        """The lines of some landings as rows of `scanned_schema`."""
        stored = self.lake.log("raw_events", self.seen.raw).of(of).to_table()
        return decoded_lines(self.lake, stored)

    def had(self, of: Landings) -> pa.Table:
        """Ids of the lines of some landings; with their times, if ids are unique within a span."""
        if self.lake.stream.id_span is None:
            return self.lake.log("raw_events", self.seen.raw).of(of).to_table(["event_id"])
        # Stored lines do not say when they happened.
        return self.lines(of).select(["event_id", "event_time"])

    def events_like(self, own: Sequence[pa.Table], outside: Sequence[Landings]) -> pa.Table:
        """The events of the ids of some others, without those of some landings."""
        return self._like(own, self._of_ids("events", own, outside))

    def lines_like(self, own: Sequence[pa.Table], outside: Sequence[Landings]) -> pa.Table:
        """The lines of the ids of some events, decoded, without those of some landings."""
        found = self._of_ids("raw_events", own, outside)
        return self._like(own, decoded_lines(self.lake, found))

    def _like(self, own: Sequence[pa.Table], found: pa.Table) -> pa.Table:
        """Those of some events that are of the ids of others."""
        stream = self.lake.stream
        found = found.filter(pc.field("event_id").is_valid())
        keys = [chunk for part in own for chunk in id_keys(part, stream).chunks]
        return found.filter(pc.is_in(id_keys(found, stream), pa.chunked_array(keys, pa.string())))

    def _of_ids(self, table: str, own: Sequence[pa.Table], outside: Sequence[Landings]) -> pa.Table:
        """Rows in which the ids of some events stand, without those of some landings."""
        chunks = [chunk for part in own for chunk in part["event_id"].drop_null().chunks]
        ids = pa.chunked_array(chunks, pa.string())
        if not len(ids):
            return self.lake.schema(table).arrow().empty_table()
        # Few files hold any of them: of the others nothing is read.
        ends = zip((">=", "<="), pc.min_max(ids).values(), strict=True)
        near: list[Condition] = [("event_id", sign, end.as_py()) for sign, end in ends]
        conditions = [[*part, *near] for part in _conditions(self.lake.stream, table, own)]
        where = filters_to_expression(conditions)
        for landings in outside:
            where = where & ~landings.expression(by_day=table != "events")
        version = self.seen.events if table == "events" else self.seen.raw
        rows = self.lake.log(table, version).dataset(conditions)
        found = [rows.schema.empty_table()]
        for file in rows.get_fragments(where):
            if not pa.types.is_string(file.physical_schema.field("event_id").type):
                # Written by a deletion of delta-rs: texts are views, compared once they are read.
                every = file.to_table(rows.schema).filter(where)
                found.append(every.filter(pc.is_in(every["event_id"], ids)))
                continue
            there = file.to_table(rows.schema, ["event_id"], where)["event_id"]
            if pc.any(which := pc.is_in(there, ids)).as_py():
                found.append(file.to_table(rows.schema, filter=where).filter(which))
        return pa.concat_tables(found)


def _conditions(stream: StreamSchema, table: str, own: Sequence[pa.Table]) -> Conditions:
    """What rows meet that can be of the ids of some events, as far as times tell: any of these."""
    if stream.id_span is None:
        return [[]]
    times = (np.asarray(part["event_time"].drop_null().cast(pa.int64())) for part in own)
    starts = np.unique(np.concatenate([*times]) // stream.id_span) * stream.id_span
    if table != "events":  # stored lines do not say when they happened, but when they landed
        first = max(int(starts[0]) - stream.early - HOUR, MIN_INSTANT)
        return [[(Landings.day, ">=", day_of(first)), (Landings.column, ">=", hour_label(first))]]
    whole = (range(start, start + stream.id_span, HOUR) for start in starts.tolist())
    return [
        [
            ("event_day", ">=", day_of(span.start)),
            ("event_day", "<=", day_of(span.end - 1)),
            ("event_time", ">=", EPOCH + timedelta(microseconds=span.start)),
            ("event_time", "<", EPOCH + timedelta(microseconds=span.end)),
        ]
        for span in stretches(hour for hours in whole for hour in hours)
    ]


def landings_of(rows: pa.Table) -> set[str]:
    """The labels of the landings that rows are of."""
    return set(rows["file_hour"].unique().to_pylist())


def decoded_lines(lake: Lake, stored: pa.Table) -> pa.Table:
    """Rows of `scanned_schema` for rows of `raw_events`."""
    lines = stored.select([*PLACE, "record"])
    untold = pc.and_(pc.equal(lines["record_number"], 0), pc.equal(lines["record"], ""))
    if pc.any(untold).as_py():
        lines = with_column(lines, "record", _told_in_quarantine(lake, lines, untold))
    return decode_again(lines, lake.stream)


def _told_in_quarantine(lake: Lake, lines: pa.Table, untold: pa.ChunkedArray) -> pa.Array:
    """Lines, with those of unusable files as they are stored now; once they were stored empty."""
    labels = lines["file_hour"].filter(untold).unique()
    where = (pc.field("record_number") == 0) & pc.field("file_hour").isin(labels)
    names = ["file_hour", "file", "reason_code", "reason"]
    rows = lake.dataset("quarantine").to_table(names, filter=where).to_pylist()
    known = {(row["file_hour"], row["file"]): (row["reason_code"], row["reason"]) for row in rows}
    nothing = Reason.EMPTY_FILE, "the file's content is unknown"
    places = zip(*(lines[name].filter(untold).to_pylist() for name in PLACE[:2]), strict=True)
    told = [unusable_line(*known.get(place, nothing)) for place in places]
    return pc.replace_with_mask(lines["record"].combine_chunks(), untold.combine_chunks(), told)


def judge_own(stored: Stored, scanned: pa.Table, ours: Landings) -> tuple[pa.Table, set[str]]:
    """Judge the lines of some landings with the events of the same ids, and what these told before.

    Gives rows of `judged_schema`, and the labels of other landings, whose lines may change their
    fate by this one: where there are any, `judge_again` has the last word. `scanned` are rows of
    `scanned_schema`.
    """
    # What these landings brought before, too: without it another line may stay.
    judged = _judge(stored.lake.stream, [scanned], [stored.events(ours)])
    labels = landings_of(stored.events_like([judged], [ours]))
    gone = _gone(stored, ours, judged)
    if labels or gone.num_rows or pc.any(pc.is_null(judged["_fate"])).as_py():
        labels |= landings_of(stored.lines_like([judged, gone], [ours]))
    return judged, labels


def judge_again(
    stored: Stored, scanned: pa.Table, judged: pa.Table, ours: Landings, again: Landings
) -> pa.Table:
    """Judge the lines of some landings together with others as a whole, whose lines are stored.

    `judged` is what `judge_own` says of the first; gives rows of `judged_schema`.
    """
    region = ours.joined(again.intervals)
    lines, held = stored.lines(again), stored.events(region)
    own = [judged, lines, held]
    every = [scanned, lines, stored.lines_like(own, [ours, again])]
    return _judge(stored.lake.stream, every, [held, stored.events_like(own, [region])])


def _gone(stored: Stored, ours: Landings, judged: pa.Table) -> pa.Table:
    """The ids that lines of some landings had, and neither their lines nor their events have now.

    Where somebody has deleted an event by hand and its line went, too, one that it corrected counts
    again.
    """
    had, stream = stored.had(ours), stored.lake.stream
    had = had.filter(pc.field("event_id").is_valid())
    return had.filter(pc.invert(pc.is_in(id_keys(had, stream), id_keys(judged, stream))))


def _judge(stream: StreamSchema, lines: Sequence[pa.Table], held: Sequence[pa.Table]) -> pa.Table:
    """`judge_lines` of lines beside rows of `events`."""
    schema = to_judge_schema(stream)
    parts = [schema.empty_table()]
    for is_held, tables in ((False, lines), (True, held)):
        for table in tables:
            names = [name for name in table.column_names if name in schema.names]
            flags = pa.repeat(is_held, table.num_rows)
            parts.append(table.select(names).append_column(HELD, flags))
    return judge_lines(pa.concat_tables(parts, promote_options="default").cast(schema), stream)


# ---- rows that change


def change_keys(events: pa.Table, stream: StreamSchema) -> pa.ChunkedArray:
    """A text for each event by which changes find it: its id, or its line's file and position."""
    if stream.id_field is not None:
        return id_keys(events, stream)
    return pc.binary_join_element_wise(
        events["record_number"].cast(pa.string()), events["file"], ":"
    )


def laid_out(events: pa.Table, stream: StreamSchema) -> pa.Table:
    """Events with the columns that say where they lie."""
    day = events["event_time"].cast(pa.date32())
    events = events.append_column("event_day", day)
    if stream.buckets is None:
        return events
    numbers = bucket_numbers(events, *stream.buckets).astype(np.int64)
    return events.append_column(BUCKET, pa.array(numbers))
