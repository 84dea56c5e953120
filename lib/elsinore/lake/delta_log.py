"""Delta tables: what their logs say, why they could not be written, and their rows.

A note is in the commit itself (`userMetadata`): what it says of the rows is true of exactly this
version of the table, whoever is killed when.
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
from elsinore.lake.regions import Conditions, Hours, Landings, sql
from elsinore.lake.table_features import feature_failures, is_conflict
from elsinore.places import is_here, scheme, state
from elsinore.settings import OF_WORKLOAD, LakePath

#: Operations of commits that change no row.
KEEP_ROWS = {
    "ADD COLUMNS", "CREATE TABLE", "OPTIMIZE", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES",
    "VACUUM END", "VACUUM START",
}  # fmt: skip

#: Delta's first reader version: plain Parquet files and the log. Later ones are column mapping (2)
#: and named features (3).
PLAIN_READER = 1
#: The feature of tables whose data files can contain deleted rows.
DELETION_VECTORS = "deletionVectors"

#: The operation of commits that Delta has cleaned from the log.
UNKNOWN = "unknown"

#: The column of `events` with the bucket of each, and what its metadata call the layout.
BUCKET = "event_bucket"
#: The property of the table of events with its `Buckets`, as JSON.
BUCKETS = "elsinore.buckets"

#: Text columns by which rows are chosen, and the other texts of `plans`, whose least and greatest
#: are compared with them. They are read as dictionaries: where delta-rs has deleted rows (1.4 to
#: 1.6.6), texts are views, which Arrow cannot compare (delta-rs issue 4579).
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
    """One commit of a table: the version that it made, and what it did, as Delta calls it.

    `note` is the object in its `userMetadata`; empty where that is no JSON object. `time` is in
    milliseconds since 1970; 0 where the log has lost it.
    """

    version: int
    operation: str
    note: dict[str, Any]
    time: int = 0

    @property
    def changes_rows(self) -> bool:
        """Return whether it can have changed any."""
        return self.operation not in KEEP_ROWS


def commits(
    table: Path, *, after: int = -1, without: Collection[int] = frozenset()
) -> Iterator[Commit]:
    """The commits of a table that made versions above `after`, newest first; some left out.

    One commit of an unknown operation represents a range of versions that Delta has cleaned from
    the log: it may have changed anything. The log is read file by file: `deltalake`'s history
    numbers commits wrongly while others write.

    Raises:
        DataError: the log is damaged.
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
    """The versions above one that the log of a table has, the newest first."""
    log = table / _LOG
    try:
        listed = os.listdir(log) if is_here(log) else [path.name for path in log.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    # Most of 90 days' commits are from before: only the others are looked at.
    last = _commit_file(table, after).name if after >= 0 else ""
    names = map(_COMMIT.fullmatch, (name for name in listed if name > last))
    return sorted((int(name[1]) for name in names if name), reverse=True)


def _cleaned(table: Path, versions: range, without: Collection[int]) -> Iterator[Commit]:
    """Return the commits of versions that the log has lost."""
    in_gap = False
    for number in reversed(versions):
        is_there = _commit_file(table, number).exists()  # made while the versions were listed
        if not is_there and not in_gap:
            yield Commit(number, UNKNOWN, {})
        elif is_there and number not in without:
            yield _commit(table, number)
        in_gap = not is_there


@lru_cache(maxsize=5_000)  # each landing asks for 90 days, which take 0.1 s to read
def _read(path: Path, version: int, seen: tuple[int, ...] | None) -> Commit:
    """A commit; another file in its place has another state than the one that was seen."""
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
    """Values of a partition column in whose files one commit has changed rows; None: any of them.

    What was done by hand, a DELETE or a RESTORE, notes nothing, but names the files that it put in
    the place of others.

    Raises:
        DataError: the file of the commit is damaged.
    """
    found: set[str | None] = set()
    path = _commit_file(table, version)
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:  # cleaned, and nobody knows
        return None
    with _damage(path, version):
        for action in map(json.loads, lines):
            for file in (action.get("add"), action.get("remove")):
                if file and file.get("dataChange", True):
                    found.add((file.get("partitionValues") or {}).get(column))
    return None if None in found else {value for value in found if value is not None}


def added_files(table: Path) -> list[dict[str, Any]]:
    """The files that the latest commit of a table added, as its log says it."""
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
        ConflictError: another writer got there first.
        DataError: the table does not accept the rows.
        SetupError: the disk is full or read-only, an object store refuses, the table is of an
            earlier release, or it has a feature that delta-rs cannot handle.
        StoreError: an object store does not answer.
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
    """The first line of a text, cut so that a report of it stays one line."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


# ---- tables and their rows

#: Tables that a thread has open: by address, with a version and the state of its commit's file.
_OPEN = local()
_MOST_OPEN = 50


class OpenTable(deltalake.DeltaTable):
    """A table that lists its files once for each version: 30 of them take 10 ms."""

    _listed: tuple[int, ds.Dataset] | None = None
    _told: tuple[int, pa.Table] | None = None

    def dataset(self, conditions: Conditions | None = None) -> ds.Dataset:
        """Its files as it is now, or those that can hold rows of any of some conjunctions.

        To list a file takes a millisecond, to leave one out some microseconds. See `arrow_dataset`.
        """
        if conditions is not None:
            return arrow_dataset(self, conditions)
        version = self.version()
        if self._listed is None or self._listed[0] != version:
            self._listed = version, arrow_dataset(self)
        return self._listed[1]

    def of(self, hours: Hours | Landings) -> ds.Dataset:
        """The rows of some hours."""
        by_day = hours.day in self.metadata().partition_columns
        files = self.dataset(hours.conditions(by_day=by_day))
        return files.filter(hours.expression(by_day=by_day))

    def by_day(
        self, hours: Hours | Landings, columns: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """The rows of some hours in a table by day, a day at a time, in order."""
        where, found = hours.expression(by_day=True), defaultdict(list)
        table = self.dataset(hours.conditions(by_day=True))
        if isinstance(table, ds.InMemoryDataset):
            rows = table.to_table(filter=where)
            days = pc.unique(rows[hours.day]).sort().to_pylist()
            of_days = (rows.filter(pc.equal(rows[hours.day], day)) for day in days)
            return (part.select(list(columns)) if columns else part for part in of_days)
        for file in table.get_fragments(where):
            found[ds.get_partition_keys(file.partition_expression)[hours.day]].append(file)
        # Listed at once: delta-rs cannot be called where it takes these rows.
        return (
            pa.concat_tables(
                file.to_table(table.schema, columns and list(columns), where) for file in found[day]
            )
            for day in sorted(found)
        )

    def kept_rows(self) -> dict[str, pa.BooleanArray]:
        """Return which rows are not deleted, by the path of data files with deleted rows."""
        if DELETION_VECTORS not in (self.protocol().reader_features or ()):
            return {}
        masks = pa.table(self.deletion_vectors())
        paths = (str(_path_of(uri)) for uri in masks["filepath"].to_pylist())
        return dict(zip(paths, (mask.values for mask in masks["selection_vector"]), strict=True))

    def files(self) -> pa.Table:
        """What its log says of its files, a row each: `path`, `size_bytes`, `min.<column>`, ..."""
        version = self.version()
        if self._told is None or self._told[0] != version:
            self._told = version, pa.table(self.get_add_actions(flatten=True))
        return self._told[1]


def open_table(path: Path, version: int | None = None) -> OpenTable:
    """A table at a version, or at the newest.

    To open one takes 7 ms, in a store two requests for each commit since a checkpoint; to bring one
    up to date 1 ms, and two requests in all; to see that a file of the next commit is not there, 16
    us. So a thread gets the same object as before, unless the commit that it stood at is no longer
    the one that is there: then it may be another table.

    Raises:
        TableNotFoundError: there is none.
        DataError: its log is damaged.
        SetupError: it has a feature that delta-rs cannot handle.
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
    """Return how a table of events is laid out within days; None: it has no buckets."""
    text = table.metadata().configuration.get(BUCKETS)
    if text is None:
        return None
    found = json.loads(text)
    return Buckets(tuple(found["by"]), found["number"])


def _commit_file(table: Path, version: int) -> Path:
    return table / _LOG / f"{version:020}.json"


def _state(file: Path) -> tuple[int, ...] | None:
    """What tells a file of this machine from another in its place; None where there is none."""
    with suppress(OSError):
        return state(file) if is_here(file) else ()
    return None


def arrow_dataset(
    table: deltalake.DeltaTable,
    conditions: Conditions | None = None,
    *,
    any_text: bool = False,
) -> ds.Dataset:
    """A table's files, or those that can hold what is asked for, to be read by Arrow.

    Rows are chosen by `_CHOSEN_BY`, or by `any_text`: ids take five times as long then.

    By Arrow's own file system: that of delta-rs is a Python object, and a thread of Arrow that lets
    go of it while the interpreter ends aborts the process (two of nine runs of `elsinore why`).
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
    """Return the rows that meet any of some conjunctions, of a table that Arrow cannot read.

    They are in memory. Arrow knows nothing of renamed columns and deletion vectors; delta-rs does.
    """
    statement = f"SELECT * FROM t{f' WHERE {sql(conditions)}' if conditions else ''}"  # noqa: S608
    with feature_failures(_path_of(table.table_uri)):
        rows = deltalake.QueryBuilder().register("t", table).execute(statement)
        return ds.dataset(pa.table(rows.read_all()).cast(schema))


def _path_of(uri: str) -> Path:
    """Return the path of a table on this machine, or its address in a store."""
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
    """Rows and columns of a table at a version, the newest by default; None: all of them.

    `allowed` names, by text column, the values that a row must have one of. Where `hours` are
    given, other files of large tables are not looked at.

    Raises:
        DataError: the table is missing or cannot be read.
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
    """Rows of some hours in a table by day, a day at a time; DataError: missing or unreadable."""
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
    """Aggregates of named columns of some hours in a table, which are read a part at a time.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    with _readable(lake, table, None) as log:
        reader = log.of(hours).scanner(columns=columns).to_reader()
        source = RecordBatchReaderSourceNodeOptions(reader)
        rows = Declaration("record_batch_reader_source", source)
        return Declaration("aggregate", wanted, [rows]).to_table(use_threads=False)


def no_table(lake: LakePath, table: str) -> DataError:
    """The error of a table that has not been created."""
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
        DataError: its log or a data file is damaged or missing.
        OutOfMemoryError: memory ran out.
        SetupError: an object store refuses access.
        StoreError: an object store does not answer.
        TableNotFoundError: it does not exist.
    """
    try:
        yield
    except TableNotFoundError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError.of(f"reading the table {table}", error) from error
    except BaseException as error:
        # Damaged logs make delta-rs panic. Its exception has no name that can be imported.
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
