"""The hours that a run recomputes beside its own, since events in their windows have changed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from elsinore.errors import ParameterError
from elsinore.query.bound import Workload
from elsinore.spark.run_metrics import Metric, find_text, record_metrics
from elsinore.spark.stale_hours import stale_hours
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, format_instant

#: The step's name in `run_metrics`, and its metric: the hours as JSON.
LAND_STEP, REOPENED = "land", "reopened"


def reopen_hours(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    *,
    figures: Mapping[str, Metric],
    run: str,
) -> tuple[Interval, ...]:
    """Find the stale hours of a workload outside of a run's interval, and keep them for its steps.

    Args:
        lake: the tables.
        workload: whose windows count.
        interval: the hours of the run, which have landed.
        figures: what else to record of the landing, in the same commit.
        run: what to write into the table's history.

    Returns:
        The hours, neighbours together, each stretch to be aggregated and validated by itself.

    Raises:
        ConflictError: another run over the same interval wrote meanwhile.
    """
    found = stale_hours(lake.root, workload).outside(interval)
    borders = [[format_instant(part.start), format_instant(part.end)] for part in found]
    metrics = {**figures, REOPENED: json.dumps(borders)}
    record_metrics(lake, interval, LAND_STEP, metrics, run=run)
    return found


def reopened_hours(lake: Lake, interval: Interval) -> tuple[Interval, ...]:
    """What `reopen_hours` found last for a run; nothing where it was not asked.

    Raises:
        ParameterError: the metric is damaged.
    """
    text = find_text(lake, interval, LAND_STEP, REOPENED) or "[]"
    try:
        return tuple(Interval.parse(start, end) for start, end in json.loads(text))
    except (ValueError, TypeError, AttributeError) as error:
        raise ParameterError(f"the hours that {interval} re-opened are damaged: {error}") from error
