"""The lake: its Delta tables, read at a version, rewritten by region, created in one step.

Tables of data are written by Spark, records of runs by delta-rs, without Spark and in milliseconds;
each table by one of the two alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import (
    DataError,
    EngineError,
    ParameterError,
    SchemaError,
    SetupError,
)
from elsinore.settings import Settings
from elsinore.spark.failures import spark_failures
from elsinore.spark.regions import Hours, Landings, Region
from elsinore.spark.table_schemas import TableSchema, load_tables, sql_text
from elsinore.spark.unfinished_table import clear_unfinished

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"

#: Tries at a record that others write beside us; each takes milliseconds.
_TRIES = 20

#: The server interprets; a MERGE of 690,000 rows takes 44 s then, and 15 compiled.
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
_MANY_ROWS = 50_000

_SKIP_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"

#: Columns of which a file's log entry tells the least and the greatest value.
_STATISTICS = "delta.dataSkippingStatsColumns"

#: Delta skips a write of an application with a number that it has seen, and refuses the second of
#: two at once. With the turns of a table as numbers that makes a compare-and-swap of a commit.
_TRANSACTION = "spark.databricks.delta.write"
_TURN = "turn"


@dataclass(frozen=True)
class Lake:
    """Tables by name, at `<root>/<name>`; a name that is not declared is refused.

    Attributes:
        cores: how many tasks work at a time.
        session: the Spark session that reads and writes data; None where only records are written.
        root: folder of the tables.
        stream: whose attributes are columns of `events`.
        tables: the declared tables.
    """

    cores: int
    session: SparkSession | None
    root: Path
    stream: StreamSchema
    tables: Mapping[str, TableSchema]

    @classmethod
    def open(cls, session: SparkSession | None, settings: Settings) -> Lake:
        """The lake that the settings name.

        Args:
            session: the Spark session; None for steps that need none.
            settings: where the lake lies, and its declarations.

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
        return cls(
            settings.spark_cores,
            session,
            settings.lake,
            stream,
            load_tables(settings.tables_dir, stream),
        )

    @property
    def spark(self) -> SparkSession:
        """The Spark session.

        Raises:
            EngineError: the lake was opened without one.
        """
        if self.session is None:
            raise EngineError("a step that was to do without Spark has asked for it")
        return self.session

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

    def replace(
        self,
        table: str,
        rows: DataFrame,
        *,
        where: Hours | Landings,
        run: str,
        recorded: bool = False,
    ) -> None:
        """Make `rows` the only rows of some hours in a table of data; no rows leave them empty.

        Delta refuses rows outside of the region, NULLs in columns that have none, and columns of
        other types. Another writer of the same days loses or makes this one lose.

        Args:
            table: its name.
            rows: the declared columns but the day, in any order.
            where: the hours.
            run: what to write into the table's history beside the commit.
            recorded: commit also where the region was empty and stays so, for the sake of `run`.

        Raises:
            ParameterError: there is no such table, or it is not one of such hours.
            ConflictError: another writer got there first.
        """
        schema = self.schema(table)
        if schema.record or where.day not in schema.partition_by:
            raise ParameterError(f"{table} is not a table of data by {where.day}")
        names = [column.name for column in schema.columns]
        if sorted([*rows.columns, where.day]) != sorted(names):
            raise ParameterError(f"{table} has the columns {names}, not {rows.columns}")
        day = F.to_date(F.substring(where.column, 1, 10))
        writer = (
            rows.withColumn(where.day, day)
            .select(*names)
            .write.format("delta")
            .mode("overwrite")
            .option("replaceWhere", where.predicate(by_day=True))
            .option("userMetadata", run)
        )
        empty = {_SKIP_EMPTY: str(not recorded).lower()}
        with spark_failures(), self.configured(empty):
            writer.save(str(self.path(table)))

    def record(
        self,
        table: str,
        rows: Sequence[Mapping[str, Any]],
        *,
        where: Region,
        run: str,
    ) -> None:
        """Make `rows` the only rows of a region in a table of records, in one commit.

        Args:
            table: its name.
            rows: the declared columns; instants may be int64 microseconds.
            where: the region, which holds all of them.
            run: what to write into the table's history beside the commit.

        Raises:
            ParameterError: there is no such table of records.
            ConflictError: others kept writing meanwhile.
        """
        self._write(
            table,
            pa.Table.from_pylist(list(rows), schema=self.schema(table).arrow()),
            run,
            mode="overwrite",
            predicate=where.predicate(by_day=False),
        )

    def add(self, table: str, rows: Sequence[Mapping[str, Any]], *, run: str) -> None:
        """Append rows to a table of records; see `record`."""
        found = pa.Table.from_pylist(list(rows), schema=self.schema(table).arrow())
        self._write(table, found, run, mode="append")

    def _write(self, table: str, rows: pa.Table, run: str, **how: Any) -> None:
        if not self.schema(table).record:
            raise ParameterError(f"{table} is no table of records")
        self.version(table)
        again = Retrying(
            retry=retry_if_exception_type(CommitFailedError),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random(0, 0.2),
            reraise=True,
        )
        note = deltalake.CommitProperties(custom_metadata={"run": run})
        path = str(self.path(table))
        with spark_failures():
            again(deltalake.write_deltalake, path, rows, commit_properties=note, **how)

    def compiled(self, rows: int) -> AbstractContextManager[None]:
        """Has Spark compile what it runs, where so many rows repay the seconds that this takes."""
        return self.configured(_COMPILED if rows > _MANY_ROWS else {})

    @contextmanager
    def configured(self, options: Mapping[str, str]) -> Iterator[None]:
        """Options of the session, for as long as this lasts."""
        for name, value in options.items():
            self.spark.conf.set(name, value)
        try:
            yield
        finally:
            for name in options:
                self.spark.conf.unset(name)

    def turn(self, table: str) -> tuple[int, int]:
        """The latest version of a table, and how many turns it has seen (`run_sql`)."""
        log = self._log(table)
        return int(log.version()), int(log.transaction_version(_TURN) or 0)

    def run_sql(
        self,
        statement: str,
        *,
        note: str | None = None,
        turn: int | None = None,
        **frames: DataFrame,
    ) -> list[Row]:
        """Run a statement that changes a table, such as MERGE; the rows that it answers.

        Args:
            statement: SQL; tables by `sql_name`, frames as `{name}`.
            note: what to write into the table's history beside the commit.
            turn: one more than the turns that the table had seen when it was decided what to write.
                If it has seen this turn as well by now, nothing is written and no row answered.
            **frames: what the statement reads.

        Raises:
            ConflictError: another writer got there first, or takes the same turn.
        """
        options = {} if note is None else {_USER_METADATA: note}
        if turn is not None:
            options |= {f"{_TRANSACTION}.txnAppId": _TURN, f"{_TRANSACTION}.txnVersion": str(turn)}
        with spark_failures(), self.configured(options):
            return self.spark.sql(statement, **frames).collect()

    def sql_name(self, table: str) -> str:
        """A table's name in SQL: its path, quoted whatever that holds."""
        return "delta.`" + str(self.path(table)).replace("`", "``") + "`"

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
        if schema.record:
            deltalake.DeltaTable.create(
                str(path), schema.arrow(), mode="ignore", description=schema.description
            )
            return True
        days = ", ".join(schema.partition_by)
        self.run_sql(
            f"CREATE TABLE IF NOT EXISTS {self.sql_name(schema.name)} ({schema.ddl()}) USING DELTA "
            f"PARTITIONED BY ({days}) COMMENT {sql_text(schema.description)} "
            f"TBLPROPERTIES ('{_STATISTICS}' = '{', '.join(schema.statistics_of)}')"
        )
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
