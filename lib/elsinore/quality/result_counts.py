"""How many results each query has, and which count is its largest; read a day at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.lake.regions import Hours
from elsinore.quality.lake import read_by_day

_PLACE = ["query", "group_key", "window_start"]


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
