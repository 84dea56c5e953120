"""The page of alerts, from `elsinore.orchestration.alert_kinds`."""

from __future__ import annotations

import re

from docs.generate.markdown import blocks, code, plain, table
from elsinore.orchestration.alert_kinds import ALERTS

_INTRO = """\
Scheduled runs send an alert when a person must act. An alert is a line `ALERT {...}` in Airflow's
log, the same JSON object as a line of `alerts.jsonl` in `ELSINORE_LOCAL_HOME`, and a message of
each notifier in `ELSINORE_NOTIFIERS`. For each alert, the runbook shows what to check and which
commands fix the cause."""

_FIELDS = [
    ("`kind`", "Kind of the alert, from the table above."),
    ("`dag`", "Id of the Airflow DAG. The id of a further stream's DAG starts with its name."),
    ("`run`", "Id of the DAG run."),
    ("`reason`", "Description of the event, at most 2,000 characters."),
    ("`task`", "Id of the task; empty if the alert is about the run."),
    ("`label`", "Which of several mapped tasks it is; empty for other tasks."),
    ("`log`", "Address of the task's log page; empty if there is none."),
    ("`at`", "When the alert was sent, ISO 8601, UTC."),
]


def page() -> str:
    """Return the page."""
    rows = [
        (
            code(kind),
            plain(alert.meaning),
            plain(alert.action),
            f"[{alert.section}](../runbook/operator.md#{_anchor(alert.section)})",
        )
        for kind, alert in ALERTS.items()
    ]
    return blocks(
        [
            "# Alerts",
            _INTRO,
            table(["kind", "meaning", "what to do", "runbook"], rows),
            "## Fields of an alert",
            table(["field", "meaning"], _FIELDS),
        ]
    )


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
