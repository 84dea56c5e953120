"""Write and read the metrics that record the sharing of a run.

The name of a metric is a prefix and the name of a query, set or count. Only this module builds and
splits these names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from elsinore.ledger.run_metrics import Metric

_CHOICE = "executor of "
_SET = "hamlet set "
_COUNT = "hamlet: "
_ALONE, _TOGETHER = "predicted seconds alone", "predicted seconds together"
_NANOSECONDS = 1e-9


def sharing_metrics(
    choices: Iterable[tuple[str, str, str]],
    sets: Iterable[Sequence[str]],
    predicted: float,
    together: float,
    counts: Mapping[str, int],
) -> dict[str, Metric]:
    """Return the metrics of sharing: executors with reasons, sets, predicted costs and counts.

    Args:
        choices: each query with its executor and the reason.
        sets: the queries of each Hamlet set.
        predicted: predicted nanoseconds without sharing; 0 if nothing can be shared.
        together: predicted nanoseconds with sharing.
        counts: the counts of Hamlet's observers, summed over all tasks.
    """
    metrics: dict[str, Metric] = {
        f"{_CHOICE}{query}": f"{executor}: {why}" for query, executor, why in choices
    }
    metrics |= {f"{_SET}{n}": ", ".join(names) for n, names in enumerate(sets, start=1)}
    metrics |= {f"{_COUNT}{name}": number for name, number in counts.items()}
    if predicted:
        metrics[_ALONE] = predicted * _NANOSECONDS
        metrics[_TOGETHER] = together * _NANOSECONDS
    return metrics


def is_of_sharing(metric: str) -> bool:
    """Return whether `sharing_metrics` made a metric."""
    return metric in (_ALONE, _TOGETHER) or metric.startswith((_CHOICE, _SET, _COUNT))


@dataclass(frozen=True, slots=True)
class RunTime:
    """The sharing of a run, over all of its slices."""

    ran: Mapping[tuple[str, str], Collection[str]]  #: the queries, by executor and reason
    sets: tuple[tuple[str, ...], ...]  #: the queries of each Hamlet set
    counts: dict[str, int]  #: the counts of Hamlet's observers
    #: predicted seconds without and with sharing, over the span of the statistics; 0 if nothing can
    #: be shared.
    alone: float
    together: float

    @property
    def saved(self) -> float:
        """Return the predicted seconds that sharing saves."""
        return self.alone - self.together


def run_time_sharing(metrics: Iterable[tuple[str, float | None, str | None]]) -> RunTime:
    """Return the sharing of a run, from the metrics of all of its slices.

    Args:
        metrics: metrics of `sharing_metrics`, as `(metric, value, detail)`.
    """
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
        elif metric in seconds:  # each slice repeats the plan's prediction
            seconds[metric] = max(seconds[metric], value or 0.0)
    return RunTime(ran, tuple(sets), counts, seconds[_ALONE], seconds[_TOGETHER])
