"""The lake with Spark: tables of data are read at a version, and rewritten by region."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import DataError, ParameterError
from elsinore.lake.regions import Hours, Landings
from elsinore.lake.tables import TURN, Lake
from elsinore.spark.failures import spark_failures

_USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"

#: The server interprets; a MERGE of 690,000 rows takes 44 s then, and 15 compiled.
_COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
_MANY_ROWS = 50_000
_SKIP_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"

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
    ) -> None:
        """Make `rows` the only rows of some hours in a table of data; no rows leave them empty.

        Delta refuses rows outside of the region, NULLs in columns that have none, and columns of
        other types. Another writer of the same days loses or makes this one lose.

        Args:
            table: its name.
            rows: the declared columns but the day, in any order.
            where: the hours.
            run: what to write into the table's history beside the commit.

        Raises:
            ParameterError: there is no such table, or it is not one of such hours.
            ConflictError: another writer got there first.
        """
        schema = self.schema(table)
        if where.day not in schema.partition_by:
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
        with spark_failures(), self.configured({_SKIP_EMPTY: "true"}):
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


def arrow_tables(rows: DataFrame) -> Iterator[pa.Table]:
    """Rows as they come, a part at a time; `toArrow` would hold them all."""
    frame: Any = rows
    client, plan = frame.sparkSession.client, frame._plan
    for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(part, pa.Table):
            yield part
