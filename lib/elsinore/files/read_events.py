"""All events of some files in one table, with an account of every line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError, EngineError, ParameterError
from elsinore.events import EventTable, arrow_schema
from elsinore.files.decode import decode_lines
from elsinore.files.decoded import Decoded, concat_decoded
from elsinore.files.raw_lines import ReadLimits
from elsinore.files.read_csv import read_csv
from elsinore.files.read_lines import read_lines
from elsinore.files.read_parquet import read_parquet
from elsinore.files.rejection import Reason, count_reasons
from elsinore.files.remove_duplicates import remove_duplicates
from elsinore.timeline import Interval

#: Called after each batch with the file last read and the number of lines decoded so far in all.
OnProgress = Callable[[Path, int], None]

_JSON_LINES = (".jsonl", ".ndjson", ".json")
_FORMATS = (*_JSON_LINES, ".csv", ".parquet")
_NAMED = 3
_AT_ONCE = 8_192


@dataclass(frozen=True)
class ReadReport:
    """What became of each line: lines = accepted + duplicates + rejected.

    Attributes:
        files: how many files were read.
        lines: lines that are not blank (jsonl), records (csv) or rows (parquet).
        accepted: events that are in the table.
        duplicates: events that equal an accepted one with the same id.
        rejected: columns of `REJECTED_SCHEMA`, one row a line.
        extra_fields: see `Decoded`.
        ignored_files: files below a folder whose names say no format that is read.
    """

    files: int
    lines: int
    accepted: int
    duplicates: int
    rejected: pa.Table
    extra_fields: Mapping[str, int]
    ignored_files: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.lines != self.accepted + self.duplicates + self.rejected.num_rows:
            raise EngineError(
                f"{self.lines} lines, but {self.accepted} accepted, {self.duplicates} duplicates "
                f"and {self.rejected.num_rows} rejected"
            )

    @property
    def by_reason(self) -> Mapping[str, int]:
        """Rejected lines by reason code."""
        return count_reasons(self.rejected)

    @property
    def bad_share(self) -> float:
        """Rejected lines out of all lines, without those that were corrected; 0 without lines."""
        bad = self.rejected.num_rows - self.by_reason.get(Reason.SUPERSEDED, 0)
        return bad / self.lines if self.lines else 0.0


def read_events(
    paths: list[Path],
    schema: StreamSchema,
    *,
    max_bad_share: float,
    progress: OnProgress | None = None,
    limits: ReadLimits | None = None,
    plausible: Interval | None = None,
) -> tuple[EventTable, ReadReport]:
    """Typed events of files, one of each id, and what became of every line.

    The format follows from the name: `.jsonl`, `.ndjson` and `.json` (JSON lines), `.csv`,
    `.parquet`, each with or without `.gz`. A folder stands for the files of these formats below
    it, in the order of their paths; names that begin with `.` or `_` are passed over.

    Args:
        paths: files and folders.
        schema: what events may be.
        max_bad_share: share of rejected lines, of all lines together, above which to refuse.
        progress: told of each batch.
        limits: bounds on what is read; None: the defaults of `ReadLimits`.
        plausible: as for `decode_lines`.

    Raises:
        ParameterError: a name says no known format, or a file is given twice.
        DataError: a file is missing or unreadable, a folder holds no files, or too many lines
            are bad; then the field `report` holds the `ReadReport`.
    """
    files, ignored = _files(paths)
    parts: list[Decoded] = []
    lines = 0
    for path, count, part in _decoded(files, schema, limits or ReadLimits(), plausible):
        parts.append(part)
        lines += count
        if progress is not None:
            progress(path, lines)
    decoded = concat_decoded(parts, schema)
    distinct = remove_duplicates(decoded.events, schema)
    events = distinct.events.select([column.name for column in arrow_schema(schema)])
    report = ReadReport(
        len(files),
        lines,
        events.num_rows,
        distinct.duplicates,
        pa.concat_tables([decoded.rejected, distinct.superseded]),
        decoded.extra_fields,
        tuple(str(path) for path in ignored),
    )
    if report.bad_share > max_bad_share:
        raise _too_many_bad(report, max_bad_share)
    return EventTable(schema, events), report


def _decoded(
    files: list[Path], schema: StreamSchema, limits: ReadLimits, plausible: Interval | None
) -> Iterator[tuple[Path, int, Decoded]]:
    """Decoded batches with the file last read and the number of lines that went into each."""
    # Lines of small files are decoded together; see `decode_lines`.
    waiting: list[pa.RecordBatch] = []
    for path in files:
        if _format(path) in _JSON_LINES:
            for batch in read_lines(path, limits=limits):
                waiting.append(batch)
                if sum(lines.num_rows for lines in waiting) >= _AT_ONCE:
                    yield path, *_decode_all(waiting, schema, plausible)
                    waiting = []
            continue
        reader = read_csv if _format(path) == ".csv" else read_parquet
        for part in reader(path, schema, limits=limits, plausible=plausible):
            yield path, part.lines, part
    if waiting:
        yield files[-1], *_decode_all(waiting, schema, plausible)


def _decode_all(
    batches: list[pa.RecordBatch], schema: StreamSchema, plausible: Interval | None
) -> tuple[int, Decoded]:
    lines = pa.Table.from_batches(batches)
    return lines.num_rows, decode_lines(lines, schema, plausible=plausible)


def _format(path: Path) -> str | None:
    name = path.name.lower().removesuffix(".gz")
    return next((suffix for suffix in _FORMATS if name.endswith(suffix)), None)


def _files(paths: list[Path]) -> tuple[list[Path], list[Path]]:
    """The files to read, and those below folders that are left out."""
    files: list[Path] = []
    ignored: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = _below(path)
            chosen = [file for file in below if _format(file) is not None]
            if not chosen:
                raise DataError(f"{path} holds no event files", hint=_hint(), file=str(path))
            files += chosen
            ignored += [file for file in below if _format(file) is None]
        elif not path.exists():
            raise DataError(f"no such file: {path}", hint="check the path", file=str(path))
        elif _format(path) is None:
            raise ParameterError(f"cannot tell the format of {path}", hint=_hint(), file=str(path))
        else:
            files.append(path)
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise ParameterError(f"{file} is given twice", hint="name it once", file=str(file))
        seen.add(file.resolve())
    return files, ignored


def _below(folder: Path) -> list[Path]:
    """Files below a folder in the order of their paths, without hidden and marker files."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(
        path
        for path in found
        if not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )


def _hint() -> str:
    return f"names end in {', '.join(_FORMATS)}, with or without .gz"


def _too_many_bad(report: ReadReport, allowed: float) -> DataError:
    first = "; ".join(
        f"{row['file']}:{row['position']}: {row['reason_code']}: {row['reason']}"
        for row in report.rejected.slice(0, _NAMED).to_pylist()
    )
    return DataError(
        f"{report.rejected.num_rows} of {report.lines} lines are bad, more than the share of "
        f"{allowed:g}: {first}",
        hint="mend the lines, or allow a larger share",
        report=report,
    )
