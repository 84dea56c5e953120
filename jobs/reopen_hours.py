"""Says which hours of an interval are to be computed anew, and what is left after them."""

from __future__ import annotations

from elsinore.lake.stale_hours import NOTHING_LANDED, reopen_hours
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """For runs that catch up: nothing lands, and nothing but the interval is taken on."""
    lake = Lake.open(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    figures = {NOTHING_LANDED: "true"}
    found = reopen_hours(
        lake, workload, arguments.interval, figures=figures, most=0, days=settings.late_days
    )
    return found.figures(settings.reopen_hours)
