"""Reads rows of the lake's Delta tables as Arrow, without a JVM; never writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from elsinore.errors import DataError


def read_rows(
    lake: Path, table: str, *, columns: Sequence[str] | None = None, **allowed: Sequence[str]
) -> pa.Table:
    """Rows of a table's newest version.

    Args:
        lake: folder of the Delta tables.
        table: name of the table.
        columns: columns to read; None: all.
        **allowed: by text column, the values that a row must have one of.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    condition: ds.Expression | None = None
    for column, values in allowed.items():
        one = ds.field(column).isin(pa.array(list(values), pa.string()))
        condition = one if condition is None else condition & one
    try:
        dataset = DeltaTable(str(lake / table)).to_pyarrow_dataset()
        return dataset.to_table(columns=list(columns) if columns else None, filter=condition)
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise DataError(
            f"cannot read the table {table}: {error}", hint="has the lake been set up?"
        ) from error
