"""Results in the lake by query, and which hours are published for which; read without a JVM."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from elsinore.lake.delta_log import read_by_day, read_rows
from elsinore.lake.provenance import PUBLICATIONS, PUBLISHED, read_publications
from elsinore.lake.regions import Hours
from elsinore.lake.stale_hours import stale_hours
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import Interval, hour_label, hours_of

#: What a result is of.
PLACE = ["query", "group_key", "window_start"]


class TopResult(NamedTuple):
    """The largest count of a query over all groups and windows.

    Attributes:
        aggregate: the count, as RETURN spells it.
        exact: its digits in full.
        log2: its binary logarithm, for counts beyond what people read; None for zero.
        group_key: the group as JSON.
        window_start: first instant of the window, UTC.
        window_end: first instant after it, UTC.
    """

    aggregate: str
    exact: str
    log2: float | None
    group_key: str
    window_start: datetime
    window_end: datetime

    @property
    def rank(self) -> tuple[bool, int, str, datetime]:
        """By which the largest is told: COUNT(*) before other counts."""
        return self.aggregate == "COUNT(*)", int(self.exact), self.group_key, self.window_start


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
    columns = ["query", *TopResult._fields] if tops else PLACE
    for rows in read_by_day(lake, table, hours, columns=columns):
        for query, number in _numbers(rows):
            found.setdefault(query, ResultCounts()).values += number
        for query, number in _numbers(rows.group_by(PLACE).aggregate([])):
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
    counts = counts.append_column("size", pc.fill_null(counts["log2"], -1.0))
    best = counts.group_by(key).aggregate([("size", "max")])
    near = counts.join(best, key)
    near = near.filter(pc.equal(near["size"], near["size_max"]))
    rows = near.select(["query", *TopResult._fields]).to_pylist()
    return [(row.pop("query"), TopResult(**row)) for row in rows]


# ---- what is published


def published_hours(lake: Path, workload: Workload, interval: Interval) -> dict[str, Any]:
    """Look up what is published of an interval's hours; without a lake, nothing is.

    Returns:
        For JSON: how many `hours` were asked for; `published_hours`, how many of them were
        published for the workload and hold what they should, no event of their windows having
        changed since; `other_queries`, names of queries with results there that the workload does
        not have, or not with the same text.

    Raises:
        DataError: a table cannot be read.
    """
    labels = [hour_label(hour) for hour in hours_of(interval)]
    if not DeltaTable.is_deltatable(str(lake / PUBLICATIONS)):
        return {"hours": len(labels), "published_hours": 0, "other_queries": []}
    wanted = workload_fingerprint(workload)
    stale = {
        hour_label(hour)
        for part in stale_hours(lake, workload).inside([interval])
        for hour in hours_of(part)
    }
    done = [
        label
        for label, publication in read_publications(lake, labels).items()
        if publication.workload_fingerprint == wanted and label not in stale
    ]
    columns = ["query", "query_fingerprint"]
    owned = Hours(interval).expression(by_day=True)
    rows = read_rows(lake, PUBLISHED, columns=columns, where=owned)
    held = {tuple(row.values()) for row in rows.group_by(columns).aggregate([]).to_pylist()}
    known = {(query.name, query.fingerprint) for query in workload.queries}
    others = sorted({name for name, _ in held - known})
    return {"hours": len(labels), "published_hours": len(done), "other_queries": others}
