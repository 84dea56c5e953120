"""The hours that a run recomputes beside its own, since events in their windows have changed."""

from __future__ import annotations

import json

from elsinore.errors import ParameterError
from elsinore.query.bound import Workload
from elsinore.spark.regions import run_key
from elsinore.spark.run_metrics import record_metrics, text_metrics
from elsinore.spark.stale_hours import stale_hours
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, format_instant

#: The step's name in `run_metrics`, and its metric: the hours as JSON.
REOPEN_STEP, HOURS = "reopen", "hours"


def reopen_hours(
    lake: Lake, workload: Workload, interval: Interval, *, run: str
) -> tuple[Interval, ...]:
    """Find the stale hours of a workload outside of a run's interval, and keep them for its steps.

    Returns:
        The hours, neighbours together, each stretch to be aggregated and validated by itself.

    Raises:
        ConflictError: another run over the same interval wrote meanwhile.
    """
    found = stale_hours(lake.root, workload).outside(interval)
    if found or reopened_hours(lake, interval):
        borders = [[format_instant(part.start), format_instant(part.end)] for part in found]
        record_metrics(lake, interval, REOPEN_STEP, {HOURS: json.dumps(borders)}, run=run)
    return found


def reopened_hours(lake: Lake, interval: Interval) -> tuple[Interval, ...]:
    """What `reopen_hours` found last for a run; nothing where it was not asked.

    Raises:
        ParameterError: the metric is damaged.
    """
    text = text_metrics(lake, REOPEN_STEP, HOURS).get(run_key(interval), "[]")
    try:
        return tuple(Interval.parse(start, end) for start, end in json.loads(text))
    except (ValueError, TypeError, AttributeError) as error:
        raise ParameterError(f"the hours that {interval} re-opened are damaged: {error}") from error
