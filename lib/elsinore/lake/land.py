"""Lands the raw files of some hours: raw lines, quarantine, events, and an account of all lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

from elsinore.errors import ConflictError, DataError, EngineError
from elsinore.files.rejection import bad_lines, judged_lines
from elsinore.lake.delta_log import commits
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
    add_up_counts,
    count_judged,
    judge_lines,
    to_judge_schema,
)
from elsinore.lake.landing_zone import (
    LandingFile,
    decode_again,
    landing_files,
    late_landings,
    listings,
    scan_files,
    scanned_schema,
)
from elsinore.lake.regions import Landings
from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from elsinore.timeline import Interval, hour_label, hours_of, parse_hour, stretches

#: Times that a landing is judged before it gives way to others that land beside it.
_TRIES = 5

#: Days whose events are read at a time to be written anew.
_DAYS = 30

#: What `raw_events` and `quarantine` hold of a line, but for the day.
RAW = ("landing", "file", "position", "line", "event_id")
BAD = ("landing", "file", "position", "reason_code", "reason", "line")

#: What an account counts.
_COUNTED = ("files", "bytes", "lines", "accepted", "duplicates", "quarantined")

#: The figure that names refused landings, with the reasons.
REFUSED = "refused_landings"

Figures = dict[str, int | float | str]

#: Rows, as a table of Arrow or a frame of Spark.
Rows = Any


class LandingRows(Protocol):
    """How the rows of a landing are held and worked on: in this process, or by Spark.

    Attributes:
        lake: the tables.
    """

    @property
    def lake(self) -> Lake:
        """The tables."""

    def scan(self, files: Sequence[LandingFile]) -> Rows:
        """Rows of `scanned_schema` for every line of some files."""

    def without(self, rows: Rows, labels: Collection[str]) -> Rows:
        """Rows that are not of some landings."""

    def read(
        self,
        table: str,
        version: int | None,
        inside: Landings | None = None,
        *,
        outside: Sequence[Landings] = (),
        ids: Rows | None = None,
    ) -> Rows:
        """Rows of a table at a version: of some landings, not of others, of some event ids."""

    def ids(self, *rows: Rows) -> Rows:
        """The event ids of rows, for `read`."""

    def labels(self, rows: Rows) -> set[str]:
        """The landings of rows."""

    def judge(self, lines: Sequence[Rows], held: Sequence[Rows]) -> Rows:
        """`judge_lines` of lines beside rows of `events`; worked out once."""

    def decode(self, stored: Rows) -> Rows:
        """Rows of `scanned_schema` for the lines among rows of `raw_events`."""

    def whole_files(self, rows: Rows) -> Rows:
        """Those rows that stand for a file as a whole."""

    def count(self, judged: Rows, whole: frozenset[str]) -> LandingCounts:
        """`count_judged`, of all rows."""

    def bad(self, judged: Rows, where: Landings) -> Rows:
        """Rows for `quarantine`."""

    def changes(self, judged: Rows) -> Rows:
        """Rows that change `events`."""

    def parts(self, rows: Rows) -> Iterable[pa.Table]:
        """Rows as tables of Arrow."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of the tables that a landing is judged at.

    Attributes:
        events: the version of `events`.
        turn: how many turns that has seen.
        raw: a version of `raw_events` that holds the lines of all landings which took these turns.
    """

    events: int
    turn: int
    raw: int

    @classmethod
    def of(cls, lake: Lake) -> Self:
        """The latest one; a landing stores its lines before it takes its turn."""
        events, turn = lake.turn("events")
        return cls(events, turn, lake.version("raw_events"))

    def require_alone(self, lake: Lake, *, stored: bool, merged: bool) -> None:
        """Refuse to go on where others have changed rows since.

        Args:
            lake: the tables.
            stored: whether this landing has since stored its lines.
            merged: whether it has changed `events`.

        Raises:
            ConflictError: others have.
        """
        own = {"raw_events": (self.raw, stored), "events": (self.events, merged)}
        for table, (version, mine) in own.items():
            changes = sum(
                commit.changes_rows for commit in commits(lake.path(table), after=version)
            )
            if changes > mine:
                raise ConflictError("another run landed meanwhile")


class LargeLandingError(Exception):
    """The lines of a landing are more than this process should hold."""


@dataclass(frozen=True)
class ArrowRows:
    """Rows of a landing in this process: for landings that fit into it.

    Attributes:
        lake: the tables.
        room: bytes that scanned lines may take.
    """

    lake: Lake
    room: int

    def scan(self, files: Sequence[LandingFile]) -> pa.Table:
        """See `LandingRows`.

        Raises:
            LargeLandingError: there is no room for the lines.
        """
        stream = self.lake.stream
        batches, size = [], 0
        for batch in scan_files(files, stream):
            batches.append(batch)
            size += batch.nbytes
            if size > self.room:
                raise LargeLandingError
        return pa.Table.from_batches(batches, scanned_schema(stream))

    def without(self, rows: pa.Table, labels: Collection[str]) -> pa.Table:
        """See `LandingRows`."""
        return rows.filter(~pc.field("landing").isin(list(labels)))

    def read(
        self,
        table: str,
        version: int | None,
        inside: Landings | None = None,
        *,
        outside: Sequence[Landings] = (),
        ids: pa.ChunkedArray | None = None,
    ) -> pa.Table:
        """See `LandingRows`."""
        by_day = Landings.day in self.lake.schema(table).partition_by
        where = pc.scalar(True) if inside is None else inside.expression(by_day=by_day)
        for landings in outside:
            where = where & ~landings.expression(by_day=by_day)
        rows = self.lake.dataset(table, version)
        if ids is None:
            return rows.to_table(filter=where)
        if not len(ids):
            return rows.schema.empty_table()
        # Few files hold any of them: of the others nothing else is read.
        found = [rows.schema.empty_table()]
        for file in rows.get_fragments(where):
            there = file.to_table(rows.schema, ["event_id"], where)["event_id"]
            if pc.any(which := pc.is_in(there, ids)).as_py():
                found.append(file.to_table(rows.schema, filter=where).filter(which))
        return pa.concat_tables(found)

    def ids(self, *rows: pa.Table) -> pa.ChunkedArray:
        """See `LandingRows`."""
        chunks = [chunk for part in rows for chunk in part["event_id"].drop_null().chunks]
        return pa.chunked_array(chunks, pa.string())

    def labels(self, rows: pa.Table) -> set[str]:
        """See `LandingRows`."""
        return set(rows["landing"].unique().to_pylist())

    def judge(self, lines: Sequence[pa.Table], held: Sequence[pa.Table]) -> pa.Table:
        """See `LandingRows`."""
        schema = to_judge_schema(self.lake.stream)
        parts = [schema.empty_table()]
        for is_held, tables in ((False, lines), (True, held)):
            for table in tables:
                names = [name for name in table.column_names if name in schema.names]
                flags = pa.repeat(is_held, table.num_rows)
                parts.append(table.select(names).append_column(HELD, flags))
        both = pa.concat_tables(parts, promote_options="default").cast(schema)
        return judge_lines(both, self.lake.stream)

    def decode(self, stored: pa.Table) -> pa.Table:
        """See `LandingRows`."""
        lines = stored.filter(pc.field("position") > 0)
        return decode_again(lines.select([*PLACE, "line"]), self.lake.stream)

    def whole_files(self, rows: pa.Table) -> pa.Table:
        """See `LandingRows`."""
        return rows.filter(pc.field("position") == 0)

    def count(self, judged: pa.Table, whole: frozenset[str]) -> LandingCounts:
        """See `LandingRows`."""
        return add_up_counts(count_judged(judged, whole).to_pylist())

    def bad(self, judged: pa.Table, where: Landings) -> pa.Table:
        """See `LandingRows`."""
        is_bad = where.expression(by_day=False) & (pc.field("fate") == QUARANTINED)
        return judged.filter(is_bad).select(BAD)

    def changes(self, judged: pa.Table) -> pa.Table:
        """See `LandingRows`."""
        return judged.filter(pc.field("op").is_valid())

    def parts(self, rows: pa.Table) -> Iterable[pa.Table]:
        """See `LandingRows`."""
        return [rows]


@dataclass(frozen=True)
class FoundLanding:
    """What there is to land.

    Attributes:
        own: the run's own hours, and in `own.also` the earlier ones with new or changed files.
        files: of all of them.
        refused: by label earlier hours that cannot be landed, and why.
    """

    own: Landings
    files: tuple[LandingFile, ...]
    refused: dict[str, str]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

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


def find_landing(lake: Lake, settings: Settings, interval: Interval) -> FoundLanding:
    """The files of the hours of an interval, and of earlier hours whose files are new or changed.

    Raises:
        DataError: there is no landing zone, a file cannot be read, or a link leads out of it.
    """
    zone = settings.landing
    files = landing_files(zone, interval)
    lake.create_all()
    late, refused = late_landings(lake, zone, interval.start, settings.late_days)
    own = Landings(interval, stretches(late))
    for stretch in own.also:
        files += landing_files(zone, stretch)
    return FoundLanding(own, files, refused)


def land(rows: LandingRows, found: FoundLanding, *, allowed: float, run: str) -> Figures:
    """Land the hours of an interval, whole, and earlier ones whose files are new or have changed.

    The tables follow from the files alone: hours landed again, in any order, in any cut, leave the
    same `raw_events`, `quarantine`, `events` and `landings`. Where a line of this landing decides
    on one of another, that landing is judged again and its account written anew.

    Events are written last: until then everything that a rerun needs to know is as it was, so that
    a run that is killed at any point is mended by the next one. Where too much is bad, quarantine
    alone is written, so that it can be looked at.

    Landings may overlap. Each stores its lines, then changes `events` in a turn of its own: where
    another one took the turn for which it was judged, nothing is written and it is judged again. So
    `events` is at any version what the landings before it make of the files.

    Of the days before (`Settings.late_days`) it lands the hours that have files which came, or were
    changed, since somebody looked last. Such an hour never fails a run: where it cannot be read or
    too much of it is bad, it is left as it was, and tried again by each run until its files change
    or are too old.

    Args:
        rows: works on the rows.
        found: what there is to land.
        allowed: share of lines that may be bad.
        run: the run, named in the tables' history.

    Returns:
        Totals of the run's own hours: files, bytes, lines, accepted, duplicates, quarantined. Of
        earlier ones `late_landings`, how many were landed with them, and, where there are any,
        `refused_landings`: those that could not, with the reasons, as a JSON object.

    Raises:
        DataError: there is no landing zone, or too large a share of the lines is bad.
        ConflictError: other runs kept landing meanwhile.
        EngineError: the lines do not add up.
    """
    again = Retrying(
        retry=retry_if_exception_type(ConflictError),
        stop=stop_after_attempt(_TRIES),
        wait=wait_random(0, 0.5),
        reraise=True,
    )
    landing = _Landing(rows, run, allowed, found, rows.scan(found.files))
    figures = again(landing.attempt)
    refused = landing.found.refused
    told = {REFUSED: json.dumps(refused)} if refused else {}
    return {**figures, "late_landings": len(landing.found.late), **told}


@dataclass(frozen=True)
class JudgedLanding:
    """A landing that was judged, and those that were judged again with it.

    Attributes:
        rows: what judging gave.
        own: the landings that were scanned.
        others: further ones that were judged again as a whole.
        counts: what it comes to.
    """

    rows: Rows
    own: Landings
    others: tuple[Interval, ...]
    counts: LandingCounts

    @property
    def region(self) -> Landings:
        """All landings that were judged as a whole."""
        return Landings(self.own.interval, (*self.own.also, *self.others))


def judge_landing(
    rows: LandingRows, scanned: Rows, ours: Landings, seen: Seen, *, also: Collection[str] = ()
) -> JudgedLanding:
    """Judge the scanned lines of some landings, with all stored lines and events of the same ids.

    A landing whose lines may change their fate by this one is judged anew as a whole.

    Args:
        rows: works on the rows.
        scanned: rows of `scanned_schema`.
        ours: the landings.
        seen: the versions to read.
        also: labels of other landings that are judged again in any case.
    """
    # What these landings brought before, too: without it another line may stay.
    judged = rows.judge([scanned], [rows.read("events", seen.events, ours)])
    ids = rows.ids(judged)
    others: set[str] = set()
    if rows.lake.stream.id_field is not None and _has_others(rows.lake, ours, seen):
        others = rows.labels(rows.read("events", seen.events, outside=[ours], ids=ids))
    counts = rows.count(judged, _labels(ours))
    labels = set(also) | others
    if counts.held or others:
        labels |= rows.labels(rows.read("raw_events", seen.raw, outside=[ours], ids=ids))
    if not labels:
        return JudgedLanding(judged, ours, (), counts)

    again = stretches(map(parse_hour, labels))
    rest = Landings(again[0], again[1:])
    region = Landings(ours.interval, (*ours.also, *again))
    stored = rows.read("raw_events", seen.raw, rest)
    ids = rows.ids(judged, stored)
    rivals = rows.read("raw_events", seen.raw, outside=[ours, rest], ids=ids)
    # Of a file that was unusable as a whole nothing but its fault was stored.
    unusable = rows.whole_files(rows.read("quarantine", None, rest))
    lines = [scanned, rows.decode(stored), rows.decode(rivals), unusable]
    held = [rows.read("events", seen.events, region)]
    held.append(rows.read("events", seen.events, outside=[region], ids=ids))
    judged = rows.judge(lines, held)
    return JudgedLanding(judged, ours, again, rows.count(judged, _labels(region)))


def _labels(landings: Landings) -> frozenset[str]:
    return frozenset(hour_label(hour) for part in landings.intervals for hour in hours_of(part))


def _has_others(lake: Lake, ours: Landings, seen: Seen) -> bool:
    """Whether other landings have brought any event."""
    events = lake.dataset("events", seen.events)
    other = events.head(1, columns=["landing"], filter=~ours.expression(by_day=False))
    return bool(other.num_rows)


@dataclass
class _Landing:
    """A landing until it has got its turn.

    Attributes:
        rows: works on the rows.
        run: names it in the tables' history.
        allowed: share of lines that may be bad.
        found, scanned: what lands, and its lines.
        also: other landings that it has written accounts of.
        stored: whether its lines are stored.
    """

    rows: LandingRows
    run: str
    allowed: float
    found: FoundLanding
    scanned: Rows
    also: set[str] = field(default_factory=set)
    stored: bool = False

    def attempt(self) -> dict[str, int]:
        """Judge and write.

        Raises:
            ConflictError: others wrote first: it is to be tried again.
        """
        lake, ours = self.rows.lake, self.found.own
        own = list(map(hour_label, hours_of(ours.interval)))
        seen = Seen.of(lake)
        landing = judge_landing(self.rows, self.scanned, ours, seen, also=self.also)
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
            self._store("raw_events", self.scanned.select(RAW), ours, bool(landing.counts.fates))
            self.stored = True
        raw_version = lake.version("raw_events")
        # Accounts of others are written only while nobody has landed anything else.
        seen.require_alone(lake, stored=storing, merged=False)
        _require_accounted(lake, accounts, landing.region, raw_version)
        self.also.update(hour_label(hour) for part in landing.others for hour in hours_of(part))
        self._write_quarantine(landing, landing.region)
        lake.record("landings", list(accounts.values()), where=landing.region, run=self.run)
        # What is as it should be is left alone: no version of `events` without a change.
        merging = bool(landing.counts.changes)
        if merging:
            parts = self.rows.parts(self.rows.changes(landing.rows))
            change_events(lake, parts, landing.counts, seen, run=self.run)
        seen.require_alone(lake, stored=storing, merged=merging)
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
            self.scanned = self.rows.without(self.scanned, bad)
            self.found = self.found.without(bad)
        return bool(bad)

    def _write_quarantine(self, landing: JudgedLanding, where: Landings) -> None:
        is_bad = any(fate == QUARANTINED for _, fate, _ in landing.counts.fates)
        self._store("quarantine", self.rows.bad(landing.rows, where), where, is_bad)

    def _store(self, table: str, rows: Rows, where: Landings, has_rows: bool) -> None:
        """Make rows the only ones of some landings, unless there are none and were none."""
        lake = self.rows.lake
        held = lake.dataset(table).head(1, filter=where.expression(by_day=True))
        if has_rows or held.num_rows:
            lake.stream_rows(table, self.rows.parts(rows), where=where, note=self.run)


def change_events(
    lake: Lake, parts: Iterable[pa.Table], counts: LandingCounts, seen: Seen, *, run: str
) -> None:
    """Apply changes to `events` in one commit, which notes the touched times.

    Args:
        lake: the tables.
        parts: rows that judging gave, of those that change something.
        counts: what judging gave.
        seen: the state that was judged at.
        run: the run.

    Raises:
        ConflictError: `events` has changed since.
    """
    only_new = set(counts.changes) == {INSERT}
    # Opened before anything is written: delta-rs cannot be called while it writes.
    events = lake.dataset("events", seen.events)
    key = _event_id if lake.stream.id_field is not None else _place
    lake.change_rows(
        "events",
        _new_rows(parts) if only_new else _rows_of_days(events, parts, counts, key),
        days=None if only_new else counts.days,
        seen=seen.events,
        turn=seen.turn + 1,
        note=json.dumps({"run": run, "touched": counts.touched}),
    )


def _new_rows(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    for part in parts:
        there = part.filter(pc.field("op") != DELETE)
        yield there.append_column("event_day", there["event_time"].cast(pa.date32()))


def _rows_of_days(
    events: ds.Dataset,
    parts: Iterable[pa.Table],
    counts: LandingCounts,
    key: Callable[[pa.Table], pa.ChunkedArray],
) -> Iterator[pa.Table]:
    """All that the days hold in which something changes: what is new, then what stays."""
    changed: list[pa.Array] = []
    for part in parts:
        changed += key(part).chunks
        yield from _new_rows([part])
    keys, days, found = pa.chunked_array(changed, pa.string()), sorted(counts.days), 0
    for first in range(0, len(days), _DAYS):
        some = pc.field("event_day").isin(days[first : first + _DAYS])
        before = events.to_table(filter=some)
        is_changed = pc.is_in(key(before), keys)
        found += pc.sum(is_changed).as_py() or 0
        yield before.filter(pc.invert(is_changed))
    if found != counts.changes[UPDATE] + counts.changes[DELETE]:
        raise EngineError(f"{found} events to change, not {dict(counts.changes)}")


def _event_id(events: pa.Table) -> pa.ChunkedArray:
    return events["event_id"]


def _place(events: pa.Table) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(events["position"].cast(pa.string()), events["file"], ":")


def _accounts(
    lake: Lake, landing: JudgedLanding, files: Sequence[LandingFile]
) -> dict[str, dict[str, Any]]:
    """By hour that is judged a row of `landings`, also for those without files."""
    own = [hour_label(hour) for part in landing.own.intervals for hour in hours_of(part)]
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
    where = region.expression(by_day=True)
    for batch in lake.dataset("raw_events", version).to_batches(columns=["landing"], filter=where):
        for found in batch["landing"].value_counts().to_pylist():
            stored[found["values"]] += found["counts"]
    for label, account in accounts.items():
        if stored[label] != account["lines"]:
            raise EngineError(f"landing {label}: {stored[label]} lines, {account['lines']} fates")
