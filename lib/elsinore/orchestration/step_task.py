"""Airflow tasks that call steps: with the hours, the workload and the name of their run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import task

from elsinore.orchestration.known_workloads import workload_path
from elsinore.orchestration.run_interval import context_interval, slice_interval
from elsinore.orchestration.run_step import Arguments, run_step
from elsinore.settings import Settings
from elsinore.timeline import Interval


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
    return run_step(job, arguments, settings)


def context_settings(context: Mapping[str, Any]) -> Settings:
    """The settings, with the workload that the run was asked for, looked up by its name."""
    settings = Settings.load()
    name = context["params"].get("workload")
    if name is None:
        return settings
    path = workload_path(settings.root, settings.schema_file.stem, name)
    return settings.model_copy(update={"workload_file": path})
