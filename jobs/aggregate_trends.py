"""Aggregates the trends of one time slice, the windows that end in it, into the staged results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from elsinore.engine.plan import compile_plan
from elsinore.lake.plans import load_plan, load_statistics
from elsinore.lake.run_metrics import AGGREGATE_STEP as STEP
from elsinore.lake.run_metrics import note_metrics, sharing_metrics
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.aggregate import aggregate
from elsinore.spark.session import connected

JOB = "aggregate_trends"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Aggregate under the plan of the run that the slice belongs to."""
    declared = Lake.open(settings)
    workload = load_workload(settings.workload_file, declared.stream)
    with connected(declared, settings, arguments.session(JOB)) as lake:
        slice_ = arguments.interval
        static_plan = load_plan(lake, workload, slice_)
        statistics = load_statistics(lake, static_plan.statistics_fingerprint)
        plan = compile_plan(workload, statistics, static_plan=static_plan)
        begun = time.perf_counter()
        aggregated = aggregate(
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
