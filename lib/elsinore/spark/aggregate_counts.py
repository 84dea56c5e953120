"""Counts that the tasks of one Spark job report, such as bursts and how many were shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark import AccumulatorParam
from pyspark.sql import SparkSession

Counts = dict[str, int]

#: Counts that are sizes: of these the largest is told, not the sum.
_SIZES = frozenset({"bytes"})


class _ByTask(AccumulatorParam):
    """Keeps what each task reported: a task that is done again reports the same, not more."""

    def zero(self, value: dict[str, Counts]) -> dict[str, Counts]:
        return {}

    def addInPlace(  # noqa: N802  (Spark's name)
        self, value1: dict[str, Counts], value2: dict[str, Counts]
    ) -> dict[str, Counts]:
        return {**value1, **value2}


@dataclass(frozen=True)
class TaskCounts:
    """Made on the driver, told by tasks, read on the driver when the job is done.

    Spark delivers what a task reported when the task has succeeded; of a task that succeeds twice,
    since its output was lost or another attempt was faster, one report counts. A job that is
    started again is another `TaskCounts`.
    """

    _reports: Any

    @classmethod
    def new(cls, spark: SparkSession) -> TaskCounts:
        """Nothing reported yet."""
        return cls(spark.sparkContext.accumulator({}, _ByTask()))

    def tell(self, task: str, counts: Mapping[str, int]) -> None:
        """In a task: report its counts; `task` names it among those of the job."""
        self._reports.add({task: dict(counts)})

    def total(self) -> Counts:
        """On the driver: counts of all tasks (`add_up`)."""
        return add_up(self._reports.value.values())


def add_up(reports: Iterable[Mapping[str, int]]) -> Counts:
    """The sum of each count; of sizes the largest."""
    total: Counts = {}
    for counts in reports:
        for name, number in counts.items():
            before = total.get(name, 0)
            total[name] = max(before, number) if name in _SIZES else before + number
    return total
