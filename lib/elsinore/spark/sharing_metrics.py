"""What was shared at run time, as figures of a step and read from them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from elsinore.engine.auto import Sharing
from elsinore.spark.run_metrics import Metric

_CHOICE = "executor of "
_SET = "hamlet set "
_COUNT = "hamlet: "
_ALONE, _TOGETHER = "predicted seconds alone", "predicted seconds together"
_NANOSECONDS = 1e-9


def sharing_metrics(sharing: Sharing, counts: Mapping[str, int]) -> dict[str, Metric]:
    """The executor of each query and why, the sets, what sharing is predicted to save, and counts.

    Args:
        sharing: what was decided before the run.
        counts: what Hamlet's observers counted, over all tasks.
    """
    found: dict[str, Metric] = {}
    found |= {f"{_CHOICE}{c.query}": f"{c.executor}: {c.why}" for c in sharing.choices}
    found |= {f"{_SET}{n}": ", ".join(names) for n, names in enumerate(sharing.sets, start=1)}
    found |= {f"{_COUNT}{name}": number for name, number in counts.items()}
    if sharing.alone:
        found[_ALONE] = sharing.alone * _NANOSECONDS
        found[_TOGETHER] = sharing.together * _NANOSECONDS
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
