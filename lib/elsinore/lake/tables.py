"""The tables of the lake without Spark: read at a version, and records of runs written.

Tables of data are written by Spark (`elsinore.spark.tables`), records of runs by delta-rs, without
Spark and in milliseconds; each table by one of the two alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError, ParameterError, SchemaError
from elsinore.lake.delta_log import write_failure
from elsinore.lake.regions import Region
from elsinore.lake.table_schemas import TableSchema, load_tables
from elsinore.settings import Settings

#: Tries at a record that others write beside us; each takes milliseconds.
_TRIES = 20

#: Name of the application whose transactions are the turns of a table.
TURN = "turn"


@dataclass(frozen=True)
class Lake:
    """Tables by name, at `<root>/<name>`; a name that is not declared is refused.

    Attributes:
        cores: how many tasks work at a time.
        root: folder of the tables.
        stream: whose attributes are columns of `events`.
        tables: the declared tables.
    """

    cores: int
    root: Path
    stream: StreamSchema
    tables: Mapping[str, TableSchema]

    @classmethod
    def open(cls, settings: Settings) -> Lake:
        """The lake that the settings name, with its declarations.

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
        tables = load_tables(settings.tables_dir, stream)
        return Lake(settings.spark_cores, settings.lake, stream, tables)

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
            SetupError: the disk is full or read-only.
        """
        predicate = where.predicate()
        self._write(table, rows, run, mode="overwrite", predicate=predicate)

    def add(self, table: str, rows: Sequence[Mapping[str, Any]], *, run: str) -> None:
        """Append rows to a table of records; see `record`."""
        self._write(table, rows, run, mode="append")

    def _write(self, table: str, rows: Sequence[Mapping[str, Any]], run: str, **how: Any) -> None:
        """One commit of a table of records; raises as `record` does."""
        schema = self.schema(table)
        if not schema.record:
            raise ParameterError(f"{table} is no table of records")
        self.version(table)
        again = Retrying(
            retry=retry_if_exception_type(CommitFailedError),
            stop=stop_after_attempt(_TRIES),
            wait=wait_random(0, 0.2),
            reraise=True,
        )
        found = pa.Table.from_pylist(list(rows), schema=schema.arrow())
        note = deltalake.CommitProperties(custom_metadata={"run": run})
        path = str(self.path(table))
        try:
            again(deltalake.write_deltalake, path, found, commit_properties=note, **how)
        except (DeltaError, OSError) as error:
            if known := write_failure(error, table):
                raise known from error
            raise

    def turn(self, table: str) -> tuple[int, int]:
        """The latest version of a table, and how many turns it has seen (`SparkLake.run_sql`)."""
        log = self._log(table)
        return int(log.version()), int(log.transaction_version(TURN) or 0)

    def _log(self, table: str, version: int | None = None) -> deltalake.DeltaTable:
        try:
            return deltalake.DeltaTable(str(self.path(table)), version=version)
        except TableNotFoundError as error:
            raise DataError(
                f"the table {table} does not exist in {self.root}", hint="land events first"
            ) from error
