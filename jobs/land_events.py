"""Lands the raw files of an interval's hours, and says which published hours that re-opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.lake.stale_hours import reopen_hours
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.land import land_events
from elsinore.spark.session import connected
from elsinore.timeline import format_instant

JOB = "land_events"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Land, and give the counts and the re-opened hours, each stretch with `start` and `end`."""
    declared = Lake.open(settings)
    workload = load_workload(settings.workload_file, declared.stream)
    with connected(declared, settings, arguments.session(JOB)) as lake:
        interval, run = arguments.interval, arguments.run
        figures = land_events(lake, settings, interval, run=run)
        reopened = reopen_hours(lake, workload, interval, figures=figures, run=run)
        borders = [
            {"start": format_instant(part.start), "end": format_instant(part.end)}
            for part in reopened
        ]
        return {**figures, "reopened": borders}
