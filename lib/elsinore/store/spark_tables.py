"""Delta tables of a lake, written and read by Spark with its public DataFrame and SQL interface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from elsinore.errors import ParameterError
from elsinore.places import scheme
from elsinore.store.delta_log import KEEP_ROWS
from elsinore.store.failures import try_again
from elsinore.store.read_log import (
    count_between,
    count_by_hour,
    latest_commits,
    latest_version,
    remove_empty_log,
    stored_definition,
)
from elsinore.store.regions import Hours, Landings
from elsinore.store.session_options import options_set, set_options
from elsinore.store.sql_text import path_table, quote_name, quote_text
from elsinore.store.stored_schema import compare, definition, require_fitting
from elsinore.store.tables import Difference, TableSchema

Note = Mapping[str, Any]

T = TypeVar("T")

#: The database of the catalog in which `register` lists the tables.
DATABASE = "elsinore"

#: Options of a session: times are in UTC, files have them as integers, and a MERGE does not first
#: copy its source, which is cached or small here.
_SESSION = {
    "spark.sql.session.timeZone": "UTC",
    # The default is INT96, of which Parquet has no statistics: readers could skip no row groups.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Rows of a row group: a task that needs an hour of a day reads few others.
    "parquet.block.row.count.limit": "250000",
    "spark.databricks.delta.merge.materializeSource": "none",
    # Results of tasks that run Python code come in batches of this size.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
}
#: The option that becomes the note of a commit of SQL statements.
_NOTE = "spark.databricks.delta.commitInfo.userMetadata"
#: Options that make a statement a transaction of an application, see `Once`.
_APPLICATION = "spark.databricks.delta.write.txnAppId"
_NUMBER = "spark.databricks.delta.write.txnVersion"


class Once(NamedTuple):
    """A numbered transaction of an application.

    Delta skips it if a commit of the application has this number or a higher one, and refuses it
    if such a commit is made at the same time.
    """

    application: str
    number: int


class Commit(NamedTuple):
    """A commit in the history of a table; `note` is empty if it has none, or one of others.

    `metrics` are Delta's, such as `numTargetRowsUpdated`.
    """

    version: int
    operation: str
    note: Note
    metrics: Mapping[str, str] = {}

    @property
    def changes_rows(self) -> bool:
        """Return whether it can have changed rows."""
        return self.operation not in KEEP_ROWS


@dataclass(frozen=True)
class SparkTables:
    """The tables of a lake by name, each in a directory below `root`.

    Statements use the session options that `open` sets, so a session must not be used by several
    threads at the same time.

    Attributes:
        spark: The session, classic or Connect.
        root: Path or URL of the lake, as Spark writes it.
        schemas: Declarations of the tables by name.
    """

    spark: SparkSession
    root: str
    schemas: Mapping[str, TableSchema] = field(repr=False)

    @classmethod
    def open(
        cls, spark: SparkSession, root: str | Path, schemas: Mapping[str, TableSchema]
    ) -> SparkTables:
        """Return the tables of a lake, and set the options of the session that they need."""
        set_options(spark, _SESSION)
        return cls(spark, str(root).rstrip("/"), schemas)

    def schema(self, table: str) -> TableSchema:
        """Return the declaration of a table; ParameterError: it is not declared."""
        if table not in self.schemas:
            known = ", ".join(self.schemas)
            raise ParameterError(f"the lake has no table {table!r}", hint=f"use one of {known}")
        return self.schemas[table]

    def path(self, table: str) -> str:
        """Return the directory of a table."""
        return f"{self.root}/{self.schema(table).name}"

    def name(self, table: str) -> str:
        """Return the name of a table in SQL statements, quoted."""
        return path_table(self.path(table))

    def columns(self, table: str) -> list[str]:
        """Return the names of the declared columns of a table."""
        return list(self.schema(table).columns)

    # ------------------------------------------------------------------------- definition

    def create(
        self, table: str, note: Note | None = None, *,
        before_adding: Callable[[Sequence[str]], None] | None = None,
    ) -> tuple[str, ...]:  # fmt: skip
        """Create a table with the change feed, or add the nullable columns that it lacks.

        Columns that others added stay.

        Args:
            table: Name of the table.
            note: Note of the commit that creates it.
            before_adding: Called with the names of columns before they are added to an existing
                table.

        Returns:
            The names of the columns that were added to an existing table.

        Raises:
            SetupError: the existing table does not fit its declaration.
            ConflictError: other writers won each time.
        """
        is_new = not scheme(self.root) and latest_version(self.path(table)) is None
        found = None if is_new else self.difference(table)
        if found is None:
            self._create(table, note)
            return ()
        require_fitting(self.schema(table), self.path(table), found)
        if found.new and before_adding:
            before_adding(found.new)
        if found.new:
            schema = from_arrow_schema(self.schema(table).arrow(described=True))
            columns = ", ".join(definition(schema[name]) for name in found.new)
            self._execute(table, f"ALTER TABLE {self.name(table)} ADD COLUMNS ({columns})", None)
        return found.new

    def _create(self, table: str, note: Note | None) -> None:
        schema = self.schema(table)
        columns = ", ".join(map(definition, from_arrow_schema(schema.arrow(described=True))))
        days = ", ".join(map(quote_name, schema.partition_by))
        properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "false"}
        statement = (
            f"CREATE TABLE IF NOT EXISTS {self.name(table)} ({columns}) USING DELTA"
            f"{f' PARTITIONED BY ({days})' if days else ''}"
            f" COMMENT {quote_text(schema.description)}"
            f" TBLPROPERTIES ({_pairs({**properties, **schema.properties})})"
        )
        self._execute(table, statement, note)
        if remove_empty_log(self.path(table)):
            self._execute(table, statement, note)

    def difference(self, table: str) -> Difference | None:
        """Return how a table differs from its declaration; None if it has not been created."""
        schema, known = self.schema(table), stored_definition(self.path(table))
        if known is not None:
            return compare(schema, StructType.fromJson(known.columns), known.properties)
        try:
            stored = self.read(table).schema
        except PySparkException as error:
            if error.getCondition() in MISSING:
                return None
            raise
        return compare(schema, stored, self.properties(table) if schema.of_stream else {})

    def properties(self, table: str) -> dict[str, str]:
        """Return the properties of a table."""
        rows = self.spark.sql(f"SHOW TBLPROPERTIES {self.name(table)}").collect()
        return {row.key: row.value for row in rows}

    def set_properties(self, table: str, properties: Mapping[str, str], note: Note) -> None:
        """Set properties of a table, in one commit, unless it has them.

        Raises:
            ConflictError: other writers won each time.
        """
        if properties.items() <= self.properties(table).items():
            return
        statement = f"ALTER TABLE {self.name(table)} SET TBLPROPERTIES ({_pairs(properties)})"
        self._execute(table, statement, note)

    def _commit(self, statement: Callable[[], T], table: str) -> T:
        """Run a statement on a table, and again if another writer commits first."""
        return try_again(statement, table, self.name(table))

    def _execute(self, table: str, statement: str, note: Note | None) -> list[Any]:
        """Run a statement of SQL on a table, and again if another writer commits first."""
        with self._noted(note):
            return self._commit(lambda: self.spark.sql(statement).collect(), table)

    def register(self, tables: Iterable[str] | None = None, database: str = DATABASE) -> list[str]:
        """List tables in the catalog of the session, as external tables `<database>.<table>`.

        Spark's in-memory catalog forgets them when the server ends, so call this once per server.

        Args:
            tables: Names of tables; None: all.
            database: Database of the catalog, created if it is missing.

        Returns:
            Names of the listed tables. A table that has not been created is left out: Spark would
            create an empty table without columns.
        """
        listed = []
        self.spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote_name(database)}")
        for table in self.schemas if tables is None else tables:
            if not self.exists(table):
                continue
            name = f"{quote_name(database)}.{quote_name(table)}"
            location = quote_text(self.path(table))
            statement = f"CREATE TABLE IF NOT EXISTS {name} USING DELTA LOCATION {location}"
            self.spark.sql(statement)
            listed.append(table)
        return listed

    def exists(self, table: str) -> bool:
        """Return whether a table has been created."""
        try:
            self.read(table).schema  # noqa: B018  (Spark Connect asks the server only now)
        except PySparkException as error:
            if error.getCondition() in MISSING:
                return False
            raise
        return True

    # ------------------------------------------------------------------------- reading

    def read(self, table: str, version: int | None = None) -> DataFrame:
        """Return a table at a version, or the latest one."""
        reader = self.spark.read
        if version is not None:
            reader = reader.option("versionAsOf", str(version))
        return reader.table(self.name(table))

    def changes(self, table: str, first: int, last: int | None = None) -> DataFrame:
        """Return the change feed of the versions from `first` to `last`, both included.

        The table must have the version `first`. Without `last` the feed ends with the latest one.
        """
        reader = self.spark.read.option("readChangeFeed", "true")
        reader = reader.option("startingVersion", str(first))
        if last is not None:
            reader = reader.option("endingVersion", str(last))
        return reader.table(self.name(table))

    def count(self, table: str, column: str, first: str, last: str) -> int:
        """Return the number of rows whose text in a column is in a range, both ends included."""
        number = count_between(self.path(table), column, first, last)
        if number is not None:
            return number
        inside = F.col(column).between(F.lit(first), F.lit(last))
        return self.read(table).where(inside).count()

    def count_by_hour(
        self, table: str, hours: Hours | Landings, version: int | None = None
    ) -> dict[str, int] | None:
        """Return the number of rows of each hour with rows; None if only Spark can count them.

        Args:
            table: Name of a table that is partitioned by day.
            hours: The hours.
            version: The version; None: the latest one.
        """
        return count_by_hour(self.path(table), hours, version)

    def history(self, table: str, limit: int | None = None) -> list[Commit]:
        """Return the commits of a table, the latest first, at most `limit`."""
        logged = None if limit is None else latest_commits(self.path(table), limit)
        if logged is not None:
            return [
                Commit(one.version, one.operation, _note(one.note), one.metrics) for one in logged
            ]
        limited = "" if limit is None else f" LIMIT {int(limit)}"
        rows = self.spark.sql(f"DESCRIBE HISTORY {self.name(table)}{limited}")
        described = rows.select("version", "operation", "userMetadata", "operationMetrics")
        return [
            Commit(row.version, row.operation, _note(row.userMetadata), row.operationMetrics or {})
            for row in described.collect()
        ]

    def committed(self, table: str, own: object) -> Commit | None:
        """Return the commit whose note has this `id`; None if Delta made none."""
        for limit in (_RECENT, None):
            for commit in self.history(table, limit):
                if commit.note.get("id") == own:
                    return commit
        return None

    def version(self, table: str) -> int:
        """Return the latest version of a table."""
        logged = latest_version(self.path(table))
        return self.history(table, 1)[0].version if logged is None else logged

    # ------------------------------------------------------------------------- writing

    def replace(self, table: str, rows: DataFrame, where: Column, note: Note) -> None:
        """Replace the rows that meet a condition, in one commit.

        Args:
            table: Name of the table.
            rows: The new rows, which meet the condition, with the declared columns. Columns that
                others added become NULL.
            where: The condition, of columns and literals. Name days as well as hours: writers of
                other days then do not conflict.
            note: Note of the commit.

        Raises:
            ConflictError: other writers won each time.
            DataError: the table uses a feature that Delta does not support.
        """
        writer = rows.writeTo(self.name(table)).option("userMetadata", json.dumps(note))
        self._commit(lambda: writer.overwrite(where), table)

    def append(self, table: str, rows: DataFrame, note: Note, once: Once | None = None) -> None:
        """Append rows with the declared columns, in one commit.

        Delta may skip the commit if it is a transaction; see `Once`. Raises as `replace` does.
        """
        writer = rows.writeTo(self.name(table)).option("userMetadata", json.dumps(note))
        if once:
            writer = writer.option("txnAppId", once.application)
            writer = writer.option("txnVersion", str(once.number))
        self._commit(writer.append, table)

    def merge(
        self, table: str, rows: DataFrame, *, on: Column, actions: Mapping[str, Column],
        note: Note, once: Once | None = None,
    ) -> None:  # fmt: skip
        """Update, delete and insert rows, in one commit.

        Args:
            table: Name of the table.
            rows: A row per change, with the declared columns, and others that begin with `_`.
            on: Which row of the table a change is of. In it, the declared names are columns of the
                table. It should name the days of these rows as literals, so that writers of other
                days do not conflict.
            actions: Conditions on changes, which of them `update`, `delete` or `insert` a row.
                They use the columns of changes that begin with `_`.
            note: Note of the commit.
            once: The transaction, which Delta may skip.

        Raises:
            ConflictError: other writers won each time.
            DataError: the table uses a feature that Delta does not support.
        """
        values = {name: F.col(f"_new_{name}") for name in self.columns(table)}
        changes = rows.withColumnsRenamed({name: f"_new_{name}" for name in values})

        def merge() -> None:
            merging = changes.mergeInto(self.name(table), on)
            merging = merging.whenMatched(actions["delete"]).delete()
            merging = merging.whenMatched(actions["update"]).update(values)
            merging.whenNotMatched(actions["insert"]).insert(values).merge()

        with self._noted(note, once):
            self._commit(merge, table)

    def synchronize(
        self, table: str, rows: DataFrame, *, key: Sequence[str], where: Column, note: Note
    ) -> None:
        """Make given rows the only rows that meet a condition; write only rows that differ.

        A MERGE in one commit: rows with a key that is there are updated if a column differs, others
        are inserted, and rows of the table without such a key are deleted.

        Args:
            table: Name of the table.
            rows: The rows, which meet the condition, with the declared columns. Each has a key of
                its own.
            key: Columns that identify a row. Only columns that can be NULL are compared as
                such, because Delta skips files by the others.
            where: The condition, of columns and literals. Name days as well as hours: writers of
                other days then do not conflict.
            note: Note of the commit.

        Raises:
            ConflictError: other writers won each time.
            DataError: the table uses a feature that Delta does not support.
        """
        values = {name: F.col(f"_new_{name}") for name in self.columns(table)}
        changes = rows.select([F.col(name).alias(f"_new_{name}") for name in values])
        on, differs = where, F.lit(False)
        for name, value in values.items():
            if name in key and self.schema(table).columns[name].nullable:
                on = on & F.col(name).eqNullSafe(value)
            elif name in key:
                on = on & (F.col(name) == value)
            else:
                differs = differs | ~F.col(name).eqNullSafe(value)

        def merge() -> None:
            merging = changes.mergeInto(self.name(table), on)
            merging = merging.whenMatched(differs).update(values)
            merging = merging.whenNotMatched().insert(values)
            merging.whenNotMatchedBySource(where).delete().merge()

        with self._noted(note):
            self._commit(merge, table)

    def delete(self, table: str, rows: DataFrame, *, on: Column, note: Note) -> None:
        """Delete rows, in one commit whose history shows none of their values.

        Args:
            table: Name of the table.
            rows: Values that identify the rows, in columns that begin with `_`.
            on: Which row of the table a row of `rows` is. Name days as literals: writers of other
                days then do not conflict.
            note: Note of the commit.

        Raises:
            ConflictError: other writers won each time.
            DataError: the table uses a feature that Delta does not support.
        """
        with self._noted(note):
            merging = rows.mergeInto(self.name(table), on).whenMatched().delete()
            self._commit(merging.merge, table)

    def delete_before(self, table: str, column: str, day: date, note: Note) -> int:
        """Delete the rows of days before a day, in one commit if there are any.

        Args:
            table: Name of the table.
            column: Its column of days.
            day: The first day that stays.
            note: Note of the commit.

        Returns:
            The number of deleted rows.

        Raises:
            ConflictError: other writers won each time.
            DataError: the table uses a feature that Delta does not support.
        """
        count = self.read(table).where(F.col(column) < F.lit(day)).count()
        if count:
            condition = f"{quote_name(column)} < DATE{quote_text(day.isoformat())}"
            statement = f"DELETE FROM {self.name(table)} WHERE {condition}"  # noqa: S608
            self._execute(table, statement, note)
        return int(count)

    # ------------------------------------------------------------------------- maintenance

    def optimize(self, table: str, note: Note) -> None:
        """Compact small files of each partition; without several of them, nothing is committed.

        Raises:
            ConflictError: other writers won each time.
            DataError: the table uses a feature that Delta does not support.
        """
        set_options(self.spark, _OPTIMIZE)
        self._execute(table, f"OPTIMIZE {self.name(table)}", note)

    def vacuum(self, table: str, hours: int, note: Note) -> int:
        """Remove the files that no version of the last hours uses.

        Args:
            table: Name of the table.
            hours: Retention of removed files, which later calls by others follow, too. 0: every
                file that the latest version does not use is removed, also files that another
                writer is about to commit; later calls keep the last retention.
            note: Note of the commits.

        Returns:
            The number of removed files and empty directories.

        Raises:
            DataError: the table uses a feature that Delta does not support.
        """
        statement = f"VACUUM {self.name(table)}"
        if hours:
            # Delta 4.4 ignores a retention in the statement unless it is 0.
            self.set_properties(table, {_RETENTION: f"interval {int(hours)} hours"}, note)
        else:
            statement += " RETAIN 0 HOURS"
            self.spark.conf.set(_CHECK, "false")
        try:
            self._execute(table, statement, note)
        finally:
            if not hours:
                self.spark.conf.unset(_CHECK)
        last = self.history(table, 1)[0]
        return int(last.metrics.get("numDeletedFiles", 0)) if last.operation == _VACUUMED else 0

    def checkpoint(self, table: str, note: Note) -> int:
        """Write a checkpoint: earlier entries of the log are no longer needed to read the table.

        Delta has no statement for it, but writes a checkpoint at each commit if a property says so.

        Returns:
            The version of the checkpoint.

        Raises:
            ConflictError: other writers won each time.
        """
        before = self.properties(table).get(_INTERVAL)
        change = f"ALTER TABLE {self.name(table)}"
        self._execute(table, f"{change} SET TBLPROPERTIES ({_pairs({_INTERVAL: '1'})})", note)
        version = self.version(table)
        back = f"SET TBLPROPERTIES ({_pairs({_INTERVAL: before})})" if before else (
            f"UNSET TBLPROPERTIES ({quote_text(_INTERVAL)})"
        )  # fmt: skip
        self._execute(table, f"{change} {back}", note)
        return version

    def _noted(self, note: Note | None, once: Once | None = None) -> AbstractContextManager[None]:
        """Set the options of a statement that has none of its own."""
        options = {} if note is None else {_NOTE: json.dumps(note)}
        if once:
            options |= {_APPLICATION: once.application, _NUMBER: str(once.number)}
        return options_set(self.spark, options)

    # ------------------------------------------------------------------------- size of jobs

    @staticmethod
    def is_small(rows: int) -> bool:
        """Return whether one task should handle this number of rows."""
        return rows <= _SMALL

    def plan_for(self, rows: int, cores: int) -> None:
        """Set how the next statements of the session handle about this number of rows.

        A small batch takes one task, and no code is generated for it: both cost more than they
        save.
        """
        is_small = self.is_small(rows)
        partitions = 1 if is_small else max(cores, -(-rows // _PER_TASK))
        options = {
            "spark.sql.adaptive.enabled": str(not is_small).lower(),
            # The embedded server generates no code by default.
            "spark.sql.codegen.wholeStage": str(not is_small).lower(),
            "spark.sql.codegen.factoryMode": "NO_CODEGEN" if is_small else "FALLBACK",
            "spark.sql.shuffle.partitions": str(partitions),
        }
        set_options(self.spark, options)


#: Rows of a batch that one task handles, and rows per task of a larger one.
_SMALL, _PER_TASK = 20_000, 250_000
#: Commits among which one is looked for before all are.
_RECENT = 20
#: Files of a partition below this size are compacted, up to it.
_OPTIMIZE = {
    f"spark.databricks.delta.optimize.{name}FileSize": str(128 * 1024 * 1024)
    for name in ("min", "max")
}
#: The property with the retention of removed files, and the option that refuses a short one.
_RETENTION = "delta.deletedFileRetentionDuration"
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
#: The operation of the last commit of VACUUM.
_VACUUMED = "VACUUM END"
#: The property with the number of commits per checkpoint.
_INTERVAL = "delta.checkpointInterval"
#: Conditions of a path without a table.
MISSING = frozenset({"DELTA_TABLE_NOT_FOUND", "DELTAMISSING_DELTA_TABLE", "PATH_NOT_FOUND"})


def _pairs(properties: Mapping[str, str]) -> str:
    """Return properties in SQL."""
    return ", ".join(f"{quote_text(k)} = {quote_text(v)}" for k, v in properties.items())


def _note(text: str | None) -> Note:
    try:
        note = json.loads(text or "{}")
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}
