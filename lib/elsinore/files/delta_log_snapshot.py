"""Give delta-rs a Delta log that other users cannot change while it is read.

A writer of a table can put a link or a pipe into its log, or a file of 100 GB. delta-rs follows
links, waits for pipes, and aborts the process if memory runs out. So it gets a private directory
with checked files. The log of a table in an object store is copied there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from elsinore.errors import DataError
from elsinore.files.bounded_parquet import require_bounded
from elsinore.files.lake_tables import LakeTable
from elsinore.files.read_lines import DEFAULT_LIMITS, MAX_COLUMNS, ReadLimits, too_large, unreadable
from elsinore.files.rejection import Reason, UnreadableFile, printable
from elsinore.places import copy_object, is_here, object_names
from elsinore.safe_files import open_directory, open_file

LOG, _SIDECARS = "_delta_log", "_sidecars"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-f-]{36})?\.(parquet|json)"
)
#: Names that no URL or path takes for another directory.
PLAIN_NAME = re.compile(r"\w[\w.-]*")
_HINT = "_last_checkpoint"  #: names the newest checkpoint; the list of files shows it, too
_MOST_HINT = 1 << 20
#: Maximum number of files in a log, or of its sidecars.
MOST_ENTRIES = 100_000
#: Maximum number of partition columns: delta-rs makes a value of each for every data file.
MOST_PARTITIONS = 20
#: Maximum number of data files times columns with statistics: delta-rs makes three values of each.
MOST_STATISTICS = 10_000_000
#: Columns with statistics if the table does not set their number, and how it does.
_INDEXED, _SKIPPING = 32, b"delta.dataSkipping"
_NUMBER_INDEXED = "delta.dataSkippingNumIndexedCols"
#: The key of an added data file; characters may be escaped.
_ADD = re.compile(rb'"(?:a|\\u0061)(?:d|\\u0064){2}"')
#: Rows of a checkpoint that are read at a time.
_ROWS = 1_024
_BLOCK = 1 << 20
#: Bytes of a block that `stat` counts.
_STORED_BLOCK = 512


@contextmanager
def log_snapshot(table: LakeTable, limits: ReadLimits) -> Iterator[Path]:
    """Yield a private directory with the log of a table.

    It holds the newest complete checkpoint up to the table's version, and what was written later.
    Commits are copies. Checkpoints are links to the open descriptors of the checked files, or
    copies of objects.

    Raises:
        DataError: a file of the log is a link, is not a regular file, or is too large.
        OSError: a file cannot be read.
    """
    with ExitStack() as stack:
        whole = Path(stack.enter_context(TemporaryDirectory()))
        (whole / LOG / _SIDECARS).mkdir(parents=True)
        log, left = table.path / LOG, limits.file_bytes
        bounds, sidecars = _Bounds(log), set[str]()
        names = _names(log, table)
        if _HINT in names:
            _require_short(log / _HINT, table.trusted)
        for name in _needed(names, table.version):
            if name.endswith(".json"):
                left -= copy_file(log / name, table.trusted, whole / LOG / name, left)
                if left < 0:
                    raise too_large(log, f"has more than {limits.file_bytes} bytes of commits")
                bounds.add(log / name, partial(_contents_of_json, whole / LOG / name))
                if not _COMMIT.fullmatch(name):
                    found = _sidecars_of_json(whole / LOG / name)
                    sidecars |= _require_sidecars(log / name, found)
            else:
                _link(log / name, table, whole / LOG / name, limits, stack)
                sidecars |= _require_sidecars(log / name, _sidecars_of_parquet(whole / LOG / name))
                bounds.add(log / name, partial(_contents_of_parquet, whole / LOG / name))
        if _SIDECARS in names:
            # Others are of older checkpoints. There may be more than this process can open.
            for name in sorted(sidecars.intersection(_names(log / _SIDECARS, table))):
                path = whole / LOG / _SIDECARS / name
                _link(log / _SIDECARS / name, table, path, limits, stack)
                bounds.add_files(pq.read_metadata(path).num_rows)
        yield whole


def descriptors(snapshot: Path) -> Iterator[int]:
    """Yield the open files to which checkpoints in a snapshot are links."""
    for path in (snapshot / LOG).rglob("*.parquet"):
        if path.is_symlink():
            yield int(path.readlink().name)


def _names(directory: Path, table: LakeTable) -> list[str]:
    """Return the names in a directory of a log."""
    if not is_here(directory):
        return sorted(object_names(directory, MOST_ENTRIES))
    found: list[str] = []
    with open_directory(directory, table.trusted) as descriptor, os.scandir(descriptor) as entries:
        for entry in entries:
            found.append(entry.name)
            if len(found) > MOST_ENTRIES:
                raise too_large(directory, f"has more than {MOST_ENTRIES:,} files")
    return sorted(found)


def _needed(names: list[str], version: int | None) -> list[str]:
    """Return the commits and checkpoints from the newest complete checkpoint of a version on."""
    checkpoints = [match for name in names if (match := _CHECKPOINT.fullmatch(name))]
    parts: dict[tuple[int, int], set[int]] = {}
    for match in checkpoints:
        part, count = int(match[2] or 1), int(match[3] or 1)
        if 1 <= part <= count:
            parts.setdefault((int(match[1]), count), set()).add(part)
    complete = (at for (at, count), found in parts.items() if len(found) == count)
    first = max((at for at in complete if version is None or at <= version), default=0)
    found = [*checkpoints, *(match for name in names if (match := _COMMIT.fullmatch(name)))]
    return [match.string for match in found if int(match[1]) >= first]


def _require_short(path: Path, trusted: Path) -> None:
    if not is_here(path):
        return  # it is not copied, and delta-rs does not see it
    with open_file(path, trusted) as file:
        if os.fstat(file.fileno()).st_size > _MOST_HINT:
            raise too_large(path, f"has more than {_MOST_HINT:,} bytes")


def copy_file(path: Path, trusted: Path, target: Path, most: int) -> int:
    """Copy a file of at most `most` bytes; return its size, or more than `most`."""
    if not is_here(path):
        return copy_object(path, target, most)
    with open_file(path, trusted) as file, target.open("wb") as out:
        status = os.fstat(file.fileno())
        if status.st_size > most:
            return most + 1
        stored = status.st_blocks * _STORED_BLOCK
        if status.st_size > DEFAULT_LIMITS.decoded(stored):  # a copy would take all of it
            raise too_large(path, "is a sparse file, and would fill the disk")
        size = 0
        while size <= most and (block := file.read(_BLOCK)):
            size += out.write(block)
    return size


def _link(path: Path, table: LakeTable, target: Path, limits: ReadLimits, stack: ExitStack) -> None:
    """Make a link to the descriptor of a checkpoint that decodes to a bounded size, or copy it."""
    if is_here(path):
        file = stack.enter_context(open_file(path, table.trusted))
        target.symlink_to(f"/proc/self/fd/{file.fileno()}")
    elif copy_object(path, target, limits.file_bytes) > limits.file_bytes:
        raise too_large(path, f"has more than {limits.file_bytes:,} bytes")
    with naming_file(path, target):
        require_bounded(target, limits)


class _Contents(NamedTuple):
    """Upper bounds on the content of a file of a log."""

    files: int  #: data files that it adds
    partitions: int  #: partition columns
    statistics: int  #: columns with statistics


def _contents_of_json(path: Path) -> _Contents:
    """Return the bounds of a commit or a checkpoint.

    Raises:
        ValueError, TypeError, RecursionError: the line of a description is not one action.
    """
    most = DEFAULT_LIMITS.line_bytes
    contents = _Contents(0, 0, _INDEXED)
    with path.open("rb") as lines:
        while line := lines.readline(most + 1):
            if len(line) > most:
                raise ValueError(f"a line has more than {most:,} bytes")
            contents = contents._replace(files=contents.files + len(_ADD.findall(line)))
            # The name may be escaped.
            if any(name in line for name in (b"partitionColumns", _SKIPPING, b"\\u")):
                for _, content in json.loads(line, object_pairs_hook=list):
                    contents = _with_table(contents, content if isinstance(content, list) else ())
    return contents


def _with_table(contents: _Contents, table: Iterable[tuple[str, Any]]) -> _Contents:
    """Return contents with the description of a table, whose keys may occur twice."""
    pairs = list(table)
    partitions = [len(value) for key, value in pairs if key == "partitionColumns" and value]
    fields = [str(value).count("{") // 2 for key, value in pairs if key == "schemaString"]
    indexed = [_INDEXED]
    for name, value in (pair for key, of in pairs if key == "configuration" for pair in of or ()):
        if str(name).startswith(_SKIPPING.decode()):
            is_number = name == _NUMBER_INDEXED and re.fullmatch("[0-9]{1,9}", str(value))
            indexed.append(int(value) if is_number else MAX_COLUMNS)
    return _Contents(
        contents.files,
        max(contents.partitions, *partitions, 0),
        max(contents.statistics, min(max(indexed), *fields)) if fields else contents.statistics,
    )


def _contents_of_parquet(path: Path) -> _Contents:
    with pq.ParquetFile(path) as file:
        contents = _Contents(file.metadata.num_rows, 0, _INDEXED)
        if "metaData" in file.schema_arrow.names:
            names = ("partitionColumns", "configuration", "schemaString")
            columns = [f"metaData.{name}" for name in names]
            for batch in file.iter_batches(_ROWS, columns=columns):
                tables = batch.to_struct_array().field("metaData").drop_null()
                for table in tables.to_pylist():
                    contents = _with_table(contents, table.items())
    return contents


class _Bounds:
    """Bounds on what the files of a log describe together."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._files, self._statistics = 0, _INDEXED

    def add(self, path: Path, read: Callable[[], _Contents]) -> None:
        """Add a file of the log; UnreadableFile: it is damaged or describes too much."""
        try:
            contents = read()
        except (ValueError, TypeError, RecursionError) as error:
            problem = " is damaged: a line is not a short JSON object"
            raise unreadable(path, problem, Reason.CORRUPT_FILE, "write it again") from error
        if contents.partitions > MOST_PARTITIONS:
            problem = f" has {contents.partitions:,} partition columns, more than {MOST_PARTITIONS}"
            hint = "write the table with fewer of them"
            raise unreadable(path, problem, Reason.TOO_LARGE, hint)
        self.add_files(contents.files)
        self._statistics = max(self._statistics, contents.statistics)
        self.add_files(0)

    def add_files(self, number: int) -> None:
        """Add data files; UnreadableFile: there is too much statistics of them."""
        self._files += number
        if (values := self._files * self._statistics) > MOST_STATISTICS:
            problem = (
                f" may have statistics of {values:,} columns of data files, "
                f"more than {MOST_STATISTICS:,}"
            )
            hint = f"lower {_NUMBER_INDEXED}, or write the table with fewer files"
            raise unreadable(self._log, problem, Reason.TOO_LARGE, hint)


def _sidecars_of_json(path: Path) -> Iterator[object]:
    """Yield the sidecars that a checkpoint names, also in keys that an object has twice.

    Raises:
        ValueError, TypeError, RecursionError: a line is not one action.
    """
    with path.open("rb") as lines:
        for line in lines:
            for action, content in json.loads(line, object_pairs_hook=list):
                if action == "sidecar":
                    yield from (value for key, value in content or () if key == "path")


def _sidecars_of_parquet(path: Path) -> Iterator[object]:
    with pq.ParquetFile(path) as file:
        if "sidecar" in file.schema_arrow.names:
            for batch in file.iter_batches(columns=["sidecar.path"]):
                for sidecar in batch.to_struct_array().field("sidecar").to_pylist():
                    yield sidecar["path"] if sidecar else None


def _require_sidecars(path: Path, sidecars: Iterable[object]) -> set[str]:
    """Refuse sidecars elsewhere: delta-rs follows paths and addresses; return their names."""
    try:
        found = list(sidecars)
    except (ValueError, TypeError, RecursionError) as error:
        problem = " is damaged: a line is not a JSON object"
        raise unreadable(path, problem, Reason.CORRUPT_FILE, "export the file again") from error
    for name in found:
        if name is not None and not PLAIN_NAME.fullmatch(str(name)):
            problem = f" names a sidecar outside of {_SIDECARS}: {printable(str(name)[:200])}"
            raise unreadable(path, problem, Reason.CORRUPT_FILE, "copy the table with its log")
    return {str(name) for name in found if name is not None}


@contextmanager
def naming_file(path: Path, copy: Path) -> Iterator[None]:
    """Replace the path of a temporary copy in errors by the path of its file."""
    try:
        yield
    except UnreadableFile as error:
        problem = error.message.replace(str(copy), str(path))
        code, hint = error.reason_code, error.hint
        raise UnreadableFile(problem, reason_code=code, hint=hint, file=str(path)) from error
    except DataError as error:
        problem = error.message.replace(str(copy), str(path))
        raise DataError(problem, hint=error.hint, file=str(path)) from error
