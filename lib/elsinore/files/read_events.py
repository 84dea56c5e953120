"""Read the events of files into one table, deduplicate them by id, and count all records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.source_rule import PACKED, SUFFIXES, format_of
from elsinore.catalog.stream import AttributeType, Otherwise, StreamSchema
from elsinore.choices import InputFormat
from elsinore.errors import DataError, EngineError, ParameterError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable, arrow_schema, id_keys, same_values
from elsinore.files.advice import odd_file, odd_name
from elsinore.files.as_lines import with_columns
from elsinore.files.directory_columns import columns_below
from elsinore.files.file_names import (
    lost_records,
    order_doubt,
    order_of_name,
    require_no_copies,
)
from elsinore.files.formats import file_format
from elsinore.files.lake_tables import (
    LakeTable,
    TableFinder,
    is_in_log,
    named_version,
    part_of_table,
    require_readable,
)
from elsinore.files.missing_fields import MissingFields
from elsinore.files.nanoseconds import Nanoseconds
from elsinore.files.plausible import odd_times
from elsinore.files.read_delta import read_delta
from elsinore.files.read_lines import DEFAULT_LIMITS, names_read, read_lines
from elsinore.files.read_parquet import Frame, read_frame
from elsinore.files.rejection import (
    REJECTED_SCHEMA,
    Fault,
    Reason,
    invalid_records,
    rejected_rows,
    shown,
)
from elsinore.files.type_records import Decoded, concat_decoded
from elsinore.files.typed import plain_number
from elsinore.files.versions import BELOW_VERSIONS, decode_versioned
from elsinore.hints import Hint, Option, Or
from elsinore.timeline import NUMBER_LENGTHS, format_instant

#: Files, directories, DataFrames, and tables of a lake.
Source = Path | Frame | LakeTable

#: Called after each batch with what was last read and the number of lines decoded so far in all.
OnProgress = Callable[[Source, int], None]


#: Maximum number of rejected records: each takes about 200 bytes of memory, and 2 of a file.
MOST_REJECTED = 10_000_000
_NAMED = 3
_AT_ONCE = 8_192
#: Columns during deduplication; no attribute name begins with `_`.
_NANOSECONDS, _VERSION = "_nanoseconds", "_version"
_Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ReadReport:
    """Row counts of a read: lines = accepted + duplicates + rejected + ignored."""

    files: int  #: how many files were read
    lines: int  #: lines that are not blank (jsonl), records (csv) or rows (parquet)
    accepted: int  #: events that are in the table
    duplicates: int  #: events that equal an accepted one with the same id
    rejected: pa.Table  #: columns of `REJECTED_SCHEMA`, one row per record
    ignored: int = 0  #: records of types that the schema ignores
    #: files below directories that were skipped, because their names have no known format.
    passed_over: tuple[Path, ...] = ()
    #: sentences about implausible times, missing fields, corrections that lost, and columns that
    #: were too large to decode.
    warnings: tuple[str, ...] = ()
    #: the nanoseconds that were truncated from the time of each event in the table.
    nanoseconds: Nanoseconds = None

    def __post_init__(self) -> None:
        aside = self.rejected.num_rows + self.ignored
        if self.lines != self.accepted + self.duplicates + aside:
            raise EngineError(
                f"{self.lines} lines, but {self.accepted} accepted, {self.duplicates} duplicates, "
                f"{self.rejected.num_rows} rejected and {self.ignored} ignored"
            )

    @property
    def by_reason(self) -> Mapping[str, int]:
        """Rejected lines by reason code, in the order of the codes' names."""
        counts = self.rejected["reason_code"].value_counts().to_pylist()
        return dict(sorted((pair["values"], pair["counts"]) for pair in counts))

    @property
    def error_rate(self) -> float:
        """The share of invalid records, of all records that are not ignored."""
        checked = self.lines - self.ignored
        return invalid_records(self.by_reason) / checked if checked else 0.0


def read_events(
    sources: Sequence[Source],
    schema: StreamSchema,
    *,
    max_error_rate: float,
    progress: OnProgress | None = None,
    form: InputFormat | None = None,
    read: Collection[str] | None = None,
) -> tuple[EventTable, ReadReport]:
    """Return typed events of files and DataFrames, deduplicated by id, and a report.

    The format follows from the name: `.jsonl`, `.ndjson` and `.json` (JSON lines), `.csv`,
    `.parquet`, each with or without `.gz` or `.zst`. A directory yields the files of these formats
    below it, in the order of their paths, except names that begin with `.` or `_`. A Delta table in
    or below it yields its rows.

    Args:
        sources: what to read.
        schema: how to read an event.
        max_error_rate: the maximum share of rejected lines, of all lines together.
        progress: called after each batch.
        form: the format of named files whose extension is not known.
        read: the attributes that queries read, None: all (see `read_parquet`).

    Raises:
        ParameterError: a name has no known format, or a file is given twice.
        DataError: a file is missing or unreadable, a directory has no files, or too many lines
            are bad; in the last case, the field `report` has the `ReadReport`.
    """
    files, passed_over = files_of(sources, form)
    roots = [path for path in sources if isinstance(path, Path) and path.is_dir()]
    parts: list[Decoded] = []
    lines, missing = 0, MissingFields(schema)
    for path, part, batch in _few_rejected(_decoded(files, schema, form, roots, read)):
        parts.append(part)
        lines += part.lines
        missing.add(part, batch)
        if progress is not None:
            progress(path, lines)
    decoded, odd = set_odd_aside(concat_decoded(parts, schema), schema)
    distinct, cut = remove_duplicates(decoded, schema), decoded.nanoseconds
    events = distinct.events.select([column.name for column in arrow_schema(schema)])
    report = ReadReport(
        len(files),
        lines,
        events.num_rows,
        distinct.duplicates,
        pa.concat_tables([decoded.rejected, distinct.superseded]),
        decoded.ignored,
        passed_over,
        (*odd, *missing.warnings(), *_losses(distinct, decoded)),
        None if cut is None else distinct.events[_NANOSECONDS].to_numpy(),
    )
    if report.error_rate > max_error_rate:
        raise too_many_bad(report, max_error_rate)
    return EventTable(schema, events), report


def _losses(distinct: Distinct, decoded: Decoded) -> Iterator[str]:
    """Yield warnings about corrections that lost, and columns that were not decoded."""
    for files, number in distinct.lost.items():
        yield lost_records(number, *files)
    for name in decoded.left_out:
        yield f"the column {name} is too large to decode and was not checked; no query reads it"


def set_odd_aside(decoded: Decoded, schema: StreamSchema) -> tuple[Decoded, tuple[str, ...]]:
    """Check the times of events; reject the implausible ones if the schema quarantines them.

    Returns:
        The remaining events, and warnings about implausible times among them.
    """
    odd = odd_times(decoded.events, schema)
    if schema.plausible.otherwise is not Otherwise.QUARANTINE or not odd.faults:
        return decoded, odd.warnings
    gone = _with_order(decoded).filter(odd.rows)
    lines = [as_json(row, schema) for row in gone.to_pylist()]
    faults = [odd.faults[row] for row in sorted(odd.faults)]
    rejected = pa.concat_tables([decoded.rejected, rejected_rows(gone, lines, faults)])
    cut = None if decoded.nanoseconds is None else decoded.nanoseconds[~odd.rows]
    events, versions = decoded.events.filter(~odd.rows), decoded.versions
    versions = None if versions is None else versions.filter(pa.array(~odd.rows))
    return replace(
        decoded, events=events, rejected=rejected, nanoseconds=cut, versions=versions
    ), ()


def _with_order(decoded: Decoded) -> pa.Table:
    """Return events with their nanoseconds and versions, if there are any."""
    events = decoded.events
    if decoded.nanoseconds is not None:
        events = events.append_column(_NANOSECONDS, pa.array(decoded.nanoseconds))
    if decoded.versions is not None:
        events = events.append_column(_VERSION, decoded.versions)
    return events


def _few_rejected(
    parts: Iterator[tuple[Source, Decoded, pa.Table | None]],
) -> Iterator[tuple[Source, Decoded, pa.Table | None]]:
    """Yield decoded batches; DataError: too many of their records are rejected."""
    number = 0
    for path, part, batch in parts:
        number += part.rejected.num_rows
        if number > MOST_REJECTED:
            row = part.rejected.slice(0, 1).to_pylist()[0]
            problem = f"more than {MOST_REJECTED:,} records are invalid"
            raise DataError(
                f"{problem}: {row['file']}:{row['record_number']}: {row['reason_code']}: "
                f"{row['reason']}",
                hint="correct the records or the schema",
                file=row["file"],
            )
        yield path, part, batch


def _decoded(
    files: list[Source],
    schema: StreamSchema,
    form: InputFormat | None,
    roots: Sequence[Path],
    read: Collection[str] | None,
) -> Iterator[tuple[Source, Decoded, pa.Table | None]]:
    """Yield decoded batches with the file last read and, for JSON, the lines of each batch."""
    named = names_read(schema, nested=True)
    # Lines of small files are decoded together, because each call takes milliseconds.
    waiting = _Waiting()
    for path in files:
        if isinstance(path, Frame):
            yield from ((path, part, None) for part in read_frame(path, schema))
            continue
        if isinstance(path, LakeTable):
            yield from ((path, part, None) for part in read_delta(path, schema, read=read))
            continue
        decode = file_format(path, form).decode
        below = {name: text for name, text in columns_below(path, roots).items() if name in named}
        if decode is None:
            for batch in read_lines(path):
                waiting.add(with_columns(batch, below, schema))
                if waiting.is_enough():
                    yield path, *_decode_all(waiting.batches, schema)
                    waiting = _Waiting()
            continue
        yield from ((path, part, None) for part in decode(path, schema, below, read))
    if waiting.batches:
        yield files[-1], *_decode_all(waiting.batches, schema)


class _Waiting:
    """Batches of lines that are decoded together, and their totals: there may be many files."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def add(self, lines: pa.RecordBatch) -> None:
        """Add a batch."""
        self.batches.append(lines)
        self._rows += lines.num_rows
        self._bytes += lines.nbytes

    def is_enough(self) -> bool:
        """Return whether they are decoded before more are read: few long lines take memory, too."""
        return self._rows >= _AT_ONCE or self._bytes >= DEFAULT_LIMITS.batch_bytes


def _decode_all(batches: list[pa.RecordBatch], schema: StreamSchema) -> tuple[Decoded, pa.Table]:
    lines = pa.Table.from_batches(batches)
    return decode_versioned(lines, schema), lines


def files_of(
    sources: Sequence[Source], form: InputFormat | None = None
) -> tuple[list[Source], tuple[Path, ...]]:
    """Return the sources, and the skipped files of directories, whose names have no known format.

    ParameterError, DataError: as `read_events`.
    """
    files: list[Source] = []
    passed_over: list[Path] = []
    finder = TableFinder()
    for path in sources:
        if isinstance(path, Frame | LakeTable):
            files.append(path)
        elif path.is_dir():
            chosen, others = _below(path, finder)
            files += chosen
            passed_over += others
        elif not path.exists():
            files.append(_table_version(path, finder))
        else:
            _require_format(path, form)
            files.append(path)
    for file in files:
        if not isinstance(file, Path):
            continue
        is_parquet = (format_of(file.name) or form) is InputFormat.PARQUET
        table = finder.around(file)
        if table and (is_parquet or is_in_log(file, table)):
            raise part_of_table(file, table)
    seen: set[Path] = set()
    for source in (source for source in files if not isinstance(source, Frame)):
        real = (source.path if isinstance(source, LakeTable) else source).resolve()
        if real in seen:
            problem = f"{source} is given twice"
            raise ParameterError(problem, hint="name the file once", file=str(source))
        seen.add(real)
    require_no_copies([file for file in files if isinstance(file, Path)])
    return files, tuple(passed_over)


def _below(folder: Path, finder: TableFinder) -> tuple[list[Source], list[Path]]:
    """Return the sources below a directory, by path, and the files that are left out."""
    if finder.at(folder) is None and (table := finder.around(folder)):
        raise part_of_table(folder, table)
    tables = finder.below(folder)
    below = [file for file in files_below(folder) if tables.keys().isdisjoint(file.parents)]
    placed: dict[Path, Source] = {file: file for file in below if format_of(file.name) is not None}
    placed |= {path: require_readable(table) for path, table in tables.items()}
    if not placed:
        raise DataError(f"{folder} contains no event files", hint=_named_so(), file=str(folder))
    others = [file for file in below if format_of(file.name) is None]
    return [placed[path] for path in sorted(placed)], others


def _table_version(path: Path, finder: TableFinder) -> LakeTable:
    """Return the table of `table@version`, or raise ParameterError for a missing path."""
    if table := named_version(path, finder):
        return require_readable(table)
    hint = "remove the quotes around *, or name the directory"
    hint = hint if "*" in str(path) else "check the path"
    raise ParameterError(f"no such file: {path}", hint=hint, file=str(path))


def _require_format(path: Path, form: InputFormat | None) -> None:
    """Refuse a file whose format is not known."""
    if (format_of(path.name) or form) is not None:
        return
    if path.is_file():  # no pipe
        with suppress(OSError), path.open("rb") as opened:
            if odd := odd_file(opened.read(8)):
                raise ParameterError(f"{path} {odd[0]}", hint=odd[1], file=str(path))
    hint = odd_name(path.name) or Hint(_named_so(), _OR_FORMAT)
    raise ParameterError(f"unknown format: {path}", hint=hint, file=str(path))


#: Programs that print compressed files.
_PRINTERS = {".gz": "zcat", ".zst": "zstdcat"}


def files_below(folder: Path) -> list[Path]:
    """Return the files below a directory, sorted by path, without hidden and marker files."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(
        path
        for path in found
        if not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )


def _named_so() -> str:
    return f"use a name that ends in {', '.join(SUFFIXES)}, with or without {' or '.join(PACKED)}"


#: Ways out for files whose names have no known format, and for invalid records.
_OR_FORMAT = Or(", or add ", Option("input_format", "jsonl", is_in_library=False))
_OR_ALLOW = Or(", or allow half of them with ", Option("max_error_rate", 0.5))


def too_many_bad(report: ReadReport, allowed: float) -> DataError:
    """Return the error of too many invalid records; its field `report` has the `ReadReport`."""
    named = report.rejected.slice(0, _NAMED).to_pylist()
    first = "; ".join(
        f"{row['file']}:{row['record_number']}: {row['reason_code']}: {row['reason']}"
        for row in named
    )
    hint = "correct the records or the schema"
    if cut := [row for row in named if _is_cut(**row)]:
        hint = f"show a line with `{_command_for(**cut[0])}` and correct it"
    if report.error_rate <= 0.5:
        hint = Hint(hint, _OR_ALLOW)
    return DataError(
        f"{invalid_records(report.by_reason)} of {report.lines} records are invalid, more than the "
        f"allowed share of {allowed:g}: {first}",
        hint=hint,
        report=report,
    )


def _is_cut(reason_code: str, reason: str, **_: str) -> bool:
    """Return whether a line is invalid JSON that `jq` cannot read either."""
    return reason_code == Reason.BAD_JSON and "jq" not in reason


def _command_for(file: str, record_number: int, **_: str) -> str:
    """Return the shell command that prints a line of a file."""
    reader = next((f"{name} FILE | " for end, name in _PRINTERS.items() if file.endswith(end)), "")
    return f"{reader}sed -n {record_number}p{'' if reader else ' FILE'}"


class Distinct(NamedTuple):
    """Deduplicated events, in the order given, with their nanoseconds and versions if known.

    `duplicates` counts dropped events that equal the kept one; `superseded` (columns of
    `REJECTED_SCHEMA`) has the dropped events that differ from it. `lost` counts superseded events
    that may be corrections, by their file, the file that won, and the reason.
    """

    events: pa.Table
    duplicates: int
    superseded: pa.Table
    lost: Mapping[tuple[str, str, str], int] = MappingProxyType({})


def remove_duplicates(decoded: Decoded, schema: StreamSchema) -> Distinct:
    """Deduplicate events by id: the last one by (version, file, position) wins.

    An event without a version loses to events with one. See `_file_ranks` for the order of files.

    A removed event with equal time, type and attributes is a duplicate; one that differs is
    rejected as `superseded`. Events without an id are all kept. If ids are unique only within a
    span of time, events of different spans are never duplicates.
    """
    events = _with_order(decoded)
    if schema.id_field is None or _all_differ(events["event_id"]):
        return Distinct(events, 0, REJECTED_SCHEMA.empty_table())
    events = events.combine_chunks()
    earlier, last = _repeated(events, schema)
    names = [field.name for field in arrow_schema(schema)]
    before, after = events.select(names).take(earlier), events.select(names).take(last)
    equal = np.ones(len(earlier), np.bool_)
    for name in names:
        equal &= same_values(before[name], after[name])
    keep = np.ones(events.num_rows, np.bool_)
    keep[earlier] = False
    superseded, lost = _superseded(events.take(earlier[~equal]), events.take(last[~equal]), schema)
    return Distinct(events.filter(pa.array(keep)), int(equal.sum()), superseded, lost)


def _all_differ(ids: pa.ChunkedArray) -> bool:
    """Return whether no id is there twice; cheap where they ascend, as counters and ULIDs do."""
    lengths = pc.binary_length(ids)
    longer, as_long = pc.less(lengths[:-1], lengths[1:]), pc.equal(lengths[:-1], lengths[1:])
    ascend = pc.or_(longer, pc.and_(as_long, pc.less(ids[:-1], ids[1:])))
    return pc.all(ascend).as_py() or len(pc.unique(ids)) == len(ids)


def _repeated(events: pa.Table, schema: StreamSchema) -> tuple[_Rows, _Rows]:
    """Return the rows whose id a later row has, and for each of them the last row of the id.

    Rows are ordered by version, rank of the file and position.
    """
    found = id_keys(events, schema, time=TIME_COLUMN).combine_chunks()
    placed = events.select(["record_number"]).append_column("id", found)
    placed = placed.append_column("file", _file_ranks(events["file"], schema))
    names = ["id", "file", "record_number"]
    if _VERSION in events.column_names:
        versions = pc.fill_null(events[_VERSION], BELOW_VERSIONS)
        placed = placed.append_column("version", versions)
        names.insert(1, "version")
    keys = [(name, "ascending") for name in names]
    order = pc.sort_indices(placed, keys).to_numpy().astype(np.int64)
    ids = found.dictionary_encode().indices.to_numpy()[order]
    ends = np.append(ids[1:] != ids[:-1], True)
    # The run of a row is as many runs along as ended before it.
    run = np.cumsum(ends) - ends
    earlier, last = order[~ends], order[ends][run][~ends]
    # Sorted by row, so that rejected events keep the order of the input.
    by_row = np.argsort(earlier)
    return earlier[by_row], last[by_row]


def _file_ranks(files: pa.ChunkedArray, schema: StreamSchema) -> pa.Array:
    """Return the rank of the file of each event; records of files with higher ranks win.

    As in the pipeline, files are ordered by their names without extensions, or by their
    modification times if the schema says so.
    """
    names = files.combine_chunks().dictionary_encode()
    known = names.dictionary.to_pylist()
    times = {name: _modified(name) if schema.by_modification else 0 for name in known}
    order = sorted(known, key=lambda name: (times[name], order_of_name(name)))
    ranks = {name: rank for rank, name in enumerate(order)}
    return pa.array(map(ranks.__getitem__, known), pa.int64()).take(names.indices)


def _superseded(
    events: pa.Table, kept: pa.Table, schema: StreamSchema
) -> tuple[pa.Table, Counter[tuple[str, str, str]]]:
    rows = events.to_pylist()
    by = kept.select([n for n in ("file", "record_number", _VERSION) if n in kept.column_names])
    by = by.to_pylist()
    pairs = {(row["file"], other["file"]) for row, other in zip(rows, by, strict=True)}
    doubts = {pair: order_doubt(*pair, *map(_modified, pair)) for pair in pairs}
    reasons, lost = list[str](), Counter[tuple[str, str, str]]()
    for row, other in zip(rows, by, strict=True):
        reason = (
            f"id {shown(row['event_id'])} was corrected by {other['file']}:{other['record_number']}"
        )
        # Between different versions, files decide nothing.
        doubt = doubts[row["file"], other["file"]]
        if doubt and row.get(_VERSION) == other.get(_VERSION):
            lost[row["file"], other["file"], doubt] += 1
            reason += f", {doubt}"
        reasons.append(reason)
    lines = [as_json(row, schema) for row in rows]
    faults = [Fault(Reason.SUPERSEDED, text) for text in reasons]
    return rejected_rows(events, lines, faults), lost


def _modified(file: str) -> int:
    """Return when a file was modified, in nanoseconds since 1970; 0 if it is not a file."""
    try:
        return Path(file).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def as_json(row: dict[str, object], schema: StreamSchema) -> str:
    """Return a JSON line that is read as the given event; paths are names with dots."""
    code = int(str(row[TYPE_COLUMN]))
    time = int(str(row[TIME_COLUMN]))
    length = NUMBER_LENGTHS.get(schema.time_unit)
    fields: dict[str, object] = {schema.id_field: row["event_id"]} if schema.id_field else {}
    if length is None:
        fields[schema.time_field] = format_instant(time)
    else:
        fields[schema.time_field] = time // length if time % length == 0 else time / length
    if schema.type_field is not None:
        fields[schema.type_field] = schema.raw_types[code]
    for attribute in schema.types[code].attributes:
        value = row[attribute.name]
        if attribute.type is AttributeType.TIMESTAMP and isinstance(value, int):
            value = format_instant(value)
        fields[attribute.raw] = value
    if isinstance(version := row.get(_VERSION), Decimal) and schema.version_field is not None:
        fields.setdefault(schema.version_field, plain_number(version))
    return json.dumps(fields, ensure_ascii=False)
