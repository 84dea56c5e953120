"""Read the logs and rows of Delta tables, and convert errors of delta-rs.

Notes about rows are stored in the commit itself (`userMetadata`). So a note is true of exactly this
version of the table, even if a process is killed.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import local
from typing import Any
from urllib.parse import unquote, urlparse

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    SchemaMismatchError,
    TableNotFoundError,
)
from pyarrow.acero import AggregateNodeOptions, Declaration, RecordBatchReaderSourceNodeOptions
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from elsinore.catalog.stream import Buckets
from elsinore.errors import ConflictError, DataError, OutOfMemoryError, SetupError, storage_error
from elsinore.places import is_here, scheme, state
from elsinore.settings import OF_WORKLOAD, LakePath
from elsinore.store.regions import Conditions, Hours, Landings, sql
from elsinore.store.table_features import feature_failures, is_conflict

#: Operations of commits that do not change rows.
KEEP_ROWS = {
    "ADD COLUMNS", "CREATE TABLE", "OPTIMIZE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES",
    "VACUUM END", "VACUUM START",
}  # fmt: skip

#: Delta's first reader version: plain Parquet files and the log. Later versions add column mapping
#: (2) and named features (3).
PLAIN_READER = 1
#: The feature of tables whose data files can contain deleted rows.
DELETION_VECTORS = "deletionVectors"

#: The operation of commits that Delta has removed from the log.
UNKNOWN = "unknown"

#: The column of `events` with the bucket of the event.
BUCKET = "event_bucket"
#: The property of `events` with its `Buckets`, as JSON.
BUCKETS = "elsinore.buckets"

#: String columns that filter rows, and the other string columns of `plans`, whose statistics are
#: compared with them. They are read as dictionaries. If delta-rs has deleted rows (1.4 to 1.6.6),
#: strings are views, which Arrow cannot compare (delta-rs issue 4579).
_CHOSEN_BY = (
    "file_hour", "window_end_hour", "query", "group_key", "workload_fingerprint", "run_key", "step",
    "metric", "aggregate", "status", "event_type", "kind", "fingerprint", "statistics_fingerprint",
    "body", "finder",
)  # fmt: skip

_COMMIT = re.compile(r"(\d{20})\.json")
_LOG = "_delta_log"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a table.

    Attributes:
        version: The version that the commit created.
        operation: Delta's name of the operation.
        note: The JSON object in `userMetadata`; empty if there is none.
        time: Milliseconds since 1970; 0 if the log does not record the time.
    """

    version: int
    operation: str
    note: dict[str, Any]
    time: int = 0

    @property
    def changes_rows(self) -> bool:
        """True if the commit can have changed rows."""
        return self.operation not in KEEP_ROWS


def commits(
    table: Path, *, after: int = -1, without: Collection[int] = frozenset()
) -> Iterator[Commit]:
    """Yield the commits of a table, the newest first.

    One commit with the operation `UNKNOWN` represents a range of versions that Delta has removed
    from the log. It may have changed any row. The log is read file by file, because the history of
    `deltalake` has wrong version numbers while others write.

    Args:
        table: The directory of the table.
        after: Only commits of versions above this one.
        without: Versions to skip.

    Raises:
        DataError: The log is damaged.
    """
    newer = 0
    for version in [*_logged(table, after), after]:
        if newer > version + 1:
            yield from _cleaned(table, range(version + 1, newer), without)
        newer = version
        if version > after and version not in without:
            yield _commit(table, version)


def _commit(table: Path, version: int) -> Commit:
    read = _read if is_here(table) else _read.__wrapped__
    return read(file := _commit_file(table, version), version, _state(file))


def _logged(table: Path, after: int) -> list[int]:
    """Return the versions in the log of a table that are above `after`, the newest first."""
    log = table / _LOG
    try:
        listed = os.listdir(log) if is_here(log) else [path.name for path in log.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    # Most of the commits of 90 days are older. Names are compared first, because this is faster.
    last = _commit_file(table, after).name if after >= 0 else ""
    names = map(_COMMIT.fullmatch, (name for name in listed if name > last))
    return sorted((int(name[1]) for name in names if name), reverse=True)


def _cleaned(table: Path, versions: range, without: Collection[int]) -> Iterator[Commit]:
    """Yield one commit of an unknown operation for each gap of the log."""
    in_gap = False
    for number in reversed(versions):
        is_there = _commit_file(table, number).exists()  # created while the versions were listed
        if not is_there and not in_gap:
            yield Commit(number, UNKNOWN, {})
        elif is_there and number not in without:
            yield _commit(table, number)
        in_gap = not is_there


@lru_cache(maxsize=5_000)  # each ingest reads the commits of 90 days, which takes 0.1 s
def _read(path: Path, version: int, seen: tuple[int, ...] | None) -> Commit:
    """Return the commit in a log file; `seen` is the file's state, a part of the cache key."""
    del seen
    with _damage(path, version):
        for line in path.read_bytes().splitlines():
            info = json.loads(line).get("commitInfo")
            if info is not None:
                note = _object(info.get("userMetadata"))
                time = int(info.get("timestamp", 0))
                return Commit(version, str(info.get("operation", "")), note, time)
    return Commit(version, "", {})


@contextmanager
def _damage(path: Path, version: int) -> Iterator[None]:
    """Raise errors of reading the file of a commit as DataError."""
    try:
        yield
    except (OSError, ValueError, AttributeError, TypeError, OverflowError) as error:
        raise DataError(
            f"the log of the table {path.parents[1].name} is damaged at version {version}: {error}",
            hint=f"restore {path} from a backup",
        ) from error


def changed_partitions(table: Path, version: int, column: str) -> set[str] | None:
    """Return the partitions in which a commit changed rows.

    This also covers manual commits without a note, such as DELETE or RESTORE: the log lists the
    files that every commit added and removed.

    Args:
        table: The directory of the table.
        version: The version that the commit created.
        column: The partition column.

    Returns:
        Values of the partition column; None if any partition may have changed.

    Raises:
        DataError: The file of the commit is damaged.
    """
    found: set[str | None] = set()
    path = _commit_file(table, version)
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:  # Delta has removed it from the log
        return None
    with _damage(path, version):
        for action in map(json.loads, lines):
            for file in (action.get("add"), action.get("remove")):
                if file and file.get("dataChange", True):
                    found.add((file.get("partitionValues") or {}).get(column))
    return None if None in found else {value for value in found if value is not None}


def added_files(table: Path) -> list[dict[str, Any]]:
    """Return the log entries of the files that the latest commit of a table added."""
    file = _commit_file(table, deltalake.DeltaTable(str(table)).version())
    actions = map(json.loads, file.read_bytes().splitlines())
    return [action["add"] for action in actions if "add" in action]


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def write_failures(table: str | Path) -> Iterator[None]:
    """Raise errors of writing a table as errors of Elsinore.

    Raises:
        ConflictError: Another writer was first.
        DataError: The table does not accept the rows.
        SetupError: The disk is full or read-only, an object store refuses access, an earlier
            release created the table, or it has a feature that delta-rs cannot handle.
        StoreError: An object store does not answer.
    """
    path = Path(table) if isinstance(table, str) else table
    table = path.name
    try:
        with feature_failures(path):
            yield
    except SchemaMismatchError as error:
        problem = f"the table {table} lacks columns of this release"
        raise SetupError(problem, hint="add them: `elsinore migrate`") from error
    except CommitFailedError as error:
        text = first_line(f"{type(error).__name__}: {error}")
        if not is_conflict(error):
            hint = "read the error above; the table is unchanged"
            raise DataError(f"cannot write the table {table}: {text}", hint=hint) from error
        raise ConflictError(f"another writer changed the table {table}: {text}") from error
    except (DeltaError, OSError) as error:
        if failing := storage_error(error):
            raise failing from error
        raise


def first_line(text: str) -> str:
    """Return the first line of a text that is not blank, shortened to fit in a message."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


# ---- tables and their rows

#: Open tables of a thread by address, with a version and the state of its commit file.
_OPEN = local()
_MOST_OPEN = 50


class OpenTable(deltalake.DeltaTable):
    """A table that lists its files once per version: 30 files take 10 ms."""

    _listed: tuple[int, ds.Dataset] | None = None
    _told: tuple[int, pa.Table] | None = None

    def dataset(self, conditions: Conditions | None = None) -> ds.Dataset:
        """Return the files of the table, or only files that can have rows of a condition.

        To list a file takes a millisecond, to skip it some microseconds. See `arrow_dataset`.
        """
        if conditions is not None:
            return arrow_dataset(self, conditions)
        version = self.version()
        if self._listed is None or self._listed[0] != version:
            self._listed = version, arrow_dataset(self)
        return self._listed[1]

    def of(self, hours: Hours | Landings) -> ds.Dataset:
        """Return the rows of hours."""
        by_day = hours.day in self.metadata().partition_columns
        files = self.dataset(hours.conditions(by_day=by_day))
        return files.filter(hours.expression(by_day=by_day))

    def by_day(
        self, hours: Hours | Landings, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows of hours of a table that is partitioned by day, one day at a time."""
        where, found = hours.expression(by_day=True), defaultdict(list)
        table = self.dataset(hours.conditions(by_day=True))
        if isinstance(table, ds.InMemoryDataset):
            rows = table.to_table(filter=where)
            days = pc.unique(rows[hours.day]).sort().to_pylist()
            of_days = (rows.filter(pc.equal(rows[hours.day], day)) for day in days)
            return (part.select(list(columns)) if columns else part for part in of_days)
        for file in table.get_fragments(where):
            found[ds.get_partition_keys(file.partition_expression)[hours.day]].append(file)
        # All files are listed first: delta-rs cannot be called again while it reads these rows.
        return (
            pa.concat_tables(
                file.to_table(table.schema, columns and list(columns), where) for file in found[day]
            )
            for day in sorted(found)
        )

    def kept_rows(self) -> dict[str, pa.BooleanArray]:
        """Return masks of the rows that are not deleted, by path of files with deleted rows."""
        if DELETION_VECTORS not in (self.protocol().reader_features or ()):
            return {}
        masks = pa.table(self.deletion_vectors())
        paths = (str(_path_of(uri)) for uri in masks["filepath"].to_pylist())
        return dict(zip(paths, (mask.values for mask in masks["selection_vector"]), strict=True))

    def files(self) -> pa.Table:
        """Return one row per file of the log: `path`, `size_bytes`, `min.<column>` and so on."""
        version = self.version()
        if self._told is None or self._told[0] != version:
            self._told = version, pa.table(self.get_add_actions(flatten=True))
        return self._told[1]


def open_table(path: Path, version: int | None = None) -> OpenTable:
    """Open a table at a version, or at the latest one.

    A thread gets the same object as before, because opening is slow:

    - To open a table takes 7 ms, in a store two requests per commit since a checkpoint.
    - To update an open table takes 1 ms, in a store two requests in total.
    - To check for a newer commit takes 16 us.

    If the file of the last commit has changed, the table may have been replaced, and it is opened
    again.

    Raises:
        TableNotFoundError: The table does not exist.
        DataError: Its log is damaged.
        SetupError: It has a feature that delta-rs cannot handle.
    """
    with read_failures(path.name, version), feature_failures(path):
        return _opened(path, version)


def _opened(path: Path, version: int | None) -> OpenTable:
    known: OpenTable | None
    known, stood, seen = _OPEN.__dict__.get(str(path), (None, -1, None))
    if seen != _state(_commit_file(path, stood)):
        known = None
    if version is not None:
        if known is not None and known.version() == version:
            return known
        return OpenTable(str(path), version=version)
    if known is None:
        known = OpenTable(str(path))
    elif not is_here(path) or _commit_file(path, known.version() + 1).exists():
        known.update_incremental()
    stood = known.version()
    if (seen := _state(_commit_file(path, stood))) is not None:
        if len(_OPEN.__dict__) > _MOST_OPEN:
            _OPEN.__dict__.clear()
        _OPEN.__dict__[str(path)] = known, stood, seen
    return known


def buckets_of(table: deltalake.DeltaTable) -> Buckets | None:
    """Return the buckets of a table of events within a day; None if it has none."""
    text = table.metadata().configuration.get(BUCKETS)
    if text is None:
        return None
    found = json.loads(text)
    return Buckets(tuple(found["by"]), found["number"])


def _commit_file(table: Path, version: int) -> Path:
    return table / _LOG / f"{version:020}.json"


def _state(file: Path) -> tuple[int, ...] | None:
    """Return the state of a local file, which differs if the file is replaced; None: no file."""
    with suppress(OSError):
        return state(file) if is_here(file) else ()
    return None


def arrow_dataset(
    table: deltalake.DeltaTable,
    conditions: Conditions | None = None,
    *,
    any_text: bool = False,
) -> ds.Dataset:
    """Return the files of a table, or only files that can have rows of a condition, for Arrow.

    It uses Arrow's own file system. The file system of delta-rs is a Python object: an Arrow thread
    that releases it while the interpreter ends aborts the process (two of nine runs of
    `elsinore why`).

    Args:
        table: The table.
        conditions: The condition; None: all files.
        any_text: Allow filters on all string columns, not only on `_CHOSEN_BY`. Reading ids takes
            five times as long then.
    """
    schema = pa.schema(table.schema().to_arrow())
    texts = [field.name for field in schema if pa.types.is_string(field.type)]
    chosen_by = [name for name in texts if any_text or name in _CHOSEN_BY]
    if table.protocol().min_reader_version > PLAIN_READER:
        return _selected(table, schema, conditions)
    with feature_failures(_path_of(table.table_uri)):
        dataset = table.to_pyarrow_dataset(
            filesystem=_files_of(table.table_uri),
            parquet_read_options=ds.ParquetReadOptions(dictionary_columns=chosen_by),
            file_pruning_predicate=conditions and [*map(list, conditions)],
        )
    files = list(dataset.get_fragments())
    return ds.FileSystemDataset(files, schema, dataset.format, dataset.filesystem)


def _selected(
    table: deltalake.DeltaTable, schema: pa.Schema, conditions: Conditions | None
) -> ds.Dataset:
    """Read the rows of a condition into memory, for a table that Arrow cannot read.

    Arrow does not support renamed columns and deletion vectors; delta-rs does.
    """
    statement = f"SELECT * FROM t{f' WHERE {sql(conditions)}' if conditions else ''}"  # noqa: S608
    with feature_failures(_path_of(table.table_uri)):
        rows = deltalake.QueryBuilder().register("t", table).execute(statement)
        return ds.dataset(pa.table(rows.read_all()).cast(schema))


def _path_of(uri: str) -> Path:
    """Return the path of a local table, or the address of a table in a store."""
    return Path(unquote(urlparse(uri).path)) if scheme(uri) == "file" else Path(uri)


def _files_of(uri: str) -> SubTreeFileSystem:
    if scheme(uri) == "file":
        return SubTreeFileSystem(str(_path_of(uri)), LocalFileSystem())
    system, folder = FileSystem.from_uri(uri)
    return SubTreeFileSystem(folder, system)


def read_rows(
    lake: LakePath,
    table: str,
    *,
    columns: Sequence[str] | None = None,
    hours: Hours | Landings | None = None,
    where: ds.Expression | None = None,
    version: int | None = None,
    **allowed: Sequence[str],
) -> pa.Table:
    """Read rows of a table.

    Args:
        lake: The lake.
        table: The name of the table.
        columns: The columns; None: all.
        hours: Only rows of these hours, so that other files are skipped; None: all.
        where: A condition for the rows; None: all.
        version: The version; None: the latest one.
        **allowed: Allowed values by string column.

    Raises:
        DataError: The table is missing or cannot be read.
    """
    condition = where
    for column, values in allowed.items():
        one = ds.field(column).isin(pa.array(list(values), pa.string()))
        condition = one if condition is None else condition & one
    with _readable(lake, table, version) as log:
        rows = log.of(hours) if hours else log.dataset()
        return rows.to_table(columns=list(columns) if columns else None, filter=condition)


def read_by_day(
    lake: LakePath,
    table: str,
    hours: Hours | Landings,
    *,
    columns: Sequence[str] | None = None,
    version: int | None = None,
) -> Iterator[pa.Table]:
    """Yield rows of hours of a table that is partitioned by day, one day at a time.

    Raises:
        DataError: The table is missing or cannot be read.
    """
    with _readable(lake, table, version) as log:
        yield from log.by_day(hours, columns)


def aggregate_rows(
    lake: LakePath,
    table: str,
    columns: dict[str, ds.Expression],
    wanted: AggregateNodeOptions,
    *,
    hours: Hours | Landings,
) -> pa.Table:
    """Aggregate the rows of hours of a table, which are read in batches.

    Args:
        lake: The lake.
        table: The name of the table.
        columns: Input expressions by name.
        wanted: The aggregates of these names.
        hours: The hours.

    Raises:
        DataError: The table is missing or cannot be read.
    """
    with _readable(lake, table, None) as log:
        reader = log.of(hours).scanner(columns=columns).to_reader()
        source = RecordBatchReaderSourceNodeOptions(reader)
        rows = Declaration("record_batch_reader_source", source)
        return Declaration("aggregate", wanted, [rows]).to_table(use_threads=False)


def no_table(lake: LakePath, table: str) -> DataError:
    """Return the error for a table that has not been created."""
    step = "replay" if table in OF_WORKLOAD else "ingest"
    hint = f"create it with `elsinore {step} --start HOUR --end HOUR`, or set ELSINORE_HOME"
    return DataError(f"the table {table} does not exist in {lake}", hint=hint)


@contextmanager
def _readable(lake: LakePath, table: str, version: int | None) -> Iterator[OpenTable]:
    try:
        with read_failures(table, version):
            yield open_table(lake / table, version)
    except TableNotFoundError as error:
        raise no_table(lake, table) from error


@contextmanager
def read_failures(table: str, version: int | None = None) -> Iterator[None]:
    """Raise errors of reading a table as errors of Elsinore.

    Raises:
        DataError: The log or a data file is damaged or missing.
        OutOfMemoryError: Memory ran out.
        SetupError: An object store refuses access.
        StoreError: An object store does not answer.
        TableNotFoundError: The table does not exist.
    """
    try:
        yield
    except TableNotFoundError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError.of(f"reading the table {table}", error) from error
    except BaseException as error:
        # Damaged logs make delta-rs panic. Its exception class cannot be imported.
        if (
            not isinstance(error, DeltaError | OSError | pa.ArrowException)
            and type(error).__name__ != "PanicException"
        ):
            raise
        if failing := storage_error(error):
            raise failing from error
        at = "" if version is None else f" at version {version}"
        raise DataError(
            f"cannot read the table {table}{at}: {first_line(str(error))}",
            hint="restore it from a backup, or check ELSINORE_HOME",
        ) from error
