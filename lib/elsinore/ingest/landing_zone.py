"""Find raw files of the landing zone, and decode them: one row per record, event or not."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from errno import ENOENT
from pathlib import Path, PurePosixPath
from typing import BinaryIO, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.source_rule import SourceRule
from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.choices import InputFormat
from elsinore.errors import ConflictError, DataError
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN
from elsinore.files.decode import decode_lines, reject_far
from elsinore.files.directory_columns import directory_columns, has_columns
from elsinore.files.lake_tables import LakeTable, TableFinder, format_of_table
from elsinore.files.read_delta import delta_state
from elsinore.files.read_lines import DEFAULT_LIMITS, open_unpacked, read_lines, unusable_line
from elsinore.files.rejection import Reason, UnreadableFile, printable
from elsinore.ingest.match_paths import matching_paths
from elsinore.places import is_here, local_copy, place, state, whole_file
from elsinore.raw_names import (
    COMPRESSION,
    RAW_BEGINNING,
    RAW_NAME,
    RAW_NAMES,
    RAW_PATH,
    UNFINISHED,
)
from elsinore.safe_files import open_file
from elsinore.timeline import Interval, hour_label, hours_of
from elsinore.wording import command

#: Records of small files are decoded together, because each call takes milliseconds.
_AT_ONCE = 8_192

#: Bytes of a line that are copied at a time.
_PIECE = 1 << 20

_INSTANT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, order=True)
class LandingFile:
    """One raw file of the hour `landing`."""

    landing: str
    name: str  #: its path below the landing zone, as it is stored
    path: str  #: where to read it
    size: int  #: bytes
    changed: int  #: when it was changed last, in nanoseconds since 1970
    zone: str = ""  #: the trusted directory that contains it; no link below it is followed

    def status(self) -> os.stat_result:
        """Return the current status of the file, which is on this machine.

        Raises:
            DataError: it is a link, or is not a regular file.
            OSError: it cannot be opened.
        """
        with open_file(Path(self.path), Path(self.zone)) as opened:
            return os.fstat(opened.fileno())

    def local_copy(self) -> AbstractContextManager[Path]:
        """Return a context that yields a local path of the content; see `places.local_copy`."""
        return local_copy(place(self.path), place(self.zone))


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or a table of a lake, that matches a rule of the stream."""

    rule: SourceRule  #: the rule
    path: Path  #: where to read it
    name: str  #: its path below the landing zone, or its absolute path
    told: str  #: the date or hour in the path; the rule finds it
    table: LakeTable | None = None  #: the table; None: a file
    problem: str = ""  #: why Elsinore cannot check whether it is a table
    is_way: bool = False  #: a link to a directory of such files, which is refused like a file

    @property
    def is_raw(self) -> bool:
        """True if the file is ingested in place.

        Tables are not. Files that are compressed with zstd, and files with columns in the names of
        directories that match `*`, are not either.
        """
        if self.table is not None or not self.rule.is_raw or self.name.endswith(".zst"):
            return False
        return not has_columns(PurePosixPath(*self._varying))

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns in the names of directories below the fixed directories of the rule.

        A table has none: its log contains the partition values.
        """
        return {} if self.table else directory_columns(self.rule.below(self.name))

    @property
    def _varying(self) -> list[str]:
        """The parts of the path for which the rule has no date."""
        own, wanted = self.rule.below(self.name).parts, self.rule.below(self.rule.files).parts
        return [part for part, of in zip(own, wanted, strict=not self.is_way) if "{" not in of]


def find_sources(
    zone: Path, rules: Iterable[SourceRule], interval: Interval | None
) -> Iterator[Source]:
    """Yield the files and tables that match rules, by rule and name; the first rule wins.

    A link to a directory that may contain such files is yielded once, and not followed.

    If a rule matches data files of a table, its source is the table, or its current data files in
    the same directory: other data files have outdated rows.

    If paths contain a date, only directories of the days of the interval are searched; None: all.

    Raises:
        DataError: the directory of a rule is missing.
    """
    seen: set[str] = set()
    finder = TableFinder()
    for rule in rules:
        base = base_of(zone, rule)
        if not base.is_dir():
            problem = f"the directory {base} of a rule in sources is missing"
            raise DataError(
                problem, hint=f"run `{command('mkdir', '-p', base)}`, or change the rule"
            )
        days = _days(interval) if rule.is_dated and interval else [""]
        found = {match for day in days for match in matching_paths(base, rule.glob(day))}
        for path, is_way in sorted(found):
            name = path.as_posix() if rule.base else path.relative_to(zone).as_posix()
            if is_way:
                if name not in seen and not _is_aside(rule, name):
                    seen.add(name)
                    yield Source(rule, path, name, rule.told_above(name), is_way=True)
                continue
            told = rule.told(name)
            own = path.relative_to(zone).as_posix() if path.is_relative_to(zone) else name
            if told is None or name in seen or RAW_PATH.fullmatch(own) or _is_aside(rule, name):
                continue
            table, problem = None, ""
            try:
                table = _table_of(path, finder) if rule.form is InputFormat.PARQUET else None
            except OSError as error:  # its producer swaps names
                problem = f"cannot read {printable(str(path))}: {error.strerror or error}"
            if table is not None:
                name = _name_of(zone, table, rule) or name
            elif not problem and not path.is_file():
                continue
            if name not in seen:
                seen.add(name)
                yield Source(rule, path, name, told, table, problem)


def _name_of(zone: Path, table: LakeTable, rule: SourceRule) -> str | None:
    """Return the name of a table or a part of it; None if outside of the landing zone."""
    path = table.path / (table.within or "")
    if rule.base:
        return path.as_posix()
    top = zone if path.is_relative_to(zone) else zone.absolute()
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else None


def _table_of(path: Path, finder: TableFinder) -> LakeTable | None:
    """Return the table at a path, or the part of a table in the path's directory.

    Raises:
        OSError: the path changed meanwhile, or cannot be read.
    """
    if not path.is_file():
        return finder.at(path)
    if (table := finder.around(path)) is None:
        return None
    ways = (path.absolute(), path.resolve())  # it can be inside of the table through a link
    inside = next((way for way in ways if way.is_relative_to(table.path)), None)
    if inside is None:
        raise FileNotFoundError(ENOENT, "the path changed during the search", str(path))
    within = inside.parent.relative_to(table.path).as_posix()
    return table._replace(within="" if within == "." else within)


def base_of(zone: Path, rule: SourceRule) -> Path:
    """Return the directory in which the files of a rule are searched."""
    return Path(rule.base) if rule.base else zone


def _raw_sources(
    zone: Path, rules: Iterable[SourceRule], interval: Interval | None
) -> Iterator[tuple[Path, str]]:
    """Yield the paths of sources that are ingested in place, with the labels of their hours."""
    for source in find_sources(zone, [rule for rule in rules if rule.is_raw], interval):
        if source.is_raw:
            yield source.path, source.told


def _days(interval: Interval) -> list[str]:
    return sorted({hour_label(hour)[:10] for hour in hours_of(interval)})


def _is_aside(rule: SourceRule, name: str) -> bool:
    """Return whether a file is hidden or still being written; `*` must not match such files."""
    parts = zip(name.split("/"), rule.files.split("/"), strict=False)  # a link is a way to them
    hidden = any(part[:1] in {".", "_"} and part[0] != wanted[0] for part, wanted in parts)
    return hidden or name.endswith(UNFINISHED)


def landing_files(
    zone: Path, interval: Interval, rules: Sequence[SourceRule] = ()
) -> tuple[LandingFile, ...]:
    """Return the raw files of the hours of an interval, sorted.

    These are the files `<zone>/YYYY/MM/DD/events-YYYY-MM-DDTHH*.jsonl[.gz]` and the files that
    match the rules. Other files, such as files that are still being written, are skipped.

    Args:
        zone: The landing zone.
        interval: The interval.
        rules: The rules of the stream.

    Raises:
        DataError: The landing zone is missing, a file cannot be read, or a link leads to it.
    """
    # A set, because a store lists a file twice if a directory has the same name.
    return tuple(sorted({describe(zone, *named) for named in _named(zone, interval, rules)}))


def readable_files(
    zone: Path, interval: Interval, rules: Sequence[SourceRule] = ()
) -> tuple[list[LandingFile], dict[str, str]]:
    """Return the raw files of hours, and the reasons why files cannot be read, by hour.

    An hour with an unreadable file is incomplete until the file can be read.

    Raises:
        DataError: the landing zone is missing.
    """
    files, faults = set[LandingFile](), dict[str, str]()
    for path, label in _named(zone, interval, rules):
        try:
            files.add(describe(zone, path, label))
        except DataError as error:
            faults[label] = str(error)
    return sorted(files), faults


def all_files(zone: Path, rules: Sequence[SourceRule] = ()) -> tuple[LandingFile, ...]:
    """Return the raw files of all hours; see `landing_files`."""
    named = [
        (path, name[1] if name else "")
        for path, is_way in matching_paths(zone, "[0-9]*/[0-9]*/[0-9]*/events-*")
        if (name := RAW_NAME.fullmatch(path.name)) or is_way
    ]
    named += _raw_sources(zone, rules, None)
    return tuple(sorted(describe(zone, path, label) for path, label in named))


def blank_lines(file: LandingFile, positions: Collection[int]) -> LandingFile:
    """Replace lines of a raw file by blank lines, so that other lines keep their positions.

    A local file also keeps its modification time.

    Args:
        file: The file.
        positions: Positions of the lines, from 1.

    Returns:
        The new state of the file.

    Raises:
        ConflictError: The file was removed or changed since it was read.
        DataError: The file was replaced by a link.
    """
    path, zone = place(file.path), place(file.zone)
    packed = COMPRESSION if path.suffix.lower() == ".gz" else None
    _require_same(file)
    like = file.status() if is_here(path) else None
    with (
        file.local_copy() as copy,
        open_unpacked(copy, DEFAULT_LIMITS) as lines,
        whole_file(path, packed, below=zone, like=like) as out,
    ):
        out.writelines(_without(lines, positions))
        _require_same(file)
    size, changed = _state(file)
    if like is not None:  # in a store, the modification time is always new
        _require_same(replace(file, size=size))
    return replace(file, size=size, changed=changed)


def _without(lines: BinaryIO, positions: Collection[int]) -> Iterator[bytes]:
    """Yield a file with blank lines at positions, in pieces, because one line may fill the file."""
    position, is_start = 1, True
    while piece := lines.readline(_PIECE):
        if position not in positions:
            yield piece
        elif is_start:
            yield b"\n"
        is_start = piece.endswith(b"\n")
        position += is_start


def _require_same(file: LandingFile) -> None:
    with suppress(FileNotFoundError):
        if _state(file) == (file.size, file.changed):
            return
    raise ConflictError(
        f"the raw file {file.name} changed while it was searched", hint="run it again"
    )


def _state(file: LandingFile) -> tuple[int, int]:
    """Return the current size and modification time of a file.

    Raises:
        DataError: it is a link, or is not a regular file.
        OSError: it cannot be opened.
    """
    path = place(file.path)
    if not is_here(path):
        return state(path)
    status = file.status()
    return status.st_size, status.st_mtime_ns


def empty_file(file: LandingFile, stream: StreamSchema) -> pa.RecordBatch:
    """Return the row of `scanned_schema` for a file without any record."""
    return _whole(file, Reason.EMPTY_FILE, f"{file.name} has no records", stream)


def unread_files(zone: Path, interval: Interval, rules: Sequence[SourceRule] = ()) -> list[str]:
    """Return the names of files that ingest does not read, in the directories of an interval.

    Hidden files are left out, and files that are still being written: their names are the names of
    raw files with a suffix.
    """
    days = {day: zone.joinpath(*day.split("-")) for day in _days(interval)}
    above = {month for day in days.values() for month in (day.parent, day.parent.parent)}
    found = [path for path in zone.iterdir() if not re.fullmatch(r"\d{4}", path.name)]
    found += (p for f in above for p in f.glob("*") if not re.fullmatch(r"\d{2}", p.name))
    for day, folder in days.items():
        found += (
            path for path in folder.glob("*") if not _is_of(RAW_BEGINNING.match(path.name), day)
        )
    for rule in (rule for rule in rules if not rule.base):
        for day in _days(interval):
            beside = Path(rule.glob(day)).parent.as_posix()
            # Raw files of the same directories are checked above.
            others = matching_paths(zone, f"{beside}/*") if beside != "." else ()
            found += (
                path for path, is_way in others if not is_way and not RAW_BEGINNING.match(path.name)
            )
    sources = find_sources(zone, [rule for rule in rules if rule.is_raw], interval)
    links = {source.path for source in sources if source.is_way and not source.told}
    found += links  # of unknown hours, so no hour is refused for them
    shown = {path for path in found if path.name[0] not in "._" and path.suffix not in UNFINISHED}

    def is_read(name: str, rule: SourceRule) -> bool:
        path = zone / name
        if path in links:
            return False
        is_source = not path.is_dir() or format_of_table(path) is not None
        return (rule.told(name) is not None) if is_source else rule.leads_to(name)

    names = (path.relative_to(zone).as_posix() for path in shown)
    return sorted(printable(n) for n in names if not any(is_read(n, rule) for rule in rules))


def raw_names(rules: Sequence[SourceRule]) -> str:
    """Return a sentence about the names of raw files that ingest reads."""
    others = "".join(f", and sources name {rule.files}" for rule in rules)
    return RAW_NAMES + others.replace("{year}-{month}-{day}", "{date}")


def _named(
    zone: Path, interval: Interval, rules: Sequence[SourceRule]
) -> Iterator[tuple[Path, str]]:
    """Yield the paths of raw files with the labels of their hours."""
    if not zone.is_dir():
        raise DataError(
            f"the landing zone {zone} is missing",
            hint=f"run `{command('mkdir', '-p', zone)}`; {raw_names(rules)}",
        )
    hours = {hour_label(hour) for hour in hours_of(interval)}
    yield from (named for named in _raw_sources(zone, rules, interval) if named[1] in hours)
    for day in _days(interval):
        folder = zone.joinpath(*day.split("-"))
        for path in folder.iterdir() if folder.is_dir() else ():
            match = RAW_NAME.fullmatch(path.name)
            if _is_of(match, day) and match[1] in hours:
                yield path, match[1]


def _is_of(name: re.Match[str] | None, day: str) -> TypeGuard[re.Match[str]]:
    """Return whether a raw file name is of a day; in the directory of another day it is skipped."""
    return name is not None and name[1].startswith(day)


def describe(zone: Path, path: Path, landing: str) -> LandingFile:
    """Return the current state of a file of the landing zone, or of a rule's directory.

    Raises:
        DataError: it cannot be read, is not a regular file, or its path contains a link.
    """
    name = printable(path.relative_to(zone).as_posix())
    file = LandingFile(landing, name, str(path), 0, 0, str(zone))
    try:
        size, changed = _state(file)
    except OSError as error:
        problem = f"cannot read {printable(str(path))}: {error.strerror or error}"
        raise DataError(problem, hint="make it a readable, regular file") from error
    return replace(file, size=size, changed=changed)


def describe_table(zone: Path, source: Source) -> tuple[Source, LandingFile]:
    """Return a source with the current version of its table, and the state of this version.

    The size in the state is the version. Its modification time is the time of the commit.

    Args:
        zone: The landing zone, or the directory of the source's rule.
        source: A table.

    Raises:
        DataError: the table cannot be read, or a link below `zone` leads to it.
    """
    assert source.table is not None
    table = source.table
    tops = (zone, zone.absolute()) if is_here(zone) else (zone,)
    below = next((top for top in tops if table.path.is_relative_to(top)), None)
    if below is None and not source.rule.base:
        problem = f"{printable(str(table.path))} is outside of the landing zone"
        raise DataError(problem, hint=f"copy the table below {zone}")
    table = table._replace(below=below)
    version, changed = delta_state(table)
    file = LandingFile("", printable(source.name), str(table.path), version, changed)
    return replace(source, table=table._replace(version=version)), file


#: Columns of records next to their position. Their names begin with `_` here, but not in tables.
OF_LINES = ("record", "reason_code", "reason")


def scanned_schema(stream: StreamSchema) -> pa.Schema:
    """Return the schema of scanned records, with one row per record.

    A row has the position and the record, and either the reason of its rejection or the event. A
    file that is unusable as a whole has one row with position 0. If `_reason_code` is NULL, the
    columns from `event_id` on contain the event. Names of attributes do not begin with `_`.
    """
    return pa.schema(
        [
            *((name, pa.string()) for name in ("file_hour", "file")),
            ("record_number", pa.int64()),
            *((f"_{name}", pa.string()) for name in OF_LINES),
            *((name, pa.string()) for name in ("event_id", "event_type")),
            ("event_time", _INSTANT),
            *((name, _stored(kind)) for name, kind in stream.attributes.items()),
        ]
    )


def decode_again(stored: pa.Table, stream: StreamSchema) -> pa.Table:
    """Decode stored records of `raw_events` again to rows of `scanned_schema`.

    Args:
        stored: The columns `file_hour`, `file`, `record_number` and `record`, in this order.
        stream: The schema of the stream.
    """
    if not stored.num_rows:
        return scanned_schema(stream).empty_table()
    decoded = _decode(stored.drop_columns(["file_hour"]), stored["file_hour"], stream)
    return pa.Table.from_batches([decoded])


def scan_files(files: Sequence[LandingFile], stream: StreamSchema) -> Iterator[pa.RecordBatch]:
    """Yield rows of `scanned_schema` for all records of files, in their order.

    A damaged file has one row, with the reason.

    Raises:
        DataError: A file cannot be opened.
        UnreadableFile: A file is damaged after some of its records were read.
    """
    landings = {file.name: file.landing for file in files}
    waiting: list[pa.RecordBatch] = []
    for file in files:
        is_empty = True
        try:
            for lines in _lines_of(file):
                waiting.append(lines)
                is_empty = False
                if sum(part.num_rows for part in waiting) >= _AT_ONCE:
                    yield _decoded(waiting, landings, stream)
                    waiting = []
        except UnreadableFile as error:
            # Usually raised before the first record of the file. If an uncompressed file ends
            # while it is read, no record of it may be ingested: the task fails and is retried.
            if not is_empty:
                raise
            # The reason is stored, so it must not contain a path of this machine.
            reason = error.reason.replace(error.fields["file"], file.name)
            yield _whole(file, error.reason_code, reason, stream)
        else:
            if is_empty:
                yield empty_file(file, stream)
    if waiting:
        yield _decoded(waiting, landings, stream)


def _lines_of(file: LandingFile) -> Iterator[pa.RecordBatch]:
    with file.local_copy() as path:
        yield from read_lines(path, name=file.name)


def _decoded(
    batches: list[pa.RecordBatch], landings: dict[str, str], stream: StreamSchema
) -> pa.RecordBatch:
    lines = pa.Table.from_batches(batches)
    files = lines["file"].combine_chunks().dictionary_encode()
    of_files = pa.array([landings[name] for name in files.dictionary.to_pylist()], pa.string())
    return _decode(lines, of_files.take(files.indices), stream)


def _whole(file: LandingFile, code: str, reason: str, stream: StreamSchema) -> pa.RecordBatch:
    """Return the row of a file that is unusable as a whole."""
    line = unusable_line(code, reason := " ".join(reason.split()))
    place = {"file_hour": file.landing, "file": file.name, "record_number": 0, "_record": line}
    row = place | {"_reason_code": str(code), "_reason": reason}
    return pa.RecordBatch.from_pylist([row], schema=scanned_schema(stream))


def _decode(
    lines: pa.Table, landings: pa.Array | pa.ChunkedArray, stream: StreamSchema
) -> pa.RecordBatch:
    """Decode records (`file`, `record_number`, `record`) and their hours to `scanned_schema`."""
    lines = lines.combine_chunks()
    count = lines.num_rows
    # Row numbers replace the positions, to assign events and rejections to their rows below.
    numbered = lines.set_column(
        lines.schema.get_field_index("record_number"),
        pa.field("record_number", pa.int64(), False),
        pa.array(np.arange(count)),
    )
    placed = numbered.append_column("file_hour", landings)
    decoded = reject_far(decode_lines(numbered, stream), placed, stream)
    events, rejected = decoded.events, decoded.rejected
    from_event = _positions(events, count)
    from_fault = _positions(rejected, count)
    kinds = pa.array([event_type.name for event_type in stream.types])
    # A record that is neither an event nor rejected has a type that the schema ignores.
    ignored = pc.and_(pc.is_null(from_event), pc.is_null(from_fault))
    codes = rejected["reason_code"].take(from_fault)
    reasons = rejected["reason"].take(from_fault)
    columns = {
        "file_hour": landings,
        **{name: lines[name] for name in ("file", "record_number")},
        "_record": lines["record"],
        "_reason_code": pc.if_else(ignored, Reason.IGNORED_TYPE.value, codes),
        "_reason": pc.if_else(ignored, "the schema does not list its event type", reasons),
        "event_id": events["event_id"].take(from_event),
        "event_type": kinds.take(events[TYPE_COLUMN].combine_chunks()).take(from_event),
        "event_time": events[TIME_COLUMN].take(from_event).cast(_INSTANT),
    }
    for name, kind in stream.attributes.items():
        columns[name] = events[name].take(from_event).cast(_stored(kind))
    return pa.table(columns, schema=scanned_schema(stream)).combine_chunks().to_batches()[0]


def _positions(found: pa.Table, count: int) -> pa.Array:
    """Return for each record the index of its row in `found`; NULL if it has none."""
    rows = np.full(count, -1, np.int64)
    rows[found["record_number"].to_numpy()] = np.arange(found.num_rows)
    return pa.array(rows, mask=rows < 0)


def _stored(kind: AttributeType) -> pa.DataType:
    return _INSTANT if kind is AttributeType.TIMESTAMP else ARROW_TYPES[kind]
