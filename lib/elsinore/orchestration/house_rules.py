"""Defaults of all DAGs and tasks: owner, timeouts, retries and alerts.

And the parameters of runs: each has a type, a pattern or a list of values, and a form field.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, Asset, ExceptionRetryPolicy, Param, RetryAction, RetryRule
from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from elsinore.errors import ConflictError, LostWorkerError, StoreError
from elsinore.orchestration.callbacks import (
    alert_run_failed,
    alert_run_overdue,
    alert_task_failed,
    note_progress,
)
from elsinore.orchestration.run_params import (
    DAY_PATTERN,
    WHOLE_HOUR_PATTERN,
    in_stream,
    known_streams,
)
from elsinore.settings import OF_WORKLOAD, Settings

# Airflow makes its objects once and keeps them. Looking through them for garbage takes 5 of the
# 11.5 s of five empty tasks by `airflow dags test`, the last time as Python ends. `call_step` sets
# them aside.
gc.disable()
atexit.register(gc.freeze)

#: When an hour is replayed: some minutes after its end, for its last files to come.
EVERY_HOUR = f"{Settings.load().grace_minutes} * * * *"

#: No run of any DAG goes on for longer; what is vacuumed must be older than that by far.
LONGEST_RUN = timedelta(hours=24)

#: Whatever is not known to be transient fails a task at once: a timeout, a fault of our own.
RETRY_TRANSIENT = ExceptionRetryPolicy(
    rules=[
        RetryRule(exception=[ConflictError, LostWorkerError, StoreError], action=RetryAction.RETRY)
    ],
    default=RetryAction.FAIL,
)

#: For tasks that are over in a moment.
LIGHT: dict[str, Any] = {"execution_timeout": timedelta(minutes=5)}

#: `default_args` of every DAG.
TASK_DEFAULTS: dict[str, Any] = {
    "owner": "elsinore",
    "retries": 2,
    "retry_policy": RETRY_TRANSIENT,
    "retry_delay": timedelta(seconds=10),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=5),
    "execution_timeout": timedelta(minutes=30),
    "on_execute_callback": note_progress("started"),
    "on_success_callback": note_progress("done"),
    "on_skipped_callback": note_progress("skipped"),
    "on_retry_callback": note_progress("retried"),
    "on_failure_callback": [note_progress("failed"), alert_task_failed],
}

#: Data-quality pages, one a run and one a day.
REPORTS = "quality_reports"
#: Published results, for consumers: all hours of a slice in one event, and an event per hour.
RESULTS, RESULTS_BY_HOUR = "results", "results_by_hour"

_GROUP = "elsinore"


def each_stream(make: Callable[[str], DAG]) -> tuple[DAG, ...]:
    """Return a DAG per stream, made by a function; see `known_streams`."""
    settings_of.cache_clear()
    return tuple(map(make, known_streams()))


@cache
def settings_of(stream: str) -> Settings:
    """The settings of a stream, while the DAGs of a file are made; to read them takes 2 ms.

    A stream without its files has DAGs whose runs say so, and keeps no other stream from its own.
    """
    return settings_of("").of_stream(stream, must_exist=False) if stream else Settings.load()


def dag_rules(*, due: timedelta, timeout: timedelta) -> dict[str, Any]:
    """Arguments that every DAG is made with.

    Args:
        due: how long after it was queued a run should be done; an alert says so if it is not.
        timeout: how long it may run; then it is failed. At most `LONGEST_RUN`.
    """
    deadline = DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=due,
        callback=SyncCallback(alert_run_overdue),
        name="done in time",
    )
    return {
        "catchup": False,
        "max_active_runs": 1,
        "dagrun_timeout": timeout,
        "default_args": TASK_DEFAULTS,
        "on_failure_callback": alert_run_failed,
        "deadline": None if is_tested() else deadline,
    }


def is_tested() -> bool:
    """Whether `airflow dags test` runs all tasks in this process, without a deadline.

    Airflow 3.3.2 fails there after a successful run with a deadline: the deadline of the DAG is not
    in its database.
    """
    return sys.argv[1:3] == ["dags", "test"]


def assets(stream: str, *names: str, workload: str = "") -> list[Asset]:
    """Return the assets of tables of a stream's lake, of `REPORTS` or `RESULTS_BY_HOUR`, by name.

    Assets of a workload begin with its name; see `settings.OF_WORKLOAD`.
    """
    of_workload = OF_WORKLOAD | {REPORTS, RESULTS_BY_HOUR}
    own = of_workload if workload else frozenset[str]()
    told = (f"{workload}/{name}" if name in own else name for name in names)
    return [Asset(in_stream(name, stream), group=_GROUP) for name in told]


def folder_of(asset: Asset, settings: Settings) -> Path:
    """Return the directory of an asset of `assets`, by any settings of its stream."""
    workload, _, name = asset.name.rpartition(".")[2].rpartition("/")
    own = settings.model_copy(update={"workload": workload})
    if name == REPORTS:
        return own.reports
    return own.lake / (RESULTS if name == RESULTS_BY_HOUR else name)


# ---- parameters


_HOUR = "A whole hour in UTC, such as 2013-02-08T00:00:00Z"


#: Two values of their own: a parameter that two names share would hold one value for both.
_BORDERS = {"start": "The first hour", "end": "The end of the last hour"}


def hours(*, optional: bool) -> dict[str, Param]:
    """`start` and `end`; optional ones are given both or neither: the run's data interval."""
    both = " Set both or neither. Default: the data interval of the run." * optional
    return {
        name: Param(
            *([None] if optional else []),
            title=title,
            type=["null", "string"] if optional else "string",
            pattern=WHOLE_HOUR_PATTERN,
            description=f"{_HOUR}.{both}",
        )
        for name, title in _BORDERS.items()
    }


def batch_hours() -> dict[str, Param]:
    """`batch_hours`; without it a run has all of its hours at once."""
    param = Param(
        None,
        title="Hours per batch",
        type=["null", "integer"],
        minimum=1,
        description="Number of hours per batch; 24 is a day. Each batch is a run that "
        "succeeds or fails independently. Default: all hours in one run.",
    )
    return {"batch_hours": param}


def optional_day() -> dict[str, Param]:
    """`day`; without it a run has the day of its data interval."""
    param = Param(
        None,
        title="The day",
        type=["null", "string"],
        format="date",
        pattern=DAY_PATTERN,
        description="A day in UTC, such as 2013-02-08. Default: the data interval of the run.",
    )
    return {"day": param}


def workload(stream: str) -> dict[str, Param]:
    """`workload`, one of those over the stream, by name; by default all that every run answers."""
    param = Param(
        None,
        title="The workload",
        type=["null", "string"],
        enum=[None, *settings_of(stream).known_workloads],
        description="Name of a workload in schemas/workloads. Default: every workload of an hourly "
        "run. Results of other workloads do not change.",
    )
    return {"workload": param}


def parameters() -> dict[str, Param]:
    """`parameters`, values of query parameters by workload; by default, of the settings."""
    value = {"type": ["string", "number", "boolean"]}
    param = Param(
        None,
        title="Values of query parameters",
        type=["null", "object"],
        additionalProperties={"type": "object", "additionalProperties": value},
        description='Single values by workload and name, as in {"flights": {"min_delay": 30}}. '
        "Default: ELSINORE_PARAMETERS. Lists of values are allowed only there.",
    )
    return {"parameters": param}


def force() -> dict[str, Param]:
    """`force`, off by default."""
    param = Param(
        False,
        title="Replay published hours",
        type="boolean",
        description="Off: skip hours that are published for these queries, and never replace "
        "results of earlier queries of a workload. On: replay all hours.",
    )
    return {"force": param}
