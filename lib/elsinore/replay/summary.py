"""What a replay left in the tables, read without a JVM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from elsinore.quality.judgement import load_judgement
from elsinore.quality.lake import ResultCounts, count_results, read_rows
from elsinore.settings import Settings
from elsinore.spark.published_origin import PUBLISHED
from elsinore.spark.regions import Hours, Landings, run_key
from elsinore.timeline import Interval


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """What a replay left.

    Attributes:
        interval: the replayed hours.
        seconds: time from the command to the last task's end.
        landed: sums over the landings of the hours: files, lines, accepted, duplicates,
            quarantined.
        queries: published results by query, in the order of names.
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
    queries: dict[str, ResultCounts]
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
    owned, landed = Hours(interval), Landings(interval)
    landings = read_rows(settings.lake, "landings", where=landed.expression(by_day=False))
    checks = read_rows(
        settings.lake,
        "validations",
        columns=["status", "mismatch"],
        where=owned.expression(by_day=False),
    )
    sums = {
        name: pc.sum(landings[name]).as_py() or 0
        for name in ("files", "lines", "accepted", "duplicates", "quarantined")
    }
    statuses = checks["status"].to_pylist()
    run = run_key(interval)
    judgement = load_judgement(settings.quality, run)
    return ReplaySummary(
        interval=interval,
        seconds=seconds,
        landed=sums,
        queries=count_results(settings.lake, PUBLISHED, owned, tops=True),
        checked=statuses.count("checked"),
        mismatches=pc.sum(checks["mismatch"]).as_py() or 0,
        skipped=statuses.count("skipped"),
        report=_existing(settings.reports / f"{run}.html"),
        data_docs=judgement.docs if judgement else None,
        log=log,
    )


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None
