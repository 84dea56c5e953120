"""Lands the raw files of an interval's hours, and says which other hours that re-opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.lake.provenance import standing
from elsinore.lake.stale_hours import reopen_hours, silent_hours
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.land import land_events
from elsinore.spark.session import connected

JOB = "land_events"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Land, and give the counts and what `Reopened.figures` says."""
    declared = Lake.open(settings)
    workload = load_workload(settings.workload_file, declared.stream)
    with connected(declared, settings, arguments.session(JOB)) as lake:
        interval, run = arguments.interval, arguments.run
        figures = land_events(lake, settings, interval, run=run)
        reopened = reopen_hours(
            lake, workload, interval, figures=figures, run=run,
            most=settings.reopen_hours, days=settings.late_days,
        )  # fmt: skip
        silent = {"silent_hours": silent_hours(lake.root, interval.end)}
        found = reopened.figures(settings.reopen_hours)
        return {**figures, **silent, **found, **standing(lake.root)}
