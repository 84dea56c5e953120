"""The Airflow operator that runs one job."""

from __future__ import annotations

import json
import os
import shlex
from typing import Any

from airflow.sdk import BaseOperator, Context, ExceptionRetryPolicy, RetryAction, RetryRule
from airflow.sdk.exceptions import AirflowFailException

from elsinore.errors import ElsinoreError, LostWorkerError
from elsinore.orchestration.job_command import job_command
from elsinore.orchestration.known_workloads import workload_path
from elsinore.orchestration.process_group import ProcessGroup
from elsinore.orchestration.replay_choice import is_worth_replaying
from elsinore.orchestration.retry_rule import Verdict, judge_exit
from elsinore.orchestration.run_interval import day_interval, run_interval, slices
from elsinore.settings import Settings
from elsinore.timeline import Interval, hour_label

#: Whatever is not known to be transient fails a task at once: a timeout, a fault of our own.
RETRY_TRANSIENT = ExceptionRetryPolicy(
    rules=[RetryRule(exception=LostWorkerError, action=RetryAction.RETRY)],
    default=RetryAction.FAIL,
)


class JobFailed(AirflowFailException):
    """A job failed and another try would end the same way.

    Attributes:
        exit_code: what the job ended with: 2 if its author or whoever set it up must act.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class JobOperator(BaseOperator):
    """Runs `python -m jobs.<job> --start .. --end ..` from the checkout's root.

    The job's output goes to the task's log line by line. Its last line of standard output is a
    JSON object, its figures, which become the task's XCom. No shell is involved and nothing of a
    parameter becomes an argument as it was typed: instants are parsed and written anew, and a
    workload is looked up by its name.

    Args:
        job: module in `jobs/`.
        time_slice: `start` and `end` as ISO text where the task works on a part of the run's
            hours only; by default on all of them.
    """

    def __init__(
        self, *, job: str, time_slice: dict[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.time_slice = time_slice
        self._group: ProcessGroup | None = None

    @property
    def slice_label(self) -> str:
        """The slice as people read it in the list of mapped tasks."""
        if self.time_slice is None:
            return ""
        part = Interval.parse(self.time_slice["start"], self.time_slice["end"])
        return f"{hour_label(part.start)} to {hour_label(part.end)}"

    def execute(self, context: Context) -> dict[str, Any]:
        """Runs the job and returns its figures.

        Raises:
            JobFailed: the job ended with an error that is not transient, or broke its contract.
            LostWorkerError: it ended with a transient error or was killed; Airflow tries again.
        """
        try:
            argv = job_command(self.job, self._interval(context))
            settings = Settings.load()
            env = {**os.environ, **_job_environment(context, settings)}
        except ElsinoreError as error:
            raise JobFailed(str(error), error.exit_code) from error
        self.log.info("%s", shlex.join(argv))
        errors: list[str] = []
        output: list[str] = []

        def on_output(line: str) -> None:
            if line.strip():
                output[:] = [line]
            self.log.info("%s", line)

        def on_error(line: str) -> None:
            if line.strip():
                errors[:] = [line]
            self.log.info("%s", line)

        self._group = ProcessGroup(argv, cwd=settings.root, env=env)
        code = self._group.run(on_output=on_output, on_error=on_error)
        return self._conclude(code, output, errors)

    def on_kill(self) -> None:
        """Ends the job and all that it started."""
        if self._group is not None:
            self._group.end()

    def _interval(self, context: Context) -> Interval:
        if self.time_slice is not None:
            return run_interval(
                self.time_slice["start"], self.time_slice["end"], data_start=None, data_end=None
            )
        return context_interval(context)

    def _conclude(self, code: int, output: list[str], errors: list[str]) -> dict[str, Any]:
        verdict = judge_exit(code)
        if verdict is Verdict.DONE:
            return self._figures(output)
        ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        message = f"{self.job} {ended}" + (f": {errors[-1]}" if errors else "")
        if verdict is Verdict.RETRY:
            raise LostWorkerError(message, exit_code=code)
        raise JobFailed(message, code)

    def _figures(self, output: list[str]) -> dict[str, Any]:
        try:
            figures = json.loads(output[-1]) if output else None
        except json.JSONDecodeError:
            figures = None
        if not isinstance(figures, dict):
            raise JobFailed(f"{self.job} did not end with a line of figures (JSON)", 1)
        return figures


def _job_environment(context: Context, settings: Settings) -> dict[str, str]:
    """What a job is told of its run beside the interval."""
    # Each commit that the job makes carries the run in its table's history.
    told = {"PYTHONUNBUFFERED": "1", "ELSINORE_RUN_ID": context["run_id"]}
    name = context["params"].get("workload")
    if name is not None:
        path = workload_path(settings.root, settings.schema_file.stem, name)
        told["ELSINORE_WORKLOAD_FILE"] = str(path)
    return told


def context_interval(context: Context) -> Interval:
    """The hours that the run of a task's context works on.

    Raises:
        ParameterError: see `run_interval`.
    """
    params = context["params"]
    day = params.get("day")
    if day is not None:
        return day_interval(day)
    return run_interval(
        params.get("start"),
        params.get("end"),
        data_start=context.get("data_interval_start"),
        data_end=context.get("data_interval_end"),
    )


def list_slices(context: Context, landed: dict[str, Any]) -> list[dict[str, str]]:
    """The slices of hours that are aggregated as tasks of their own.

    Args:
        context: of the task.
        landed: figures of the job `land_events`; in `reopened` the stretches of published hours
            that changed events have re-opened, cut like the run's own hours.

    Raises:
        JobFailed: the run's parameters or the settings are not valid.
    """
    try:
        parts = Settings.load().slices
        stretches = [
            context_interval(context),
            *(Interval.parse(part["start"], part["end"]) for part in landed["reopened"]),
        ]
        return [part for stretch in stretches for part in slices(stretch, parts)]
    except ElsinoreError as error:
        raise JobFailed(str(error), error.exit_code) from error


def decide_replay(found: dict[str, Any], context: Context) -> bool:
    """Whether a run goes on, by what the lake holds of its hours and its parameter `force`.

    Raises:
        JobFailed: results of other queries would be replaced.
    """
    try:
        return is_worth_replaying(found, force=context["params"]["force"])
    except ElsinoreError as error:
        raise JobFailed(str(error), error.exit_code) from error
