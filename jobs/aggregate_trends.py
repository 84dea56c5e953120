"""Aggregates the trends of one time slice, the windows that end in it, into the staged results."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from elsinore.engine.plan import compile_plan
from elsinore.errors import DataError, ElsinoreError, EngineError, LostWorkerError
from elsinore.lake.answered import answered_by, joined
from elsinore.lake.plans import load_plan, load_statistics, plan_run
from elsinore.lake.run_metrics import AGGREGATE_STEP as STEP
from elsinore.lake.run_metrics import note_metrics, record_failed, sharing_metrics
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings
from elsinore.spark.aggregate import aggregate
from elsinore.spark.session import open_session
from elsinore.timeline import HOUR

#: What may be wrong with some of the hours alone.
_OF_HOURS = DataError, EngineError, LostWorkerError


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Aggregate all workloads of the run under the plan of the run that the slice belongs to.

    Where that fails for hours that are not the run's own, their halves are staged if they can be.
    Later runs take all of these on one by one (`hours_to_reopen`): they do not wait for what is
    wrong with some.
    """
    if arguments.landed:
        return _aggregate(arguments, settings)
    try:
        return _known_to_fail(arguments, settings)
    except _OF_HOURS:  # perhaps of some of them alone
        if arguments.interval.length > HOUR:
            for half in arguments.interval.split(2, grain=HOUR):
                with suppress(ElsinoreError):  # the one that is raised tells what it is
                    _known_to_fail(replace(arguments, interval=half), settings)
        raise


def _known_to_fail(arguments: Arguments, settings: Settings) -> Figures:
    """Aggregate, or record that these hours cannot be."""
    answered = answered_by(settings, arguments.workloads)
    version = answered[0].lake.version("events")
    try:
        return _aggregate(arguments, settings)
    except BaseException as error:  # Airflow's timeouts are no others
        # What is no matter of the hours is over some time.
        if not isinstance(error, ElsinoreError) or isinstance(error, _OF_HOURS):
            for one in answered:
                record_failed(
                    one.lake, one.workload, arguments.interval, version, run=arguments.run
                )
        raise


def _aggregate(arguments: Arguments, settings: Settings) -> Figures:
    answered, slice_ = answered_by(settings, arguments.workloads), arguments.interval
    lake, workload = answered[0].lake, joined(answered)
    # A session has the same name whenever the job is tried again.
    with open_session(settings, f"aggregate_trends {slice_} {arguments.run}") as spark:
        if arguments.by_hand:  # a command: no other step has found one
            plan_run(lake, workload, slice_, run=arguments.run)
        static_plan = load_plan(lake, workload, slice_)
        statistics = load_statistics(lake, static_plan.statistics_fingerprint)
        plan = compile_plan(workload, statistics, static_plan=static_plan)
        aggregated = aggregate(
            spark,
            answered,
            slice_,
            static_plan=static_plan.fingerprint,
            plan=plan,
            parts=settings.shuffle_partitions,
            run=arguments.run,
        )
    figures = aggregated.figures()
    shared = sharing_metrics(plan, aggregated.counts)
    for one in answered:
        own = {"rows": aggregated.rows_of.get(one.name, 0)}
        note_metrics(one.lake, one.workload, slice_, STEP, figures | own | shared)
    return figures
