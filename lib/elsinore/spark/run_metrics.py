"""Figures of the steps of runs, in the table `run_metrics`."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.spark.regions import RunStep, run_key
from elsinore.spark.tables import Lake
from elsinore.step_clock import step_times
from elsinore.timeline import Interval

#: A figure, or a text.
Metric = float | int | str


def record_metrics(
    lake: Lake, interval: Interval, step: str, metrics: Mapping[str, Metric], *, run: str
) -> None:
    """Make these the figures of a step of the run over an interval, in place of earlier ones.

    Raises:
        ConflictError: another run over the same interval wrote meanwhile.
    """
    rows = [
        {"run_key": run_key(interval), "step": step, "metric": metric}
        | ({"detail": value} if isinstance(value, str) else {"value": float(value)})
        for metric, value in {**metrics, **step_times()}.items()
    ]
    lake.record("run_metrics", rows, where=RunStep(interval, step), run=run)


def text_metrics(lake: Lake, step: str, metric: str) -> dict[str, str]:
    """A metric that is a text, of all runs, by run key."""
    return _texts(lake, (pc.field("step") == step) & (pc.field("metric") == metric))


def find_text(lake: Lake, interval: Interval, step: str, metric: str) -> str | None:
    """A metric that is a text, of the run over exactly this interval; None where it has none."""
    key = run_key(interval)
    own = (pc.field("run_key") == key) & (pc.field("step") == step)
    return _texts(lake, own & (pc.field("metric") == metric)).get(key)


def text_metric(lake: Lake, interval: Interval, step: str, metric: str) -> str:
    """As `find_text`.

    Raises:
        DataError: that step of the run has not been done.
    """
    found = find_text(lake, interval, step, metric)
    if found is None:
        raise DataError(f"the run over {interval} has no {metric}", hint=f"run its step {step}")
    return found


def _texts(lake: Lake, where: pc.Expression) -> dict[str, str]:
    found = lake.rows("run_metrics", where, columns=["run_key", "detail"]).to_pylist()
    return {row["run_key"]: row["detail"] for row in found if row["detail"] is not None}
