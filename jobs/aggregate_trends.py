"""Aggregates the trends of one time slice, the windows that end in it, into the staged results."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from elsinore.engine.plan import compile_plan
from elsinore.errors import DataError, ElsinoreError, EngineError, LostWorkerError
from elsinore.lake.answered import answered_by, joined
from elsinore.lake.plans import load_plan, load_statistics
from elsinore.lake.run_metrics import AGGREGATE_STEP as STEP
from elsinore.lake.run_metrics import note_metrics, sharing_metrics
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings
from elsinore.spark.aggregate import aggregate
from elsinore.spark.session import open_session
from elsinore.timeline import HOUR


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Aggregate all workloads of the run under the plan of the run that the slice belongs to.

    Where that fails for hours that are not the run's own, their halves are staged if they can be.
    The next run takes staged hours on one by one (`hours_to_reopen`): they do not wait for what is
    wrong with the others.
    """
    try:
        return _aggregate(arguments, settings)
    except (DataError, EngineError, LostWorkerError):  # perhaps of some of the hours alone
        if not arguments.landed and arguments.interval.length > HOUR:
            for half in arguments.interval.split(2, grain=HOUR):
                with suppress(ElsinoreError):  # the one that is raised tells what it is
                    _aggregate(replace(arguments, interval=half), settings)
        raise


def _aggregate(arguments: Arguments, settings: Settings) -> Figures:
    answered, slice_ = answered_by(settings, arguments.workloads), arguments.interval
    lake, workload = answered[0].lake, joined(answered)
    # A session has the same name whenever the job is tried again.
    with open_session(settings, f"aggregate_trends {slice_} {arguments.run}") as spark:
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
