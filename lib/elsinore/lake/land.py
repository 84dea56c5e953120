"""Lands the raw files of some hours: raw lines, quarantine, events, and an account of all lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.parquet import filters_to_expression

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ConflictError, DataError, EngineError
from elsinore.events import id_keys
from elsinore.files.rejection import bad_lines, judged_lines
from elsinore.lake.collect import collect
from elsinore.lake.delta_log import BUCKET, commits
from elsinore.lake.event_files import bucket_numbers
from elsinore.lake.judge_landing import (
    ACCEPTED,
    DELETE,
    DUPLICATE,
    HELD,
    INSERT,
    PLACE,
    QUARANTINED,
    UPDATE,
    LandingCounts,
    count_judged,
    judge_lines,
    to_judge_schema,
)
from elsinore.lake.landing_zone import (
    LandingFile,
    decode_again,
    empty_file,
    landing_files,
    late_landings,
    listings,
    scan_files,
    scanned_schema,
)
from elsinore.lake.regions import Condition, Landings, day_of
from elsinore.lake.tables import Lake, trying_again
from elsinore.settings import Settings
from elsinore.timeline import (
    EPOCH,
    HOUR,
    MIN_INSTANT,
    Interval,
    hour_label,
    hours_of,
    parse_hour,
    stretches,
)
from elsinore.wording import some_of

#: Times that a landing is judged before it gives way to others that land beside it.
_TRIES = 5

#: Lines of a packed file are about so many times its size.
_PACKED = 5

#: What `raw_events` and `quarantine` hold of a line, but for the day.
RAW = ("landing", "file", "position", "line", "event_id")
BAD = ("landing", "file", "position", "reason_code", "reason", "line")

#: What an account counts.
_COUNTED = ("files", "bytes", "lines", "accepted", "duplicates", "quarantined")

#: The figure that names refused landings, with the reasons.
REFUSED = "refused_landings"

Figures = dict[str, int | float | str]


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
                raise ConflictError("another run landed meanwhile")


@dataclass(frozen=True)
class FoundLanding:
    """What there is to land."""

    #: the run's own hours, and in `own.also` the earlier ones with new or changed files.
    own: Landings
    files: tuple[LandingFile, ...]  #: of all of them
    refused: dict[str, str]  #: by label, why earlier hours cannot be landed

    @property
    def late(self) -> list[int]:
        """The earlier hours."""
        return [hour for part in self.own.also for hour in hours_of(part)]

    def without(self, refused: Mapping[str, str]) -> Self:
        """The same without some earlier hours."""
        rest = stretches(hour for hour in self.late if hour_label(hour) not in refused)
        return replace(
            self,
            own=Landings(self.own.interval, rest),
            files=tuple(file for file in self.files if file.landing not in refused),
            refused={**self.refused, **refused},
        )

    def parts(self, most: int) -> Iterator[FoundLanding]:
        """The same in stretches of hours, the earlier hours with the first one.

        A stretch of more than one hour has at most so many bytes of lines.
        """
        sizes: Counter[str] = Counter()
        for file in self.files:
            sizes[file.landing] += file.size * (_PACKED if file.path.endswith(".gz") else 1)
        whole = self.own.interval
        borders, size = [whole.start], sum(sizes[hour_label(hour)] for hour in self.late)
        for hour in hours_of(whole):
            size += sizes[hour_label(hour)]
            if size > most and hour > borders[-1]:
                borders.append(hour)
                size = sizes[hour_label(hour)]
        for start, end in pairwise([*borders, whole.end]):
            first = start == whole.start
            own = Landings(Interval(start, end), self.own.also if first else ())
            labels = set(own.labels)
            files = tuple(file for file in self.files if file.landing in labels)
            yield FoundLanding(own, files, self.refused if first else {})


def land(lake: Lake, settings: Settings, interval: Interval, *, run: str) -> Figures:
    """Land the hours of an interval, whole, and earlier ones whose files are new or have changed.

    First it collects what the stream's rules are about; see `collect`.

    The tables follow from the files alone: hours landed again, in any order, in any cut, leave the
    same `raw_events`, `quarantine`, `events` and `landings`. Where a line of this landing decides
    on one of another, that landing is judged again and its account written anew. So a long landing
    is made in parts (`Settings.landing_bytes`), each of which fits into this process.

    Events are written after all that tells of them, and only then `landings` knows the files: until
    then everything that a rerun needs to know is as it was, so that a run that is killed at any
    point is mended by the next one, of whichever hours. Where too much is bad, quarantine
    alone is written, so that it can be looked at.

    Landings may overlap. Each stores its lines, then changes `events` at the version that it was
    judged at: where there is another by now, nothing is written and it is judged again. So `events`
    is at any version what the landings before it make of the files.

    Of the days before (`Settings.late_days`) it lands the hours that have files which came, or were
    changed, since somebody looked last. Such an hour never fails a run: where it cannot be read or
    too much of it is bad, it is left as it was, and tried again by each run until its files change
    or are too old.

    Returns:
        Totals of the run's own hours: files, bytes, lines, accepted, duplicates, quarantined. Of
        earlier ones `late_landings`, how many were landed with them, and, where there are any,
        `refused_landings`: those that could not, with the reasons, as a JSON object; so are files
        that could not be collected. And the figures of `collect`.

    Raises:
        DataError: there is no landing zone, or too large a share of the lines is bad.
        ConflictError: other runs kept landing meanwhile.
        EngineError: the lines do not add up.
    """
    aside = settings.local / settings.stream / ".collected"
    collected = collect(settings.landing, lake.stream, interval, settings.late_days, aside)
    figures = Counter(collected.figures)
    refused = dict(collected.refused)
    for part in find_landing(lake, settings, interval).parts(settings.landing_bytes):
        landing = _Landing(lake, run, settings.max_bad_share, part, _scan(lake, part.files))
        figures.update(trying_again(_TRIES, 0.5)(landing.attempt))
        figures["late_landings"] += len(landing.found.late)
        refused |= landing.found.refused
    told = {REFUSED: json.dumps(refused)} if refused else {}
    return {**figures, **told}


def find_landing(lake: Lake, settings: Settings, interval: Interval) -> FoundLanding:
    """The files of the hours of an interval, and of earlier hours whose files are new or changed.

    Raises:
        DataError: there is no landing zone, a file cannot be read, a link leads out of it, or the
            hours had landed and their lines are kept no longer.
    """
    zone = settings.landing
    rules = lake.stream.sources
    files = landing_files(zone, interval, rules)
    lake.create_all()
    if "raw_events" in {*settings.keep_days, *lake.stream.keep_days}:
        _require_not_removed(lake, Landings(interval))
    late, refused = late_landings(lake, zone, interval.start, settings.late_days)
    own = Landings(interval, stretches(late))
    for stretch in own.also:
        files += landing_files(zone, stretch, rules)
    return FoundLanding(own, files, refused)


def line_keys(lines: pa.Table) -> pa.ChunkedArray:
    """A text for each raw line, of its `file` and `position`, that no other line has."""
    return pc.binary_join_element_wise(lines["position"].cast(pa.string()), lines["file"], ":")


def land_without(
    lake: Lake, labels: Collection[str], gone: pa.Array,
    mended: Mapping[tuple[str, int, int], LandingFile], *, run: str,
) -> None:  # fmt: skip
    """Judge landings again, of what is stored of them but for the lines with the keys `gone`.

    That leaves what landing their raw files would, with blanks in place of these lines; the files
    themselves may be gone. Keys are `line_keys`; `mended` are, by name, size and time in
    `landings`, raw files that have these blanks by now.

    Raises:
        ConflictError: others kept landing meanwhile.
    """
    first, *also = stretches(map(parse_hour, labels))
    ours, is_line = Landings(first, tuple(also)), pc.field("position") > 0
    stored = lake.of("raw_events", ours).to_table(filter=is_line)
    is_gone = pc.is_in(line_keys(stored), gone)
    left = stored.filter(pc.invert(is_gone))
    emptied = set(stored["file"].to_pylist()) - set(left["file"].to_pylist())
    rows = lake.rows("landings", ours.expression(by_day=False), columns=["landing", "listing"])
    files = [
        mended.get((name, *seen)) or LandingFile(row["landing"], name, "", *seen)
        for row in rows.to_pylist()
        for name, seen in json.loads(row["listing"] or "{}").items()
    ]
    empty = [empty_file(file, lake.stream) for file in files if file.name in emptied]
    unusable = lake.of("quarantine", ours).to_table([*BAD], ~is_line)
    schema = scanned_schema(lake.stream)
    parts = [_decode(lake, left), unusable, pa.Table.from_batches(empty, schema)]
    scanned = pa.concat_tables(parts, promote_options="default").select(schema.names).cast(schema)
    landing = _Landing(lake, run, 1.0, FoundLanding(ours, tuple(files), {}), scanned, listed=True)
    trying_again(_TRIES, 0.5)(landing.attempt)


def _require_not_removed(lake: Lake, own: Landings) -> None:
    """Refuse hours whose lines are gone: with them alone their events would be back."""
    had_lines = own.expression(by_day=False) & (pc.field("lines") > 0)
    landed = lake.rows("landings", had_lines, columns=["landing"])
    stored = lake.of("raw_events", own).to_table(["landing"])
    if removed := sorted(_landings_of(landed) - _landings_of(stored)):
        raise DataError(
            f"the raw lines of {some_of(removed)} were removed: they were as old as is kept",
            hint="published results stay; keep_days without raw_events lands them anew",
        )


@dataclass(frozen=True)
class JudgedLanding:
    """Landings that were scanned and judged, and others that were judged again as a whole."""

    rows: pa.Table
    own: Landings
    others: tuple[Interval, ...]
    counts: LandingCounts

    @property
    def region(self) -> Landings:
        """All landings that were judged as a whole."""
        return Landings(self.own.interval, (*self.own.also, *self.others))


def judge_landing(
    lake: Lake, scanned: pa.Table, ours: Landings, seen: Seen, *, also: Collection[str] = ()
) -> JudgedLanding:
    """Judge the scanned lines of some landings, with all stored lines and events of the same ids.

    A landing whose lines may change their fate by this one is judged anew as a whole; so are those
    of the labels `also` in any case. `scanned` are rows of `scanned_schema`.
    """
    # What these landings brought before, too: without it another line may stay.
    held = lake.of("events", ours, seen.events).to_table()
    judged = _judge(lake, [scanned], [held])
    others = _landings_of(_events_like(lake, seen, [judged], [ours]))
    counts = count_judged(judged, ours.labels)
    labels = set(also) | others
    gone = _gone(lake, ours, seen, judged)
    if counts.held or others or gone.num_rows:
        labels |= _landings_of(_lines_like(lake, seen, [judged, gone], [ours]))
    if not labels:
        return JudgedLanding(judged, ours, (), counts)

    again = stretches(map(parse_hour, labels))
    rest = Landings(again[0], again[1:])
    region = Landings(ours.interval, (*ours.also, *again))
    stored = _decode(lake, lake.of("raw_events", rest, seen.raw).to_table())
    held = lake.of("events", region, seen.events).to_table()
    own = [judged, stored, held]
    # Of a file that was unusable as a whole nothing but its fault was stored.
    unusable = lake.of("quarantine", rest).to_table(filter=pc.field("position") == 0)
    lines = [scanned, stored, _lines_like(lake, seen, own, [ours, rest]), unusable]
    judged = _judge(lake, lines, [held, _events_like(lake, seen, own, [region])])
    return JudgedLanding(judged, ours, again, count_judged(judged, region.labels))


def _gone(lake: Lake, ours: Landings, seen: Seen, judged: pa.Table) -> pa.Table:
    """The ids that lines of some landings had, and neither their lines nor their events have now.

    Where somebody has deleted an event by hand and its line went, too, one that it corrected counts
    again.
    """
    stored = lake.of("raw_events", ours, seen.raw)
    if lake.stream.id_span is None:
        had = stored.to_table(["event_id"])
    else:  # stored lines do not say when they happened
        had = _decode(lake, stored.to_table()).select(["event_id", "event_time"])
    had = had.filter(pc.field("event_id").is_valid())
    now = id_keys(judged, lake.stream)
    return had.filter(pc.invert(pc.is_in(id_keys(had, lake.stream), now)))


def _scan(lake: Lake, files: Sequence[LandingFile]) -> pa.Table:
    schema = scanned_schema(lake.stream)
    return pa.Table.from_batches(scan_files(files, lake.stream), schema)


def _decode(lake: Lake, stored: pa.Table) -> pa.Table:
    """Rows of `scanned_schema` for the lines among rows of `raw_events`."""
    lines = stored.filter(pc.field("position") > 0)
    return decode_again(lines.select([*PLACE, "line"]), lake.stream)


def _judge(lake: Lake, lines: Sequence[pa.Table], held: Sequence[pa.Table]) -> pa.Table:
    """`judge_lines` of lines beside rows of `events`."""
    schema = to_judge_schema(lake.stream)
    parts = [schema.empty_table()]
    for is_held, tables in ((False, lines), (True, held)):
        for table in tables:
            names = [name for name in table.column_names if name in schema.names]
            flags = pa.repeat(is_held, table.num_rows)
            parts.append(table.select(names).append_column(HELD, flags))
    both = pa.concat_tables(parts, promote_options="default").cast(schema)
    return judge_lines(both, lake.stream)


def _events_like(
    lake: Lake, seen: Seen, own: Sequence[pa.Table], outside: Sequence[Landings]
) -> pa.Table:
    """The stored events of the ids of some others, without those of some landings."""
    return _like(lake, own, _of_ids(lake, "events", seen.events, own, outside))


def _lines_like(
    lake: Lake, seen: Seen, own: Sequence[pa.Table], outside: Sequence[Landings]
) -> pa.Table:
    """The stored lines of the ids of some events, decoded, without those of some landings."""
    return _like(lake, own, _decode(lake, _of_ids(lake, "raw_events", seen.raw, own, outside)))


def _like(lake: Lake, own: Sequence[pa.Table], found: pa.Table) -> pa.Table:
    """Those of some events that are of the ids of others."""
    found = found.filter(pc.field("event_id").is_valid())
    keys = [chunk for part in own for chunk in id_keys(part, lake.stream).chunks]
    return found.filter(pc.is_in(id_keys(found, lake.stream), pa.chunked_array(keys, pa.string())))


def _of_ids(
    lake: Lake, table: str, version: int, own: Sequence[pa.Table], outside: Sequence[Landings]
) -> pa.Table:
    """Rows in which the ids of some events stand, without those of some landings."""
    chunks = [chunk for part in own for chunk in part["event_id"].drop_null().chunks]
    ids = pa.chunked_array(chunks, pa.string())
    if not len(ids):
        return lake.schema(table).arrow().empty_table()
    # Few files hold any of them: of the others nothing is read.
    ends = zip((">=", "<="), pc.min_max(ids).values(), strict=True)
    near: list[Condition] = [("event_id", sign, end.as_py()) for sign, end in ends]
    conditions = [[*part, *near] for part in _conditions(lake.stream, table, own)]
    where = filters_to_expression(conditions)
    for landings in outside:
        where = where & ~landings.expression(by_day=table != "events")
    rows = lake.log(table, version).dataset(conditions)
    found = [rows.schema.empty_table()]
    for file in rows.get_fragments(where):
        if not pa.types.is_string(file.physical_schema.field("event_id").type):
            # Written by a deletion of delta-rs: texts are views, which Arrow compares once read.
            every = file.to_table(rows.schema).filter(where)
            found.append(every.filter(pc.is_in(every["event_id"], ids)))
            continue
        there = file.to_table(rows.schema, ["event_id"], where)["event_id"]
        if pc.any(which := pc.is_in(there, ids)).as_py():
            found.append(file.to_table(rows.schema, filter=where).filter(which))
    return pa.concat_tables(found)


def _conditions(stream: StreamSchema, table: str, own: Sequence[pa.Table]) -> list[list[Condition]]:
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


def _landings_of(rows: pa.Table) -> set[str]:
    return set(rows["landing"].unique().to_pylist())


@dataclass
class _Landing:
    """A landing until it has changed `events`.

    `allowed` is the share of lines that may be bad, `also` are other landings that it has written
    accounts of, and `listed` says that `landings` knows all of the files already.
    """

    lake: Lake
    run: str
    allowed: float
    found: FoundLanding
    scanned: pa.Table
    also: set[str] = field(default_factory=set)
    stored: bool = False
    listed: bool = False

    def attempt(self) -> dict[str, int]:
        """Judge and write.

        Raises:
            ConflictError: others wrote first: it is to be tried again.
        """
        lake, ours = self.lake, self.found.own
        own = list(map(hour_label, hours_of(ours.interval)))
        seen = Seen.of(lake)
        landing = judge_landing(lake, self.scanned, ours, seen, also=self.also)
        accounts = _accounts(lake, landing, self.found.files)
        try:
            _require_few_bad([accounts[label] for label in own], self.allowed)
        except DataError:
            self._write_quarantine(landing, Landings(ours.interval))
            raise
        if self._refuse_bad(accounts):
            return self.attempt()
        storing = not self.stored
        if storing:
            self._store("raw_events", self.scanned.select(RAW), ours)
            self.stored = True
        raw_version = lake.version("raw_events")
        # Accounts of others are written only while nobody has landed anything else.
        seen.require_alone(lake, stored=storing, merged=False)
        _require_accounted(lake, accounts, landing.region, raw_version)
        self.also.update(hour_label(hour) for part in landing.others for hour in hours_of(part))
        self._write_quarantine(landing, landing.region)
        # What is as it should be is left alone: no version of `events` without a change.
        merging = bool(landing.counts.changes)
        # A run that is killed before that change has landed no file: the next one looks for them.
        listings_of = {label: accounts[label]["listing"] for label in ours.labels}
        holding = merging and not self.listed
        known = {label: {"listing": "{}"} for label in listings_of if holding}
        rows = [account | known.get(label, {}) for label, account in accounts.items()]
        lake.record("landings", rows, where=[landing.region], run=self.run)
        if merging:
            changes = landing.rows.filter(pc.field("op").is_valid())
            change_events(lake, changes, landing.counts, seen, run=self.run)
        seen.require_alone(lake, stored=storing, merged=merging)
        if holding:
            lake.amend("landings", "listing", listings_of, where=ours, run=self.run)
        return _totals([accounts[label] for label in own])

    def _refuse_bad(self, accounts: Mapping[str, dict[str, Any]]) -> bool:
        """Leave out the earlier hours of which too much is bad; whether there are any."""
        bad = {}
        for label in map(hour_label, self.found.late):
            try:
                _require_few_bad([accounts[label]], self.allowed)
            except DataError as error:
                bad[label] = error.message
        if bad:
            self.scanned = self.scanned.filter(~pc.field("landing").isin(list(bad)))
            self.found = self.found.without(bad)
        return bool(bad)

    def _write_quarantine(self, landing: JudgedLanding, where: Landings) -> None:
        is_bad = where.expression(by_day=False) & (pc.field("fate") == QUARANTINED)
        self._store("quarantine", landing.rows.filter(is_bad).select(BAD), where)

    def _store(self, table: str, rows: pa.Table, where: Landings) -> None:
        """Make rows the only ones of some landings, unless there are none and were none."""
        held = self.lake.of(table, where).head(1)
        if rows.num_rows or held.num_rows:
            self.lake.stream_rows(table, [rows], where=where, note=self.run)


def change_events(
    lake: Lake, changes: pa.Table, counts: LandingCounts, seen: Seen, *, run: str
) -> None:
    """Apply changes to `events` in one commit, which notes the touched times.

    Days in which an event changes or goes are written anew.

    Raises:
        ConflictError: `events` has changed since.
    """
    goes = counts.changes[DELETE]
    new = changes.filter(pc.field("op") != DELETE) if goes else changes
    parts = [laid_out(new, lake.stream)]
    days = None if set(counts.changes) == {INSERT} else counts.days
    if days is not None:
        parts.append(_staying(lake, changes, counts, seen))
    lake.change_rows(
        "events",
        parts,
        days=days,
        seen=seen.events,
        note=json.dumps({"run": run, "touched": counts.touched}),
    )


def laid_out(events: pa.Table, stream: StreamSchema) -> pa.Table:
    """Events with the columns that say where they lie."""
    day = events["event_time"].cast(pa.date32())
    events = events.append_column("event_day", day)
    if stream.buckets is None:
        return events
    numbers = bucket_numbers(events, *stream.buckets).astype(np.int64)
    return events.append_column(BUCKET, pa.array(numbers))


def _staying(lake: Lake, changes: pa.Table, counts: LandingCounts, seen: Seen) -> pa.Table:
    """What else the days hold in which something changes."""
    days: list[list[Condition]] = [[("event_day", "=", day)] for day in sorted(counts.days)]
    before = lake.log("events", seen.events).dataset(days).to_table()
    is_changed = pc.is_in(_keys(lake, before), _keys(lake, changes))
    found = pc.sum(is_changed).as_py() or 0
    if found != counts.changes[UPDATE] + counts.changes[DELETE]:
        raise EngineError(f"{found} events to change, not {dict(counts.changes)}")
    return before.filter(pc.invert(is_changed))


def _keys(lake: Lake, events: pa.Table) -> pa.ChunkedArray:
    if lake.stream.id_field is None:
        return line_keys(events)
    return id_keys(events, lake.stream)


def _accounts(
    lake: Lake, landing: JudgedLanding, files: Sequence[LandingFile]
) -> dict[str, dict[str, Any]]:
    """By hour that is judged a row of `landings`, also for those without files."""
    own = landing.own.labels
    accounts = {label: _account(label) for label in own} | _earlier_accounts(lake, landing.others)
    there = listings(files)
    for label in own:
        accounts[label]["listing"] = json.dumps(there.get(label, {}), sort_keys=True)
    for file in files:
        accounts[file.landing]["files"] += 1
        accounts[file.landing]["bytes"] += file.size
    reasons: dict[str, dict[str | None, int]] = {label: {} for label in accounts}
    fields = {ACCEPTED: "accepted", DUPLICATE: "duplicates", QUARANTINED: "quarantined"}
    for (label, fate, reason), count in landing.counts.fates.items():
        if label in accounts:
            accounts[label]["lines"] += count
            accounts[label][fields[fate]] += count
            if fate == QUARANTINED:
                reasons[label][reason] = count
    for label, account in accounts.items():
        span = landing.counts.accepted.get(label, (None, None))
        account["first_event"], account["last_event"] = span
        account["reasons"] = json.dumps(reasons[label], sort_keys=True)
    return accounts


def _earlier_accounts(lake: Lake, also: Sequence[Interval]) -> dict[str, dict[str, Any]]:
    """Accounts to be filled of hours landed before, with what their files were.

    An hour whose landing was killed before it had an account is left to its own rerun.
    """
    labels = [hour_label(hour) for stretch in also for hour in hours_of(stretch)]
    if not labels:
        return {}
    names = ["landing", "files", "bytes", "listing"]
    rows = lake.rows("landings", pc.field("landing").isin(labels), columns=names).to_pylist()
    return {row["landing"]: _account(row["landing"]) | row for row in rows}


def _account(label: str) -> dict[str, Any]:
    return {"landing": label, **dict.fromkeys(_COUNTED, 0)}


def _totals(accounts: list[dict[str, Any]]) -> dict[str, int]:
    return {"landings": len(accounts)} | {n: sum(a[n] for a in accounts) for n in _COUNTED}


def _require_few_bad(accounts: Sequence[dict[str, Any]], allowed: float) -> None:
    """Refuse the run's own hours.

    A line that was corrected since is not bad, nor is an empty file: an hour may have no events.
    Lines whose types the schema passes over do not count.
    """
    reasons = [json.loads(account["reasons"]) for account in accounts]
    bad = list(map(bad_lines, reasons))
    lines = sum(map(judged_lines, (account["lines"] for account in accounts), reasons))
    if sum(bad) <= allowed * lines:
        return
    worst = accounts[bad.index(max(bad))]
    raise DataError(
        f"{sum(bad)} of {lines} lines are bad, more than the share of {allowed:g}; most in "
        f"{worst['landing']}: {worst['reasons']}",
        hint="the table quarantine holds them with their reasons",
        lines=lines,
        bad=sum(bad),
    )


def _require_accounted(
    lake: Lake, accounts: Mapping[str, dict[str, Any]], region: Landings, version: int
) -> None:
    """Count the stored lines: that they agree shows that judging lost none and made none."""
    stored: Counter[str] = Counter()
    for batch in lake.of("raw_events", region, version).to_batches(columns=["landing"]):
        for found in batch["landing"].value_counts().to_pylist():
            stored[found["values"]] += found["counts"]
    for label, account in accounts.items():
        if stored[label] != account["lines"]:
            raise EngineError(f"landing {label}: {stored[label]} lines, {account['lines']} fates")
