"""Aggregates the trends of one time slice, the windows that end in it, into the staged results."""

from __future__ import annotations

from elsinore.engine.plan import compile_plan
from elsinore.lake.answered import answered_by, joined
from elsinore.lake.plans import load_plan, load_statistics
from elsinore.lake.run_metrics import AGGREGATE_STEP as STEP
from elsinore.lake.run_metrics import note_metrics, sharing_metrics
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings
from elsinore.spark.aggregate import aggregate
from elsinore.spark.session import open_session


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Aggregate all workloads of the run under the plan of the run that the slice belongs to."""
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
