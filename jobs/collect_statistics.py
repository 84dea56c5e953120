"""Counts what a run's plan is found from, and keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.plans import STATISTICS, STATISTICS_FINGERPRINT, store_statistics
from elsinore.spark.run_metrics import Metric, record_metrics
from elsinore.spark.session import open_session
from elsinore.spark.statistics import collect_statistics
from elsinore.spark.tables import Lake
from jobs.edge import Arguments, run_job

JOB = "collect_statistics"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Count, keep, and give the counts."""
    lake = Lake.open(open_session(settings, JOB), settings)
    workload = load_workload(settings.workload_file, lake.stream)
    statistics = collect_statistics(lake, workload, arguments.interval)
    store_statistics(lake, workload, statistics)
    counts: dict[str, Metric] = {f"events_{name}": count for name, count in statistics.events}
    name: dict[str, Metric] = {STATISTICS_FINGERPRINT: statistics.fingerprint}
    record_metrics(lake, arguments.interval, STATISTICS, name | counts, run=arguments.run)
    return name | {"events": sum(statistics.by_type.values())}


if __name__ == "__main__":
    run_job(JOB, main)
