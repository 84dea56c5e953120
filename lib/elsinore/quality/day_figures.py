"""Figures of the days up to a run, for trends: read from the lake's small tables."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from elsinore.quality.lake import read_rows
from elsinore.timeline import DAY, Interval, format_instant, hour_label, hours_of

#: How many days a trend shows, the run's own last.
DAYS = 14


@dataclass(slots=True)
class DayFigures:
    """One day (UTC): landings by the hour of their files, results by the hour that owns them.

    Attributes:
        day: as `2013-02-08`.
        lines, accepted, duplicates, quarantined: of landings; `superseded` of the quarantined were
            older versions of an event that was corrected.
        rows: published rows.
        checked: of these, how many the reference has answered too.
        mismatches: how many of all checked rows differ.
        events, seconds: what aggregation read, and how long it took.
    """

    day: str
    lines: int = 0
    accepted: int = 0
    duplicates: int = 0
    quarantined: int = 0
    superseded: int = 0
    rows: int = 0
    checked: int = 0
    mismatches: int = 0
    events: float = 0.0
    seconds: float = 0.0

    @property
    def coverage(self) -> float:
        """Share of the published rows that were checked, 0 to 1."""
        return min(self.checked / self.rows, 1.0) if self.rows else 0.0

    @property
    def throughput(self) -> float:
        """Events that aggregation read in a second; 0 where that was not measured."""
        return self.events / self.seconds if self.seconds else 0.0


def read_day_figures(lake: Path, interval: Interval, days: int = DAYS) -> tuple[DayFigures, ...]:
    """The days up to the last one of an interval, oldest first; from the first with any figures on.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    last = (interval.end - 1) // DAY
    found = {
        label: DayFigures(label)
        for label in (format_instant(day * DAY)[:10] for day in range(last - days + 1, last + 1))
    }
    whole = Interval((last - days + 1) * DAY, (last + 1) * DAY)
    hours = [hour_label(hour) for hour in hours_of(whole)]
    _add_landings(lake, hours, found)
    _add_results(lake, hours, found)
    _add_throughput(lake, found)
    empty = [day == DayFigures(label) for label, day in found.items()]
    first = empty.index(False) if False in empty else len(empty)
    return tuple(found.values())[first:]


def _add_landings(lake: Path, hours: list[str], days: dict[str, DayFigures]) -> None:
    for row in read_rows(lake, "landings", landing=hours).to_pylist():
        day = days[row["landing"][:10]]
        for name in ("lines", "accepted", "duplicates", "quarantined"):
            setattr(day, name, getattr(day, name) + row[name])
        day.superseded += json.loads(row["reasons"]).get("superseded", 0)


def _add_results(lake: Path, hours: list[str], days: dict[str, DayFigures]) -> None:
    published = read_rows(lake, "publications", columns=["owned_hour", "rows"], owned_hour=hours)
    for row in published.to_pylist():
        days[row["owned_hour"][:10]].rows += row["rows"]
    checks = read_rows(
        lake, "validations",
        columns=["owned_hour", "status", "mismatch", "published_exact", "published_value"],
        owned_hour=hours,
    )  # fmt: skip
    there = pc.or_(pc.is_valid(checks["published_exact"]), pc.is_valid(checks["published_value"]))
    done = pc.and_(pc.equal(checks["status"], "checked"), there)
    for name, chosen in (("checked", done), ("mismatches", checks["mismatch"])):
        counts = checks.filter(chosen).group_by("owned_hour").aggregate([([], "count_all")])
        for row in counts.to_pylist():
            day = days[row["owned_hour"][:10]]
            setattr(day, name, getattr(day, name) + row["count_all"])


def _add_throughput(lake: Path, days: dict[str, DayFigures]) -> None:
    """Aggregation by the day that a slice begins in; of slices that overlap, each counts."""
    metrics = read_rows(
        lake, "run_metrics", columns=["run_key", "metric", "value"],
        where=pc.field("run_key") >= min(days), step=["aggregate"], metric=["events", "seconds"],
    )  # fmt: skip
    slices: dict[str, dict[str, float]] = defaultdict(dict)
    for row in metrics.to_pylist():
        slices[row["run_key"]][row["metric"]] = row["value"] or 0.0
    for key, figures in slices.items():
        day = days.get(key[:10])
        # Events whose time was not taken would make others look faster.
        if day is not None and {"events", "seconds"} <= figures.keys():
            day.events += figures["events"]
            day.seconds += figures["seconds"]
