"""Read events from Delta tables: the rows of one version, without deleted and outdated rows.

delta-rs reads the log and deletion vectors, in child processes. Data files are read like other
Parquet files, with the same limits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError, pipeline_packages, storage_error
from elsinore.files.bounded_parquet import Columns, Piece, parquet_batches
from elsinore.files.deletion_vectors import deletion_masks, has_vectors, removed_paths
from elsinore.files.delta_log_snapshot import LOG, log_snapshot, naming_file
from elsinore.files.extension_types import without_extensions
from elsinore.files.lake_tables import LakeTable, require_readable
from elsinore.files.opened_log import OpenedLog, export, opened_log
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    ReadLimits,
    column_problem,
    require_few_columns,
    too_large,
    unreadable,
)
from elsinore.files.read_parquet import columns_read, typed_rows
from elsinore.files.records import field_paths
from elsinore.files.rejection import Reason, printable
from elsinore.files.type_records import Decoded
from elsinore.files.typed import is_instant
from elsinore.places import is_here, local_copy, scheme, state
from elsinore.safe_files import open_file
from elsinore.wording import command, visible

#: Supported features that a reader must know: the features that delta-rs supports, and those for
#: data files with other types and names.
_FEATURES = {
    "columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview",
    "v2Checkpoint", "vacuumProtocolCheck",
}  # fmt: skip
_PHYSICAL_NAME = b"delta.columnMapping.physicalName"
_SHOWN = 200
#: Values of partition columns in all data files of a table.
_MOST_PARTITION_VALUES = 5_000_000
#: Bytes of a value that is NULL because its data file lacks the column.
_NULL = 8


class _DataFile(NamedTuple):
    """A data file of a table."""

    path: Path
    partition: dict[str, Any]  #: the values of its partition columns
    keep: pa.BooleanArray | None  #: which of its rows are not deleted; None: all


def read_delta(
    table: LakeTable,
    schema: StreamSchema,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    read: Collection[str] | None = None,
) -> Iterator[Decoded]:
    """Yield the typed events of a Delta table.

    Positions count the table's rows from 1, data files in the order in which they were added.

    Args:
        table: the table, and its version.
        schema: how to read an event.
        limits: bounds on what each data file decodes to.
        read: as for `read_parquet`.

    Raises:
        DataError: the table, its version or a data file cannot be read, or it is a table of
            another format.
        SetupError: deltalake is not installed.
    """
    with opened_delta(table) as opened:
        names = _names(opened, table, schema)
        columns = columns_read(names, schema, read)
        label = printable(f"{table.path}@{opened.version}")
        yield from typed_rows(_pieces(opened, table, columns, limits), label, schema, names)


def delta_rows(
    table: LakeTable, schema: StreamSchema | None, *, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[pa.Table]:
    """Yield the rows of a Delta table with all columns; raises as `read_delta`."""
    with opened_delta(table) as opened:
        columns = Columns(_names(opened, table, schema))
        for piece in _pieces(opened, table, columns, limits):
            yield without_extensions(piece.rows)


@contextmanager
def opened_delta(table: LakeTable) -> Iterator[OpenedLog]:
    """Yield the log of a table, at its version; raises as `read_delta`.

    delta-rs knows only a copy of the log: see `log_snapshot`.
    """
    require_readable(table)
    with pipeline_packages(f"reading the Delta table {table.path}"):
        import deltalake  # noqa: F401
    with ExitStack() as stack:
        try:
            snapshot = stack.enter_context(log_snapshot(table, DEFAULT_LIMITS))
        except OSError as error:
            raise _unread(table, error) from error
        yield _at_version(table, snapshot)


def _at_version(table: LakeTable, snapshot: Path) -> OpenedLog:
    """Return the log in a private directory at the version of a table."""
    opened = opened_log(table, snapshot, table.version)
    if table.version is not None and table.version > opened.newest:
        problem = f"the Delta table {table.path} has no version {table.version}"
        raise DataError(problem, hint=f"use a version up to {table.path}@{opened.newest}")
    _require_features(opened, table)
    return opened


def _unread(table: LakeTable, error: OSError | ValueError) -> Exception:
    """Return the error of a log or a deletion vector that cannot be read."""
    problem = f"cannot read the Delta table {table}: {getattr(error, 'strerror', None) or error}"
    return storage_error(error) or DataError(problem, hint=export(table), file=str(table.path))


def delta_state(table: LakeTable) -> tuple[int, int]:
    """Return the version of a table and when it was committed, in nanoseconds since 1970.

    Raises:
        DataError: as `read_delta`.
    """
    with opened_delta(table) as opened:
        version = opened.version
    commit = table.path / LOG / f"{version:020}.json"
    try:
        if not is_here(commit):
            return version, state(commit)[1]
        with open_file(commit, table.trusted) as file:
            return version, os.fstat(file.fileno()).st_mtime_ns
    except OSError as error:
        hint = f"make it readable: {command('chmod', 'u+r', commit)}"
        raise DataError(f"cannot read {commit}: {error.strerror or error}", hint=hint) from error


def _require_features(opened: OpenedLog, table: LakeTable) -> None:
    """Refuse a table with unsupported features, and name them."""
    unknown = sorted(opened.features - _FEATURES)
    mode = opened.configuration.get("delta.columnMapping.mode", "none")
    if mode not in ("none", "name"):
        unknown.append(f"columnMapping by {mode}")
    if unknown:
        problem = f"the Delta table {table.path} uses {', '.join(unknown)}, which is not supported"
        raise DataError(problem, hint=export(table), file=str(table.path))


def _names(opened: OpenedLog, table: LakeTable, schema: StreamSchema | None) -> list[str]:
    """Return the names of a table's columns, if a schema can be read from them."""
    columns = opened.schema
    require_few_columns(table.path, list(field_paths(columns)))
    names = columns.names
    if schema is not None and (problem := column_problem(names, schema, nested=True)):
        raise unreadable(table.path, f": {problem[0]}", Reason.BAD_HEADER, problem[1])
    return names


def _pieces(
    opened: OpenedLog, table: LakeTable, columns: Columns, limits: ReadLimits
) -> Iterator[Piece]:
    """Yield the rows of a table, with the types that its log gives to its columns."""
    schema = opened.schema
    fields = [schema.field(name) for name in columns.wanted]
    stored = {_physical_name(field): field for field in fields}
    optional = {name for name, field in stored.items() if field.name in columns.optional}
    nulls = _NULL * sum(1 for _ in field_paths(pa.schema(fields)))

    def choose(names: list[str]) -> Columns:
        return Columns([name for name in names if name in stored], optional)

    for file in _data_files(opened, table):
        at, text = 0, sum(len(v) for v in file.partition.values() if isinstance(v, str | bytes))
        below = table.trusted if is_here(file.path) else None
        with local_copy(file.path, below) as path, naming_file(file.path, path):
            allowed = limits.decoded(path.stat().st_size)
            most = max(1, limits.decoded_batch_bytes // max(text + nulls, 1))
            batches = parquet_batches(path, limits, choose)
            for rows, left_out in _split(batches, most):
                keep = _kept(file.keep, at, rows.num_rows)
                at += rows.num_rows
                if at * text > allowed:
                    problem = f"has more than {allowed:,} bytes of partition values in its rows"
                    raise too_large(path, problem)
                of_table = _conformed(rows, fields, file, lambda: path)
                names = tuple(stored[name].name for name in left_out)
                of_table = of_table.drop_columns(list(names))
                yield Piece(of_table if keep is None else of_table.filter(keep), names)
        if file.keep is not None and len(file.keep) > at:
            problem = f": its deletion vector has {len(file.keep):,} rows, but the file has {at:,}"
            raise unreadable(file.path, problem, Reason.CORRUPT_FILE, export(table))


def _split(pieces: Iterable[Piece], most: int) -> Iterator[Piece]:
    """Yield pieces of at most some rows each."""
    for piece in pieces:
        for begin in range(0, piece.rows.num_rows, most):
            yield piece._replace(rows=piece.rows[begin : begin + most])


def _data_files(opened: OpenedLog, table: LakeTable) -> list[_DataFile]:
    """Return the data files of a table in the order in which they were added."""
    added, partitions = opened.added, opened.partitions
    if (values := added.num_rows * len(partitions)) > _MOST_PARTITION_VALUES:
        problem = f" has {values:,} values of partition columns in its log, more than"
        problem = f"{problem} {_MOST_PARTITION_VALUES:,}"
        raise unreadable(table.path, problem, Reason.TOO_LARGE, export(table))
    try:
        _require_one_path(opened, table)
        masks = _masks(opened, table)
    except (OSError, ValueError) as error:
        raise _unread(table, error) from error
    found = []
    plain = pa.table(list(map(_plainly, added.columns)), added.column_names)
    for row in plain.to_pylist():
        relative = unquote(row["path"])
        path = table.path / relative
        _require_inside(relative, table)
        values = {name: row[f"partition.{name}"] for name in partitions}
        keep = masks.pop(relative, None)
        if table.within is None or _directory(relative) == table.within:
            found.append((row["modification_time"], row["path"], _DataFile(path, values, keep)))
    if masks:  # rows would count that are deleted
        problem = f"the Delta table {table} marks rows as deleted in files that it does not list"
        raise DataError(f"{problem}: {sorted(masks)[0]}", hint=export(table))
    return [file for _, _, file in sorted(found, key=lambda each: each[:2])]


def _require_one_path(opened: OpenedLog, table: LakeTable) -> None:
    """Refuse a log that lists a data file twice, or writes its path in two ways.

    delta-rs compares the text of paths. It keeps a file that was added as `é` and removed as
    `%C3%A9`: Spark writes the first, and delta-rs itself the second.
    """
    paths: dict[PurePosixPath, str] = {}
    for text in opened.added["path"].to_pylist():
        if (known := paths.setdefault(PurePosixPath(unquote(text)), text)) is not text:
            raise _listed_twice(table, known, text)
    for text in removed_paths(opened.snapshot, opened.version):
        if (known := paths.get(PurePosixPath(unquote(text)), text)) != text:
            raise _listed_twice(table, known, text)


def _listed_twice(table: LakeTable, *paths: str) -> DataError:
    names = " and ".join(visible(path[:_SHOWN]) for path in dict.fromkeys(paths))
    problem = f"the log of the Delta table {table} lists a data file twice, as {names}"
    hint = f"its rows may be removed or count twice; {export(table)}"
    return DataError(problem, hint=hint, file=str(table.path))


def _plainly(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with numbers for instants: Python has only the years 1 to 9999."""
    of = column.type
    return (
        column.cast(pa.int32() if types.is_date32(of) else pa.int64()) if is_instant(of) else column
    )


def _kept(mask: pa.BooleanArray | None, at: int, count: int) -> pa.BooleanArray | None:
    """Return which rows are not deleted; rows after the end of a mask are not deleted."""
    if mask is None:
        return None
    own = mask.slice(at, count)
    return pa.concat_arrays([own, pa.repeat(pa.scalar(True), count - len(own))])


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _require_inside(relative: str, table: LakeTable) -> None:
    """Refuse a data file outside of its table: a log could name any file."""
    outside = scheme(relative) is not None or relative.startswith("/")
    outside = outside or ".." in relative.split("/") or "\0" in relative
    outside = outside or not PurePosixPath(relative).name
    if outside:
        problem = (
            f"the Delta table {table.path} has a data file outside of its directory: "
            f"{visible(relative)}"
        )
        hint = "copy the table with its data files, for example as a deep clone"
        raise DataError(problem, hint=hint, file=str(table.path))


def _masks(opened: OpenedLog, table: LakeTable) -> dict[str, pa.BooleanArray]:
    """Return by path in the table which rows are not deleted, for data files with deleted rows."""
    snapshot = opened.snapshot
    declared = "deletionVectors" in opened.features
    if not declared and not has_vectors(snapshot):
        return {}
    masks = {}
    for row in deletion_masks(table, snapshot, opened.version).to_batches():
        for uri, keep in zip(row["filepath"], row["selection_vector"], strict=True):
            path = unquote(urlsplit(uri.as_py()).path)
            masks[path.removeprefix(f"{snapshot}/")] = keep.values
    if masks and not declared:
        problem = f"the Delta table {table} marks rows as deleted, but its protocol does not list"
        problem = f"{problem} deletionVectors"
        raise DataError(problem, hint=export(table), file=str(table.path))
    return masks


def _physical_name(column: pa.Field) -> str:
    """Return the name of a column in data files."""
    name = (column.metadata or {}).get(_PHYSICAL_NAME)
    return column.name if name is None else name.decode()


def _conformed(
    rows: pa.Table, fields: list[pa.Field], file: _DataFile, path: Callable[[], Path]
) -> pa.Table:
    """Return rows of a data file with the table's columns.

    Missing columns get the value of the file's partition, or NULL if the file is older than they
    are.
    """
    count, columns = rows.num_rows, {}
    for column in fields:
        if column.name in file.partition:
            value = pa.scalar(file.partition[column.name], column.type)
            columns[column.name] = pa.chunked_array([pa.repeat(value, count)])
            continue
        name = _physical_name(column)
        stored = rows[name].combine_chunks() if name in rows.column_names else None
        try:
            columns[column.name] = _as_declared(stored, column, count)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            problem = f": column {column.name} does not have the type in the table's log: {error}"
            raise unreadable(
                path(), problem, Reason.CORRUPT_FILE, "export the file again"
            ) from error
    return pa.table(columns)


def _as_declared(stored: pa.Array | None, column: pa.Field, count: int) -> pa.Array:
    """Return a stored column with the type, and the names inside of it, that the log declares."""
    kind = column.type
    if stored is None:
        return pa.nulls(count, kind)
    if types.is_struct(kind) and types.is_struct(stored.type):
        inside = dict(zip(stored.type.names, stored.flatten(), strict=True))
        parts = [_as_declared(inside.get(_physical_name(f)), f, count) for f in kind]
        fields = [field.with_type(part.type) for field, part in zip(kind, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=stored.is_null())
    if stored.type == kind or types.is_nested(kind):  # no attribute is read from a list or map
        return stored
    if is_instant(stored.type) and types.is_timestamp(kind) and not _is_nanoseconds(stored.type):
        return stored  # in microseconds it can be too large for 64 bits: then its row is rejected
    return pc.cast(stored, kind, safe=not _is_nanoseconds(stored.type))  # nanoseconds are cut off


def _is_nanoseconds(of: pa.DataType) -> bool:
    return types.is_timestamp(of) and of.unit == "ns"
