"""`elsinore replay`: raw flights for a stretch of hours, then the DAG `hourly_replay` over them.

By Airflow's own one-process runner, `airflow dags test`: see
docs/decisions/0004-replay-in-one-process.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

from elsinore.errors import AuthorError, ElsinoreError, SetupError
from elsinore.generate.flights import generate_flights, hour_path
from elsinore.orchestration.airflow_environment import (
    airflow_environment,
    is_prepared,
    prepare_airflow,
)
from elsinore.orchestration.callbacks import PROGRESS_FILE, TaskProgress
from elsinore.replay.summary import ReplaySummary, read_summary
from elsinore.settings import Settings
from elsinore.spark.server import server_url
from elsinore.timeline import (
    EPOCH,
    Interval,
    format_instant,
    hour_label,
    hours_of,
    require_whole_hours,
    stretches,
)

#: Two winter days with a snow storm in the first: many delays, many cancellations.
DEFAULT_START, DEFAULT_END = "2013-02-08T00:00:00Z", "2013-02-10T00:00:00Z"

#: Told of each step of each task.
OnProgress = Callable[[TaskProgress], None]

_DAG = "hourly_replay"

_POLL_SECONDS = 0.2


def replay(
    settings: Settings,
    start: str = DEFAULT_START,
    end: str = DEFAULT_END,
    progress: OnProgress | None = None,
) -> ReplaySummary:
    """Replay a stretch of hours: make missing raw files, run the DAG in Airflow, read the results.

    Raw files that are there stay as they are. Replaying hours anew leaves the same tables.

    Args:
        settings: where everything lies.
        start: first hour, ISO 8601.
        end: end of the last hour, ISO 8601.
        progress: told of each step of each task while Airflow runs.

    Raises:
        ParameterError: the stretch is empty or not cut at whole hours.
        AuthorError: a task found a query, schema or parameter that is wrong.
        ElsinoreError: a task failed; the message names it and Airflow's log.
    """
    interval = Interval.parse(start, end)
    require_whole_hours(interval)
    began = time.monotonic()
    landing = settings.landing
    for stretch in stretches(hour for hour in hours_of(interval) if not _has_files(landing, hour)):
        generate_flights(landing, start=_moment(stretch.start), end=_moment(stretch.end))
    with ThreadPoolExecutor(1) as thread:
        # While Airflow starts; should it fail, the first task says why.
        thread.submit(server_url, settings)
        log = run_dag(settings, interval, progress or (lambda step: None))
    return read_summary(settings, interval, log=log, seconds=time.monotonic() - began)


def _has_files(landing: Path, hour: int) -> bool:
    return any(hour_path(landing, hour).parent.glob(f"events-{hour_label(hour)}*"))


def _moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def run_dag(settings: Settings, interval: Interval, progress: OnProgress) -> Path:
    """Run the DAG over the interval, wait for it, and return Airflow's log of it.

    Raises:
        AuthorError: a task found a query, schema or parameter that is wrong.
        ElsinoreError: a task failed.
        SetupError: Airflow could not be made ready, or ended without any task's doing.
    """
    if not is_prepared(settings.root):
        prepare_airflow(settings.root)
    log = settings.home / "logs" / f"{hour_label(interval.start)}_{hour_label(interval.end)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    steps = log.with_suffix(".progress")
    steps.write_text("", encoding="utf-8")
    failures: list[TaskProgress] = []

    def note(step: TaskProgress) -> None:
        if step.state == "failed":
            failures.append(step)
        progress(step)

    code = _run(_command(interval), _environment(settings, steps), settings.root, log, note)
    if code:
        raise _failure(failures, code, log)
    return log


def _command(interval: Interval) -> list[str]:
    borders = {"start": format_instant(interval.start), "end": format_instant(interval.end)}
    return [sys.executable, "-m", "airflow", "dags", "test", _DAG, "--conf", json.dumps(borders)]


def _environment(settings: Settings, steps: Path) -> dict[str, str]:
    """Airflow's environment, in which tasks find the very settings that this process has."""
    ours = {
        f"ELSINORE_{name.upper()}": str(value)
        for name in type(settings).model_fields
        if (value := getattr(settings, name)) is not None
    }
    return {**airflow_environment(settings.root), **ours, PROGRESS_FILE: str(steps)}


def _run(argv: list[str], env: dict[str, str], root: Path, log: Path, note: OnProgress) -> int:
    """Runs Airflow to its end, passing on what its tasks write, and gives its exit code."""
    with log.open("wb") as output, Path(env[PROGRESS_FILE]).open(encoding="utf-8") as lines:
        airflow = subprocess.Popen(
            argv, cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            while True:
                code = airflow.poll()
                for line in lines:
                    note(TaskProgress.from_line(line))
                if code is not None:
                    return code
                time.sleep(_POLL_SECONDS)
        finally:
            airflow.kill()
            airflow.wait()


def _failure(failures: list[TaskProgress], code: int, log: Path) -> ElsinoreError:
    where = f"log: {log}"
    if not failures:
        return SetupError(f"Airflow ended with exit code {code}", hint=where)
    first = failures[0]
    kind = AuthorError if first.exit_code == AuthorError.exit_code else ElsinoreError
    task = f"{first.task} ({first.label})" if first.label else first.task
    return kind(f"task {task} failed: {first.reason}", hint=where, task=first.task)
