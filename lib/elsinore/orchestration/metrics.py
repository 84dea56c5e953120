"""Metrics of steps for Airflow, which sends them to the receivers in its configuration.

Airflow creates the client in each task's process and flushes it as the process ends, so the task's
process also sends the metrics of a step in another process.
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
    """Send the metrics of a step of a DAG: its counts, or the fields of its error.

    For a workload other than the first of the stream, their names contain its name.
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
