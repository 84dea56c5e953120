"""Says which hours of an interval are to be computed anew, and what is left after them."""

from __future__ import annotations

from elsinore.catalog.load_schema import load_schema
from elsinore.lake.stale_hours import hours_to_reopen
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """For runs that catch up: nothing lands, and nothing but the interval is taken on."""
    workload = load_workload(settings.workload_file, load_schema(settings.schema_file))
    days = settings.late_days
    found = hours_to_reopen(settings.lake, workload, arguments.interval, most=0, days=days)
    return found.figures(settings.reopen_hours)
