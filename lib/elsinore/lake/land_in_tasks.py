"""Lands more lines than a process should hold: in tasks, which share out lines by buckets of ids.

Tasks decode the raw files and part their lines by buckets, so that a line and all that decides on
it are in one; tasks judge a bucket each; and tasks write the files that tables then have, each by
one commit. In between stand Parquet files beside the tables. A task can be tried again at any time:
it writes the same files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ConflictError, EngineError
from elsinore.lake.delta_log import BUCKET, write_failures
from elsinore.lake.judge_landing import (
    DELETE,
    INSERT,
    QUARANTINED,
    UPDATE,
    LandingCounts,
    Seen,
    Stored,
    change_keys,
    count_judged,
    decoded_lines,
    id_buckets,
    judge_again,
    judge_own,
    laid_out,
)
from elsinore.lake.kept_hours import FOLDER, InTasks
from elsinore.lake.landing_zone import (
    LandingFile,
    as_stored,
    scan_files,
    scanned_name,
    scanned_schema,
)
from elsinore.lake.regions import Conditions, Landings
from elsinore.lake.tables import AddedFile, Lake, trying_again, with_day
from elsinore.places import is_here, whole_file

#: What `raw_events` and `quarantine` hold of a line, but for the day.
RAW = ("file_hour", "file", "record_number", "record", "event_id")
BAD = ("file_hour", "file", "record_number", "reason_code", "reason", "record")

#: The columns of events that tell them apart.
KEYS = ["event_id", "event_time", "file", "record_number"]

#: Gives rows of `scanned_schema`; tasks are given it.
Source = Callable[[], Iterable[pa.RecordBatch]]

_BUCKET = pa.field("_bucket", pa.int64())

#: Tables whose rows of whole landings are parted like the lines of files.
_STORED = ("events", "raw_events")

#: Buckets of a landing, at most; and of those that share files in between, where each has row
#: groups of its own: a bucket's reader opens all of them.
_MOST, _TOGETHER = 4_096, 64

#: Rows of a file in between that are read together, at most; and events of a new file, about.
_GROUP, _EVENTS = 20_000, 1_000_000

_GONE = "intermediate files of the ingest were removed during the run"

#: Times that files are named before this gives way to others that write beside it.
_TRIES = 5


@dataclass(frozen=True)
class _Between:
    """Files in between: flat folders of what is kept beside the tables.

    The nightly clean-up removes those of a landing that was killed (`drop_kept_hours`).
    """

    root: Path

    def _of(self, kind: str) -> Path:
        return self.root.with_name(f"{self.root.name}-{kind}")

    @contextmanager
    def writer(
        self, kind: str, task: object, schema: pa.Schema, by: Sequence[str] = ()
    ) -> Iterator[pq.ParquetWriter]:
        """Writes the file of a task, to be read `by` columns."""
        with (
            write_failures(FOLDER),
            whole_file(self._of(kind) / f"{task}.parquet") as file,
            pq.ParquetWriter(
                file, schema, compression="lz4", use_dictionary=False, write_statistics=list(by)
            ) as writer,
        ):
            yield writer

    def write(self, kind: str, task: object, rows: pa.Table, by: Sequence[str] = ()) -> None:
        """Write the file of a task."""
        with self.writer(kind, task, rows.schema, by) as writer:
            writer.write_table(rows, row_group_size=_GROUP)

    def read(self, kind: str, number: int | None = None) -> ds.Dataset:
        """The file of a task, or of all.

        Raises:
            ConflictError: they are gone: somebody has removed all that is kept (`forget`).
        """
        folder = self._of(kind)
        system, base = FileSystem.from_uri(str(folder))
        pattern = "*" if number is None else str(number)
        names = sorted(path.name for path in folder.glob(f"{pattern}.parquet"))
        if not names:
            raise ConflictError(_GONE)
        return ds.dataset([f"{base}/{name}" for name in names], format="parquet", filesystem=system)

    def remove(self, kind: str | None = None) -> None:
        """Remove what there is of a kind, or of all."""
        wanted = f"{self.root.name}-{kind or '*'}"
        for folder in self.root.parent.glob(wanted):
            for path in folder.iterdir():
                path.unlink(missing_ok=True)
            if is_here(folder):
                folder.rmdir()


def stored_files(
    lake: Lake, table: str, of: Landings, seen: Seen
) -> tuple[ds.Dataset, list[ds.Fragment]]:
    """A table, and its files with rows of some landings."""
    by_day = table != "events"
    version = seen.events if table == "events" else seen.raw
    rows = lake.log(table, version).dataset(of.conditions(by_day=by_day))
    return rows, [*rows.get_fragments(of.expression(by_day=by_day))]


def stored_rows(
    lake: Lake, table: str, of: Landings, seen: Seen, number: int
) -> Iterator[pa.Table]:
    """The rows of some landings in one of these files."""
    rows, files = stored_files(lake, table, of, seen)
    where = of.expression(by_day=False)
    # Not filtered as they are read: texts may be views (`Stored`).
    for batch in files[number].to_batches(schema=rows.schema, batch_size=_GROUP):
        yield pa.Table.from_batches([batch]).filter(where)


@dataclass(frozen=True)
class _Work:
    """What tasks know of a landing, and what each does."""

    lake: Lake
    sources: Sequence[Source]  #: of lines
    size: int  #: bytes of lines that a task holds, about
    buckets: int  #: of ids
    between: _Between

    def part_lines(self, number: int) -> None:
        """Part the lines of a source."""
        self._part("lines", number, self.sources[number](), self.schema("lines"))

    def part_stored(self, table: str, stage: str, of: Landings, seen: Seen, number: int) -> None:
        """Part what a file of a table holds of some landings; lines are decoded."""
        rows, schema = stored_rows(self.lake, table, of, seen, number), self.schema(table)
        if table == "events":
            told = (part.select(schema.names).cast(schema) for part in rows)
        else:
            told = (decoded_lines(self.lake, part) for part in rows)
        batches = (batch for part in told for batch in part.to_batches())
        self._part(table, f"{stage}-{number}", batches, schema)

    def schema(self, kind: str) -> pa.Schema:
        """What is parted of lines, or of rows of `events`."""
        scanned = scanned_schema(self.lake.stream)
        if kind != "events":
            return scanned
        return pa.schema(field for field in scanned if not field.name.startswith("_"))

    def _part(
        self, kind: str, task: object, batches: Iterable[pa.RecordBatch], schema: pa.Schema
    ) -> None:
        """Write lines or events by buckets, as many at a time as a task holds."""
        with ExitStack() as stack:
            writers = [
                stack.enter_context(
                    self.between.writer(name, task, schema.append(_BUCKET), ["_bucket"])
                )
                for name in self.kinds(kind)
            ]
            for lines in _together(batches, schema, self.size):
                numbers = id_buckets(lines, self.buckets).astype(np.int64)
                order = np.argsort(numbers, kind="stable")
                rows = lines.append_column("_bucket", pa.array(numbers)).take(order)
                starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
                buckets = numbers[order][starts].tolist()
                for bucket, (start, end) in zip(
                    buckets, pairwise([*starts.tolist(), len(rows)]), strict=True
                ):
                    writers[bucket // _TOGETHER].write_table(rows.slice(start, end - start))

    def part_nothing(self, kind: str) -> None:
        """Have no lines or events, where there may have been some."""
        none = self.schema(kind).append(_BUCKET).empty_table()
        for name in self.kinds(kind):
            self.between.remove(name)
            self.between.write(name, "none", none)

    def kinds(self, kind: str) -> list[str]:
        """Where lines or events are parted to: buckets that share files have a folder."""
        return [f"{kind}-{group}" for group in range(-(-self.buckets // _TOGETHER))]

    def judge(
        self, ours: Landings, again: Landings | None, seen: Seen, bucket: int
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Judge the lines of a bucket, with those of other landings if there are any.

        Gives the labels that `judge_own` does, and what `count_judged` does.
        """
        stored = _StoredBucket(self.lake, seen, self, bucket)
        lines = self.of_bucket("lines", bucket)
        judged, labels = judge_own(stored, lines, ours)
        if again:
            judged = judge_again(stored, lines, judged, ours, again)
        bad = judged.filter(pc.field("_fate") == QUARANTINED)
        self.between.write("bad", bucket, as_stored(bad, BAD))
        changes = laid_out(judged.filter(pc.field("_op").is_valid()), self.lake.stream)
        by = [name for name, _ in self._order]
        self.between.write("changes", bucket, changes.sort_by(self._order), by)
        return sorted(labels), count_judged(judged)

    def of_bucket(self, kind: str, bucket: int, of: Landings | None = None) -> pa.Table:
        """What was parted: lines or events of a bucket, all of them or those of some landings."""
        mine = pc.field("_bucket") == bucket
        if of:
            mine = mine & of.expression(by_day=False)
        found = self.between.read(self.kinds(kind)[bucket // _TOGETHER])
        return found.to_table(self.schema(kind).names, filter=mine)

    @property
    def _order(self) -> list[tuple[str, str]]:
        """How changes are laid out: by what tells the files apart, and the time."""
        by = [] if self.lake.stream.buckets is None else [BUCKET]
        return [(name, "ascending") for name in (*by, "event_time")]

    def raw_lines(self, number: int) -> Iterator[pa.Table]:
        """Rows of `raw_events` of a source."""
        columns = {name: pc.field(scanned_name(name)) for name in RAW}
        for kind in self.kinds("lines"):
            file = self.between.read(kind, number)
            for batch in file.to_batches(columns=columns):
                yield with_day(pa.Table.from_batches([batch]), Landings)

    def bad_lines(self, of: Landings, number: int) -> Iterator[pa.Table]:
        """Rows of `quarantine` of a bucket."""
        where = of.expression(by_day=False)
        yield with_day(self.between.read("bad", number).to_table(filter=where), Landings)

    def borders(self, changes: int) -> list[pa.Scalar | None]:
        """Where changes are cut so that about a million are between two; the ends are None."""
        for number in range(self.buckets):
            sample = self.between.read("changes", number).to_table([self._order[0][0]])[0]
            if size := len(sample):
                parts = -(-changes // _EVENTS)
                at = [size * part // parts for part in range(1, parts)]
                return [None, *sample.sort().take(pa.array(at, pa.int64())).unique(), None]
        return [None, None]

    def new_events(self, borders: Sequence[pa.Scalar | None], number: int) -> Iterator[pa.Table]:
        """Rows of `events` that are new or take the place of others, between two borders."""
        first, end = borders[number : number + 2]
        where, by = pc.field("_op") != DELETE, pc.field(self._order[0][0])
        where = where if first is None else where & (by >= first)
        where = where if end is None else where & (by < end)
        yield self.between.read("changes").to_table(filter=where).sort_by(self._order)

    def unchanged(self, events: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """What stays of some rows of `events`."""
        changes = self.between.read("changes").to_table(KEYS, filter=pc.field("_op") != INSERT)
        keys = change_keys(changes, self.lake.stream)
        for part in events:
            yield part.filter(pc.invert(pc.is_in(change_keys(part, self.lake.stream), keys)))


@dataclass(frozen=True)
class _StoredBucket(Stored):
    """What tables hold, of a bucket alone: whole landings have been parted, too."""

    work: _Work
    bucket: int

    def events(self, of: Landings) -> pa.Table:
        """The events of some landings."""
        return self.work.of_bucket("events", self.bucket, of)

    def lines(self, of: Landings) -> pa.Table:
        """The lines of some landings as rows of `scanned_schema`."""
        return self.work.of_bucket("raw_events", self.bucket, of)

    def had(self, of: Landings) -> pa.Table:
        """Ids of the lines of some landings, with their times."""
        return self.lines(of).select(["event_id", "event_time"])


def _together(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, size: int
) -> Iterator[pa.Table]:
    """Batches put together until they have so many bytes."""
    waiting, filled = [], 0
    for batch in batches:
        waiting.append(batch)
        filled += batch.nbytes
        if filled >= size:
            yield pa.Table.from_batches(waiting, schema).combine_chunks()
            waiting, filled = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema).combine_chunks()


@dataclass(frozen=True)
class _Exchange:
    """Rows of a table that take the place of others: tasks write files, and a commit names them."""

    lake: Lake
    table: str
    number: int  #: of tasks that write new rows
    rows: Callable[[int], Iterable[pa.Table]]  #: the new rows of a task
    stays: Callable[[Iterator[pa.Table]], Iterator[pa.Table]]  #: what stays of each of some rows
    columns: Sequence[str]  #: that tell what stays
    #: what rows that can go meet: any of these conjunctions; nothing goes where there are none.
    conditions: Conditions
    under: str = field(default_factory=lambda: f"landed-{uuid4().hex}")

    def write(self, number: int) -> list[AddedFile]:
        """Write the new rows of a task; gives the files."""
        return self._write(f"{self.table}-new-{number}", self.rows(number))

    def keep(self, version: int, number: int) -> tuple[int, list[AddedFile]]:
        """Write the rows that stay of a file, if any goes: how many do go, and new files."""
        rows = self.lake.log(self.table, version).dataset(self.conditions)
        file = [*rows.get_fragments()][number]

        def parts(columns: Sequence[str]) -> Iterator[pa.Table]:
            # Not filtered as they are read: texts may be views (`Stored`).
            for batch in file.to_batches(schema=rows.schema, columns=list(columns)):
                yield pa.Table.from_batches([batch])

        stay = sum(part.num_rows for part in self.stays(parts(self.columns)))
        gone = int(file.count_rows()) - stay
        kept = self.stays(parts(rows.schema.names)) if gone and stay else ()
        return gone, self._write(f"{self.table}-{version}-{number}", kept)

    def _write(self, task: str, parts: Iterable[pa.Table]) -> list[AddedFile]:
        filled = (part for part in parts if part.num_rows)
        if (first := next(filled, None)) is None:
            return []
        under = f"{self.under}/{task}-{uuid4().hex}"  # of this try
        return self.lake.write_files(self.table, chain([first], filled), under=under)

    def do(self, in_tasks: InTasks, note: str, *, seen: int | None = None, go: int = -1) -> None:
        """Write and commit, where the table is at a version, or at any: then again until it works.

        Raises:
            ConflictError: there is another version by now.
            EngineError: not so many rows go as are to go.
        """
        new = in_tasks(self.number, self.write)

        def once() -> None:
            version = self.lake.version(self.table) if seen is None else seen
            log = self.lake.log(self.table, version)
            there = log.dataset(self.conditions).get_fragments() if self.conditions else ()
            files = [file.path for file in there]
            kept = in_tasks(len(files), partial(self.keep, version))
            found = sum(gone for gone, _ in kept)
            if go not in {-1, found}:
                raise EngineError(f"{found} rows of {self.table} to change, not {go}")
            changed = [path for path, (gone, _) in zip(files, kept, strict=True) if gone]
            added = [*chain(*new, *(part for _, part in kept))]
            if changed or added:
                self.lake.name_files(self.table, added, changed, seen=version, note=note)

        trying_again(_TRIES if seen is None else 1, 0.5)(once)


@dataclass
class LinesInTasks:
    """The lines of a landing, judged and stored in tasks."""

    work: _Work
    in_tasks: InTasks
    seen: Seen = field(init=False)
    ours: Landings = field(init=False)
    _judged: list[Any] = field(init=False)
    _is_parted: bool = False
    _has_bad: bool = True

    @classmethod
    def of(
        cls, lake: Lake, sources: Sequence[Source], size: int, most: int, in_tasks: InTasks
    ) -> LinesInTasks:
        """Those of some sources, of about so many bytes; a task holds a quarter of `most`."""
        part = max(most // 4, 1)
        between = _Between(lake.root / FOLDER / f"landing-{uuid4().hex}")
        work = _Work(lake, sources, part, min(-(-size // part), _MOST), between)
        return cls(work, lambda number, do: in_tasks(number, do) if number else [])

    def others(self, seen: Seen, ours: Landings) -> set[str]:
        """The labels of other landings that are to be judged again as a whole."""
        self.seen, self.ours, work = seen, ours, self.work
        if not self._is_parted:
            work.part_nothing("lines")
            self.in_tasks(len(work.sources), work.part_lines)
            self._is_parted = True
        for table in _STORED:
            work.part_nothing(table)
        self._part_stored("own", ours)
        self._judged = self.in_tasks(work.buckets, partial(work.judge, ours, None, seen))
        return {label for labels, _ in self._judged for label in labels}

    def _part_stored(self, stage: str, of: Landings) -> None:
        """Part what tables hold of some landings."""
        for table in _STORED:
            number = len(stored_files(self.work.lake, table, of, self.seen)[1])
            self.in_tasks(number, partial(self.work.part_stored, table, stage, of, self.seen))

    def judge(self, again: Landings | None) -> LandingCounts:
        """Judge them, and other landings as a whole."""
        if again:
            self._part_stored("again", again)
            judge = partial(self.work.judge, self.ours, again, self.seen)
            self._judged = self.in_tasks(self.work.buckets, judge)
        counted = chain.from_iterable(of_bucket for _, of_bucket in self._judged)
        counts = LandingCounts.of(counted, self.ours, again)
        self._has_bad = any(fate == QUARANTINED for _, fate, _ in counts.fates)
        return counts

    def store_lines(self, where: Landings, note: str, seen: int) -> None:
        """Make them the only rows of some landings in `raw_events`, at a version of it."""
        self._store("raw_events", len(self.work.sources), self.work.raw_lines, where, note, seen)

    def store_bad(self, where: Landings, run: str) -> None:
        """Make those that are in quarantine the only rows of some landings there."""
        bad, number = partial(self.work.bad_lines, where), self._has_bad * self.work.buckets
        self._store("quarantine", number, bad, where, run)

    def _store(
        self, table: str, number: int, rows: Callable[[int], Iterable[pa.Table]], where: Landings,
        run: str, seen: int | None = None,
    ) -> None:  # fmt: skip
        work, is_other = self.work, ~where.expression(by_day=False)

        def stays(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
            return (part.filter(is_other) for part in parts)

        _Exchange(
            work.lake, table, number, rows, stays, [where.column],
            where.conditions(by_day=True),
        ).do(self.in_tasks, run, seen=seen)  # fmt: skip

    def change_events(self, counts: LandingCounts, note: str) -> None:
        """Apply changes to `events`: files in which one changes or goes are written anew.

        Raises:
            ConflictError: `events` has changed since it was judged.
        """
        work, goes = self.work, counts.changes[UPDATE] + counts.changes[DELETE]
        borders = work.borders(counts.changes.total())
        days: Conditions = [[("event_day", "=", day)] for day in sorted(counts.days)]
        _Exchange(
            work.lake, "events", len(borders) - 1, partial(work.new_events, borders),
            work.unchanged, KEYS, days if goes else [],
        ).do(self.in_tasks, note, seen=self.seen.events, go=goes)  # fmt: skip

    def close(self) -> None:
        """Remove the files in between."""
        self.work.between.remove()


def file_sources(files: Sequence[LandingFile], stream: StreamSchema, most: int) -> list[Source]:
    """The lines of raw files, a quarter of so many bytes together, or one file."""
    groups: list[list[LandingFile]] = []
    filled = 0
    for file in files:
        if not groups or filled + file.size > most // 4:
            groups.append([])
            filled = 0
        groups[-1].append(file)
        filled += file.size
    return [partial(scan_files, group, stream) for group in groups]
