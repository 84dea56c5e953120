"""Publishes the validated results of an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from elsinore.quality.published_hours import WORKLOAD_FINGERPRINT
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.publish import PUBLISH_STEP, publish
from elsinore.spark.run_metrics import record_metrics
from elsinore.spark.session import open_session
from elsinore.spark.tables import Lake
from jobs.edge import Arguments, run_job

JOB = "publish_results"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """One commit, or none."""
    lake = Lake.open(open_session(settings, JOB), settings)
    workload = load_workload(settings.workload_file, lake.stream)
    published = publish(lake, workload, arguments.interval, run=arguments.run)
    figures = {**asdict(published), WORKLOAD_FINGERPRINT: workload_fingerprint(workload)}
    record_metrics(lake, arguments.interval, PUBLISH_STEP, figures, run=arguments.run)
    return figures


if __name__ == "__main__":
    run_job(JOB, main)
