"""Finds the static plan of a run from the events that it reads, or takes the one in force."""

from __future__ import annotations

from elsinore.lake.plans import plan_run
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Count, find, keep, and say what was decided; without Spark."""
    lake = Lake.open(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    found = plan_run(lake, workload, arguments.interval, run=arguments.run)
    return {**found.figures, "reused": found.reused}
