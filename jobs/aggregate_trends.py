"""Aggregates the windows that end in some hours into the staged results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from pyspark.sql import SparkSession

from elsinore.errors import ElsinoreError
from elsinore.executors.plan import compile_plan
from elsinore.lake.answered import Answered, answered_by, joined
from elsinore.lake.plans import load_plan, load_statistics, plan_run
from elsinore.lake.sharing_metrics import sharing_metrics
from elsinore.ledger.of_run import OF_HOURS, RunLedger
from elsinore.ledger.results import event_changes, lost, require_kept
from elsinore.ledger.rows import State, hours_in
from elsinore.ledger.run_metrics import AGGREGATE_STEP as STEP
from elsinore.ledger.run_metrics import note_metrics
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.publish.tables import ResultTables
from elsinore.settings import Settings
from elsinore.spark.aggregate_hours import Asked, EventsTable, aggregate_hours
from elsinore.spark.session import open_session
from elsinore.timeline import HOUR, Interval


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Aggregate all workloads of the run under the plan of the run that the hours belong to.

    If hours fail that are not the run's own, their halves are aggregated if possible. Later runs
    compute all of these hours one by one, so that a failure of some does not stop the others.
    """
    if arguments.ingested:
        return _aggregate(arguments, settings)
    try:
        return _aggregate(arguments, settings)
    except OF_HOURS:  # perhaps only some of them fail
        if arguments.interval.length > HOUR:
            for half in arguments.interval.split(2, grain=HOUR):
                with suppress(ElsinoreError):  # the one that is raised tells what it is
                    _aggregate(replace(arguments, interval=half), settings)
        raise


def _aggregate(arguments: Arguments, settings: Settings) -> Figures:
    answered, hours = answered_by(settings, arguments.workloads), arguments.interval
    ledger = RunLedger.open(settings, answered[0].lake.stream.name, STEP, arguments.run)
    _require_events(ledger, answered, hours)
    # A session has the same name whenever the job is tried again.
    with open_session(settings, f"aggregate_trends {hours} {arguments.run}") as spark:
        events = EventsTable.open(spark, settings)
        version = events.version()
        read = {
            one.title: {"events_version": version, "workload_fingerprint": one.fingerprint}
            for one in answered
        }
        with ledger.failures(hours, read):
            return _staged(arguments, settings, answered, events, version, ledger, spark)


def _require_events(ledger: RunLedger, answered: Sequence[Answered], hours: Interval) -> None:
    """Raise DataError if no workload has all events of its windows; publishing checks each."""
    states = [ledger.state(one.title) for one in answered]
    wanted = hours_in(hours)
    if all(
        len(lost(state, wanted, one.reach)) for state, one in zip(states, answered, strict=True)
    ):
        require_kept(states[0], wanted, answered[0].reach)


def _staged(
    arguments: Arguments, settings: Settings, answered: Sequence[Answered], events: EventsTable,
    version: int, ledger: RunLedger, spark: SparkSession,
) -> Figures:  # fmt: skip
    """Stage the results of all workloads, and record which version has them."""
    hours, run = arguments.interval, arguments.run
    lake, workload = answered[0].lake, joined(answered)
    changes = event_changes(ledger.state(answered[0].title))
    if arguments.by_hand:  # a command: no other step has found one
        plan_run(lake, workload, hours, changes=changes, run=run)
    static_plan = load_plan(lake, workload, hours)
    statistics = load_statistics(lake, static_plan.statistics_fingerprint)
    plan = compile_plan(workload, statistics, static_plan=static_plan, slice_length=hours.length)
    tables = [ResultTables.open(spark, settings.of_workload(one.name)) for one in answered]
    asked = [Asked(one.workload, own) for one, own in zip(answered, tables, strict=True)]
    done = aggregate_hours(
        events, asked, hours,
        static_plan=static_plan.fingerprint, plan=plan, parts=settings.shuffle_partitions, run=run,
        version=version, changes=changes,
    )  # fmt: skip
    figures = done.figures()
    choices = ((choice.query, choice.executor, choice.why) for choice in plan.choices)
    shared = sharing_metrics(choices, plan.sets, plan.alone, plan.together, done.counts)
    for one in answered:
        columns = {
            "events_version": version, "results_version": done.versions[one.name],
            "plan_fingerprint": static_plan.fingerprint, "workload_fingerprint": one.fingerprint,
        }  # fmt: skip
        ledger.append(State.AGGREGATED, hours, one.title, columns)
        own = {"rows": done.rows_of.get(one.name, 0)}
        note_metrics(one.lake, one.fingerprint, hours, STEP, figures | own | shared)
    return figures
