"""Returns which hours of a backlog are left after those of the run."""

from __future__ import annotations

from elsinore.lake.answered import answered_by
from elsinore.ledger.table import Ledger
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.planned_hours import hours_to_recompute
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """For runs that catch up: they ingest nothing, and compute no hours but their own."""
    answered = answered_by(settings, arguments.workloads)
    ledger = Ledger.open(settings)
    return hours_to_recompute(ledger, settings, answered, arguments.interval, most=0)
