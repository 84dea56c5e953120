"""Lands the raw files of an interval's hours, and says which other hours that re-opens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from elsinore.lake.provenance import standing
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import LAND_STEP, text_metrics
from elsinore.lake.stale_hours import reopen_hours, silent_hours
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.land import REFUSED, land_events
from elsinore.spark.session import connected
from elsinore.timeline import Interval

JOB = "land_events"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Land, and give the counts and what `Reopened.figures` says."""
    declared = Lake.open(settings)
    workload = load_workload(settings.workload_file, declared.stream)
    with connected(declared, settings, arguments.session(JOB)) as lake:
        interval, run = arguments.interval, arguments.run
        figures = land_events(lake, settings, interval, run=run)
        first = _refused_first(lake, workload, interval, figures)
        reopened = reopen_hours(
            lake, workload, interval, figures=figures, run=run,
            most=settings.reopen_hours, days=settings.late_days,
        )  # fmt: skip
        silent = {"silent_hours": silent_hours(lake.root, interval.end)}
        found = reopened.figures(settings.reopen_hours)
        return {**figures, **silent, **found, **standing(lake.root), "refused_first": first}


def _refused_first(
    lake: Lake, workload: Workload, interval: Interval, figures: Mapping[str, Any]
) -> dict[str, str]:
    """The refused landings that no other run has told of: each run tries all of them again."""
    told = text_metrics(lake, workload, LAND_STEP, REFUSED)
    told.pop(run_key(interval), None)
    known = {refused for text in told.values() for refused in json.loads(text).items()}
    return dict(json.loads(figures.get(REFUSED, "{}")).items() - known)
