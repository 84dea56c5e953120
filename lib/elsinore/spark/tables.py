"""The lake with Spark: tables of data are read at a version, rewritten by region, and created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Self

import deltalake
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import DataError, ParameterError, SetupError
from elsinore.lake.delta_log import clear_unfinished
from elsinore.lake.regions import Hours, Landings
from elsinore.lake.tables import TURN, Lake, TableSchema, other_columns, sql_properties, sql_text
from elsinore.spark.failures import spark_failures

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"

#: The server interprets; a MERGE of 690,000 rows takes 44 s then, and 15 compiled.
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
_MANY_ROWS = 50_000
_SKIP_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"

#: Columns of which a file's log entry tells the least and the greatest value.
_STATISTICS = "delta.dataSkippingStatsColumns"

#: How long Delta keeps the log of a commit; each night `history` takes what lineage needs of it.
LOG_KEPT = {"delta.logRetentionDuration": "interval 90 days"}

#: A run makes half a dozen commits of `run_metrics`, and its steps open that table as often: with a
#: checkpoint in 3 ms, with the commits of some thirty runs and none in 20.
_RECORDS = {"delta.checkpointInterval": "20"}

#: Delta skips a write of an application with a number that it has seen, and refuses the second of
#: two at once. With the turns of a table as numbers that makes a compare-and-swap of a commit.
_TRANSACTION = "spark.databricks.delta.write"


@dataclass(frozen=True)
class SparkLake(Lake):
    """A lake with the Spark session that reads and writes its tables of data.

    Attributes:
        spark: the session.
    """

    spark: SparkSession

    @classmethod
    def of(cls, lake: Lake, spark: SparkSession) -> Self:
        """A lake with a session."""
        return cls(lake.cores, lake.root, lake.stream, lake.tables, spark)

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
        if not schema.by_spark or where.day not in schema.partition_by:
            raise ParameterError(f"{table} is not a table of data by {where.day}")
        names = [*schema.columns]
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

    def compiled(self, rows: int) -> AbstractContextManager[None]:
        """Has Spark compile what it runs, where so many rows repay the seconds that this takes."""
        return self.configured(_COMPILED if rows > _MANY_ROWS else {})

    @contextmanager
    def configured(self, options: Mapping[str, str]) -> Iterator[None]:
        """Options of the session, for as long as this lasts; afterwards they are what they were."""
        conf = self.spark.conf
        # `unset` alone would leave Spark's own default where the server was started with another.
        before = {name: conf.get(name, None) for name in options}
        for name, value in options.items():
            conf.set(name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    conf.unset(name)
                else:
                    conf.set(name, value)

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
            options |= {f"{_TRANSACTION}.txnAppId": TURN, f"{_TRANSACTION}.txnVersion": str(turn)}
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

    def _create(self, schema: TableSchema) -> bool:
        path = self.path(schema.name)
        clear_unfinished(path)
        if deltalake.DeltaTable.is_deltatable(str(path)):
            self._check(schema)
            return False
        statistics = {_STATISTICS: ", ".join(schema.statistics_of)} if schema.statistics_of else {}
        properties = {**statistics, **LOG_KEPT}
        if not schema.by_spark:
            deltalake.DeltaTable.create(
                str(path),
                schema.arrow(),
                mode="ignore",
                partition_by=schema.partition_by,
                description=schema.description,
                configuration={**_RECORDS, **properties},
            )
            return True
        days = ", ".join(schema.partition_by)
        self.run_sql(
            f"CREATE TABLE IF NOT EXISTS {self.sql_name(schema.name)} ({schema.ddl()}) USING DELTA "
            f"PARTITIONED BY ({days}) COMMENT {sql_text(schema.description)} "
            f"TBLPROPERTIES ({sql_properties(properties)})"
        )
        return True

    def _check(self, schema: TableSchema) -> None:
        new, others = self.difference(schema.name)
        if others:
            raise other_columns(schema.name, others)
        if new and not schema.by_spark and all(schema.columns[name].nullable for name in new):
            # Columns that this release has added; NULL in the rows of earlier ones.
            fields = [deltalake.Field.from_arrow(schema.arrow().field(name)) for name in new]
            deltalake.DeltaTable(str(self.path(schema.name))).alter.add_columns(fields)
        elif new:
            raise SetupError(
                f"the table {schema.name} in {self.root} has no column {', '.join(new)}",
                hint="elsinore migrate adds the columns of new attributes",
            )

    def add_columns(self, table: str, names: Sequence[str]) -> None:
        """Give a table columns of its declaration; no file is written anew, they are NULL there."""
        columns = self.schema(table).ddl(names)
        self.run_sql(f"ALTER TABLE {self.sql_name(table)} ADD COLUMNS ({columns})")
