"""Finds the static plan of a run from the events that it reads, or takes the one in force."""

from __future__ import annotations

from elsinore.lake.answered import answered_by, joined
from elsinore.lake.plans import PLAN, plan_run
from elsinore.ledger.results import event_changes
from elsinore.ledger.run_metrics import note_metrics
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings
from elsinore.spark.tasks import in_tasks_of


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Count, find, keep, and say what was decided; Spark counts very many events, and no others."""
    answered, interval = answered_by(settings, arguments.workloads), arguments.interval

    lake, workload = answered[0].lake, joined(answered)
    changes = event_changes(state_of(settings.of_workload(answered[0].name)))
    with in_tasks_of(settings, f"find_plan {interval} {arguments.run}") as in_tasks:
        found = plan_run(
            lake, workload, interval, changes=changes, run=arguments.run, in_tasks=in_tasks
        )
    if len(answered) > 1:  # for the report of each
        for one in answered:
            note_metrics(one.lake, one.fingerprint, interval, PLAN, found.figures)
    return {**found.figures, "reused": found.reused}
