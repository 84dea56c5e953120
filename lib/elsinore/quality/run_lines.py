"""The runs behind some hours, and which of the hours are published: for the report of a night."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow.compute as pc

from elsinore.lake.provenance import Publication, read_publications
from elsinore.quality.lake import read_rows
from elsinore.timeline import Interval, hour_label, hours_of


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run that validated results of these hours, by what it reported.

    Attributes:
        key: its first hour and its end hour.
        outcome: of its validation, in words.
        results, checked, mismatches: staged results, those that were checked, values that differ.
        strata, strata_covered: classes of results by query and size, and those with a check.
        page: its report beside this page, if there is one.
    """

    key: str
    outcome: str
    results: int
    checked: int
    mismatches: int
    strata: int
    strata_covered: int
    page: str | None


@dataclass(frozen=True, slots=True)
class Publishing:
    """What of some hours is published.

    Attributes:
        hours: how many there are.
        missing: labels of those that are not published.
        unsettled: labels of those whose run ended between two commits.
        last: when the last of them was published; None where none was.
        workloads: names of the workloads they were published for.
        runs: the runs that published them.
    """

    hours: int
    missing: tuple[str, ...]
    unsettled: tuple[str, ...]
    last: datetime | None
    workloads: tuple[str, ...]
    runs: tuple[str, ...]


def read_publishing(lake: Path, interval: Interval) -> Publishing:
    """What is published of an interval's hours.

    Raises:
        DataError: a table is missing or damaged.
    """
    labels = [hour_label(hour) for hour in hours_of(interval)]
    found: dict[str, Publication] = read_publications(lake, labels)
    return Publishing(
        hours=len(labels),
        missing=tuple(label for label in labels if label not in found),
        unsettled=tuple(sorted(label for label, one in found.items() if not one.settled)),
        last=max((one.published_at for one in found.values()), default=None),
        workloads=tuple(sorted({one.workload for one in found.values()})),
        runs=tuple(sorted({one.run for one in found.values()})),
    )


def read_runs(lake: Path, interval: Interval, pages: Path) -> tuple[RunLine, ...]:
    """The runs that lie within an interval, by their hours.

    Args:
        lake: folder of the Delta tables.
        interval: whole hours.
        pages: folder of the reports, to see which runs have one.

    Raises:
        DataError: the table of metrics is missing or cannot be read.
    """
    start, end = hour_label(interval.start), hour_label(interval.end)
    key = pc.field("run_key")
    rows = read_rows(lake, "run_metrics", where=(key >= start) & (key < end), step=["validate"])
    runs: dict[str, dict[str, float | str]] = defaultdict(dict)
    for row in rows.to_pylist():
        first, last = row["run_key"].split("_")
        if start <= first and last <= end:
            told = row["detail"] if row["value"] is None else row["value"]
            runs[row["run_key"]][row["metric"]] = told
    return tuple(_line(key, figures, pages) for key, figures in sorted(runs.items()))


def _line(key: str, figures: dict[str, float | str], pages: Path) -> RunLine:
    def number(metric: str) -> int:
        return int(float(figures.get(metric, 0)))

    name = f"{key}.html"
    return RunLine(
        key=key,
        outcome=str(figures.get("outcome", "unknown")),
        results=number("results"),
        checked=number("results_of_sample"),
        mismatches=number("mismatches"),
        strata=number("strata"),
        strata_covered=number("strata_covered"),
        page=name if (pages / name).is_file() else None,
    )
