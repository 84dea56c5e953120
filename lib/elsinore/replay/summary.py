"""What a replay left in the tables, read without a JVM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from elsinore.errors import DataError
from elsinore.quality.judgement import load_judgement
from elsinore.settings import Settings
from elsinore.timeline import Interval, hour_label, hours_of


@dataclass(frozen=True, slots=True)
class TopResult:
    """The largest count of a query over all groups and windows.

    Attributes:
        aggregate: the count, as RETURN spells it.
        exact: its digits in full.
        log2: its binary logarithm, for counts beyond what people read.
        group: the group as JSON.
        window_start: first instant of the window, UTC.
        window_end: first instant after it, UTC.
    """

    aggregate: str
    exact: str
    log2: float
    group: str
    window_start: datetime
    window_end: datetime


@dataclass(frozen=True, slots=True)
class QueryResults:
    """One query's published results: how many (group, window) rows, and the largest count."""

    query: str
    rows: int
    top: TopResult | None


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """What a replay left.

    Attributes:
        interval: the replayed hours.
        seconds: time from the command to the last task's end.
        landed: sums over the landings of the hours: files, lines, accepted, duplicates,
            quarantined.
        queries: per query, in the order of names.
        checked: values that the reference recomputed.
        mismatches: how many of them differ; 0 in published results.
        skipped: values whose check was given up, being too costly.
        report: the run's quality report, if there is one.
        data_docs: start page of the Data Docs, if there is one.
        log: Airflow's log of the run.
    """

    interval: Interval
    seconds: float
    landed: dict[str, int]
    queries: tuple[QueryResults, ...]
    checked: int
    mismatches: int
    skipped: int
    report: Path | None
    data_docs: Path | None
    log: Path


def read_summary(
    settings: Settings, interval: Interval, *, log: Path, seconds: float
) -> ReplaySummary:
    """Read what the tables say about a stretch of hours.

    Raises:
        DataError: a table is missing.
    """
    hours = [hour_label(hour) for hour in hours_of(interval)]
    landings = _read(settings.lake / "landings", "landing", hours)
    results = _read(settings.lake / "trend_aggregates", "owned_hour", hours)
    validations = _read(settings.lake / "validations", "owned_hour", hours)
    sums = {
        name: pc.sum(landings[name]).as_py() or 0
        for name in ("files", "lines", "accepted", "duplicates", "quarantined")
    }
    statuses = validations["status"].to_pylist()
    run = f"{hour_label(interval.start)}_{hour_label(interval.end)}"
    judgement = load_judgement(settings.quality, run)
    return ReplaySummary(
        interval=interval,
        seconds=seconds,
        landed=sums,
        queries=_by_query(results),
        checked=statuses.count("checked"),
        mismatches=pc.sum(validations["mismatch"]).as_py() or 0,
        skipped=statuses.count("skipped"),
        report=_existing(settings.reports / f"{run}.html"),
        data_docs=Path(judgement.docs_index) if judgement else None,
        log=log,
    )


def _read(path: Path, partition: str, hours: list[str]) -> pa.Table:
    try:
        table = DeltaTable(path)
    except TableNotFoundError as error:
        raise DataError(f"there is no table {path.name}", hint=f"looked at {path}") from error
    return table.to_pyarrow_table(filters=[(partition, "in", hours)])


def _by_query(results: pa.Table) -> tuple[QueryResults, ...]:
    found = []
    for query in sorted(pc.unique(results["query"]).to_pylist()):
        rows = results.filter(pc.equal(results["query"], query))
        # Every (group, window) has one row for each aggregate.
        keys = rows.group_by(["group_key", "window_start"]).aggregate([])
        found.append(QueryResults(query, keys.num_rows, _top(rows)))
    return tuple(found)


def _top(rows: pa.Table) -> TopResult | None:
    """The largest COUNT(*), or else the largest other count, or nothing."""
    labels = sorted(label for label in pc.unique(rows["aggregate"]).to_pylist())
    counts = [label for label in labels if label.startswith("COUNT(")]
    if not counts:
        return None
    label = "COUNT(*)" if "COUNT(*)" in counts else counts[0]
    chosen = rows.filter(pc.equal(rows["aggregate"], label)).to_pylist()
    best = max(chosen, key=lambda row: (int(row["exact"]), row["group_key"], row["window_start"]))
    log2 = best["log2"]
    return TopResult(
        aggregate=label,
        exact=best["exact"],
        log2=-math.inf if log2 is None else log2,
        group=best["group_key"],
        window_start=best["window_start"].astimezone(UTC),
        window_end=best["window_end"].astimezone(UTC),
    )


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None
