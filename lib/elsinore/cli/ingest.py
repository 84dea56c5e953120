"""`elsinore ingest`: events of any file into the landing zone; `new-stream`: a stream for them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from os.path import relpath
from pathlib import Path
from string import Template
from typing import Annotated
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import typer

from elsinore.catalog.load_schema import load_schema, read_schema
from elsinore.catalog.source_rule import InputFormat, format_of
from elsinore.catalog.stream import Otherwise, StreamSchema
from elsinore.cli.init import PROJECT, first_query
from elsinore.cli.main import EventFiles, MaxBadShare
from elsinore.errors import DataError, ParameterError
from elsinore.events import TIME_COLUMN
from elsinore.files.as_lines import as_lines
from elsinore.files.decode import decode_lines
from elsinore.files.plausible import ODD_TIMES_HINT, OddTimes, odd_times
from elsinore.files.read_events import ReadReport, files_of, too_many_bad
from elsinore.files.rejection import REJECTED_SCHEMA, Fault, rejected_rows
from elsinore.files.type_records import Decoded, decoded_schema
from elsinore.generate.flights import hour_path
from elsinore.lake.collect import INGESTED, HourLines, hours_between
from elsinore.lake.landing_zone import COMPRESSION
from elsinore.library.infer_schema import infer_schema
from elsinore.orchestration.run_step import at_work
from elsinore.places import is_here, whole_file
from elsinore.query.print_query import count_of
from elsinore.settings import RESERVED, STREAM_NAME, Settings
from elsinore.timeline import HOUR, hour_label, instant_of


def new_stream(
    name: Annotated[str, typer.Argument(help="Small letters, digits and _.")],
    events: Annotated[Path, typer.Option("--from", help="A file of its events.")],
) -> None:
    """Give a stream of its own to the pipeline: a schema that fits EVENTS, and a first query."""
    settings = Settings.load(must_exist=False)  # its name may be in the environment already
    if not re.fullmatch(STREAM_NAME, name) or name in RESERVED:
        raise ParameterError(f"{name!r} is no name of a stream", hint="take one such as rides")
    schema = infer_schema(events, stream=name)
    query = (PROJECT / "queries.sase").read_text(encoding="utf-8")
    texts = {
        f"events/{name}.yaml": schema,
        f"workloads/{name}.sase": Template(query).substitute(first_query(read_schema(schema))),
    }
    paths = {settings.root / "schemas" / path: text for path, text in texts.items()}
    if there := [path for path in paths if path.exists()]:
        raise ParameterError(f"{there[0]} is there already", hint="choose another name")
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
        typer.echo(f"{relpath(path)} was written")
    others = json.dumps([*settings.streams, name])
    typer.echo("look at both; then:")
    typer.echo(f"export ELSINORE_STREAM={name}")
    typer.echo(f"elsinore ingest {shlex.quote(str(events))}")
    typer.echo("and in the environment of Airflow:")
    typer.echo(f"export ELSINORE_STREAMS={shlex.quote(others)}")


def ingest(events: EventFiles, max_bad_share: MaxBadShare = 0) -> None:
    """Put EVENTS into the landing zone, by the hour of their time, for `replay` to land.

    Nothing there is overwritten, and what is there already is not put there again. An hour without
    an event, less than a week after one with events and before another, gets an empty file, which
    says so: results of windows that reach an hour without a file are provisional.
    """
    settings = Settings.load()
    stream = load_schema(settings.schema_file)
    if not stream.time_unit.is_calendar:
        raise ParameterError(
            f"events of the stream {stream.name} have no calendar time, so no hour to land in",
            hint="`elsinore run` answers queries over them",
        )
    beside = settings.landing if is_here(settings.landing) else settings.local
    with at_work(settings.local):  # not while something is forgotten
        spool = HourLines(beside / f"{INGESTED}{uuid4().hex}")
        try:
            _read(events, stream, max_bad_share, spool)
            hours = sorted(spool.lines)
            new = sum(_move(settings.landing, hour, spool) for hour in hours)
        finally:
            spool.remove()
    empty = sum(_write_empty(settings.landing, hour) for hour in hours_between(hours))
    counts = count_of(spool.lines.total(), "event"), count_of(len(hours), "hour")
    there = relpath(settings.landing) if is_here(settings.landing) else settings.landing
    zone = f"{there}, {count_of(new, 'new file')}"
    if empty:
        zone += f" and {count_of(empty, 'empty one')} for hours without an event"
    typer.echo(f"{counts[0]} of {counts[1]} below {zone}; next:")
    over = max(instant_of(datetime.now(UTC)) // HOUR * HOUR, hours[0] + HOUR)
    start, end = hour_label(hours[0]), hour_label(min(hours[-1] + HOUR, over))
    of_stream = f"ELSINORE_STREAM={settings.stream} " if settings.stream else ""
    typer.echo(f"{of_stream}elsinore replay --start {start}:00 --end {end}:00")


def _read(events: list[Path], stream: StreamSchema, allowed: float, spool: HourLines) -> None:
    """Put the lines of all events into their hours, in the order of the files.

    Raises:
        DataError: too many lines are bad, or there is no event.
    """
    files = [file for file in files_of(events)[0] if isinstance(file, Path)]
    lines = accepted = ignored = 0
    rejected = [REJECTED_SCHEMA.empty_table()]
    for file in files:
        far, events = _quarantined(file, stream), []
        for batch, decoded in _decoded(file, stream):
            decoded = _without(decoded, far, batch)
            events.append(decoded.events)
            own = pc.is_in(batch["position"], decoded.events["position"].combine_chunks())
            hours = decoded.events[TIME_COLUMN].to_numpy() // HOUR * HOUR
            spool.add(hours, batch["line"].filter(own))
            lines, accepted = lines + decoded.lines, accepted + len(hours)
            ignored += decoded.ignored
            rejected.append(decoded.rejected)
        for warning in _odd_times(events, stream).warnings:
            typer.echo(f"elsinore: warning: {warning}; {ODD_TIMES_HINT}", err=True)
    report = ReadReport(len(files), lines, accepted, 0, pa.concat_tables(rejected), ignored)
    if report.bad_share > allowed:
        raise too_many_bad(report, allowed)
    if not accepted:
        raise DataError("there is no event in these files", hint=f"{lines} lines were read")
    if aside := lines - accepted:
        typer.echo(f"elsinore: {aside} of {lines} lines left out", err=True)


def _decoded(file: Path, stream: StreamSchema) -> Iterator[tuple[pa.RecordBatch, Decoded]]:
    for batch in as_lines(file, format_of(file.name) or InputFormat.JSONL, stream):
        yield batch, decode_lines(batch, stream)


def _odd_times(events: list[pa.Table], stream: StreamSchema) -> OddTimes:
    """Implausible times among the events of one file."""
    columns = ["file", "position", TIME_COLUMN]
    empty = decoded_schema(stream).empty_table()
    return odd_times(pa.concat_tables([part.select(columns) for part in (empty, *events)]), stream)


def _quarantined(file: Path, stream: StreamSchema) -> dict[int, Fault]:
    """Faults, by position, of records whose times are too far from the others of their file.

    That needs all of its times before its first line is put anywhere, so such a file is read twice.
    """
    if stream.plausible.otherwise is not Otherwise.QUARANTINE:
        return {}
    events = [decoded.events for _, decoded in _decoded(file, stream)]
    positions = [at for part in events for at in part["position"].to_pylist()]
    return {positions[row]: fault for row, fault in _odd_times(events, stream).faults.items()}


def _without(decoded: Decoded, faults: dict[int, Fault], batch: pa.RecordBatch) -> Decoded:
    """Decoded lines, of which some are rejected for faults by position."""
    gone = pc.is_in(decoded.events["position"], pa.array(list(faults), pa.int64()))
    events = decoded.events.filter(gone)
    if not events.num_rows:
        return decoded
    positions = events["position"].to_pylist()
    lines = dict(zip(batch["position"].to_pylist(), batch["line"].to_pylist(), strict=True))
    own = rejected_rows(events, [lines[at] for at in positions], [faults[at] for at in positions])
    rejected = pa.concat_tables([decoded.rejected, own])
    return Decoded(decoded.events.filter(pc.invert(gone)), rejected, decoded.ignored)


def _write_empty(zone: Path, hour: int) -> bool:
    """Write a file without lines for an hour that has none."""
    path = hour_path(zone, hour)
    if any(path.parent.glob(f"events-{hour_label(hour)}*")):
        return False
    with whole_file(path, COMPRESSION):
        return True


def _move(zone: Path, hour: int, spool: HourLines) -> bool:
    """Put lines of an hour into a file of their own, unless they were ingested before."""
    folder, stem = hour_path(zone, hour).parent, f"events-{hour_label(hour)}"
    own = re.compile(rf"{stem}[-~]([0-9]+)-([0-9a-f]{{12}})\.jsonl\.gz")
    there = filter(None, (own.fullmatch(path.name) for path in folder.glob(f"{stem}*")))
    numbers = {found[2]: int(found[1]) for found in there}
    if spool.digest(hour) in numbers:
        return False
    # Of events with one id, that of the last file counts: numbered, and behind a sign that comes
    # after those in the names of others, `-` and `.`. (There are files with `-` from before.)
    number = max(numbers.values(), default=0) + 1
    spool.move(hour, folder / f"{stem}~{number:04}-{spool.digest(hour)}.jsonl.gz")
    return True
