"""Split source files of a stream's rules into the hour files of the landing zone.

For each source file, a note in the landing zone, `_collected/<name>.json`, records the state of the
file, how its times were read, its number of records, and their numbers per hour. The note is
written last, so an interrupted run is repeated and writes the same files.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError, EngineError
from elsinore.files.as_lines import as_lines
from elsinore.files.decode import line_times
from elsinore.files.read_lines import unusable_line
from elsinore.files.rejection import UnreadableFile, printable
from elsinore.ingest.landing_zone import (
    LandingFile,
    Source,
    base_of,
    describe,
    describe_table,
    find_sources,
)
from elsinore.places import move, read_below, whole_file
from elsinore.raw_names import COMPRESSION, hour_path
from elsinore.safe_files import private_directory
from elsinore.timeline import DAY, HOUR, Interval, hour_label, parse_hour, parse_instant
from elsinore.wording import command

#: The directory of notes in a landing zone.
COLLECTED = "_collected"
#: The directory of a home, or of a stream in it, for records on their way to the landing zone, and
#: for the lock. It is not in the landing zone: producers could put links there.
ASIDE = ".collected"
#: Prefix of the directories of `ingest` there; and the directory of collected records.
INGESTED, SPOOL = "_ingest-", "spool"

#: Maximum gap without an event that is filled with empty files. In a longer one, files may be
#: missing.
GAP = 7 * DAY
#: Maximum number of hours of the events in one file or call of `ingest` (22 years). It is also
#: about the maximum number of files that a call of `collect` writes.
MOST_HOURS = 200_000
#: Maximum number of empty files for one file or call: somewhat more than the hours of a year.
MOST_EMPTY = 10_000
#: Bytes of lines that wait until they are written.
_WAITING = 64 << 20
#: Maximum bytes of a note: all hours since 1900 need less.
_MOST_NOTED = 128 << 20
#: Number of characters of a source's name in the names of its hour files.
_SHOWN = 120


class HourLines:
    """Records by hour, in compressed files of a directory until they are moved to the landing zone.

    The directory must be private: earlier contents are removed, and names in it are predictable.
    There are at most `MOST_HOURS` hours.
    """

    def __init__(self, folder: Path) -> None:
        self.lines: Counter[int] = Counter()
        self._folder = folder
        self._digests: dict[int, Any] = defaultdict(hashlib.sha256)
        self._unordered: Counter[int] = Counter()
        self._waiting: dict[int, list[bytes]] = defaultdict(list)
        self._size = 0
        self.remove()

    def add(self, hours: npt.NDArray[np.int64], lines: pa.Array, *, ordered: bool = True) -> None:
        """Append lines, in their order, to the files of their hours.

        Rows of a table have no order: if not `ordered`, `digest` is the same in any order, so that
        compaction of the table changes no hour.

        Raises:
            DataError: the lines are in too many hours; the directory is removed.
        """
        order = np.argsort(hours, kind="stable")
        own, sizes = np.unique(hours, return_counts=True)
        by_hour, begin = lines.take(pa.array(order)), 0
        for hour, size in zip(own.tolist(), sizes.tolist(), strict=True):
            texts = by_hour.slice(begin, size).to_pylist()
            text = "".join(f"{line}\n" for line in texts).encode()
            self._put(hour, text, size)
            if ordered:
                self._digests[hour].update(text)
            else:
                self._unordered[hour] += sum(map(_number_of, texts))
            begin += size
        if len(self.lines) > MOST_HOURS:
            self.remove()
            raise DataError(
                f"the events are in more than {MOST_HOURS:,} hours, and each hour needs a file",
                hint="split the file, for example by year",
            )
        if self._size > _WAITING:
            self._write()

    def open(self, hour: int) -> None:
        """Create the file of an hour, even if it has no record."""
        self._put(hour, b"", 0)

    def digest(self, hour: int) -> str:
        """Return a digest of the lines of an hour."""
        whole = self._digests[hour].copy()
        if self._unordered[hour]:
            whole.update(str(self._unordered[hour]).encode())
        return str(whole.hexdigest()[:12])

    def move(self, hour: int, path: Path, zone: Path) -> None:
        """Move the file of an hour into a landing zone, where it replaces an existing file.

        Raises:
            DataError: a directory of the landing zone is a link.
        """
        self._write()
        move(self._folder / str(hour), path, zone)

    def remove(self) -> None:
        """Remove the directory with all files that were not moved."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _put(self, hour: int, text: bytes, lines: int) -> None:
        self.lines[hour] += lines
        self._waiting[hour].append(text)
        self._size += len(text)

    def _write(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for hour, texts in self._waiting.items():
            with (
                (self._folder / str(hour)).open("ab") as file,
                gzip.GzipFile("", "wb", COMPRESSION, file, mtime=0) as out,
            ):
                out.writelines(texts)
        self._waiting.clear()
        self._size = 0


def _number_of(line: str) -> int:
    """Return the digest of a line as a number, so that digests can be added."""
    return int.from_bytes(hashlib.sha256(line.encode()).digest())


def hours_between(hours: list[int]) -> list[int]:
    """Return the hours without an event between ascending hours with events.

    Gaps of more than a week are left out. If there are more than `MOST_EMPTY` hours, the longest
    gaps are left out, too, so that a small file does not make very many empty ones.
    """
    gaps = [(later - hour, hour) for hour, later in pairwise(hours) if HOUR < later - hour <= GAP]
    by_length = Counter(length for length, _ in gaps)
    longest = total = 0
    for length in sorted(by_length):
        total += by_length[length] * (length // HOUR - 1)
        if total > MOST_EMPTY:
            break
        longest = length
    return [
        between
        for length, hour in gaps
        if length <= longest
        for between in range(hour + HOUR, hour + length, HOUR)
    ]


@dataclass(frozen=True)
class Collected:
    """The metrics of collected files, and the reasons of refused files by name.

    In `figures`, `collected_files` counts new and changed files, `collected_lines` their records,
    `collected_untimed` the records without a time, and `collected_old_hours` the changed hours
    before the hours that a run ingests.
    """

    figures: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def collect(
    zone: Path,
    stream: StreamSchema,
    interval: Interval,
    late_arrival_days: int,
    aside: Path | None = None,
) -> Collected:
    """Write the records of all new and changed source files to the files of their hours.

    Files that can be ingested where they are stored are skipped. If paths contain a date, only
    dates from `late_arrival_days` before the interval to a day after it are searched, as time zones
    differ. The lock and temporary files are in the directory `aside`, which other users must not be
    able to write to; by default it is next to the zone.

    Raises:
        DataError: the landing zone or the directory of a rule is missing.
        SetupError: other users control `aside`.
    """
    if not stream.sources:
        return Collected()
    first = interval.start - late_arrival_days * DAY
    looked = _looked(interval, late_arrival_days)
    figures = dict.fromkeys(("files", "lines", "untimed", "old_hours"), 0)
    refused: dict[str, str] = {}
    old: set[int] = set()
    made = 0
    with _alone(zone, aside or zone.with_name(f".{zone.name}{ASIDE}")) as spool:
        for source in find_sources(zone, stream.sources, looked):
            try:
                done = None if source.is_raw else _collect(zone, source, stream, spool, made)
            except DataError as error:  # it is tried again by each run
                refused[printable(source.name)] = str(error)
                continue
            if done is not None:
                figures["files"] += 1
                figures["lines"] += done.lines
                figures["untimed"] += done.untimed
                made += len(done.changed)
                old.update(hour for hour in done.changed if hour < first)
    figures["old_hours"] = len(old)
    return Collected({f"collected_{name}": count for name, count in figures.items()}, refused)


def uncollected(
    zone: Path, stream: StreamSchema, interval: Interval, late_arrival_days: int
) -> list[str]:
    """Return the names of the source files that `collect` would read, and read none.

    Raises:
        DataError: the directory of a rule is missing.
    """
    sources = find_sources(zone, stream.sources, _looked(interval, late_arrival_days))
    return [printable(one.name) for one in sources if not one.is_raw and _is_new(zone, one, stream)]


def _looked(interval: Interval, late_arrival_days: int) -> Interval:
    """Return the hours whose dates are searched, as time zones differ."""
    return Interval(interval.start - (late_arrival_days + 1) * DAY, interval.end + DAY)


def _is_new(zone: Path, source: Source, stream: StreamSchema) -> bool:
    """Return whether a file was not collected in its current state, or cannot be read now."""
    try:
        return not _Seen.of(zone, source, stream).is_noted
    except DataError:
        return True


@contextmanager
def _alone(zone: Path, folder: Path) -> Iterator[Path]:
    """Lock the landing zone for one process at a time, and yield its spool directory.

    Two processes would write the same files.

    In an object store, processes on other machines are not locked. They write equal files, unless a
    source changes at the same time; a later run then finds it changed.
    """
    if not zone.is_dir():
        hint = f"run `{command('mkdir', '-p', zone)}`"
        raise DataError(f"the landing zone {zone} is missing", hint=hint)
    with (private_directory(folder) / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder / SPOOL


@dataclass
class _Done:
    """The result of collecting a source file.

    `lines` is the number of records, and `untimed` of records without a time. `told` contains the
    hours of records with a time, and `changed` the hours whose files changed.
    """

    lines: int = 0
    untimed: int = 0
    told: set[int] = field(default_factory=set)
    changed: list[int] = field(default_factory=list)


@dataclass
class _Seen:
    """A source file in its current state, and the note of when it was collected.

    Attributes:
        source: The file.
        file: Its size and modification time.
        note: The state of the file as a note.
        name: Its name in the landing zone.
        before: The earlier note; empty if it was not collected.
    """

    source: Source
    file: LandingFile
    note: dict[str, Any]
    name: str
    before: dict[str, Any]

    @classmethod
    def of(cls, zone: Path, source: Source, stream: StreamSchema) -> _Seen:
        """Return the state of a file.

        Raises:
            DataError: the file or its note cannot be read.
        """
        source, file = _as_it_is(zone, source)
        note: dict[str, Any] = {"source": printable(source.name), "format": str(source.rule.form)}
        note |= {"told": source.told, "size": file.size, "changed": file.changed}
        limits = [stream.allowed_lateness, stream.max_clock_skew]
        note["time"] = [stream.time_field, str(stream.time_unit), *limits]
        if columns := source.columns:  # files that earlier releases collected lack them
            note["columns"] = columns
        name = _file_name(source.name)
        return cls(source, file, note, name, _noted(zone / COLLECTED / f"{name}.json", zone))

    @property
    def is_noted(self) -> bool:
        """Return whether the file was collected in its current state."""
        return bool(self.before) and self.note.items() <= self.before.items()


def _collect(
    zone: Path, source: Source, stream: StreamSchema, spool: Path, made: int
) -> _Done | None:
    """Collect a file; return None if it was already collected in its current state.

    Raises:
        DataError: it cannot be read; none of it can be used now, for example while it is rewritten;
            its events are in too many hours; or this run has `made` the maximum number of files.
    """
    found = _Seen.of(zone, source, stream)
    if found.is_noted:
        return None
    source, file, seen, name, before = (
        found.source,
        found.file,
        found.note,
        found.name,
        found.before,
    )
    path = zone / COLLECTED / f"{name}.json"
    if made > MOST_HOURS:
        problem = f"this run has written {made:,} files of hours, the limit of a run"
        raise DataError(problem, hint="run it again to ingest the rest")
    hours, done, reason = _read(spool, source, stream, file)
    if reason and before.get("digests") and not before.get("reason"):
        problem = f"{reason}; the events that were collected from it before stay"
        raise DataError(problem, hint="restore the file, or replace it by a valid one")
    old = {parse_hour(label): digest for label, digest in before.get("digests", {}).items()}
    for hour in [*old, *_silent(zone, source, done.told)]:
        hours.open(hour)
    digests = {hour: hours.digest(hour) for hour in sorted(hours.lines)}
    done.changed = [hour for hour, digest in digests.items() if old.get(hour) != digest]
    # If this process is killed, the next try reads from this note which hours may be written. The
    # size -1 marks the file as incomplete.
    _note(zone, path, seen | {"size": -1}, digests=dict.fromkeys(digests, ""))
    for hour in done.changed:
        own = f"events-{hour_label(hour)}-{name}.jsonl.gz"
        hours.move(hour, hour_path(zone, hour).with_name(own), zone)
    hours.remove()
    told = {"lines": done.lines, "untimed": done.untimed, "reason": reason}
    _note(zone, path, seen | told, hours=hours.lines, digests=digests)
    return done


def _as_it_is(zone: Path, source: Source) -> tuple[Source, LandingFile]:
    """Return a source with its current state; for a table, its current version."""
    if source.problem:
        raise DataError(source.problem, hint="run it again when the file is complete")
    base = base_of(zone, source.rule)
    if source.table is None:
        return source, describe(base, source.path, "")
    return describe_table(base, source)


def _read(
    spool: Path, source: Source, stream: StreamSchema, file: LandingFile
) -> tuple[HourLines, _Done, str | None]:
    """Return the records of a source file by hour, its counts, and why no record can be used."""
    lines, done = HourLines(spool), _Done()
    untold = _untold_hour(source, file)
    try:
        with nullcontext(source.table) if source.table else file.local_copy() as path:
            for batch in as_lines(path, source.rule.form, stream, source.columns):
                hours, is_told = _hours(batch["record"], source, stream, file, untold)
                lines.add(hours, batch["record"], ordered=source.table is None)
                done.lines += batch.num_rows
                done.untimed += int((~is_told).sum())
                done.told.update(np.unique(hours[is_told]).tolist())
    except UnreadableFile as error:
        reason = error.reason.replace(error.fields["file"], printable(source.name))
        lines = HourLines(spool)
        lines.add(np.array([untold]), pa.array([unusable_line(error.reason_code, reason)]))
        return lines, _Done(), reason
    if lines.lines.total() != done.lines:
        raise EngineError(f"{source.name}: {done.lines} lines, {lines.lines.total()} in hours")
    if not done.lines:
        lines.open(untold)
    return lines, done, None


def _untold_hour(source: Source, file: LandingFile) -> int:
    """Return the hour of records without a time: from the path, or from the modification time."""
    if not source.told:
        return file.changed // 1_000 // HOUR * HOUR
    return parse_hour(source.told) if "T" in source.told else parse_instant(source.told)


def _hours(
    lines: pa.Array, source: Source, stream: StreamSchema, file: LandingFile, untold: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the hour of each record, and whether it is known from the path or a possible time.

    An event cannot be later than its file, or long before the date of its path. Such records are
    treated like records without a time, and the ingest rejects them as too far from their hour.
    """
    if "T" in source.told:
        return np.full(len(lines), untold), np.full(len(lines), True)
    times = line_times(lines.to_pylist(), stream)
    last = file.changed // 1_000 // HOUR * HOUR + HOUR + stream.max_clock_skew
    told = times.fill_null(last).to_numpy()
    known = told < last
    if source.told:
        known &= told >= untold - stream.allowed_lateness
    return np.where(known, told // HOUR * HOUR, untold), known


def _silent(zone: Path, source: Source, told: set[int]) -> list[int]:
    """Return hours between the hours of records, without an event and without a file.

    They get an empty file. If the path has a date, they are of this date.
    """
    day = parse_instant(source.told[:10]) if source.told else 0
    return [
        hour
        for hour in hours_between(sorted(told))
        if (not source.told or day <= hour < day + DAY)
        and not any(hour_path(zone, hour).parent.glob(f"events-{hour_label(hour)}*"))
    ]


def _file_name(name: str) -> str:
    """Return a unique file name for a source: the valid part of its name, and a hash."""
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:12]
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[-_SHOWN:].lstrip('._-')}.{digest}"


def _noted(path: Path, zone: Path) -> dict[str, Any]:
    """Return the note of a source file; empty if it has none. Producers can write notes.

    Raises:
        DataError: it is a link, or is damaged.
    """
    try:
        note = json.loads(read_below(path, zone, _MOST_NOTED))
        if not isinstance(note, dict):
            raise TypeError("not a JSON object")
        for label in note.get("digests", {}):
            parse_hour(label)
    except FileNotFoundError:
        return {}
    except (OSError, TypeError, ValueError, RecursionError) as error:
        hint = command("rm", path)
        raise DataError(f"the note {path} is damaged: {error}", hint=hint) from error
    return note


def _note(zone: Path, path: Path, note: Mapping[str, Any], **by_hour: Mapping[int, Any]) -> None:
    told = {name: {hour_label(h): of[h] for h in sorted(of)} for name, of in by_hour.items()}
    with whole_file(path, below=zone) as out:
        out.write(json.dumps({**note, **told}).encode())
