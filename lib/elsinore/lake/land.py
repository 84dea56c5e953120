"""Lands the raw files of some hours: raw lines, quarantine, events, and an account of all lines."""

from __future__ import annotations

import json
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, product
from math import ceil
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError, EngineError
from elsinore.files.rejection import bad_lines, judged_lines
from elsinore.lake.collect import ASIDE, collect
from elsinore.lake.delta_log import changed_partitions, commits
from elsinore.lake.judge_landing import (
    ACCEPTED,
    DELETE,
    DUPLICATE,
    INSERT,
    QUARANTINED,
    UPDATE,
    LandingCounts,
    Seen,
    Stored,
    change_keys,
    count_judged,
    decoded_lines,
    judge_again,
    judge_own,
    laid_out,
    landings_of,
)
from elsinore.lake.kept_hours import InTasks, in_turn
from elsinore.lake.land_in_tasks import (
    BAD,
    RAW,
    LinesInTasks,
    Source,
    file_sources,
    stored_files,
    stored_rows,
)
from elsinore.lake.landing_zone import (
    FORGETTING,
    UNDER_WAY,
    LandingFile,
    as_stored,
    empty_file,
    held,
    judged_with,
    landing_files,
    late_landings,
    listings,
    scanned_schema,
    under_way,
)
from elsinore.lake.regions import Conditions, Landings
from elsinore.lake.tables import Lake, trying_again, with_column
from elsinore.settings import Settings
from elsinore.timeline import DAY, Interval, hour_label, hours_of, parse_hour
from elsinore.wording import some_of

#: Times that a landing is judged before it gives way to others that land beside it.
_TRIES = 5

#: For so long a run goes on to land hours that are not its own.
_LATE_SECONDS = 600

#: Lines of a packed file are about so many times its size.
_PACKED = 5

#: What an account counts.
_COUNTED = ("files", "bytes", "lines", "accepted", "duplicates", "quarantined")

#: The figure that names refused landings, with the reasons.
REFUSED = "refused_landings"

Figures = dict[str, int | float | str]


@dataclass(frozen=True)
class FoundLanding:
    """What there is to land."""

    own: Landings  #: the run's own hours, and earlier ones
    files: tuple[LandingFile, ...]  #: of all of them
    refused: dict[str, str]  #: by label, why earlier hours cannot be landed
    raw: int  #: the version of `raw_events` by then
    late: tuple[str, ...] = ()  #: labels of the earlier hours
    #: labels of earlier hours whose landing was killed, and whose files are gone.
    broken_off: tuple[str, ...] = ()

    @property
    def asked(self) -> list[str]:
        """The labels of the run's own hours."""
        late = set(self.late)
        return [label for label in self.own.labels if label not in late]

    @property
    def size(self) -> int:
        """Bytes of their lines, about."""
        return sum(_unpacked(file.name, file.size) for file in self.files)

    def of(self, labels: Iterable[str]) -> FoundLanding:
        """The same of some hours alone, at least one."""
        own = set(labels)
        return FoundLanding(
            Landings.of(map(parse_hour, own)),
            tuple(file for file in self.files if file.landing in own),
            {},
            self.raw,
            tuple(label for label in self.late if label in own),
        )

    def parts(self, most: int, last: Collection[str] = ()) -> list[FoundLanding]:
        """The same in parts of at most so many bytes of lines, or of one hour.

        The run's own hours come first: what a run does not get to of others, the next one does.
        Those of the labels `last` come after all others.
        """
        sizes: Counter[str] = Counter()
        for file in self.files:
            sizes[file.landing] += _unpacked(file.name, file.size)
        parts, size = list[list[str]](), most
        for label in [*self.asked, *sorted(self.late, key=last.__contains__)]:
            if not parts or size + sizes[label] > most:
                parts, size = [*parts, []], 0
            parts[-1].append(label)
            size += sizes[label]
        return list(map(self.of, parts))


def _unpacked(name: str, size: int) -> int:
    return size * (_PACKED if name.endswith(".gz") else 1)


def land(
    lake: Lake, settings: Settings, interval: Interval, *, run: str, in_tasks: InTasks = in_turn,
    stop: Sequence[int] = (), last: Collection[str] = (),
) -> Figures:  # fmt: skip
    """Land the hours of an interval, whole, and earlier ones whose files are new or have changed.

    First what the stream's rules are about is collected (`collect`). The tables follow from the
    files alone: hours landed again, in any order, in any cut, leave the same `raw_events`,
    `quarantine`, `events` and `landings`. Where a line of this landing decides on one of another,
    that landing is judged again and its account written anew. So a long landing is made in parts
    (`Settings.landing_bytes`), each of which fits into this process, and an hour that does not is
    landed `in_tasks`, by buckets of ids (`land_in_tasks`).

    First `landings` says that the hours are under way, and after all else that they are not: a run
    that is killed in between is mended by the next one of these hours, or for which they are late.
    Events are written after all that tells of them. Where too much of hours that have not landed is
    bad, quarantine alone is written, so that it can be looked at.

    Landings may overlap. Each stores its lines, then changes `events` at the version that it was
    judged at: where there is another by now, nothing is written and it is judged again. So `events`
    is at any version what the landings before it make of the files. Of two of the same hours the
    one that stores its lines last has the last word, and says which files these are of.

    Of the days before (`Settings.late_days`), counted from a `stop` (`hours_of_stop`) if there was
    one, it lands the hours that have files which came, or were changed, since somebody looked last,
    and those of the stop with or without files: after the run's own, those of the labels `last`
    after all others. What it does not get to in some minutes is left to the next run. Such an hour
    never fails a run: where it cannot be read or too much of it is bad, it is left as it was, and
    tried again by each run until its files change or are too old.

    Returns:
        Totals of the run's own hours: files, bytes, lines, accepted, duplicates, quarantined. Of
        earlier ones `late_landings`, how many were landed with them, and, where there are any,
        `refused_landings`: those that could not, with the reasons, as a JSON object; so are files
        that could not be collected. And the figures of `collect`.

    Raises:
        DataError: there is no landing zone, too large a share of the lines is bad, or the hours had
            landed and their lines are kept no longer.
        ConflictError: other runs kept landing meanwhile.
        EngineError: the lines do not add up.
    """
    aside = settings.local / settings.stream / ASIDE
    days = settings.late_days + ceil((interval.start - min([interval.start, *stop])) / DAY)
    collected = collect(settings.landing, lake.stream, interval, days, aside)
    most, found = settings.landing_bytes, find_landing(lake, settings, interval, stop)
    if found.broken_off:
        land_without(lake, found.broken_off, _nothing, {}, most=most, run=run, ends=True)
    figures, refused = Counter(collected.figures), {**collected.refused, **found.refused}
    refused |= _land_found(lake, settings, found, last, run, in_tasks, figures)
    told = {REFUSED: json.dumps(refused)} if refused else {}
    return {**figures, **told}


def _land_found(
    lake: Lake, settings: Settings, found: FoundLanding, last: Collection[str], run: str,
    in_tasks: InTasks, figures: Counter[str],
) -> dict[str, str]:  # fmt: skip
    """Land part by part; totals are added to some figures. By label, why earlier hours are not."""
    refused: dict[str, str] = {}
    parts, until = deque(found.parts(settings.landing_bytes, last)), 0.0
    while parts and (parts[0].asked or time.monotonic() < until):
        part = parts.popleft()
        sources = file_sources(part.files, lake.stream, settings.landing_bytes)
        landing = _Landing(
            lake, run, settings.max_bad_share, part, sources, settings.landing_bytes, in_tasks
        )
        try:
            figures.update(landing.land(_TRIES))
        except _BadHours as error:
            refused |= error.fields
            if rest := set(part.own.labels) - refused.keys():
                parts.appendleft(part.of(rest))
        except DataError as error:  # such as a late file that has just gone, or what one corrects
            if not part.late:
                raise
            if part.asked:
                parts.appendleft(part.of(part.asked))
                parts.append(part.of(part.late))
            elif len(part.late) > 1:
                middle = len(part.late) // 2
                parts.extend(map(part.of, (part.late[:middle], part.late[middle:])))
            else:
                refused[part.late[0]] = error.message
        else:
            figures["late_landings"] += len(part.late)
            if part.asked:
                until = time.monotonic() + _LATE_SECONDS
    return refused


def find_landing(
    lake: Lake, settings: Settings, interval: Interval, stop: Sequence[int] = ()
) -> FoundLanding:
    """The files of the hours of an interval, of earlier hours whose files are new or changed, and
    of a stop.

    Raises:
        DataError: there is no landing zone, a file cannot be read, a link leads out of it, or the
            hours had landed and their lines are kept no longer; such earlier hours are refused.
    """
    zone = settings.landing
    rules = lake.stream.sources
    files = landing_files(zone, interval, rules)
    lake.create_all()
    raw = lake.version("raw_events")
    late, refused, broken_off = late_landings(lake, zone, interval.start, settings.late_days, stop)
    if "raw_events" in {*settings.keep_days, *lake.stream.keep_days}:
        asked = {hour_label(hour) for hour in hours_of(interval)}
        removed = _removed(lake, asked | late.keys(), raw)
        if removed & asked:
            raise _were_removed(sorted(removed & asked))
        refused |= {label: _were_removed([label]).message for label in removed}
        late = {label: of for label, of in late.items() if label not in removed}
    own = Landings.of([*map(parse_hour, late), *hours_of(interval)])
    files = (*files, *chain.from_iterable(late.values()))
    return FoundLanding(own, files, refused, raw, tuple(late), broken_off)


def _nothing(lines: pa.Table) -> pa.Array:
    return pa.repeat(False, lines.num_rows)


def land_without(
    lake: Lake, labels: Collection[str], goes: Callable[[pa.Table], pa.Array],
    mended: Mapping[tuple[str, int, int], LandingFile], *, most: int, run: str, ends: bool = False,
) -> None:  # fmt: skip
    """Judge landings again, of what is stored of them but for the lines that go.

    That leaves what landing their raw files would, with blanks in place of these lines; the files
    themselves may be gone. `goes` tells of rows of `scanned_schema`; `mended` are, by name, size
    and time in `landings`, raw files that have these blanks by now. More than `most` bytes of lines
    are judged by buckets of ids. Landings that are under way stay so, unless this `ends` them: what
    is stored may lack lines of their files, each of which is landed anew should it come back.

    Raises:
        ConflictError: others kept landing meanwhile.
    """
    ours, also = Landings.of(map(parse_hour, labels)), set[str]()

    def once() -> None:
        seen = Seen.of(lake)  # what is read now is not to take the place of what others land
        listed = ours.expression(by_day=False)
        rows = lake.rows("landings", listed, columns=["file_hour", "listing"]).to_pylist()
        known = {row["file_hour"]: json.loads(row["listing"] or "{}") for row in rows}
        stay = {label for label, listing in known.items() if UNDER_WAY in listing and not ends}
        sources, stored, left = _sources_without(lake, ours, seen, goes)
        # No file was changed in 1970: any that comes back counts as changed.
        files = [
            mended.get((name, size, time)) or LandingFile(label, name, "", size, time * (not ends))
            for label, listing in known.items()
            for name, (size, time) in listing.items()
            if name not in (UNDER_WAY, FORGETTING) and (name in stored or not ends)
        ]
        gone = stored - left
        empty = [empty_file(file, lake.stream) for file in files if file.name in gone]
        found = FoundLanding(ours, tuple(files), {}, seen.raw)
        mark = UNDER_WAY if ends else FORGETTING
        _Landing(
            lake, run, 1.0, found, [*sources, lambda: empty], most, also=also, at=seen, stay=stay,
            mark=mark,
        ).land(1)  # fmt: skip

    trying_again(_TRIES, 0.5)(once)


def _sources_without(
    lake: Lake, ours: Landings, seen: Seen, goes: Callable[[pa.Table], pa.Array]
) -> tuple[list[Source], set[str], set[str]]:
    """The stored lines of landings but for some; their files, and those that have a line left."""
    numbers = range(len(stored_files(lake, "raw_events", ours, seen)[1]))

    def decoded(number: int) -> Iterator[pa.Table]:
        rows = stored_rows(lake, "raw_events", ours, seen, number)
        return (decoded_lines(lake, part) for part in rows)

    def staying(number: int) -> Iterator[pa.RecordBatch]:
        for lines in decoded(number):
            yield from lines.filter(pc.invert(goes(lines))).to_batches()

    every, left = set[str](), set[str]()
    for number in numbers:
        for lines in decoded(number):
            every.update(lines["file"].unique().to_pylist())
            left.update(lines["file"].filter(pc.invert(goes(lines))).unique().to_pylist())
    return [partial(staying, number) for number in numbers], every, left


def _removed(lake: Lake, labels: Iterable[str], version: int) -> set[str]:
    """Hours that had lines which are gone: landed with its files alone, its events would be back.

    They are looked for at a version of `raw_events`.
    """
    own = Landings.of(map(parse_hour, labels))
    had_lines = own.expression(by_day=False) & (pc.field("lines") > 0)
    landed = lake.rows("landings", had_lines, columns=["file_hour", "listing"])
    landed = landed.filter(pc.invert(under_way(landed["listing"])))
    stored = lake.log("raw_events", version).of(own).to_table(["file_hour"])
    return landings_of(landed) - landings_of(stored)


def _were_removed(labels: Collection[str]) -> DataError:
    return DataError(
        f"the raw records of {some_of(labels)} were removed after their retention period",
        hint="published results stay; to ingest them again, remove raw_events from keep_days",
    )


@dataclass
class _LinesHere:
    """The lines of a landing, rows of `scanned_schema`, judged and stored in this process."""

    lake: Lake
    scanned: pa.Table
    _stored: Stored = field(init=False)
    _ours: Landings = field(init=False)
    _judged: pa.Table = field(init=False)

    @classmethod
    def of(cls, lake: Lake, sources: Sequence[Source]) -> _LinesHere:
        """Those of some sources."""
        batches = (batch for source in sources for batch in source())
        return cls(lake, pa.Table.from_batches(batches, scanned_schema(lake.stream)))

    def others(self, seen: Seen, ours: Landings) -> set[str]:
        """The labels of other landings that are to be judged again as a whole."""
        self._stored, self._ours = Stored(self.lake, seen), ours
        self._judged, labels = judge_own(self._stored, self.scanned, ours)
        return labels

    def judge(self, again: Landings | None) -> LandingCounts:
        """Judge them, and other landings as a whole."""
        ours = self._ours
        if again:
            self._judged = judge_again(self._stored, self.scanned, self._judged, ours, again)
        return LandingCounts.of(count_judged(self._judged), ours, again)

    def store_lines(self, where: Landings, note: str, seen: int) -> None:
        """Make them the only rows of some landings in `raw_events`, at a version of it."""
        self._store("raw_events", as_stored(self.scanned, RAW), where, note, seen)

    def store_bad(self, where: Landings, run: str) -> None:
        """Make those that are in quarantine the only rows of some landings there."""
        is_bad = where.expression(by_day=False) & (pc.field("_fate") == QUARANTINED)
        self._store("quarantine", as_stored(self._judged.filter(is_bad), BAD), where, run)

    def _store(
        self, table: str, rows: pa.Table, where: Landings, note: str, seen: int | None = None
    ) -> None:
        """Make rows the only ones of some landings, unless there are none and were none."""
        held = self.lake.log(table, seen).of(where).head(1)
        if rows.num_rows or held.num_rows:
            self.lake.stream_rows(table, [rows], where=where, note=note, seen=seen)

    def change_events(self, counts: LandingCounts, note: str) -> None:
        """Apply changes to `events`: days in which an event changes or goes are written anew.

        Raises:
            ConflictError: `events` has changed since it was judged.
        """
        seen = self._stored.seen.events
        changes = self._judged.filter(pc.field("_op").is_valid())
        goes = counts.changes[DELETE]
        new = changes.filter(pc.field("_op") != DELETE) if goes else changes
        parts = [laid_out(new, self.lake.stream)]
        where: Conditions | None = None
        if set(counts.changes) != {INSERT}:
            parts.append(self._staying(changes, counts))
            where = [[("event_day", "in", sorted(counts.days))]]
        self.lake.commit("events", parts, {"userMetadata": note}, seen=seen, where=where)

    def _staying(self, changes: pa.Table, counts: LandingCounts) -> pa.Table:
        """What else the days hold in which something changes."""
        days: Conditions = [[("event_day", "=", day)] for day in sorted(counts.days)]
        before = self.lake.log("events", self._stored.seen.events).dataset(days).to_table()
        stream = self.lake.stream
        is_changed = pc.is_in(change_keys(before, stream), change_keys(changes, stream))
        found = pc.sum(is_changed).as_py() or 0
        if found != counts.changes[UPDATE] + counts.changes[DELETE]:
            raise EngineError(f"{found} events to change, not {dict(counts.changes)}")
        return before.filter(pc.invert(is_changed))

    def close(self) -> None:
        """Nothing is left behind."""


class _BadHours(DataError):
    """Too much of some earlier hours is bad: `fields` say by label why. The others may land."""


@dataclass
class _Landing:
    """A landing until it has changed `events`.

    `allowed` is the share of lines that may be bad, `also` are other landings that are judged again
    with it, whatever its lines say by now. `at` are the versions that the lines were read at, if
    they come from tables. What is under way in the hours of `stay` is so afterwards, too; `mark`
    says of the others that they are, until it has ended. `stored` is the version of `raw_events`
    that this landing's lines were put behind.
    """

    lake: Lake
    run: str
    allowed: float
    found: FoundLanding
    sources: Sequence[Source]
    most: int
    in_tasks: InTasks = in_turn
    also: set[str] = field(default_factory=set)
    at: Seen | None = None
    stay: Collection[str] = ()
    mark: str = UNDER_WAY
    stored: int | None = None
    name: str = field(default_factory=lambda: uuid4().hex)
    lines: _LinesHere | LinesInTasks = field(init=False)

    def land(self, tries: int) -> dict[str, int]:
        """Judge and write, up to so many times while others write first.

        Gives the totals of the run's own hours.

        Raises:
            ConflictError: others kept writing.
        """
        self.lines = self.read(self.found.size)
        try:
            return trying_again(tries, 0.5)(self.attempt)
        finally:
            self.lines.close()

    def read(self, size: int) -> _LinesHere | LinesInTasks:
        """Lines of about so many bytes: in tasks if these are too many."""
        if size > self.most:
            return LinesInTasks.of(self.lake, self.sources, size, self.most, self.in_tasks)
        return _LinesHere.of(self.lake, self.sources)

    def attempt(self) -> dict[str, int]:
        """Judge and write.

        Raises:
            ConflictError: others wrote first: it is to be tried again.
        """
        lake, ours, own = self.lake, self.found.own, self.found.asked
        seen = self.at or Seen.of(lake)
        self._require_kept()
        again, counts = self._judge(seen)
        region = ours.joined(again)
        accounts = _accounts(lake, ours.labels, again, counts, self.found.files)
        others = [accounts[label] for label in sorted(accounts.keys() - set(ours.labels))]
        self._require_good(accounts, others)
        seen.require_alone(lake, stored=False, merged=False)
        judged_again = [account["file_hour"] for account in others]
        self.also.update(judged_again)
        # A run that is killed from here on has landed no file: the next one looks for them. What
        # has others judged again may be gone once its lines are stored: the marks name them.
        listings_of = {label: accounts[label]["listing"] for label in ours.labels}
        marks = dict.fromkeys(listings_of, self.mark) | dict.fromkeys(self.stay, UNDER_WAY)
        marked = {label: held(text, marks[label], again) for label, text in listings_of.items()}
        listings_of |= {label: marked[label] for label in self.stay}
        rows = [accounts[label] | {"listing": text} for label, text in marked.items()]
        lake.record("landings", rows, where=ours.conditions(), run=self.run)
        storing = not self._is_stored()
        if storing:
            self.lines.store_lines(ours, json.dumps(self._note), seen.raw)
            self.stored = seen.raw
        raw_version = lake.version("raw_events")
        # Accounts of others are written only while nobody has landed anything else, and when the
        # lines are there that say why.
        seen.require_alone(lake, stored=storing, merged=False)
        if others:
            where = Landings.of(map(parse_hour, judged_again)).conditions()
            lake.record("landings", others, where=where, run=self.run)
        _require_accounted(lake, accounts, region, raw_version)
        self.lines.store_bad(region, self.run)
        # What is as it should be is left alone: no version of `events` without a change.
        merging = bool(counts.changes)
        if merging:
            change_events(self.lines, counts, run=self.run)

        def listed(rows: pa.Table) -> pa.Table:
            seen.require_alone(lake, stored=storing, merged=merging)
            found = [listings_of[label] for label in rows["file_hour"].to_pylist()]
            return with_column(rows, "listing", pa.array(found, pa.string()))

        lake.amend("landings", listed, where=ours, run=self.run)
        return _totals([accounts[label] for label in own])

    def _require_kept(self) -> None:
        """Refuse to go on where the night has removed lines of the hours since they were found."""
        table, days = self.lake.path("raw_events"), {label[:10] for label in self.found.own.labels}
        for commit in commits(table, after=self.found.raw):
            if "touched" in commit.note:
                gone = changed_partitions(table, commit.version, Landings.day)
                if days if gone is None else days & gone:
                    raise _were_removed(sorted(days if gone is None else days & gone))

    @property
    def _note(self) -> dict[str, Any]:
        """What the commit of its lines says."""
        parts = [[hour_label(p.start), hour_label(p.end)] for p in self.found.own.intervals]
        return {"run": self.run, "file_hour": self.name, "hours": parts}

    def _is_stored(self) -> bool:
        """Return whether the lines of its hours in `raw_events` are those that it has stored."""
        if self.stored is None:
            return False
        own = self._note

        def are_ours(others: Mapping[str, Any]) -> bool:
            pairs = product(own["hours"], others.get("hours", own["hours"]))
            return any(a[0] < b[1] and b[0] < a[1] for a, b in pairs)

        return not any(
            commit.changes_rows
            and commit.note.get("file_hour") != self.name
            and are_ours(commit.note)
            for commit in commits(self.lake.path("raw_events"), after=self.stored)
        )

    def _judge(self, seen: Seen) -> tuple[tuple[Interval, ...], LandingCounts]:
        """Judge the lines, and those of landings whose lines may change their fate by these."""
        ours = self.found.own
        marks = self.lake.rows("landings", ours.expression(by_day=False), columns=["listing"])
        self.also |= judged_with(marks["listing"]) - set(ours.labels)
        labels = self.lines.others(seen, ours) | self.also
        if isinstance(self.lines, _LinesHere):
            others = _earlier_accounts(self.lake, labels)
            seen_files = (json.loads(account["listing"] or "{}") for account in others.values())
            size = sum(_unpacked(n, of[0]) for files in seen_files for n, of in files.items())
            size += self.found.size
            if size > self.most:
                self.lines = self.read(size)
                labels |= self.lines.others(seen, ours)
        again = Landings.of(map(parse_hour, labels)) if labels else None
        return again.intervals if again else (), self.lines.judge(again)

    def _require_good(
        self, accounts: Mapping[str, dict[str, Any]], others: Sequence[dict[str, Any]]
    ) -> None:
        """Refuse hours too much of which is bad.

        Raises:
            DataError: of the run's own hours; or of another landing more is that was not when it
                landed, by what an hour of this one has.
            _BadHours: of earlier hours.
        """
        if error := _too_bad([accounts[label] for label in self.found.asked], self.allowed):
            self._show_bad(error)
            raise error
        for account in others:
            if error := _too_bad([account], self.allowed):
                self._require_so_before(account["file_hour"], error)
        found = {label: _too_bad([accounts[label]], self.allowed) for label in self.found.late}
        if bad := {label: error.message for label, error in found.items() if error}:
            raise _BadHours("too many records of earlier hours are invalid", **bad)

    def _require_so_before(self, label: str, error: DataError) -> None:
        of_it = pc.field("file_hour") == label
        before = self.lake.rows("landings", of_it, columns=["reasons"])["reasons"][0]
        if error.fields["bad"] > bad_lines(json.loads(before.as_py())):
            raise DataError(
                f"this hour corrects events of another hour, of which {error.message}",
                hint="restore the schema if it has changed, or first ingest that hour with a "
                "larger ELSINORE_MAX_BAD_SHARE: `elsinore land`",
                **error.fields,
            )

    def _show_bad(self, error: DataError) -> None:
        """Put refused lines into quarantine, but those of hours that have landed and stay so."""
        own = self.found.asked
        of_own = pc.field("file_hour").isin(own)
        landed = self.lake.rows("landings", of_own, columns=["file_hour"])
        if new := set(own) - landings_of(landed):
            self.lines.store_bad(Landings.of(map(parse_hour, new)), self.run)
        else:
            error.hint = "ingested events stay; list the problems with `elsinore run --quarantine`"


def change_events(lines: _LinesHere | LinesInTasks, counts: LandingCounts, *, run: str) -> None:
    """Apply changes to `events` in one commit, which notes the touched times.

    Raises:
        ConflictError: `events` has changed since.
    """
    lines.change_events(counts, json.dumps({"run": run, "touched": counts.touched}))


def _accounts(
    lake: Lake, own: Sequence[str], again: Iterable[Interval], counts: LandingCounts,
    files: Sequence[LandingFile],
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """By hour that is judged a row of `landings`, also for those without files."""
    others = [hour_label(hour) for part in again for hour in hours_of(part)]
    accounts = {label: _account(label) for label in own} | _earlier_accounts(lake, others)
    there = listings(files)
    for label in own:
        accounts[label]["listing"] = json.dumps(there.get(label, {}), sort_keys=True)
    for file in files:
        accounts[file.landing]["files"] += 1
        accounts[file.landing]["bytes"] += file.size
    reasons: dict[str, dict[str | None, int]] = {label: {} for label in accounts}
    fields = {ACCEPTED: "accepted", DUPLICATE: "duplicates", QUARANTINED: "quarantined"}
    for (label, fate, reason), count in counts.fates.items():
        if label in accounts:
            accounts[label]["lines"] += count
            accounts[label][fields[fate]] += count
            if fate == QUARANTINED:
                reasons[label][reason] = count
    for label, account in accounts.items():
        span = counts.accepted.get(label, (None, None))
        account["first_event"], account["last_event"] = span
        account["reasons"] = json.dumps(reasons[label], sort_keys=True)
    return accounts


def _earlier_accounts(lake: Lake, labels: Collection[str]) -> dict[str, dict[str, Any]]:
    """Accounts to be filled of hours landed before, with what their files were.

    An hour whose landing was killed before it had an account is left to its own rerun.
    """
    if not labels:
        return {}
    names = ["file_hour", "files", "bytes", "listing", "kept_from"]
    rows = lake.rows(
        "landings", pc.field("file_hour").isin(list(labels)), columns=names
    ).to_pylist()
    return {row["file_hour"]: _account(row["file_hour"]) | row for row in rows}


def _account(label: str) -> dict[str, Any]:
    return {"file_hour": label, **dict.fromkeys(_COUNTED, 0)}


def _totals(accounts: list[dict[str, Any]]) -> dict[str, int]:
    return {"landings": len(accounts)} | {n: sum(a[n] for a in accounts) for n in _COUNTED}


def _too_bad(accounts: Sequence[dict[str, Any]], allowed: float) -> DataError | None:
    """The error of hours, if too large a share of their lines is bad.

    A line that was corrected since is not bad, nor is an empty file: an hour may have no events.
    Lines whose types the schema passes over do not count.
    """
    reasons = [json.loads(account["reasons"]) for account in accounts]
    bad = list(map(bad_lines, reasons))
    lines = sum(map(judged_lines, (account["lines"] for account in accounts), reasons))
    if sum(bad) <= allowed * lines:
        return None
    worst = accounts[bad.index(max(bad))]
    return DataError(
        f"{sum(bad)} of {lines} records are invalid, more than the allowed share of {allowed:g}; "
        f"most in {worst['file_hour']}: {worst['reasons']}",
        hint='read their reasons: `elsinore sql "SELECT * FROM quarantine"`',
        lines=lines,
        bad=sum(bad),
    )


def _require_accounted(
    lake: Lake, accounts: Mapping[str, dict[str, Any]], region: Landings, version: int
) -> None:
    """Count the stored lines: that they agree shows that judging lost none and made none."""
    stored: Counter[str] = Counter()
    for batch in lake.log("raw_events", version).of(region).to_batches(columns=["file_hour"]):
        for found in batch["file_hour"].value_counts().to_pylist():
            stored[found["values"]] += found["counts"]
    for label, account in accounts.items():
        if stored[label] != account["lines"]:
            raise EngineError(f"landing {label}: {stored[label]} lines, {account['lines']} fates")
