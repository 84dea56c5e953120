"""Says which hours of an interval are to be computed anew, and what is left after them."""

from __future__ import annotations

from elsinore.lake.answered import answered_by
from elsinore.lake.stale_hours import hours_to_reopen
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """For runs that catch up: nothing lands, and nothing but the interval is taken on."""
    answered = answered_by(settings, arguments.workloads)
    for one in answered:
        one.lake.create_all()
    ours, days = [(one.lake.root, one.workload) for one in answered], settings.late_days
    most = settings.reopen_hours
    return hours_to_reopen(ours, arguments.interval, most=0, next_most=most, days=days)
