"""Finds the static plan of a run, or takes the one that was found for the same statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.spark.plans import PLAN_FINGERPRINT, plan_run
from elsinore.spark.session import open_session
from elsinore.spark.tables import Lake
from jobs.edge import Arguments, run_job

JOB = "find_plan"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Find, keep, and say what was chosen."""
    lake = Lake.open(open_session(settings, JOB), settings)
    workload = load_workload(settings.workload_file, lake.stream)
    found = plan_run(lake, workload, arguments.interval, run=arguments.run)
    return {
        PLAN_FINGERPRINT: found.plan.fingerprint,
        "candidates": len(found.plan.candidates),
        "chosen": len(found.plan.chosen),
        "score": found.plan.score,
        "reused": found.reused,
    }


if __name__ == "__main__":
    run_job(JOB, main)
