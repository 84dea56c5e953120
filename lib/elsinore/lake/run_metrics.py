"""Figures of the steps of runs, in the table `run_metrics`; some of them read from it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from elsinore.engine.plan import RuntimePlan
from elsinore.lake.regions import OfWorkload, RunStep, run_key
from elsinore.lake.tables import Lake
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.step_clock import step_times
from elsinore.timeline import Interval

#: A figure, or a text.
Metric = float | int | str

#: Names of steps; that of planning is a kind of rows of `plans`, too.
LAND_STEP, AGGREGATE_STEP, VALIDATE_STEP = "land", "aggregate", "validate"
PUBLISH_STEP, MAINTAIN_STEP = "publish", "maintain"

#: The metric of landing that names what lies in the landing zone and is not read.
UNREAD = "unread_files"

#: The metric of validation that publishing looks for.
STAGED_VERSION = "staged_version"

#: How metrics begin that count a query's results, and those of them that were checked.
RESULTS_OF, CHECKED_OF = "results of ", "checked of "

_CHOICE = "executor of "
_SET = "hamlet set "
_COUNT = "hamlet: "
_ALONE, _TOGETHER = "predicted seconds alone", "predicted seconds together"
_NANOSECONDS = 1e-9


def record_metrics(
    lake: Lake, workload: Workload | None, interval: Interval, step: str,
    metrics: Mapping[str, Metric], *, run: str,
) -> None:  # fmt: skip
    """Make these the figures of a step of a run of a workload over an interval, its only ones.

    Raises:
        ConflictError: another run over the same interval wrote meanwhile.
    """
    own = "" if workload is None else workload_fingerprint(workload)
    key = {"run_key": run_key(interval), "workload_fingerprint": own, "step": step}
    rows = [
        {**key, "metric": metric}
        | ({"detail": value} if isinstance(value, str) else {"value": float(value)})
        for metric, value in {**metrics, **step_times()}.items()
    ]
    lake.record("run_metrics", rows, where=OfWorkload(RunStep(interval, step), own), run=run)


def text_metrics(lake: Lake, workload: Workload, step: str, metric: str) -> dict[str, str]:
    """A metric that is a text, of all runs of a workload, by run key."""
    own = pc.field("workload_fingerprint") == workload_fingerprint(workload)
    where = own & (pc.field("step") == step) & (pc.field("metric") == metric)
    found = lake.rows("run_metrics", where, columns=["run_key", "detail"]).to_pylist()
    return {row["run_key"]: row["detail"] for row in found if row["detail"] is not None}


def find_text(
    lake: Lake, workload: Workload, interval: Interval, step: str, metric: str
) -> str | None:
    """A metric that is a text, of the run over exactly this interval; None where it has none."""
    return text_metrics(lake, workload, step, metric).get(run_key(interval))


def is_of_coverage(metric: str) -> bool:
    """Whether a metric counts the results of one query.

    >>> is_of_coverage("checked of cascades"), is_of_coverage("checked_results")
    (True, False)
    """
    return metric.startswith((RESULTS_OF, CHECKED_OF))


def sharing_metrics(plan: RuntimePlan, counts: Mapping[str, int]) -> dict[str, Metric]:
    """The executor of each query and why, the sets, what sharing is predicted to save, and counts.

    Args:
        plan: what was decided before the run.
        counts: what Hamlet's observers counted, over all tasks.
    """
    found: dict[str, Metric] = {}
    found |= {f"{_CHOICE}{c.query}": f"{c.executor}: {c.why}" for c in plan.choices}
    found |= {f"{_SET}{n}": ", ".join(names) for n, names in enumerate(plan.sets, start=1)}
    found |= {f"{_COUNT}{name}": number for name, number in counts.items()}
    if plan.alone:
        found[_ALONE] = plan.alone * _NANOSECONDS
        found[_TOGETHER] = plan.together * _NANOSECONDS
    return found


def is_of_sharing(metric: str) -> bool:
    """Whether `sharing_metrics` made a metric."""
    return metric in (_ALONE, _TOGETHER) or metric.startswith((_CHOICE, _SET, _COUNT))


@dataclass(frozen=True, slots=True)
class Ran:
    """Queries that were run alike: by which executor, and why."""

    executor: str
    why: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunTime:
    """What was shared in a run, over all of its slices.

    Attributes:
        ran: how each query was run.
        sets: the queries of each Hamlet set.
        counts: what Hamlet's observers counted; none where no set was run.
        alone, together: predicted seconds without and with sharing, over the span of the
            statistics; 0 where nothing could be shared.
    """

    ran: tuple[Ran, ...]
    sets: tuple[tuple[str, ...], ...]
    counts: dict[str, int]
    alone: float
    together: float

    @property
    def saved(self) -> float:
        """Predicted seconds that sharing saves."""
        return self.alone - self.together


def run_time_sharing(metrics: Iterable[tuple[str, float | None, str | None]]) -> RunTime:
    """The figures of `sharing_metrics` of all slices of a run, as `(metric, value, detail)`."""
    ran: dict[tuple[str, str], dict[str, None]] = {}
    sets: dict[tuple[str, ...], None] = {}
    counts: dict[str, int] = {}
    seconds = {_ALONE: 0.0, _TOGETHER: 0.0}
    for metric, value, detail in metrics:
        if metric.startswith(_CHOICE):
            executor, _, why = (detail or "").partition(": ")
            ran.setdefault((executor, why), {})[metric.removeprefix(_CHOICE)] = None
        elif metric.startswith(_SET):
            sets[tuple((detail or "").split(", "))] = None
        elif metric.startswith(_COUNT):
            name = metric.removeprefix(_COUNT)
            counts[name] = counts.get(name, 0) + int(value or 0)
        elif metric in seconds:  # each slice has the plan's, for the span of the plan
            seconds[metric] = max(seconds[metric], value or 0.0)
    return RunTime(
        tuple(Ran(executor, why, tuple(queries)) for (executor, why), queries in ran.items()),
        tuple(sets),
        counts,
        seconds[_ALONE],
        seconds[_TOGETHER],
    )
