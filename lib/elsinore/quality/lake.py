"""Reads rows of the lake's Delta tables as Arrow, without a JVM; never writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from elsinore.errors import DataError
from elsinore.lake.regions import Hours


def read_rows(
    lake: Path,
    table: str,
    *,
    columns: Sequence[str] | None = None,
    where: ds.Expression | None = None,
    version: int | None = None,
    **allowed: Sequence[str],
) -> pa.Table:
    """Rows of a table.

    Args:
        lake: folder of the Delta tables.
        table: name of the table.
        columns: columns to read; None: all.
        where: which rows; None: all.
        version: of the table; None: the newest.
        **allowed: by text column, the values that a row must have one of.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    condition = where
    for column, values in allowed.items():
        one = ds.field(column).isin(pa.array(list(values), pa.string()))
        condition = one if condition is None else condition & one
    with _readable(table):
        dataset = DeltaTable(str(lake / table), version=version).to_pyarrow_dataset()
        return dataset.to_table(columns=list(columns) if columns else None, filter=condition)


def read_by_day(
    lake: Path,
    table: str,
    hours: Hours,
    *,
    columns: Sequence[str] | None = None,
    version: int | None = None,
) -> Iterator[pa.Table]:
    """Rows of some hours in a table that is partitioned by day, a day at a time.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    with _readable(table):
        dataset = DeltaTable(str(lake / table), version=version).to_pyarrow_dataset()
        yield from hours.rows_by_day(dataset, columns)


def read_batches(
    lake: Path, table: str, *, columns: Sequence[str], where: ds.Expression
) -> Iterator[pa.RecordBatch]:
    """Rows of a table's newest version, in no order, a part at a time.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    with _readable(table):
        dataset = DeltaTable(str(lake / table)).to_pyarrow_dataset()
        yield from dataset.to_batches(columns=list(columns), filter=where)


@contextmanager
def _readable(table: str) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise DataError(
            f"cannot read the table {table}: {error}", hint="has the lake been set up?"
        ) from error
