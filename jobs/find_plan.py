"""Finds the static plan of a run from the events that it reads, or takes the one in force."""

from __future__ import annotations

from elsinore.lake.answered import answered_by, joined
from elsinore.lake.plans import PLAN, plan_run
from elsinore.lake.run_metrics import note_metrics
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Count, find, keep, and say what was decided; without Spark."""
    answered = answered_by(settings, arguments.workloads)
    found = plan_run(answered[0].lake, joined(answered), arguments.interval, run=arguments.run)
    if len(answered) > 1:  # for the report of each
        for one in answered:
            note_metrics(one.lake, one.workload, arguments.interval, PLAN, found.figures)
    return {**found.figures, "reused": found.reused}
