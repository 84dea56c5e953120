"""Lands the raw files of an interval's hours, and says which published hours that re-opens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.land import land_events
from elsinore.spark.reopened import reopen_hours
from elsinore.spark.session import open_session
from elsinore.spark.tables import Lake
from elsinore.timeline import format_instant
from jobs.edge import Arguments, run_job

JOB = "land_events"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Land, and give the counts and the re-opened hours, each stretch with `start` and `end`."""
    lake = Lake.open(open_session(settings, JOB), settings)
    workload = load_workload(settings.workload_file, lake.stream)
    figures = land_events(lake, settings, arguments.interval, run=arguments.run)
    reopened = reopen_hours(lake, workload, arguments.interval, run=arguments.run)
    borders = [
        {"start": format_instant(part.start), "end": format_instant(part.end)} for part in reopened
    ]
    return {**figures, "reopened": borders}


if __name__ == "__main__":
    run_job(JOB, main)
