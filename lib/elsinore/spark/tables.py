"""The lake: its Delta tables, read at a version, rewritten by region, created in one step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from delta.tables import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyspark.sql import DataFrame, SparkSession

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError, ParameterError, SchemaError, SetupError
from elsinore.settings import Settings
from elsinore.spark.failures import spark_failures
from elsinore.spark.regions import Region
from elsinore.spark.table_schemas import TableSchema, load_tables
from elsinore.spark.unfinished_table import clear_unfinished

_SKIP_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"


@dataclass(frozen=True)
class Lake:
    """Tables by name, at `<root>/<name>`; a name that is not declared is refused.

    Attributes:
        spark: the session that reads and writes.
        root: folder of the tables.
        stream: whose attributes are columns of `events`.
        tables: the declared tables.
    """

    spark: SparkSession
    root: Path
    stream: StreamSchema
    tables: Mapping[str, TableSchema]

    @classmethod
    def open(cls, spark: SparkSession, settings: Settings) -> Lake:
        """The lake that the settings name.

        Raises:
            SchemaError: the stream's schema or a table's is not valid, or its time is no calendar
                time, which hours of landing need.
        """
        stream = load_schema(settings.schema_file)
        if not stream.time_unit.is_calendar:
            raise SchemaError(
                f"the stream {stream.name} counts time in ticks; a lake is laid out by hours",
                hint="declare the unit of its time, or use `elsinore run`",
            )
        return cls(spark, settings.lake, stream, load_tables(settings.tables_dir, stream))

    def schema(self, table: str) -> TableSchema:
        """The declaration of a table.

        Raises:
            ParameterError: there is no such table.
        """
        if table not in self.tables:
            raise ParameterError(
                f"the lake has no table {table!r}", hint=f"its tables: {', '.join(self.tables)}"
            )
        return self.tables[table]

    def path(self, table: str) -> Path:
        """The folder of a table; names are declared ones only, so it lies below the root."""
        return self.root / self.schema(table).name

    def version(self, table: str) -> int:
        """The latest version of a table; read without Spark, in milliseconds.

        Raises:
            DataError: the table has not been created.
        """
        return int(self._log(table).version())

    def read(self, table: str, version: int | None = None) -> DataFrame:
        """A table's rows, at the latest version or at a pinned one.

        Raises:
            DataError: the table does not exist, or that version is no longer kept.
        """
        latest = self.version(table)
        pinned = latest if version is None else version
        if not 0 <= pinned <= latest:
            raise DataError(f"the table {table} has no version {pinned}; its latest is {latest}")
        reader = self.spark.read.format("delta").option("versionAsOf", pinned)
        with spark_failures():
            return reader.load(str(self.path(table)))

    def rows(
        self, table: str, where: pc.Expression | None = None, *, columns: list[str] | None = None
    ) -> pa.Table:
        """Rows of a small table at its latest version, read without Spark, in milliseconds.

        Args:
            table: its name.
            where: which rows, as an Arrow expression; None: all.
            columns: which columns; None: all.

        Raises:
            DataError: the table has not been created.
        """
        return self.dataset(table).to_table(columns=columns, filter=where)

    def dataset(self, table: str, version: int | None = None) -> ds.Dataset:
        """A table, at the latest version or at a pinned one, to be read without Spark.

        Raises:
            DataError: the table has not been created.
        """
        return self._log(table, version).to_pyarrow_dataset()

    def frame(self, table: str, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
        """A few rows for a table, in one part; instants may be int64 microseconds.

        They go to Spark as Arrow: as Python rows they would need a worker to be unpacked.
        """
        schema = self.schema(table)
        found = pa.Table.from_pylist(list(rows), schema=schema.arrow())
        with spark_failures():
            return self.spark.createDataFrame(found, schema=schema.spark()).coalesce(1)

    def replace(
        self, table: str, rows: DataFrame, *, where: Region, run: str, recorded: bool = False
    ) -> None:
        """Make `rows` the only rows of a region; no rows leave it empty.

        Delta refuses rows outside of the region, NULLs in columns that have none, and columns of
        other types. Another writer of the same region loses or makes this one lose.

        Args:
            table: its name.
            rows: the declared columns, in any order.
            where: the region.
            run: what to write into the table's history beside the commit.
            recorded: commit also where the region was empty and stays so, for the sake of `run`.

        Raises:
            ParameterError: there is no such table, or the region is not one of its partitions.
            ConflictError: another writer got there first.
        """
        schema = self.schema(table)
        if where.column not in schema.partition_by:
            raise ParameterError(f"{table} is not partitioned by {where.column}")
        names = [column.name for column in schema.columns]
        if sorted(rows.columns) != sorted(names):
            raise ParameterError(f"{table} has the columns {names}, not {rows.columns}")
        writer = (
            rows.select(*names)
            .write.format("delta")
            .mode("overwrite")
            .option("replaceWhere", where.predicate())
            .option("userMetadata", run)
        )
        with spark_failures(), self._empty_commits(recorded):
            writer.save(str(self.path(table)))

    @contextmanager
    def _empty_commits(self, recorded: bool) -> Iterator[None]:
        """Whether Delta records a commit that changes no row."""
        self.spark.conf.set(_SKIP_EMPTY, str(not recorded).lower())
        try:
            yield
        finally:
            self.spark.conf.unset(_SKIP_EMPTY)

    def delta(self, table: str) -> DeltaTable:
        """A table for MERGE.

        Raises:
            DataError: the table has not been created.
        """
        self.version(table)
        with spark_failures():
            return DeltaTable.forPath(self.spark, str(self.path(table)))

    def create_all(self) -> tuple[str, ...]:
        """Create the tables that do not exist, and check those that do; names of the new ones.

        To be done in one place before anything is written: several writers that each create the
        same table are in conflict.

        Raises:
            SetupError: a table has other columns than its declaration.
            ConflictError: another process created the same table meanwhile.
        """
        return tuple(name for name in self.tables if self._create(self.tables[name]))

    def _log(self, table: str, version: int | None = None) -> deltalake.DeltaTable:
        try:
            return deltalake.DeltaTable(str(self.path(table)), version=version)
        except TableNotFoundError as error:
            raise DataError(
                f"the table {table} does not exist in {self.root}", hint="land events first"
            ) from error

    def _create(self, schema: TableSchema) -> bool:
        path = self.path(schema.name)
        clear_unfinished(path)
        if deltalake.DeltaTable.is_deltatable(str(path)):
            self._check(schema)
            return False
        builder = (
            DeltaTable.createIfNotExists(self.spark)
            .location(str(path))
            .addColumns(schema.spark())
            .partitionedBy(*schema.partition_by)
            .comment(schema.description)
        )
        with spark_failures():
            builder.execute()
        return True

    def _check(self, schema: TableSchema) -> None:
        found = deltalake.DeltaTable(str(self.path(schema.name))).schema().fields
        there = [(field.name, str(field.type.type)) for field in found]
        declared = [(column.name, column.type) for column in schema.columns]
        if there != declared:
            other = sorted({name for name, _ in set(there) ^ set(declared)})
            raise SetupError(
                f"the table {schema.name} in {self.root} differs from its declaration in "
                f"{', '.join(other) or 'the order of its columns'}",
                hint="land into another lake, or migrate this one",
            )
