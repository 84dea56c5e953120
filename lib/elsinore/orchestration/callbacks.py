"""Callbacks of Airflow: alerts for operators, and progress for the command that started a run.

Tasks raise most kinds of alerts themselves (`replay_tasks`, `alert_kinds`). Here an alert is raised
if a task failed after its retries, if a run failed without a failed task (its time was up), and if
a run is not done by its deadline. It is a line in a log, the same line in a file, and a message of
Airflow's notifiers, which read secrets of services from Airflow's connections. Progress is written
to a file that the command reads.
"""

from __future__ import annotations

import json
import logging
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from elsinore.errors import ElsinoreError
from elsinore.orchestration.alert_kinds import AlertKind
from elsinore.orchestration.run_params import task_label
from elsinore.places import make_home
from elsinore.settings import Notifier, Settings

_LOG = logging.getLogger(__name__)

#: Runs of a backfill wait for each other by design: being late says nothing of them.
_BACKFILL = "backfill"

#: A run that fails since a task failed: the task has raised the alert already.
_TASK_FAILURE = "task_failure"

_REASON_CUT = 2_000

#: Environment variable with the file to write to; without it nothing is written.
PROGRESS_FILE = "ELSINORE_PROGRESS_FILE"


def raise_alert(
    kind: AlertKind,
    dag: str,
    run: str,
    reason: str,
    *,
    task: str = "",
    label: str = "",
    log: str = "",
) -> None:
    """Log an alert, append it to `Settings.alerts`, and notify people.

    It is one line of JSON in log and file, with these fields and `at`, ISO 8601.

    Args:
        kind: what happened, one of `alert_kinds.ALERTS`.
        dag: id of the DAG.
        run: id of its run.
        reason: what happened, in a sentence.
        task: id of the task; empty if it is about the run.
        label: which of several mapped tasks; empty for the others.
        log: page of the task's log; empty where there is none.
    """
    at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    alert = {"kind": kind, "dag": dag, "run": run, "reason": reason[:_REASON_CUT]}
    alert |= {"task": task, "label": label, "log": log, "at": at}
    # JSON keeps it one line, whatever a message holds.
    line = json.dumps(alert)
    _LOG.error("ALERT %s", line)
    settings = Settings.load()
    try:
        make_home(settings.local)
        _append(settings.alerts, line)
    finally:  # also if the disk is full
        for notifier in settings.notifiers:
            _notify(notifier, alert)


def _notify(notifier: Notifier, alert: Mapping[str, str]) -> None:
    """Send an alert by a notifier, whose arguments are templates over it (`alert`).

    They can use the alert's fields, `title` (one line), and `html` (all fields as a page).
    """
    named = {name: text for name, text in alert.items() if text}
    lines = (f"<b>{name}</b>: {escape(text)}" for name, text in named.items())
    title = " ".join(f"{alert['kind']}: {alert['dag']} {alert['task']} {alert['run']}".split())
    told = {**alert, "title": title, "html": f"<pre>{chr(10).join(lines)}</pre>"}
    try:
        send = pkgutil.resolve_name(notifier.path)(**notifier.model_extra or {})
        send({"alert": told})
    except Exception as error:  # noqa: BLE001 - a failing service must not lose the alert above
        _LOG.error("NOT NOTIFIED by %s: %r", notifier.path, error)


def _append(file: Path, line: str) -> None:
    # One short write in append mode, so that concurrent lines do not mix. A line that a full disk
    # truncated stays a separate line.
    with file.open("ab+") as stream:
        stream.seek(max(stream.seek(0, os.SEEK_END) - 1, 0))
        torn = stream.read() not in (b"", b"\n")
        stream.write(b"\n" * torn + f"{line}\n".encode())


def warn(context: Mapping[str, Any], kind: AlertKind, reason: str) -> None:
    """Raise an alert from within a task, which continues."""
    task = context["ti"].task_id
    raise_alert(kind, context["dag"].dag_id, context["run_id"], reason, task=task)


def alert_task_failed(context: Mapping[str, Any]) -> None:
    """Airflow's callback for a task that has failed and is not tried again."""
    task = context["task"]
    raise_alert(
        "task_failed",
        context["dag"].dag_id,
        context["run_id"],
        _reason(context.get("exception")),
        task=task.task_id,
        label=task_label(task),
        log=getattr(context["ti"], "log_url", ""),
    )


def _reason(error: BaseException | None) -> str:
    """Return the reason of a failed task, with the class of errors that are not from Elsinore."""
    if error is None:
        return "the task ended without an error message"
    is_ours = isinstance(error, ElsinoreError)
    return str(error) if is_ours else f"{type(error).__name__}: {error}".removesuffix(": ")


def alert_run_failed(context: Mapping[str, Any]) -> None:
    """Airflow's callback for a run that has failed; silent where a task's alert has said why."""
    reason = str(context.get("reason") or "unknown")
    if reason != _TASK_FAILURE:
        dag = context["dag"].dag_id
        raise_alert("run_failed", dag, context["run_id"], reason.replace("_", " "))


def alert_run_overdue(context: Mapping[str, Any]) -> None:
    """Airflow's callback for a run that is not done by its deadline; silent for backfills."""
    run = context["dag_run"]
    if run["run_type"] != _BACKFILL:
        reason = f"still {run['state']} at its deadline, {context['deadline']['deadline_time']}"
        raise_alert("run_overdue", run["dag_id"], run["dag_run_id"], reason)


class TaskProgress(NamedTuple):
    """One step in the life of a task; a line of JSON in the file of `PROGRESS_FILE`."""

    task: str
    state: str  #: `started`, `done`, `retried` (failed, and will be tried again) or `failed`
    label: str = ""  #: which of several mapped tasks it is, for people; empty for the others
    reason: str = ""
    #: what the failure means for a command: 1 failed, 2 wrong input or set-up; 0 otherwise.
    exit_code: int = 0
    log: str = ""  #: where Airflow's pages look for the log of the task's try
    written: int = 0  #: bytes that this process has written by then, where that goes into a file


def note_progress(state: str) -> Callable[[Mapping[str, Any]], None]:
    """An Airflow callback that appends the step of its task to the file of `PROGRESS_FILE`."""

    def note(context: Mapping[str, Any]) -> None:
        path = os.environ.get(PROGRESS_FILE)
        if path is None:
            return
        # Not before: they take long to import.
        from airflow.sdk.log import init_log_file
        from airflow.utils.helpers import log_filename_template_renderer

        error, ti = context.get("exception"), context["ti"]
        log = init_log_file(log_filename_template_renderer()(ti=ti, try_number=ti.try_number))
        sys.stdout.flush()
        step = TaskProgress(
            task=context["task"].task_id,
            state=state,
            label=task_label(context["task"]),
            reason="" if error is None else str(error),
            exit_code=0 if error is None else getattr(error, "exit_code", 1),
            log=str(log),
            written=os.fstat(1).st_size,
        )
        _append(Path(path), json.dumps(step))

    return note
