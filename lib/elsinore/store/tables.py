"""Create, read and write the tables of the lake with delta-rs.

Only delta-rs writes them, because Spark and delta-rs could undo each other's commits (decision 17).
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args
from uuid import uuid4

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pydantic
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction
from pyarrow.parquet import filters_to_expression
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.catalog.yaml_text import Strict, read_model
from elsinore.errors import ConflictError, ParameterError, SchemaError, SetupError
from elsinore.places import require_exclusive
from elsinore.settings import OF_WORKLOAD, Expiring, LakeFolders, LakePath, Settings
from elsinore.store.delta_log import (
    BUCKET,
    BUCKETS,
    OpenTable,
    added_files,
    commits,
    no_table,
    open_table,
    read_failures,
    write_failures,
)
from elsinore.store.regions import Conditions, sql
from elsinore.timeline import DAY, HOUR
from elsinore.wording import suggest

#: Number of tries to write records while others write; each try takes milliseconds.
_TRIES = 20

#: Number of small files in a table of records from which they are compacted, and the bytes below
#: which a file is small. To read a file takes 1.6 ms, and a slice of a run reads records 20 times.
_FILES, _SMALL = 6, 1_000_000

#: The properties of `events` with the field of the event ids, or "none", and the time range in
#: which ids are unique. Stored records are decoded again later, so their ids must not change.
ID_FIELD, ID_SPAN = "elsinore.idField", "elsinore.idsAreUnique"
_SPANS = {None: "for ever", HOUR: "within an hour", DAY: "within a day"}

#: The property with the columns whose minimum and maximum the log records per file.
_STATISTICS = "delta.dataSkippingStatsColumns"

#: How long Delta keeps the log of a commit. Nightly maintenance saves what lineage needs of it.
LOG_KEPT = {"delta.logRetentionDuration": "interval 90 days"}

#: The tables of published results, and of results before their validation.
RESULTS, STAGED = "results", "results_staged"

#: The tables of records.
RECORDS = ("plans", "run_metrics", "validations")

#: The entry of a file in Delta's log: its path, size, statistics and so on.
AddedFile = Mapping[str, Any]

#: A table with a checkpoint opens in 3 ms. Without one and with about 30 commits it takes 20 ms.
_CHECKPOINTS = {"delta.checkpointInterval": "20"}


@dataclass(frozen=True)
class Lake:
    """The tables of a lake by name, at `<root>/<name>`; undeclared names are rejected.

    `events` has a column per attribute of the stream. Results of further workloads are in separate
    tables; the other tables belong to the stream.
    """

    cores: int
    root: LakePath
    stream: StreamSchema
    tables: Mapping[str, TableSchema]

    @classmethod
    def open(cls, settings: Settings) -> Lake:
        """Open the lake of the settings, with its declarations.

        Raises:
            SchemaError: The schema of the stream or of a table is invalid, the stream has integer
                times, which have no hours, or retention_days names an unknown table.
        """
        stream = load_schema(settings.schema_file)
        if not stream.time_unit.is_calendar:
            raise SchemaError(
                f"the stream {stream.name} counts time in ticks; a lake is laid out by hours",
                hint="declare a unit such as unit: ms in the schema, or use `elsinore run`",
            )
        for name in stream.retention_days:
            if name not in get_args(Expiring):
                known = get_args(Expiring)
                hint = suggest(name, known) or f"use one of {', '.join(known)}"
                raise SchemaError(f"retention_days: {name} has no retention period", hint=hint)
        tables = load_tables(settings.tables_dir, stream)
        return Lake(settings.spark_cores, settings.lake, stream, tables)

    def schema(self, table: str) -> TableSchema:
        """Return the declaration of a table.

        Raises:
            ParameterError: The table does not exist.
        """
        if table not in self.tables:
            raise ParameterError(
                f"the lake has no table {table!r}", hint=f"use one of {', '.join(self.tables)}"
            )
        return self.tables[table]

    @property
    def own(self) -> tuple[str, ...]:
        """The names of the tables; for a further workload, only its own tables."""
        apart = isinstance(self.root, LakeFolders)
        return tuple(name for name in self.tables if name in OF_WORKLOAD or not apart)

    def path(self, table: str) -> Path:
        """Return the directory of a table.

        Raises:
            ParameterError: The table is not declared.
        """
        return self.root / self.schema(table).name

    def version(self, table: str) -> int:
        """Return the latest version of a table.

        Raises:
            DataError: The table has not been created.
        """
        return int(self.log(table).version())

    def rows(
        self, table: str, where: pc.Expression | None = None, *, columns: list[str] | None = None
    ) -> pa.Table:
        """Read rows of a small table at its latest version.

        Args:
            table: The name of the table.
            where: A condition for the rows; None: all.
            columns: The columns; None: all.

        Raises:
            DataError: The table is missing or damaged.
        """
        with read_failures(table):
            return self.dataset(table).to_table(columns=columns, filter=where)

    def dataset(self, table: str, version: int | None = None) -> ds.Dataset:
        """Return a table as an Arrow dataset, at a version or at the latest one.

        Raises:
            DataError: The table has not been created.
        """
        return self.log(table, version).dataset()

    def record(
        self, table: str, rows: Sequence[Mapping[str, Any]], *, where: Conditions, run: str
    ) -> None:
        """Replace the rows of a region of a table of records, in one commit.

        Args:
            table: The name of the table.
            rows: The new rows, which meet the conditions of the region. Timestamps may be int64
                microseconds.
            where: The region.
            run: Name of the run, for the history of the table.

        Raises:
            ParameterError: The table does not exist, or is partitioned.
            ConflictError: Others kept writing meanwhile.
            SetupError: The disk is full or read-only.
        """
        records = self._records(table, rows)
        trying_again(_TRIES, 0.2)(self.commit, table, records, {"run": run}, where=where)
        self._put_together(table, run)

    def add(
        self, table: str, rows: Sequence[Mapping[str, Any]], *, key: Sequence[str], run: str
    ) -> None:
        """Append rows to a table of records, except rows whose key the table already has.

        Args:
            table: The name of the table.
            rows: The rows.
            key: The columns of the key.
            run: Name of the run, for the history of the table.

        Raises:
            ParameterError: The table does not exist, or is partitioned.
            ConflictError: Others kept writing meanwhile.
            SetupError: The disk is full or read-only.
        """

        def once() -> None:
            seen = self.version(table)
            there = self.dataset(table, seen).to_table([*key])
            known = set(zip(*(there[name].to_pylist() for name in key), strict=True))
            new = [row for row in rows if tuple(row[name] for name in key) not in known]
            if new:
                self.commit(table, self._records(table, new), {"run": run}, seen=seen)

        trying_again(_TRIES, 0.2)(once)
        self._put_together(table, run)

    def remove_before(self, table: str, column: str, day: date, *, note: str) -> int:
        """Remove the rows before a day in one commit.

        Args:
            table: The name of the table.
            column: The column with the day, or with a string that begins with the day.
            day: The first day that is kept.
            note: The note of the commit.

        Returns:
            The number of removed rows.

        Raises:
            ConflictError: Others kept writing meanwhile.
            SetupError: The disk is full or read-only.
        """
        by_day = column in self.schema(table).partition_by
        old: Conditions = [[(column, "<", day if by_day else str(day))]]
        found = self.log(table).dataset(old)
        count = int(found.count_rows(filter=filters_to_expression(old)))
        if count:
            trying_again(_TRIES, 0.2)(self.commit, table, (), {"userMetadata": note}, where=old)
        return count

    def commit(
        self, table: str, parts: Iterable[pa.Table], told: Mapping[str, str], *,
        seen: int | None = None, where: Conditions | None = None,
    ) -> None:  # fmt: skip
        """Append rows or replace rows, in one commit with the properties `told`.

        If `where` is None, rows are appended. Otherwise they replace the rows of the region
        `where`, or all rows if it is empty. `seen` is the version from which the rows were
        computed, and it must still be the latest one; None: the latest version is not checked.

        Errors of the source of the rows are raised unchanged.

        Raises:
            ConflictError: Another writer was first.
            SetupError: The disk is full or read-only.
        """
        how = {"mode": "append"} if where is None else {"mode": "overwrite"}
        if where:
            how["predicate"] = sql(where)
        retries = None if seen is None else 0
        commit = deltalake.CommitProperties({**told}, max_commit_retries=retries)
        log = self.log(table, seen)
        with _reader(parts, self.schema(table).arrow()) as rows, write_failures(self.path(table)):
            deltalake.write_deltalake(log, rows, commit_properties=commit, **how)

    def write_files(self, table: str, parts: Iterable[pa.Table], *, under: str) -> list[AddedFile]:
        """Write rows to files below a table's directory, without adding them to the table.

        `name_files` adds them.

        Args:
            table: The name of the table.
            parts: The rows.
            under: The directory of the files, relative to the table, which must be new.

        Returns:
            The log entries of the files.

        Raises:
            SetupError: The disk is full or read-only.
        """
        schema, folder = self.schema(table), self.path(table) / under
        with _reader(parts, schema.arrow()) as rows, write_failures(self.path(table)):
            # Written as a separate table, so that delta-rs creates the log entries of the files.
            deltalake.write_deltalake(
                str(folder), rows, mode="overwrite", partition_by=schema.partition_by,
                configuration=schema.properties,
            )  # fmt: skip
        added = added_files(folder)
        for path in (folder / "_delta_log").iterdir():
            path.unlink()
        return [file | {"path": f"{under}/{file['path']}"} for file in added]

    def name_files(
        self, table: str, added: Iterable[AddedFile], gone: Collection[str], *, seen: int, note: str
    ) -> None:
        """Add files of `write_files` to a table and remove others, in one commit.

        Args:
            table: The name of the table.
            added: The log entries of the new files.
            gone: The paths of the files to remove, relative to the table.
            seen: The version with the removed files, which must still be the latest one.
            note: The note of the commit.

        Raises:
            ConflictError: The table has a newer version, or a new file was removed meanwhile.
            SetupError: The disk is full or read-only.
        """
        log, by, added = self.log(table, seen), self.schema(table).partition_by, list(added)
        if not all((self.path(table) / file["path"]).exists() for file in added):
            raise ConflictError(f"new files of the table {table} were removed during the commit")
        actions: list[AddAction | RemoveAction] = [
            AddAction(file["path"], file["size"], file["partitionValues"],
                      file["modificationTime"], data_change=True, stats=file["stats"])
            for file in added
        ]  # fmt: skip
        now = time.time_ns() // 1_000_000
        for row in (
            log.files().filter(pc.field("path").isin(pa.array(gone, pa.string()))).to_pylist()
        ):
            values = {name: str(row[f"partition.{name}"]) for name in by}
            actions.append(RemoveAction(row["path"], True, now, row["size_bytes"], values))
        commit = deltalake.CommitProperties({"userMetadata": note}, max_commit_retries=0)
        with write_failures(self.path(table)):
            log.create_write_transaction(
                actions, "append", log.schema(), by, commit_properties=commit
            )

    def _records(self, table: str, rows: Sequence[Mapping[str, Any]]) -> list[pa.Table]:
        """Convert rows to the schema of a table of records.

        Raises:
            ParameterError: The table does not exist, or is partitioned.
        """
        if self.schema(table).partition_by:
            hint = "call `replace` for a partitioned table"
            raise ParameterError(f"{table} is a partitioned table", hint=hint)
        return [pa.Table.from_pylist(list(rows), schema=self.schema(table).arrow())]

    def _put_together(self, table: str, run: str) -> None:
        """Compact small files; if others commit at the same time, a later call does it.

        `optimize.compact` of delta-rs (1.6.6) is not safe here: if two writers compact the same
        files, both succeed and every row is duplicated.
        """
        log = self.log(table)
        seen = int(log.version())
        small = log.files().filter(pc.field("size_bytes") < _SMALL)["path"].to_pylist()
        if len(small) <= _FILES:
            return
        dataset, names = log.dataset(), set(small)
        files = [one for one in dataset.get_fragments() if one.path.lstrip("/") in names]
        rows = (one.to_table(schema=dataset.schema) for one in files)
        added = self.write_files(table, rows, under=f"compacted-{uuid4().hex}")
        note = json.dumps({"run": run, "compacted": len(small)})
        with suppress(ConflictError):
            self.name_files(table, added, small, seen=seen, note=note)

    def create_records(self) -> tuple[str, ...]:
        """Create the missing tables of records, and check the existing ones.

        `store.SparkTables` creates the tables of data, and `ledger.Ledger` the ledger.

        Returns:
            The names of the new tables.

        Raises:
            SetupError: A table has other columns than its declaration, the disk is full, or the
                object store does not support exclusive writes.
            ConflictError: Another process created the same table meanwhile.
        """
        return tuple(name for name in RECORDS if self._create(self.schema(name)))

    def _create(self, schema: TableSchema) -> bool:
        path = self.path(schema.name)
        with suppress(TableNotFoundError):
            open_table(path)
            # If another process adds the same columns first, the next try finds them.
            trying_again(_TRIES, 0.2)(self._check, schema)
            return False
        require_exclusive(path.parent)
        with write_failures(self.path(schema.name)):
            deltalake.DeltaTable.create(
                str(path),
                schema.arrow(described=True),
                mode="ignore",
                partition_by=schema.partition_by,
                description=schema.description,
                configuration={**_CHECKPOINTS, **schema.properties, **LOG_KEPT},
                raise_if_key_not_exists=False,
            )
        return True

    def _check(self, schema: TableSchema) -> None:
        new, others = self.difference(schema.name)
        if others:
            raise other_columns(self.path(schema.name), others)
        log, told = self.log(schema.name), schema.properties
        if not told.items() <= log.metadata().configuration.items():  # by an earlier release
            with write_failures(self.path(schema.name)):
                log.alter.set_table_properties(told, raise_if_not_exists=False)
        if new and not schema.partition_by and all(schema.columns[name].nullable for name in new):
            self.add_columns(schema.name, new)  # new columns of this release
        elif new:
            raise SetupError(
                f"the table {schema.name} in {self.root} has no column {', '.join(new)}",
                hint="add the columns of new attributes: `elsinore migrate`",
            )

    def add_columns(self, table: str, names: Sequence[str]) -> None:
        """Add declared columns to a table; no file is rewritten, and existing rows are NULL.

        Raises:
            ConflictError: Another writer was first.
            SetupError: The disk is full or read-only.
        """
        schema = self.schema(table).arrow(described=True)
        fields = [deltalake.Field.from_arrow(schema.field(name)) for name in names]
        with write_failures(self.path(table)):
            self.log(table).alter.add_columns(fields)

    def difference(self, table: str) -> Difference:
        """Compare a table with its declaration.

        Raises:
            DataError: The table has not been created.
        """
        declared = {name: column.type for name, column in self.schema(table).columns.items()}
        there = {field.name: str(field.type.type) for field in self.log(table).schema().fields}
        new = [name for name in declared if name not in there]
        others = [
            f"the schema does not declare its column {name} ({there[name]})"
            for name in there.keys() - declared
        ]
        others += [
            f"{name} is {there[name]}, but {kind} in its declaration"
            for name, kind in declared.items()
            if name in there and there[name] != kind
        ]
        return Difference(tuple(new), tuple(sorted(others)))

    def log(self, table: str, version: int | None = None) -> OpenTable:
        """Open a table at a version, or at the latest one.

        Call it again instead of keeping the returned table: see `open_table`.

        Raises:
            DataError: The table has not been created.
        """
        try:
            return open_table(self.path(table), version)
        except TableNotFoundError as error:
            raise no_table(self.root, table) from error


@contextmanager
def _reader(parts: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatchReader]:
    """Return a reader of rows; errors of their source are raised unchanged."""
    failures: list[Exception] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for part in parts:
                yield from part.select(schema.names).cast(schema).to_batches()
        except Exception as error:  # delta-rs would raise an error with only its message
            failures.append(error)
            raise

    try:
        yield pa.RecordBatchReader.from_batches(schema, batches())
    except Exception:
        if failures:
            raise failures[0] from None
        raise


def trying_again(tries: int, pause: float) -> Retrying:
    """Return a retry policy for `ConflictError`, with a random pause of at most `pause` seconds."""
    return Retrying(
        retry=retry_if_exception_type(ConflictError),
        stop=stop_after_attempt(tries),
        wait=wait_random(0, pause),
        reraise=True,
    )


class Difference(NamedTuple):
    """The differences between a table and its declaration.

    Attributes:
        new: Declared columns that the table lacks.
        others: Other differences, as sentences.
    """

    new: tuple[str, ...]
    others: tuple[str, ...]


def other_columns(table: Path, others: Sequence[str]) -> SetupError:
    """Return the error of a table that new columns cannot make match its declaration."""
    hint = "put the schema back, or set ELSINORE_HOME to a new directory and ingest the files again"
    if (added := _added_by_spark(table)) is not None:
        hint = f"run in Spark: RESTORE TABLE delta.`{table}` TO VERSION AS OF {added - 1}"
    return SetupError(
        f"the table {table.name} differs from its declaration: {'; '.join(others)}", hint=hint
    )


def _added_by_spark(table: Path) -> int | None:
    """Return the first of the latest consecutive versions in which Spark only added columns.

    Elsinore does not write a table that has an unknown column. So a restore loses no rows.
    """
    first = None
    for commit in commits(table):
        if commit.operation == "ADD COLUMNS":  # delta-rs calls it ADD COLUMN
            first = commit.version
        elif commit.changes_rows or commit.operation == "ADD COLUMN":
            break
    return first or None


# ---- declarations in `schemas/tables`


ColumnType = Literal["string", "long", "double", "boolean", "timestamp", "date", "decimal"]

_Name = Annotated[str, pydantic.Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]

_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "date": pa.date32(),
    "decimal": pa.decimal128(38, 9),
}


class Column(Strict):
    """One column of a table.

    Attributes:
        items: The type of the items of a list, or the types of their fields by name.
    """

    type: ColumnType | Literal["list"]
    items: ColumnType | dict[_Name, ColumnType] | None = None
    nullable: bool = False
    description: Annotated[str, pydantic.Field(min_length=1)]

    @pydantic.model_validator(mode="after")
    def _has_items(self) -> Self:
        if (self.type == "list") != (self.items is not None):
            raise ValueError("lists have items, other columns do not; add items, or remove them")
        return self

    def arrow(self) -> pa.DataType:
        """Return the Arrow type of the column."""
        if self.type != "list":
            return _ARROW[self.type]
        if isinstance(self.items, dict):
            fields = [pa.field(name, _ARROW[kind], False) for name, kind in self.items.items()]
            return pa.list_(pa.field("element", pa.struct(fields), False))
        assert self.items is not None
        return pa.list_(pa.field("element", _ARROW[self.items], False))


class TableSchema(Strict):
    """One table of the lake.

    Attributes:
        partition_by: The column of the day, for a table of data; empty for records of runs.
        statistics_of: For a table of data, the columns with statistics per file, to skip files;
            statistics of all columns take longer than writing.
        columns: The columns by name, in the order of storage.
        stream_attributes_after: The column before the columns of the stream's attributes, if any.
        of_stream: Properties of the stored table that depend on the stream's schema. A stored table
            with other values does not match the schema.
    """

    name: _Name = pydantic.Field(alias="table")
    description: Annotated[str, pydantic.Field(min_length=1)]
    partition_by: list[_Name] = pydantic.Field(default_factory=list)
    statistics_of: list[_Name] = pydantic.Field(default_factory=list)
    columns: Annotated[dict[_Name, Column], pydantic.Field(min_length=1)]
    stream_attributes_after: _Name | None = None
    of_stream: dict[str, str] = pydantic.Field(default_factory=dict)

    @property
    def properties(self) -> dict[str, str]:
        """The properties of the stored table."""
        statistics = {_STATISTICS: ", ".join(self.statistics_of)} if self.statistics_of else {}
        return statistics | self.of_stream

    def arrow(self, *, described: bool = False) -> pa.Schema:
        """Return the columns as an Arrow schema; `described` adds descriptions as in Delta."""
        fields = []
        for name, column in self.columns.items():
            about = {"comment": column.description} if described else None
            fields.append(pa.field(name, column.arrow(), column.nullable, about))
        return pa.schema(fields)


def load_tables(folder: Path, stream: StreamSchema) -> dict[str, TableSchema]:
    """Load the declared tables of a directory; the attributes of `stream` are columns of events.

    Raises:
        SchemaError: the directory declares no tables, or a declaration is invalid.
    """
    tables = [_load(path, stream) for path in sorted(folder.glob("*.yaml"))]
    if not tables:
        raise SchemaError(
            f"{folder} declares no tables", hint="restore it: git checkout schemas/tables"
        )
    return {table.name: table for table in tables}


def _load(path: Path, stream: StreamSchema) -> TableSchema:
    declared = read_model(path, TableSchema, "a table")
    if declared.name != path.stem:
        raise SchemaError(
            f"{path} declares the table {declared.name}",
            hint=f"rename the file to {declared.name}.yaml",
        )
    columns: dict[str, Column] = {}
    for name, column in declared.columns.items():
        columns[name] = column
        if name == declared.stream_attributes_after:
            columns |= _attributes(stream)
    partition_by = declared.partition_by
    if declared.stream_attributes_after and stream.buckets:
        columns[BUCKET] = Column(
            type="long",
            description=f"Number of its bucket, from 0, of {stream.buckets}.",
        )
        partition_by = [*partition_by, BUCKET]
    unknown = {*declared.partition_by, *declared.statistics_of} - columns.keys()
    if unknown:
        hint = f"use one of {', '.join(columns)}"
        raise SchemaError(f"{path}: unknown column {', '.join(sorted(unknown))}", hint=hint)
    of_stream = _of_stream(stream) if declared.stream_attributes_after else {}
    update = {"columns": columns, "partition_by": partition_by, "of_stream": of_stream}
    return declared.model_copy(update=update)


def _of_stream(stream: StreamSchema) -> dict[str, str]:
    """Return the properties of the table of events.

    With other values, stored records would get other event ids or other buckets.
    """
    told = {ID_FIELD: stream.id_field or "none", ID_SPAN: _SPANS[stream.id_span]}
    laid = {BUCKETS: json.dumps(stream.buckets._asdict())} if stream.buckets else {}
    return told | laid


def _attributes(stream: StreamSchema) -> dict[str, Column]:
    """Return a nullable column per attribute: an event has only the attributes of its type."""
    return {
        name: Column(
            type=kind.value,
            nullable=True,
            description=f"Attribute of {', '.join(sorted(stream.carriers(name)))}.",
        )
        for name, kind in stream.attributes.items()
    }
