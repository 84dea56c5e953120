"""Runs the DAG `hourly_replay` in Airflow for a stretch of hours and follows its tasks.

By Airflow's own one-process runner, `airflow dags test`: see
docs/decisions/0004-replay-in-one-process.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from elsinore.errors import AuthorError, ElsinoreError, SetupError
from elsinore.orchestration.airflow_environment import (
    airflow_environment,
    is_prepared,
    prepare_airflow,
)
from elsinore.orchestration.task_progress import PROGRESS_FILE, TaskProgress
from elsinore.settings import Settings
from elsinore.timeline import Interval, format_instant, hour_label

#: Told of each step of each task.
OnProgress = Callable[[TaskProgress], None]

_DAG = "hourly_replay"
_POLL_SECONDS = 0.2


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
