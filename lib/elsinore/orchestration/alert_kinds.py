"""The kinds of alerts that scheduled runs send, and what each asks for."""

from __future__ import annotations

from typing import Literal, NamedTuple

AlertKind = Literal[
    "task_failed",
    "run_failed",
    "run_overdue",
    "ingest_refused",
    "emptied",
    "unrecognized_files",
    "source_stale",
    "results_stale",
    "provisional",
]


class Alert(NamedTuple):
    """The meaning of an alert for the on-call engineer, and the action to take."""

    meaning: str
    action: str
    section: str  #: heading in docs/runbook/operator.md


ALERTS: dict[AlertKind, Alert] = {
    "task_failed": Alert(
        "A task failed for good: its retries are used up, or another try cannot help.",
        "Fix the cause that the reason names. The next run recomputes the hours.",
        "A run failed",
    ),
    "run_failed": Alert(
        "A run failed although no task failed, for example because it timed out.",
        "Read the reason, then run the hours again.",
        "A run failed",
    ),
    "run_overdue": Alert(
        "A run is not done by its deadline. Backfills send no such alert.",
        "Find what the run waits for: the pool `spark`, a long backfill, or Spark.",
        "A run is late",
    ),
    "ingest_refused": Alert(
        "A raw file of an hour cannot be used. The hour keeps its earlier events.",
        "Ask for the file again under the same name. The next run reads it.",
        "Ingest is refused",
    ),
    "emptied": Alert(
        "A field that had values in the week before has none in these hours.",
        "Ask the producer whether the field was renamed.",
        "A field has lost its values",
    ),
    "unrecognized_files": Alert(
        "The landing zone has files that no rule reads.",
        "Give the files the expected names, or remove them.",
        "The feed is silent",
    ),
    "source_stale": Alert(
        "No file has arrived for at least a day. Elsinore sends this alert once a day.",
        "Ask the producer. When files arrive, the next run reads them.",
        "The feed is silent",
    ),
    "results_stale": Alert(
        "The newest published hour is older than `ELSINORE_FRESHNESS_HOURS`.",
        "Find the hours that are not published, and why: `elsinore hours`.",
        "Results are out of date",
    ),
    "provisional": Alert(
        "Published hours are provisional, because an input hour has no file.",
        "Wait for the file. If the hour had no events, add an empty file.",
        "An hour is provisional",
    ),
}
