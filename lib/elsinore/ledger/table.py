"""The table `hours`: appended and read by delta-rs, which is its only writer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import TableNotFoundError
from pyarrow.parquet import filters_to_expression

from elsinore.catalog.yaml_text import read_model
from elsinore.errors import ConflictError, DataError, SetupError
from elsinore.ledger.fold import Fold, fold
from elsinore.places import require_exclusive
from elsinore.settings import Settings
from elsinore.store.delta_log import (
    OpenTable,
    arrow_dataset,
    open_table,
    read_failures,
    write_failures,
)
from elsinore.store.regions import Conditions
from elsinore.store.tables import TableSchema, trying_again
from elsinore.timeline import Interval, hour_label

#: Name of the table.
TABLE = "hours"

#: Rows of the table.
Rows = pa.Table

#: Attempts at a commit that other writers interrupt; each takes milliseconds.
_TRIES, _PAUSE = 20, 0.2

#: Number of small files from which they are compacted, and their size in bytes. A reader spends
#: 1.6 ms per file. Larger files, of years, stay as they are.
_FILES, _SMALL = 6, 1_000_000

#: A table opens in 3 ms with a checkpoint, in 20 ms without one.
_PROPERTIES = {"delta.checkpointInterval": "20"}


@dataclass(frozen=True)
class Ledger:
    """The ledger of the hours of a stream.

    Attributes:
        path: the directory of the table.
        schema: its declaration.
    """

    path: Path
    schema: TableSchema

    @classmethod
    def open(cls, settings: Settings) -> Ledger:
        """Return the ledger of the stream of the settings; SchemaError: it is not declared."""
        folder = settings.stream_lake / TABLE
        return cls.declared(folder, settings.tables_dir / f"{TABLE}.yaml")

    @classmethod
    def declared(cls, path: Path, declaration: Path) -> Ledger:
        """Return the ledger in a directory; SchemaError: the file does not declare a table."""
        return cls(path, read_model(declaration, TableSchema, "a table"))

    def create(self) -> None:
        """Create the table, or add columns that this release added.

        Raises:
            SetupError: the disk is full or read-only, the object store overwrites objects, or the
                table lacks a column that cannot be NULL.
        """
        schema = self.schema.arrow(described=True)
        with suppress(TableNotFoundError):
            there = {field.name for field in open_table(self.path).schema().fields}
            new = [field for field in schema if field.name not in there]
            if required := [field.name for field in new if not field.nullable]:
                raise SetupError(
                    f"the table {TABLE} in {self.path.parent} has no column {', '.join(required)}",
                    hint="set ELSINORE_HOME to a new directory and ingest the files again",
                )
            if new:
                fields = [deltalake.Field.from_arrow(field) for field in new]
                with write_failures(self.path):
                    open_table(self.path).alter.add_columns(fields)
            return
        require_exclusive(self.path.parent)
        with write_failures(self.path):
            deltalake.DeltaTable.create(
                str(self.path), schema, mode="ignore", description=self.schema.description,
                configuration={**_PROPERTIES, **self.schema.properties},
            )  # fmt: skip

    def append(self, rows: Sequence[pa.Table], *, run: str) -> int:
        """Append rows of `entries` in one commit, and compact small files.

        If another writer commits first, the rows get the next version. So versions order all rows
        as they were committed, whatever the clocks of the machines.

        Args:
            rows: tables of rows; without rows, nothing is committed.
            run: id of the run, for the history of the table.

        Returns:
            The version of the rows, or the latest version if there are none.

        Raises:
            DataError: the table does not exist.
            ConflictError: others kept writing at the same time.
            SetupError: the disk is full or read-only.
        """
        together = pa.concat_tables(rows) if rows else None
        if together is None or not together.num_rows:
            return int(self._log().version())
        version = int(trying_again(_TRIES, _PAUSE)(self._append, together, run))
        self._compact(run)
        return version

    def _append(self, rows: pa.Table, run: str) -> int:
        log = self._log()
        version = int(log.version()) + 1
        # Without retries of delta-rs: a later commit would need other versions in its rows.
        commit = deltalake.CommitProperties(custom_metadata={"run": run}, max_commit_retries=0)
        with write_failures(self.path):
            deltalake.write_deltalake(
                open_table(self.path, version - 1), self._of_version(rows, version),
                mode="append", commit_properties=commit,
            )  # fmt: skip
        return version

    def _of_version(self, rows: pa.Table, version: int) -> pa.Table:
        """Return rows of `entries` with the columns that a commit adds."""
        schema = self.schema.arrow()
        for name, value in {"version": version, "time": time.time_ns() // 1_000}.items():
            column = pa.repeat(
                pa.scalar(value, pa.int64()).cast(schema.field(name).type), len(rows)
            )
            rows = rows.append_column(name, column)
        return rows.select(schema.names).cast(schema)

    def _compact(self, run: str) -> None:
        """Replace the latest small files by one, unless others commit at the same time.

        `optimize.compact` of delta-rs (1.6.6) is not safe here: if two writers compact the same
        files, both succeed and every row is there twice.
        """
        log = self._log()
        version, files = int(log.version()), log.files()
        large = files.filter(pc.field("size_bytes") >= _SMALL)
        first = (pc.max(large["max.version"]).as_py() or 0) + 1
        if files.filter(pc.field("min.version") >= first).num_rows <= _FILES:
            return
        rows = arrow_dataset(log).to_table(filter=pc.field("version") >= first)
        commit = deltalake.CommitProperties(custom_metadata={"run": run}, max_commit_retries=0)
        # If another writer commits first, the next append compacts these files.
        with suppress(ConflictError), write_failures(self.path):
            deltalake.write_deltalake(
                open_table(self.path, version), rows, mode="overwrite",
                predicate=f"version >= {first}", commit_properties=commit,
            )  # fmt: skip

    def read(
        self, hours: Interval | None = None, *, columns: Sequence[str] | None = None,
        workloads: Sequence[str] | None = None,
    ) -> pa.Table:  # fmt: skip
        """Return rows, in no particular order, by one scan of the files that can contain them.

        Args:
            hours: only rows of these hours; None: all.
            columns: only these columns; None: all.
            workloads: only rows of the stream and of these workloads; None: all.

        Raises:
            DataError: the table does not exist, or it is damaged.
        """
        conditions: Conditions | None = None
        if hours is not None:
            first, end = hour_label(hours.start), hour_label(hours.end - 1)
            conditions = [[("hour", ">=", first), ("hour", "<=", end)]]
        where = filters_to_expression(conditions) if conditions else None
        if workloads is not None:
            own = pc.field("workload").isin(pa.array(["", *workloads], pa.string()))
            where = own if where is None else where & own
        with read_failures(TABLE):
            rows = arrow_dataset(self._log(), conditions, any_text=True)
            return rows.to_table(columns=None if columns is None else list(columns), filter=where)

    def state(self, workload: str = "", *, expected: Sequence[pa.Table] = ()) -> Fold:
        """Return the state of the hours; see `fold`. If the table does not exist, it is empty.

        Args:
            workload: name of the workload; without a name, only the states of the stream are known.
            expected: rows of `entries` that count as appended, to find out what would follow.
        """
        try:
            open_table(self.path)
            rows = self.read(workloads=[workload])
        except TableNotFoundError:
            rows = self.schema.arrow().empty_table()
        if expected:
            version = (pc.max(rows["version"]).as_py() or 0) + 1
            more = self._of_version(pa.concat_tables(expected), version)
            rows = pa.concat_tables([rows.select(more.column_names).cast(more.schema), more])
        return fold(rows, workload)

    def _log(self) -> OpenTable:
        try:
            return open_table(self.path)
        except TableNotFoundError as error:
            hint = "create it with `elsinore replay --start HOUR --end HOUR`, or set ELSINORE_HOME"
            problem = f"the table {TABLE} does not exist in {self.path.parent}"
            raise DataError(problem, hint=hint) from error


def state_of(settings: Settings) -> Fold:
    """Return the state of the hours of the stream and the workload of some settings.

    Raises:
        SchemaError: the ledger is not declared.
        DataError: it has states of a later release.
    """
    return Ledger.open(settings).state(settings.workload_name)
