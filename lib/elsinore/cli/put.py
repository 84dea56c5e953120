"""`elsinore put` writes events to the landing zone; `elsinore new-stream` adds a stream."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from os.path import relpath
from pathlib import Path
from string import Template
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.source_rule import format_of
from elsinore.catalog.stream import Otherwise, StreamSchema
from elsinore.choices import InputFormat
from elsinore.cli.init import PROJECT, query_parts, tell_of_doubts
from elsinore.cli.main import warn_of_open_home
from elsinore.errors import DataError, ParameterError, QueryError
from elsinore.events import TIME_COLUMN
from elsinore.files.as_lines import as_lines
from elsinore.files.decode import decode_lines
from elsinore.files.directory_columns import NO_COLUMNS, columns_below
from elsinore.files.lake_tables import LakeTable
from elsinore.files.missing_fields import MissingFields
from elsinore.files.plausible import OddTimes, odd_times
from elsinore.files.read_events import ReadReport, files_of, too_many_bad
from elsinore.files.read_parquet import Frame
from elsinore.files.rejection import REJECTED_SCHEMA, Fault, rejected_rows
from elsinore.files.type_records import Decoded, decoded_schema
from elsinore.ingest.collect import (
    ASIDE,
    GAP,
    INGESTED,
    MOST_EMPTY,
    HourLines,
    hours_between,
)
from elsinore.lake.own_workload import load_own_workload
from elsinore.library.infer_schema import infer
from elsinore.orchestration.run_step import at_work
from elsinore.places import is_here, make_home, whole_file
from elsinore.quality.open_windows import replay_command, show_minute, split_at
from elsinore.query.print_query import count_of
from elsinore.raw_names import COMPRESSION, hour_path
from elsinore.safe_files import private_directory
from elsinore.settings import RESERVED, STREAM_NAME, Settings
from elsinore.timeline import HOUR, Interval, hour_label, instant_of
from elsinore.windows import Window, replay_ranges
from elsinore.wording import program, some_of

#: Maximum number of printed commands, one per range of hours that is far from all others.
_MOST_COMMANDS = 10


def new_stream(name: str, events: Path, type_field: str | None) -> None:
    """Write a schema and a first query for a stream, and print the commands to run next."""
    settings = Settings.load(must_exist=False)  # its name may be in the environment already
    if not re.fullmatch(STREAM_NAME, name) or name in RESERVED:
        is_reserved = name in RESERVED
        problem = (
            f"{name!r} is reserved: it is a directory in ELSINORE_HOME" if is_reserved
            else f"{name!r} is not a name of a stream"
        )  # fmt: skip
        raise ParameterError(problem, hint="choose a name such as rides: a-z, 0-9 and _")
    inferred = infer(events, stream=name, type_field=type_field)
    schema = inferred.text
    query = (PROJECT / "queries.sase").read_text(encoding="utf-8")
    texts = {
        f"events/{name}.yaml": schema,
        f"workloads/{name}.sase": Template(query).substitute(query_parts(inferred)),
    }
    paths = {settings.root / "schemas" / path: text for path, text in texts.items()}
    if there := [path for path in paths if path.exists()]:
        raise ParameterError(f"{there[0]} exists", hint="choose another name")
    for path, text in paths.items():
        with whole_file(path) as out:  # replaces a link, does not follow it
            out.write(text.encode())
        typer.echo(f"wrote {relpath(path)}")
    others = json.dumps([*settings.streams, name])
    tell_of_doubts(inferred)
    typer.echo("review both files, then run:")
    typer.echo(f"export ELSINORE_STREAM={name}")
    typer.echo(f"{program()} put {shlex.quote(str(events))}")
    typer.echo("and set in the environment of Airflow:")
    typer.echo(f"export ELSINORE_STREAMS={shlex.quote(others)}")


def put(events: Sequence[Path], max_error_rate: float) -> None:
    """Write events to the landing zone, and print the replays that compute their windows."""
    settings = Settings.load()
    stream = load_schema(settings.schema_file)
    if not stream.time_unit.is_calendar:
        raise ParameterError(
            f"events of the stream {stream.name} have no calendar time, so they belong to no hour",
            hint="`elsinore run` evaluates queries over them",
        )
    make_home(settings.home)
    warn_of_open_home(settings.home)
    now = instant_of(datetime.now(UTC))
    with at_work(settings.local):  # not while `elsinore forget` runs
        aside = private_directory(settings.local / settings.stream / ASIDE)
        spool = HourLines(aside / f"{INGESTED}{uuid4().hex}")
        try:
            times = _read(events, stream, max_error_rate, spool, now)
            hours = sorted(spool.lines)
            new = sum(_move(settings.landing, hour, spool) for hour in hours)
        finally:
            spool.remove()
    between = hours_between(hours)
    empty = sum(_write_empty(settings.landing, hour) for hour in between)
    _warn_of_gaps(hours, len(between))
    counts = count_of(spool.lines.total(), "event"), count_of(len(hours), "hour")
    there = relpath(settings.landing) if is_here(settings.landing) else settings.landing
    zone = f"{there}, {count_of(new, 'new file')}"
    if empty:
        zone += f" and {count_of(empty, 'empty one')} for hours without an event"
    over, rest = _replays(settings, stream, times.last, now)
    typer.echo(f"{counts[0]} of {counts[1]} below {zone}{'; next:' if over else ''}")
    _print_rest(rest, times, settings.stream)
    for part in over:
        typer.echo(replay_command(part, program(), settings.stream))


@dataclass
class _Times:
    """The last event time of each hour, and the number and the latest of future events."""

    now: int
    last: dict[int, int] = field(default_factory=dict)
    future: int = 0

    def add(self, times: npt.NDArray[np.int64]) -> None:
        """Count events by their times."""
        ordered = np.sort(times)
        hours = ordered // HOUR * HOUR
        ends = np.flatnonzero(np.append(hours[1:] != hours[:-1], len(hours) > 0))
        for hour, time in zip(hours[ends].tolist(), ordered[ends].tolist(), strict=True):
            self.last[hour] = max(time, self.last.get(hour, time))
        self.future += int((times > self.now).sum())


def _replays(
    settings: Settings, stream: StreamSchema, last: dict[int, int], now: int
) -> tuple[list[Interval], list[Interval]]:
    """Return the hours to replay: past hours and future hours.

    Without a valid workload these are the hours of the events, with a warning on standard error.
    """
    windows, invalid = set[Window](), list[str]()
    for name in settings.workloads:
        own = settings.of_workload(name)
        try:
            windows |= {query.window for query in load_own_workload(own, stream).queries}
        except QueryError as error:
            invalid.append(f"{own.queries.name}: {error.diagnostics[0].message}")
    if invalid:
        problem = f"cannot read the queries ({some_of(invalid, 2)})"
        typer.echo(
            f"elsinore: {problem}: the hours below do not include windows that end later", err=True
        )
    ranges = replay_ranges(windows, last, gap=GAP, most=_MOST_COMMANDS)
    parts = [split_at(hours, now) for hours in ranges]
    return [over for over, _ in parts if over], [rest for _, rest in parts if rest]


def _print_rest(rest: list[Interval], times: _Times, stream: str) -> None:
    """Print which events and windows cannot be replayed yet, and when they can."""
    if times.future:
        latest = show_minute(max(times.last.values()))
        typer.echo(
            f"elsinore: {count_of(times.future, 'event')} in the future, the latest at {latest} "
            "(times without an offset are read as UTC)",
            err=True,
        )
    for part in rest:
        command = replay_command(part, program(), stream)
        typer.echo(
            f"elsinore: the last of these windows ends by {show_minute(part.end)}: scheduled runs "
            f"publish them, or run this command then: {command}",
            err=True,
        )


def _warn_of_gaps(hours: list[int], filled: int) -> None:
    """Print a warning if there are too many hours without an event to write empty files."""
    gaps = (later - hour for hour, later in pairwise(hours))
    missing = sum(gap // HOUR - 1 for gap in gaps if gap <= GAP) - filled
    if missing:
        typer.echo(
            f"elsinore: {count_of(missing, 'hour')} without events got no empty file (at most "
            f"{MOST_EMPTY:,} are written): results of windows that reach them are provisional",
            err=True,
        )


def _read(
    events: Sequence[Path], stream: StreamSchema, allowed: float, spool: HourLines, now: int
) -> _Times:
    """Assign the records of all events to their hours, in the order of the files.

    Raises:
        DataError: too many records are invalid, or the files have no events or too many hours.
    """
    files = [file for file in files_of(events)[0] if not isinstance(file, Frame)]
    roots, missing = [path for path in events if path.is_dir()], MissingFields(stream)
    lines = accepted = ignored = 0
    rejected, found = [REJECTED_SCHEMA.empty_table()], _Times(now)
    for file in files:
        far, accepted_parts = _quarantined(file, stream, roots), []
        for batch, decoded in _decoded(file, stream, roots):
            missing.add(decoded, pa.table(batch))
            decoded = _without(decoded, far, batch)
            accepted_parts.append(decoded.events)
            own = pc.is_in(batch["record_number"], decoded.events["record_number"].combine_chunks())
            times = decoded.events[TIME_COLUMN].to_numpy()
            records = batch["record"].filter(own)
            spool.add(times // HOUR * HOUR, records, ordered=isinstance(file, Path))
            found.add(times)
            lines, accepted = lines + decoded.lines, accepted + len(times)
            ignored += decoded.ignored
            rejected.append(decoded.rejected)
        for warning in _odd_times(accepted_parts, stream).warnings:
            typer.echo(f"elsinore: {warning}", err=True)
    report = ReadReport(len(files), lines, accepted, 0, pa.concat_tables(rejected), ignored)
    if report.error_rate > allowed:
        raise too_many_bad(report, allowed)
    if not accepted:
        raise DataError("the files have no events", hint=f"{lines} records were read")
    for warning in missing.warnings():
        typer.echo(f"elsinore: {warning}", err=True)
    if aside := lines - accepted:
        typer.echo(f"elsinore: {aside} of {lines} records left out", err=True)
    return found


def _decoded(
    file: Path | LakeTable, stream: StreamSchema, roots: Sequence[Path]
) -> Iterator[tuple[pa.RecordBatch, Decoded]]:
    """Yield the lines of a file or table in parts, each with its decoded events."""
    form = format_of(file.name) or InputFormat.JSONL
    columns = columns_below(file, roots) if isinstance(file, Path) else NO_COLUMNS
    for batch in as_lines(file, form, stream, columns):
        yield batch, decode_lines(batch, stream)


def _odd_times(events: list[pa.Table], stream: StreamSchema) -> OddTimes:
    """Implausible times among the events of one file."""
    columns = ["file", "record_number", TIME_COLUMN]
    empty = decoded_schema(stream).empty_table()
    return odd_times(pa.concat_tables([part.select(columns) for part in (empty, *events)]), stream)


def _quarantined(
    file: Path | LakeTable, stream: StreamSchema, roots: Sequence[Path]
) -> dict[int, Fault]:
    """Return reasons, by position, to reject records far from the others of their file.

    The check needs all times of a file before its first line is written, so the file is read twice.
    """
    if stream.plausible.otherwise is not Otherwise.QUARANTINE:
        return {}
    events = [decoded.events for _, decoded in _decoded(file, stream, roots)]
    positions = [at for part in events for at in part["record_number"].to_pylist()]
    return {positions[row]: fault for row, fault in _odd_times(events, stream).faults.items()}


def _without(decoded: Decoded, faults: dict[int, Fault], batch: pa.RecordBatch) -> Decoded:
    """Return decoded lines without the rejected ones, which are given by position."""
    gone = pc.is_in(decoded.events["record_number"], pa.array(list(faults), pa.int64()))
    events = decoded.events.filter(gone)
    if not events.num_rows:
        return decoded
    positions = events["record_number"].to_pylist()
    lines = dict(zip(batch["record_number"].to_pylist(), batch["record"].to_pylist(), strict=True))
    own = rejected_rows(events, [lines[at] for at in positions], [faults[at] for at in positions])
    rejected = pa.concat_tables([decoded.rejected, own])
    return replace(decoded, events=decoded.events.filter(pc.invert(gone)), rejected=rejected)


def _write_empty(zone: Path, hour: int) -> bool:
    """Write a file without lines for an hour that has none."""
    path = hour_path(zone, hour)
    if any(path.parent.glob(f"events-{hour_label(hour)}*")):
        return False
    with whole_file(path, COMPRESSION, below=zone):
        return True


def _move(zone: Path, hour: int, spool: HourLines) -> bool:
    """Put lines of an hour into a file of their own, unless they were ingested before."""
    folder, stem = hour_path(zone, hour).parent, f"events-{hour_label(hour)}"
    own = re.compile(rf"{stem}[-~]([0-9]+)-([0-9a-f]{{12}})\.jsonl\.gz")
    there = filter(None, (own.fullmatch(path.name) for path in folder.glob(f"{stem}*")))
    numbers = {found[2]: int(found[1]) for found in there}
    if spool.digest(hour) in numbers:
        return False
    # If events share an id, the last file wins. So files are numbered after a `~`, which sorts
    # after the `-` and `.` in other names. (Earlier releases wrote `-`.)
    number = max(numbers.values(), default=0) + 1
    spool.move(hour, folder / f"{stem}~{number:04}-{spool.digest(hour)}.jsonl.gz", zone)
    return True
