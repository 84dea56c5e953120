"""Alerts for whoever is on call: a line in a log, and the same line in a file that others follow.

An alert is raised when a task has failed for good, when a run has failed without any task's doing
(its time was up), and when a run is not done by its deadline. Whatever pages people follows the
file; nothing here knows any such service or its secrets.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from elsinore.orchestration.run_interval import task_label
from elsinore.settings import Settings

_LOG = logging.getLogger(__name__)

#: Runs of a backfill wait for each other by design: being late says nothing of them.
_BACKFILL = "backfill"

#: A run that fails since a task failed: the task has raised the alert already.
_TASK_FAILURE = "task_failure"

_REASON_CUT = 2_000


@dataclass(frozen=True, slots=True)
class Alert:
    """Something that a person must look at.

    Attributes:
        kind: `task_failed`, `run_failed` or `run_late`.
        dag: id of the DAG.
        run: id of its run.
        reason: what happened, in a sentence.
        task: id of the task; empty if it is about the run.
        label: which of several mapped tasks; empty for the others.
        log: page of the task's log; empty where there is none.
        at: when it was raised, ISO 8601.
    """

    kind: str
    dag: str
    run: str
    reason: str
    task: str = ""
    label: str = ""
    log: str = ""
    at: str = ""


def raise_alert(alert: Alert) -> None:
    """Log an alert and append it to `Settings.alerts`, one line of JSON in both places."""
    dated = {**asdict(alert), "at": alert.at or f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    dated["reason"] = alert.reason[:_REASON_CUT]
    # JSON keeps it one line, whatever a message holds.
    line = json.dumps(dated)
    _LOG.error("ALERT %s", line)
    file = Settings.load().alerts
    file.parent.mkdir(parents=True, exist_ok=True)
    # One short write in append mode: alerts that come together do not mix their lines.
    with file.open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def alert_task_failed(context: Mapping[str, Any]) -> None:
    """Airflow's callback for a task that has failed and is not tried again."""
    task = context["task"]
    raise_alert(
        Alert(
            kind="task_failed",
            dag=context["dag"].dag_id,
            run=context["run_id"],
            task=task.task_id,
            label=task_label(task),
            reason=str(context.get("exception") or "the task ended without a word"),
            log=getattr(context["ti"], "log_url", ""),
        )
    )


def alert_run_failed(context: Mapping[str, Any]) -> None:
    """Airflow's callback for a run that has failed; silent where a task's alert has said why."""
    reason = str(context.get("reason") or "unknown")
    if reason == _TASK_FAILURE:
        return
    raise_alert(
        Alert(
            kind="run_failed",
            dag=context["dag"].dag_id,
            run=context["run_id"],
            reason=reason.replace("_", " "),
        )
    )


def alert_run_late(context: Mapping[str, Any]) -> None:
    """Airflow's callback for a run that is not done by its deadline; silent for backfills."""
    run = context["dag_run"]
    if run["run_type"] == _BACKFILL:
        return
    raise_alert(
        Alert(
            kind="run_late",
            dag=run["dag_id"],
            run=run["dag_run_id"],
            reason=f"not done by {context['deadline']['deadline_time']}, but {run['state']}",
        )
    )
