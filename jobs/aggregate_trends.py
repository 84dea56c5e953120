"""Aggregates the trends of one time slice, the windows that end in it, into the staged results."""

from __future__ import annotations

import time

from elsinore.engine.plan import compile_plan
from elsinore.lake.plans import load_plan, load_statistics
from elsinore.lake.run_metrics import AGGREGATE_STEP as STEP
from elsinore.lake.run_metrics import note_metrics, sharing_metrics
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.aggregate import aggregate
from elsinore.spark.session import open_session


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Aggregate under the plan of the run that the slice belongs to."""
    lake, slice_ = Lake.open(settings), arguments.interval
    workload = load_workload(settings.workload_file, lake.stream)
    # A session has the same name whenever the job is tried again.
    with open_session(settings, f"aggregate_trends {slice_} {arguments.run}") as spark:
        static_plan = load_plan(lake, workload, slice_)
        statistics = load_statistics(lake, static_plan.statistics_fingerprint)
        plan = compile_plan(workload, statistics, static_plan=static_plan)
        begun = time.perf_counter()
        aggregated = aggregate(
            spark,
            lake,
            workload,
            slice_,
            static_plan=static_plan.fingerprint,
            plan=plan,
            parts=settings.shuffle_partitions,
            run=arguments.run,
        )
        seconds = round(time.perf_counter() - begun, 3)
    figures = {**aggregated.figures(), "seconds": seconds}
    shared = sharing_metrics(plan, aggregated.counts)
    note_metrics(lake, workload, slice_, STEP, figures | shared)
    return figures
