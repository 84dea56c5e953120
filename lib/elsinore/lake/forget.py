"""Erase a key: every raw record, event and result with some attribute values, and their files.

The tables derive from raw records. So these are removed first, and their hours are ingested again
without them, which makes the affected published hours stale. Then every old version and log entry
of the tables that contains the values is removed.
"""

from __future__ import annotations

import html
import json
import math
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, groupby
from operator import or_
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import DataError, ParameterError
from elsinore.files.read_lines import DEFAULT_LIMITS, open_unpacked, says_unusable, visible
from elsinore.files.rejection import Reason, UnreadableFile
from elsinore.lake.answered import answered_by
from elsinore.lake.collect import ASIDE, COLLECTED, INGESTED, SPOOL
from elsinore.lake.delta_log import write_failures
from elsinore.lake.judge_landing import PLACE, decoded_lines
from elsinore.lake.kept_hours import drop_kept_hours
from elsinore.lake.land import land_without
from elsinore.lake.landing_zone import (
    FORGETTING,
    UNDER_WAY,
    LandingFile,
    all_files,
    blank_lines,
    held,
    scan_files,
    scanned_schema,
)
from elsinore.lake.maintain import drop_unfinished, keep_history
from elsinore.lake.provenance import PUBLISHED, STAGED
from elsinore.lake.regions import Hours, Landings
from elsinore.lake.stale_hours import stale_hours
from elsinore.lake.tables import Lake, with_column
from elsinore.lake.validate import VALIDATIONS
from elsinore.places import is_here, whole_file
from elsinore.results.published import group_of
from elsinore.safe_files import remove_tree, remove_unfinished
from elsinore.settings import Settings
from elsinore.timeline import format_instant, parse_hour, parse_instant
from elsinore.wording import suggest

#: What JSON writes in place of other signs; those beyond 16 bits take two.
_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]')

#: Bytes of what says that a file could not be used.
_MOST_SAID = 1 << 16

#: An alert: its DAG has a stream's name before its own, but for the first stream.
_ALERT = re.compile(rb'"dag": "(?:(\w+)\.)?')

#: Tables that hold values of events, or groups of them. The others hold counts and names.
_HOLDING = ("raw_events", "quarantine", "events", STAGED, PUBLISHED, VALIDATIONS)


class Removed(NamedTuple):
    """Removed rows or records of a table or directory, and removed or rewritten files."""

    rows: int
    files: int


@dataclass(frozen=True)
class Key:
    """Attribute values of the events to erase; an event must have all of them.

    Attributes:
        values: by attribute, as stored in columns.
        texts: by attribute, as written in groups of results.
        written: by attribute, a pattern (also valid for RE2) of the spellings of the given and the
            canonical value in raw records and pages.
        paths: by attribute, its names in raw records: its own, and its field.
    """

    values: Mapping[str, pa.Scalar]
    texts: Mapping[str, str]
    written: Mapping[str, str]
    paths: Mapping[str, Collection[str]]

    @classmethod
    def parse(cls, given: Sequence[str], stream: StreamSchema) -> Self:
        """The key of some `attribute=value`.

        Raises:
            ParameterError: one has no such form, names no attribute of the stream, or its value is
                not of the attribute's type.
        """
        pairs = dict(named := [_pair(text, stream) for text in given])
        if len(pairs) < len(named):
            raise ParameterError(
                "an attribute has two values", hint="run `elsinore forget` once per key"
            )
        columns = scanned_schema(stream)
        values, texts, written = {}, {}, {}
        for name, text in pairs.items():
            kind = stream.attributes[name]
            try:
                told = parse_instant(text) if kind is AttributeType.TIMESTAMP else text
                value = values[name] = pa.scalar(told).cast(columns.field(name).type)
            except ValueError as error:
                problem = f"{text!r} is not a {kind}, the type of {name}"
                raise ParameterError(
                    problem, hint=f"write it as {name}={_EXAMPLES[kind]}"
                ) from error
            texts[name] = _told(value, kind)
            spelled = "|".join(map(_spelled, sorted({text, texts[name]}, reverse=True)))
            # Some producers write longs as doubles: 7.0.
            written[name] = rf"(?:{spelled})(?:\.0+)?" if kind is AttributeType.LONG else spelled
            _require_short(name, written[name])
        paths = {
            name: {name, *(of.by_name[name].raw for of in stream.types if name in of.by_name)}
            for name in pairs
        }
        return cls(values, texts, written, paths)

    def among(self, lines: pa.Table) -> pa.ChunkedArray:
        """Return which rows of `scanned_schema` to erase.

        An event whose type lacks an attribute matches if its raw record has the value; a rejected
        record matches if it contains the values as words. A whole file never matches.
        """
        is_event = pc.is_null(lines["_reason_code"])
        typed = spoken = pa.scalar(True)
        for name, value in self.values.items():
            said = pc.match_substring_regex(lines["_record"], self.written[name])
            field = rf':\s*"?(?:{self.written[name]})"?\s*[,}}]'
            lacks = pc.and_(is_event, pc.match_substring_regex(lines["_record"], field))
            lacks = pc.and_(lacks, pc.is_null(lines[name]))
            has = _where(lacks, lines["_record"], partial(self._has, name))
            same = pc.fill_null(_equal(lines[name], value), False)
            typed, spoken = pc.and_(typed, pc.or_(same, has)), pc.and_(spoken, said)
        # Arrow's patterns take letters beyond ASCII for the end of a word.
        spoken = _where(pc.and_(pc.invert(is_event), spoken), lines["_record"], self._is_said)
        return pc.and_(pc.if_else(is_event, typed, spoken), pc.greater(lines["record_number"], 0))

    def _has(self, name: str, line: str) -> bool:
        """Return whether a line of JSON has the value where some type has the attribute."""
        record = json.loads(line, parse_int=str, parse_float=str)
        told = chain.from_iterable(_at(record, path) for path in self.paths[name])
        texts = (json.dumps(value) if isinstance(value, bool) else value for value in told)
        pattern = re.compile(self.written[name])
        return any(isinstance(text, str) and pattern.fullmatch(text) for text in texts)

    def is_in(self, group: str) -> bool:
        """Return whether all events of a group, or all of one of its aliases, have the values."""
        if not group.startswith("{"):  # of a check of all groups
            return False
        held = defaultdict[str, set[tuple[str, str]]](set)
        for label, value in group_of(group).items():
            alias, _, name = label.rpartition(".")
            if value is not None:
                held[alias].add((name, value if isinstance(value, str) else json.dumps(value)))
        return any(self.texts.items() <= own | held[""] for own in [*held.values()])

    def is_shown(self, page: bytes) -> bool:
        """Return whether a text holds all values as words, be it markup or not."""
        text = page.decode("utf-8", "replace")
        return self._is_said(text, html.unescape(text))

    def _is_said(self, *texts: str) -> bool:
        """Return whether texts hold all values as words, be they JSON or not."""
        plain = [_ESCAPES.sub(lambda found: json.loads(f'"{found[0]}"'), text) for text in texts]
        # An accent, an escaped character, a byte that is not UTF-8.
        ends = r"(?![\w\u0300-\u036f]|\\u[0-9a-fA-F]{4}|\ufffd\\x)"
        words = [rf"(?<!\w)(?:{written}){ends}" for written in self.written.values()]
        return all(any(re.search(word, each) for each in (*texts, *plain)) for word in words)


def _where(mask: pa.ChunkedArray, lines: pa.ChunkedArray, test: Callable[[str], bool]) -> pa.Array:
    """Return the rows at which a mask and a test of the line are true."""
    passed = map(test, lines.filter(mask).to_pylist())
    whole = mask.combine_chunks()
    return pc.replace_with_mask(whole, whole, pa.array(passed, pa.bool_()))


def _at(record: Any, path: str) -> Iterator[Any]:
    """Yield the values of a record at a path; names may contain dots, or be nested."""
    for name, value in record.items() if isinstance(record, dict) else ():
        if name == path:
            yield value
        elif path.startswith(f"{name}."):
            yield from _at(value, path[len(name) + 1 :])


def _spelled(text: str) -> str:
    """Return a pattern of a string, each character of which may be a JSON escape.

    For data that is not UTF-8 or not CSV, also a Windows byte or a doubled quote.
    """
    return "".join(map(_sign, text))


def _sign(sign: str) -> str:
    code = sign.encode("utf-16-be").hex()
    escaped = "".join(rf"\\u(?i:{code[at : at + 4]})" for at in range(0, len(code), 4))
    other = {"/": "\\/", '"': '""'}.get(sign) or visible(sign.encode("cp1252", "ignore")) or sign
    short = {sign, json.dumps(sign, ensure_ascii=False)[1:-1], other}
    return f"(?:{'|'.join([*map(re.escape, sorted(short)), escaped])})"


def _equal(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    """Return whether the values are this one; NaN is NaN here."""
    number = value.as_py()
    return pc.is_nan(column) if number != number else pc.equal(column, value)


def _pair(given: str, stream: StreamSchema) -> tuple[str, str]:
    name, equals, text = given.partition("=")
    known = stream.attributes
    if not equals or not text:
        raise ParameterError(f"not a key: {given[:60]!r}", hint="write it as user=ann")
    if name not in known:
        hint = suggest(name, known) or f"use one of {', '.join(known)}"
        raise ParameterError(f"{stream.name} has no attribute {name[:60]!r}", hint=hint)
    return name, text


def _require_short(name: str, pattern: str) -> None:
    """Raise ParameterError for a pattern that is too long to search for."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        hint = "name the events by another attribute"
        raise ParameterError(f"the value of {name} is too long to find", hint=hint) from error


def _told(value: pa.Scalar, kind: AttributeType) -> str:
    if kind is AttributeType.TIMESTAMP:
        return format_instant(value.cast(pa.int64()).as_py())
    return value.as_py() if kind is AttributeType.STRING else json.dumps(value.as_py())


#: Values of keys, by type.
_EXAMPLES = {
    AttributeType.STRING: "ann",
    AttributeType.LONG: "7",
    AttributeType.DOUBLE: "7.5",
    AttributeType.BOOLEAN: "true",
    AttributeType.TIMESTAMP: "2025-03-03T08:30:00Z",
}


@dataclass(frozen=True)
class _Groups:
    """Results of a key in a table: the hours, their groups, and the number of rows."""

    lake: Lake
    table: str
    hours: set[int]
    groups: pa.Array
    rows: int


@dataclass(frozen=True)
class _Found:
    """All data of a key.

    Attributes:
        files: positions of records in raw files of the landing zone.
        blanked: raw files that lost such records in an interrupted erasure, by their names, sizes
            and times in `landings`.
        landings: labels of the hours to ingest again.
        expired: labels of hours without raw records, but with records in quarantine.
        rows: number of rows with the values, by table.
        groups: results with the values, by displayed name of their table.
        pages: reports, Data Docs and logs, see `_pages`.
    """

    files: Mapping[LandingFile, set[int]]
    blanked: dict[tuple[str, int, int], LandingFile]
    landings: Collection[str]
    expired: Collection[str]
    rows: Mapping[str, int]
    groups: Mapping[str, _Groups]
    pages: Sequence[tuple[Path, Path | None]]

    def removed(self, files: Mapping[str, int]) -> dict[str, Removed]:
        """By table or folder, what goes; `files` of the tables are gone."""
        rows = {**self.rows, **{name: found.rows for name, found in self.groups.items()}}
        lines = sum(map(len, self.files.values()))
        told = {"raw files": Removed(lines, len(self.files))}
        told |= {table: Removed(count, files.get(table, 0)) for table, count in rows.items()}
        return told | {"reports, Data Docs, logs": Removed(0, len(self.pages))}


def forget(
    settings: Settings, key: Key, *, run: str, dry_run: bool
) -> tuple[dict[str, Removed], int]:
    """Erase a key, and every file that may still contain it.

    No other process may read or write the tables at the same time: it would lose files. After an
    interruption, another call completes the erasure.

    Returns:
        The removed data by table or directory (or the data to remove, for `dry_run`), and the
        number of published hours that became stale.

    Raises:
        DataError: a raw file cannot be searched.
        ConflictError: another process ingested events or changed a raw file: call it again.
    """
    every = {own.workload: Lake.open(own) for own in settings.with_results()}
    lake = every[""]
    if not all_files(settings.landing, lake.stream.sources):
        _require_tables(lake)
    for own in every.values():
        own.create_all()  # with columns of this release, which accounts are to have
    found = _find(every, settings, key)
    if dry_run:
        return found.removed({}), 0
    stale = _stale(settings)
    # So no ingest treats them as changed, and after an interruption it is known who rewrote them.
    marked = {file.landing for file in found.files}.intersection(found.landings)
    _relist(lake, marked, lambda listing: held(listing, FORGETTING), run)
    blanked = {file: blank_lines(file, positions) for file, positions in found.files.items()}
    known = {(file.name, file.size, file.changed): file for file in blanked} | found.blanked
    mended = {was: blanked.get(file, file) for was, file in known.items()}
    _drop_spools(settings)
    for labels in _parts(lake, found.landings, settings.landing_bytes):
        land_without(lake, labels, key.among, mended, most=settings.landing_bytes, run=run)
    if found.expired:
        _drop_lines(lake, found.expired, key, run)
    without_lines = {file.landing for file in blanked}.difference(found.landings)
    _relist(lake, without_lines, partial(_as_now, mended), run)
    for groups in found.groups.values():
        _drop_groups(groups, run)
    _drop_pages(settings, key, found.pages)
    drop_kept_hours(lake.root)  # whose rows name the values of keys
    holding = [(name, own, t) for name, own in every.items() for t in _HOLDING if t in own.own]
    files = {_told_as(name, table): _purge(own, table, run) for name, own, table in holding}
    for own in every.values():
        keep_history(own, run)
    for _, own, table in holding:
        _clear_log(own, table)
    return found.removed(files), _stale(settings) - stale


def _require_tables(lake: Lake) -> None:
    """Refuse a home that never had events, as the user probably means another one.

    Raises:
        DataError: it has neither raw files nor tables.
    """
    if not DeltaTable.is_deltatable(str(lake.path("raw_events"))):
        raise DataError(
            f"nothing to erase: {lake.root} has neither raw files nor the table raw_events",
            hint="this may be the wrong ELSINORE_HOME; set it to the directory of the events",
        )


def _relist(lake: Lake, labels: Collection[str], change: Callable[[str], str], run: str) -> None:
    """Change the recorded lists of raw files; rows of an earlier release have none."""

    def changed(rows: pa.Table) -> pa.Table:
        listings = [text and change(text) for text in rows["listing"].to_pylist()]
        return with_column(rows, "listing", pa.array(listings, pa.string()))

    if labels:
        lake.amend("landings", changed, where=Landings.of(map(parse_hour, labels)), run=run)


def _as_now(mended: Mapping[tuple[str, int, int], LandingFile], listing: str) -> str:
    """A listing with its raw files as they are now."""
    known = json.loads(listing)
    for name, (size, time) in known.items():
        if file := mended.get((name, size, time)):
            known[name] = [file.size, file.changed]
    return json.dumps(known)


def _drop_spools(settings: Settings) -> None:
    """Remove lines that a killed process left on their way to their hours."""
    aside = settings.local / settings.stream / ASIDE
    for folder in (*aside.glob(f"{INGESTED}*"), aside / SPOOL):
        shutil.rmtree(folder, ignore_errors=True)
    if is_here(zone := settings.landing):
        # Earlier releases stored these lines in the landing zone.
        for folder in (*zone.glob(f"{INGESTED}*"), zone / COLLECTED / SPOOL):
            remove_tree(folder, zone)
        remove_unfinished(zone)


def _told_as(workload: str, table: str) -> str:
    return f"{workload}/{table}" if workload else table


def _stale(settings: Settings) -> int:
    """How many published hours are, of all workloads that runs answer and have answered."""
    known = {own.workload for own in settings.with_results()}
    answered = answered_by(settings.of_workload(""))
    found = [stale_hours(one.lake.root, one.workload) for one in answered if one.name in known]
    return sum(len(stale.own) + len(stale.others) for stale in found)


def _find(every: Mapping[str, Lake], settings: Settings, key: Key) -> _Found:
    lake = every[""]
    files: dict[LandingFile, set[int]] = defaultdict(set)
    by_name = {file.name: file for file in all_files(settings.landing, lake.stream.sources)}
    for batch in scan_files(list(by_name.values()), lake.stream):
        rows = pa.Table.from_batches([batch])
        _require_searched(rows, by_name)
        for row in rows.filter(key.among(rows)).select(PLACE).to_pylist():
            files[by_name[row["file"]]].add(row["record_number"])
    raw, stored, lacking = _stored(lake, "raw_events", key)
    bad, _, _ = _stored(lake, "quarantine", key)
    landings = _events(lake, key, lacking)
    accounts = lake.rows("landings", columns=["file_hour", "listing"]).to_pylist()
    known = {one["file_hour"]: json.loads(one["listing"] or "{}") for one in accounts}
    # Remains of an interrupted ingest can be anywhere.
    killed = {label for label, listing in known.items() if {UNDER_WAY, FORGETTING} & listing.keys()}
    # A file that it has made blank keeps its time. In a store, where it does not, it has changed.
    blanked = {
        (name, size, time): by_name[name]
        for label in killed
        for name, (size, time) in known[label].items()
        if name in by_name and by_name[name].changed == time
    }
    expired = bad.keys() - stored - killed
    return _Found(
        files,
        blanked,
        {*raw, *bad, *landings, *killed} - expired,
        expired,
        {
            "raw_events": raw.total(),
            "quarantine": bad.total(),
            "events": len(landings),
        },
        {
            _told_as(name, table): _groups(lake, table, key)
            for name, lake in every.items()
            for table in (STAGED, PUBLISHED, VALIDATIONS)
        },
        list(_pages(settings, key)),
    )


def _stored(lake: Lake, table: str, key: Key) -> tuple[Counter[str], set[str], pa.Table]:
    """How many lines of the key a table holds, by the label of their landing; and all labels.

    And the places of events whose types lack an attribute of the key.
    """
    found, every, lacking = Counter[str](), set[str](), []
    for batch in lake.dataset(table).to_batches(columns=[*PLACE, "record"]):
        rows = decoded_lines(lake, pa.Table.from_batches([batch]))
        every.update(rows["file_hour"].unique().to_pylist())
        rows = rows.filter(key.among(rows))
        found.update(rows["file_hour"].to_pylist())
        lacks = reduce(or_, (pc.field(name).is_null() for name in key.values))
        lacking.append(rows.filter(lacks & pc.field("_reason_code").is_null()).select(PLACE))
    schema = scanned_schema(lake.stream)
    none = pa.schema([schema.field(name) for name in PLACE]).empty_table()
    return found, every, pa.concat_tables([none, *lacking])


def _require_searched(rows: pa.Table, files: Mapping[str, LandingFile]) -> None:
    """Raise DataError for files whose content is unknown."""
    is_empty = pc.field("_reason_code") == Reason.EMPTY_FILE.value
    for row in rows.filter((pc.field("record_number") == 0) & ~is_empty).to_pylist():
        if not _stands_for_another(files[row["file"]]):
            raise DataError(
                f"the raw file {row['file']} cannot be searched: {row['_reason']}",
                hint="correct or remove the file, and run it again",
            )


def _stands_for_another(file: LandingFile) -> bool:
    """Return whether a raw file is but the reason why a collected one could not be used."""
    with (
        suppress(UnreadableFile),
        file.local_copy() as path,
        open_unpacked(path, DEFAULT_LIMITS) as lines,
    ):
        return says_unusable(lines.read(_MOST_SAID))
    return False


def _events(lake: Lake, key: Key, lacking: pa.Table) -> list[str]:
    """Return the hours of rows of `events` that have the values, or one of some positions."""
    found: list[str] = []
    for batch in lake.dataset("events").to_batches(columns=[*PLACE, *key.values]):
        rows = batch
        for name, value in key.values.items():
            rows = rows.filter(_equal(rows[name].cast(value.type), value))
        found += rows["file_hour"].to_pylist()
        if lacking.num_rows:
            places = batch.select(PLACE).cast(lacking.schema)
            here = pa.table(places).join(lacking, PLACE, join_type="left semi")
            found += here["file_hour"].to_pylist()
    return found


def _drop_lines(lake: Lake, labels: Collection[str], key: Key, run: str) -> None:
    """Remove records only from quarantine: hours without raw records cannot be ingested again."""
    where = Landings.of(map(parse_hour, labels))
    rows = lake.log("quarantine").of(where).to_table()
    kept = rows.filter(pc.invert(key.among(decoded_lines(lake, rows))))
    lake.stream_rows("quarantine", [kept], where=where, note=json.dumps({"run": run}))


def _groups(lake: Lake, table: str, key: Key) -> _Groups:
    names = ["window_end_hour", "group_key"]
    hours, groups, count = set[int](), set[str](), 0
    for batch in lake.dataset(table).to_batches(columns=names):
        rows = pa.table({name: batch[name].cast(pa.string()) for name in names})
        for row in rows.group_by(names).aggregate([([], "count_all")]).to_pylist():
            if key.is_in(row["group_key"]):
                hours.add(parse_hour(row["window_end_hour"]))
                groups.add(row["group_key"])
                count += row["count_all"]
    return _Groups(lake, table, hours, pa.array(sorted(groups), pa.string()), count)


def _drop_groups(found: _Groups, run: str) -> None:
    """Take the groups out of their hours."""
    if not found.hours:
        return
    lake, table = found.lake, found.table
    where = Hours.of(found.hours)

    def others(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.invert(pc.is_in(rows["group_key"].cast(pa.string()), found.groups)))

    if table == VALIDATIONS:
        kept = others(lake.rows(table, where.expression(by_day=False)))
        lake.record(table, kept.to_pylist(), where=where.conditions(), run=run)
        return
    parts = map(others, lake.log(table).by_day(where))
    lake.stream_rows(table, parts, where=where, note=json.dumps({"run": run}))


def _parts(lake: Lake, labels: Collection[str], most: int) -> Iterator[list[str]]:
    """Yield hours to ingest together: all of a day, or single ones if its files are too large."""
    sizes = lake.rows("landings", columns=["file_hour", "bytes"]).to_pylist()
    size = {row["file_hour"]: row["bytes"] for row in sizes}
    for _, of_day in groupby(sorted(labels), key=lambda label: label[:10]):
        day = list(of_day)
        small = sum(size.get(label, 0) for label in day) <= most
        yield from [day] if small else ([label] for label in day)


def _pages(settings: Settings, key: Key) -> Iterator[tuple[Path, Path | None]]:
    """Pages and logs that show the values; other streams of the home have their own pages.

    And what goes with each: a report goes, Data Docs go with all of their run; None: its lines go.
    """
    for own in settings.with_results():
        for folder in (own.reports, own.quality):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and key.is_shown(path.read_bytes()):
                    run = own.quality / path.relative_to(folder).parts[0]
                    yield path, path if folder == own.reports else run
    unfinished = settings.local.glob(".*.part")  # alerts that a killed process left
    for path in (*sorted((settings.local / "logs").rglob("*")), settings.alerts, *unfinished):
        lines = path.read_bytes().splitlines() if path.is_file() else ()
        if any(_shows(line, key, settings.stream) for line in lines):
            yield path, None


def _shows(line: bytes, key: Key, stream: str) -> bool:
    """Return whether a line of a log contains the values, and is not an alert of another stream."""
    alert = _ALERT.search(line)
    return key.is_shown(line) and (alert is None or (alert[1] or b"").decode() == stream)


def _drop_pages(settings: Settings, key: Key, pages: Iterable[tuple[Path, Path | None]]) -> None:
    for path, whole in pages:
        if whole is None:
            lines = path.read_bytes().splitlines(keepends=True)
            with whole_file(path) as out:
                out.writelines(line for line in lines if not _shows(line, key, settings.stream))
        elif whole == path:
            path.unlink()
        else:
            shutil.rmtree(whole, ignore_errors=True)


def _purge(lake: Lake, table: str, run: str) -> int:
    """Remove all files that the latest version does not name; gives how many."""
    note = CommitProperties(custom_metadata={"run": run})
    with write_failures(lake.path(table)):
        removed = lake.log(table).vacuum(
            0, dry_run=False, enforce_retention_duration=False, full=True, commit_properties=note
        )
    return len(removed) + drop_unfinished(lake.path(table), math.inf)


def _clear_log(lake: Lake, table: str) -> None:
    """Keep only the latest version of a log: older ones record minimum and maximum values."""
    log = lake.log(table)
    with write_failures(lake.path(table)):
        log.create_checkpoint()
    for path in (lake.path(table) / "_delta_log").glob("[0-9]*"):
        if int(path.name[:20]) < log.version():
            path.unlink()
