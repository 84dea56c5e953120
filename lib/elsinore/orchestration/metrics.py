"""Figures of steps as metrics of Airflow, which sends them wherever its configuration says.

Airflow makes what it sends them by in each task's process and flushes it as the process ends; a
step that has another process is told of in the task's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk.observability import stats

from elsinore.orchestration.metric_names import METRICS, PUBLISHED_AGE, STEP_DURATION
from elsinore.timeline import SECOND


def send_metrics(
    dag: str, step: str, figures: Mapping[str, Any], *, workload: str, seconds: float, failed: bool
) -> None:
    """Tell Airflow's metrics of a step of a DAG: its figures, or the fields of its error.

    Those of a workload other than the stream's first are told apart by its name.
    """
    tags = {"dag_id": dag, "step": step} | ({"workload": workload} if workload else {})
    state = {"state": "failed" if failed else "success"}
    stats.timing(STEP_DURATION.name, timedelta(seconds=seconds), tags=tags | state)
    for metric in METRICS:
        value = figures.get(metric.figure)
        if value is None or metric.step not in ("", step):
            continue
        if metric.kind == "gauge":
            stats.gauge(metric.name, value, tags=tags)
        else:  # an error lists what a result counts
            stats.incr(metric.name, value if isinstance(value, int) else len(value), tags=tags)
    if "published_until" in figures:
        age = time.time() - figures["published_until"] / SECOND
        stats.gauge(PUBLISHED_AGE.name, age, tags=tags)
