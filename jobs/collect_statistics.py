"""Counts what a run's plan is found from, measures its stream, and keeps both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.plans import (
    PROFILE_FINGERPRINT,
    STATISTICS,
    STATISTICS_FINGERPRINT,
    store_statistics,
)
from elsinore.spark.profile import collect_profile
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
    version = lake.version("events")
    statistics = collect_statistics(lake, workload, arguments.interval, version=version)
    profile = collect_profile(lake, workload, arguments.interval, version=version)
    store_statistics(lake, workload, statistics, profile)
    counts: dict[str, Metric] = {f"events_{name}": count for name, count in statistics.events}
    names: dict[str, Metric] = {
        STATISTICS_FINGERPRINT: statistics.fingerprint,
        PROFILE_FINGERPRINT: profile.fingerprint,
    }
    record_metrics(lake, arguments.interval, STATISTICS, names | counts, run=arguments.run)
    return names | {"events": sum(statistics.by_type.values())}


if __name__ == "__main__":
    run_job(JOB, main)
