"""Tables for tests that start no Spark: rows written by delta-rs with the declared columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from elsinore.catalog.yaml_text import read_model
from elsinore.ledger.fold import Fold
from elsinore.ledger.table import TABLE, Ledger
from elsinore.settings import LakePath
from elsinore.store.tables import TableSchema

DECLARATIONS = Path(__file__).parents[1] / "schemas" / "tables"


def declared(table: str) -> TableSchema:
    """Return the declaration of a table, without the attributes of a stream."""
    return read_model(DECLARATIONS / f"{table}.yaml", TableSchema, "a table")


def write_table(
    lake: LakePath, schema: TableSchema, rows: Sequence[Mapping[str, Any]] | pa.Table, *,
    mode: Literal["append", "overwrite"] = "append", note: object = None,
) -> None:  # fmt: skip
    """Write rows into a table in one commit, and create it if it does not exist.

    Args:
        lake: the directory of the tables.
        schema: the declaration of the table.
        rows: the rows; columns that are left out are NULL.
        mode: `overwrite` replaces all rows.
        note: the note of the commit, as JSON; None: no note.
    """
    if not isinstance(rows, pa.Table):
        # Tests leave columns out that they do not need.
        columns = [field.with_nullable(True) for field in schema.arrow()]
        rows = pa.Table.from_pylist(list(rows), schema=pa.schema(columns))
    own = {} if note is None else {"userMetadata": json.dumps(note)}
    write_deltalake(
        str(lake / schema.name), rows, mode=mode, partition_by=schema.partition_by or None,
        commit_properties=CommitProperties(custom_metadata=own),
    )  # fmt: skip


def write_hours(lake: LakePath, *commits: Sequence[Mapping[str, Any]]) -> None:
    """Write commits of the ledger with rows as in `tests.unit.ledger.ledgers`.

    The time of a row is its version, unless the row has another.
    """
    rows = [
        {"version": version, "time": version, **row}
        for version, commit in enumerate(commits, start=1)
        for row in commit
    ]
    write_table(lake, declared(TABLE), rows, mode="overwrite")


def state_in(lake: LakePath, workload: str) -> Fold:
    """Return the state of the hours of a workload."""
    return Ledger.declared(lake / TABLE, DECLARATIONS / f"{TABLE}.yaml").state(workload)
