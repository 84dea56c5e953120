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

from elsinore.timeline import SECOND

#: Counters, by the figures that they add up, of each step.
COUNTED: dict[str, dict[str, str]] = {
    "land_events": {
        "lines": "elsinore.lines.landed",
        "duplicates": "elsinore.lines.duplicates",
        "quarantined": "elsinore.lines.quarantined",
        "reopened_hours": "elsinore.hours.reopened",
    },
    "validate_results": {"mismatches": "elsinore.mismatches"},
}

#: Gauges, by the figures that they show, of all steps that give them.
SHOWN = {"hours_left": "elsinore.hours.left", "provisional_hours": "elsinore.hours.provisional"}

#: Seconds since the end of the latest published hour (a gauge), and a step's duration (a timer).
AGE, DURATION = "elsinore.published.age", "elsinore.step.duration"


def send_metrics(
    dag: str, step: str, figures: Mapping[str, Any], *, workload: str, seconds: float, failed: bool
) -> None:
    """Send the metrics of a step of a DAG: its counts, or the fields of its error.

    For a workload other than the first of the stream, their names contain its name.
    """
    tags = {"dag_id": dag, "step": step} | ({"workload": workload} if workload else {})
    state = {"state": "failed" if failed else "success"}
    stats.timing(DURATION, timedelta(seconds=seconds), tags=tags | state)
    for figure, name in COUNTED.get(step, {}).items():
        if (found := figures.get(figure)) is not None:
            # An error names what others count.
            stats.incr(name, found if isinstance(found, int) else len(found), tags=tags)
    for figure, name in SHOWN.items():
        if figure in figures:
            stats.gauge(name, figures[figure], tags=tags)
    if "published_until" in figures:
        stats.gauge(AGE, time.time() - figures["published_until"] / SECOND, tags=tags)
