"""`elsinore ingest`: events of any file into the landing zone; `new-stream`: a stream for them."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from os.path import relpath
from pathlib import Path
from string import Template
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from elsinore.catalog.load_schema import load_schema, read_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.cli.init import PROJECT, first_query
from elsinore.cli.main import EventFiles, MaxBadShare
from elsinore.errors import DataError, ParameterError
from elsinore.events import TIME_COLUMN
from elsinore.files.decode import decode_lines
from elsinore.files.read_csv import read_csv
from elsinore.files.read_events import (
    InputFormat,
    ReadReport,
    as_json,
    files_of,
    format_of,
    too_many_bad,
)
from elsinore.files.read_lines import read_lines
from elsinore.files.read_parquet import read_parquet
from elsinore.files.type_records import Decoded, concat_decoded
from elsinore.generate.flights import hour_path
from elsinore.generate.write_events import whole_file
from elsinore.lake.landing_zone import COMPRESSION
from elsinore.library.infer_schema import infer_schema
from elsinore.query.print_query import count_of
from elsinore.settings import RESERVED, STREAM_NAME, Settings
from elsinore.timeline import DAY, HOUR, hour_label

#: Stretches without events of this length are no nights or weekends: somebody should look.
_GAP = 7 * DAY


def new_stream(
    name: Annotated[str, typer.Argument(help="Small letters, digits and _.")],
    events: Annotated[Path, typer.Option("--from", help="A file of its events.")],
) -> None:
    """Give a stream of its own to the pipeline: a schema that fits EVENTS, and a first query."""
    settings = Settings.load()
    if not re.match(STREAM_NAME, name) or name in RESERVED:
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
    typer.echo("look at both; then for every command, and for Airflow:")
    typer.echo(f"ELSINORE_STREAM={name} elsinore ingest {shlex.quote(str(events))}")
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
    hours = _by_hour(events, stream, max_bad_share)
    new = sum(_write(settings.landing, hour, lines) for hour, lines in hours.items())
    empty = sum(_write_empty(settings.landing, hour) for hour in _between(sorted(hours)))
    counts = count_of(sum(map(len, hours.values())), "event"), count_of(len(hours), "hour")
    zone = f"{relpath(settings.landing)}, {count_of(new, 'new file')}"
    if empty:
        zone += f" and {count_of(empty, 'empty one')} for hours without an event"
    typer.echo(f"{counts[0]} of {counts[1]} below {zone}; next:")
    start, end = hour_label(min(hours)), hour_label(max(hours) + HOUR)
    typer.echo(f"elsinore replay --start {start}:00 --end {end}:00")


def _by_hour(events: list[Path], stream: StreamSchema, allowed: float) -> dict[int, pa.Array]:
    """The lines of each hour that has any, in the order of the files.

    Raises:
        DataError: too many lines are bad, or there is no event.
    """
    files = [file for file in files_of(events)[0] if isinstance(file, Path)]
    parts = [part for file in files for part in _parts(file, stream)]
    found = concat_decoded((decoded for decoded, _ in parts), stream)
    report = ReadReport(
        len(files), found.lines, found.events.num_rows, 0, found.rejected, found.ignored
    )
    if report.bad_share > allowed:
        raise too_many_bad(report, allowed)
    if not report.accepted:
        raise DataError("there is no event in these files", hint=f"{found.lines} lines were read")
    if aside := report.lines - report.accepted:
        typer.echo(f"elsinore: {aside} of {report.lines} lines left out", err=True)
    hours = found.events[TIME_COLUMN].to_numpy() // HOUR * HOUR
    # Lines of an hour stay in their order: of events with one id the last one counts.
    lines = pa.chunked_array([text for _, text in parts]).take(np.argsort(hours, kind="stable"))
    own, sizes = np.unique(hours, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    slices = zip(own.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    return {hour: lines.slice(start, size) for hour, start, size in slices}


def _parts(file: Path, stream: StreamSchema) -> Iterator[tuple[Decoded, pa.Array]]:
    """What is in a file, with the line of each event: lines of JSON stay as they are."""
    if format_of(file) is InputFormat.JSONL:
        for batch in read_lines(file):
            decoded = decode_lines(batch, stream)
            own = pc.is_in(batch["position"], decoded.events["position"].combine_chunks())
            yield decoded, batch["line"].filter(own).cast(pa.large_string())
        return
    reader = read_csv if format_of(file) is InputFormat.CSV else read_parquet
    for decoded in reader(file, stream):
        rows = decoded.events.to_pylist()
        yield decoded, pa.array([as_json(row, stream) for row in rows], pa.large_string())


def _between(hours: list[int]) -> Iterator[int]:
    """The hours between some, but for stretches of a week and more."""
    for hour, following in pairwise(hours):
        if following - hour <= _GAP:
            yield from range(hour + HOUR, following, HOUR)


def _write_empty(zone: Path, hour: int) -> bool:
    """Write a file without lines for an hour that has none."""
    path = hour_path(zone, hour)
    if any(path.parent.glob(f"events-{hour_label(hour)}*")):
        return False
    with whole_file(path, COMPRESSION):
        return True


def _write(zone: Path, hour: int, lines: pa.ChunkedArray) -> bool:
    """Write lines of an hour into a file of their own, unless they were ingested before."""
    text = "".join(f"{line}\n" for line in lines.to_pylist()).encode()
    digest = hashlib.sha256(text).hexdigest()[:12]
    folder, stem = hour_path(zone, hour).parent, f"events-{hour_label(hour)}"
    if any(folder.glob(f"{stem}-*-{digest}.jsonl.gz")):
        return False
    # Numbered: of events with one id, that of the last file counts.
    number = sum(1 for _ in folder.glob(f"{stem}*")) + 1
    with whole_file(folder / f"{stem}-{number:04}-{digest}.jsonl.gz", COMPRESSION) as out:
        out.write(text)
    return True
