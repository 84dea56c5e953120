"""Airflow tasks that call steps with the hours, the workload and the name of their run, or wait."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseSensorOperator, Context, task

from elsinore.orchestration.house_rules import is_tested
from elsinore.orchestration.run_params import context_interval, slice_interval, workload_path
from elsinore.orchestration.run_step import Arguments, StepProcess, collect_seldom, run_step
from elsinore.settings import Settings
from elsinore.timeline import SECOND, Interval

#: `airflow dags test` runs all tasks in one process; the steps have another one, that gets ready
#: while Airflow starts.
_BESIDE = StepProcess() if is_tested() else None


def step_task(job: str, **arguments: Any) -> Any:
    """A task that runs a job and has its figures as XCom, to be called or mapped over slices.

    Args:
        job: module in `jobs/`.
        arguments: of the task.
    """

    @task(**arguments)
    def step(time_slice: dict[str, str] | None = None, **context: Any) -> dict[str, Any]:
        return call_step(job, context, slice_interval(time_slice) if time_slice else None)

    return step


def call_step(job: str, context: Mapping[str, Any], part: Interval | None = None) -> dict[str, Any]:
    """Runs a job for a task and returns its figures.

    Args:
        job: module in `jobs/`.
        context: of the task.
        part: what to work on; by default all hours of the run.

    Raises:
        ElsinoreError: what the job raises; `transient` says whether another try may help.
    """
    settings = context_settings(context)
    arguments = Arguments(part or context_interval(context), context["run_id"])
    if _BESIDE is not None:
        return _BESIDE.run_step(job, arguments, settings)
    collect_seldom()
    return run_step(job, arguments, settings)


def context_settings(context: Mapping[str, Any]) -> Settings:
    """The settings, with the workload that the run was asked for, looked up by its name."""
    settings = Settings.load()
    name = context["params"].get("workload")
    if name is None:
        return settings
    path = workload_path(settings.root, settings.schema_file.stem, name)
    return settings.model_copy(update={"workload_file": path})


class HoursSensor(BaseSensorOperator):
    """Waits until some time after the hours that the run works on.

    Airflow's own sensors know the data interval alone, and would let a run that somebody asked for
    wait although the day that it is for is long over.

    Args:
        delta: how long after their end.
        arguments: of every sensor.
    """

    def __init__(self, *, delta: timedelta, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.delta = delta

    def poke(self, context: Context) -> bool:
        """Whether the time has come.

        Raises:
            ParameterError: the run has no valid hours.
        """
        end = context_interval(context).end / SECOND
        return time.time() >= end + self.delta.total_seconds()
