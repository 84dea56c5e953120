"""Reads rows of the lake's Delta tables as Arrow, without a JVM, and counts results by query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from elsinore.errors import DataError
from elsinore.lake.regions import Hours

_PLACE = ["query", "group_key", "window_start"]


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


@dataclass(frozen=True, slots=True)
class TopResult:
    """The largest count of a query over all groups and windows.

    Attributes:
        aggregate: the count, as RETURN spells it.
        exact: its digits in full.
        log2: its binary logarithm, for counts beyond what people read; None for zero.
        group: the group as JSON.
        window_start: first instant of the window, UTC.
        window_end: first instant after it, UTC.
    """

    aggregate: str
    exact: str
    log2: float | None
    group: str
    window_start: datetime
    window_end: datetime

    @property
    def rank(self) -> tuple[bool, int, str, datetime]:
        """By which the largest is told: COUNT(*) before other counts."""
        return self.aggregate == "COUNT(*)", int(self.exact), self.group, self.window_start


@dataclass(slots=True)
class ResultCounts:
    """One query's results: `rows` are (group, window)s, `values` the aggregates of all of them."""

    rows: int = 0
    values: int = 0
    top: TopResult | None = None


def count_results(
    lake: Path, table: str, hours: Hours, *, tops: bool = False
) -> dict[str, ResultCounts]:
    """By query, in the order of names, what a table of results holds of some hours.

    Args:
        lake: folder of the Delta tables.
        table: its name.
        hours: which.
        tops: whether to look for the largest counts.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    found: dict[str, ResultCounts] = {}
    columns = [*_PLACE, *(["window_end", "aggregate", "exact", "log2"] if tops else [])]
    for rows in read_by_day(lake, table, hours, columns=columns):
        for query, number in _numbers(rows):
            found.setdefault(query, ResultCounts()).values += number
        for query, number in _numbers(rows.group_by(_PLACE).aggregate([])):
            found[query].rows += number
        for query, top in _tops(rows) if tops else ():
            known = found[query].top
            found[query].top = top if known is None else max(known, top, key=lambda t: t.rank)
    return dict(sorted(found.items()))


def _numbers(rows: pa.Table) -> list[tuple[str, int]]:
    counts = pc.value_counts(rows["query"])
    return [(one["values"], one["counts"]) for one in counts.to_pylist()]


def _tops(rows: pa.Table) -> list[tuple[str, TopResult]]:
    """For each query the largest counts by their logarithms, among which digits decide."""
    key = ["query", "aggregate"]
    counts = rows.filter(pc.starts_with(rows["aggregate"], "COUNT("))
    size = pc.fill_null(counts["log2"], -1.0)
    counts = counts.append_column("size", size)
    best = counts.group_by(key).aggregate([("size", "max")])
    near = counts.join(best, key)
    return [
        (
            row["query"],
            TopResult(
                row["aggregate"], row["exact"], row["log2"], row["group_key"],
                row["window_start"], row["window_end"],
            ),
        )
        for row in near.filter(pc.equal(near["size"], near["size_max"])).to_pylist()
    ]  # fmt: skip
