"""Ingests the raw files of a run's hours, and returns which hours have to be computed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from elsinore.errors import DataError
from elsinore.ingest.doubts import doubts
from elsinore.ingest.ingest_run import STEP, IngestedRun, ingest_run
from elsinore.ingest.landing_zone import raw_names, unread_files
from elsinore.ingest.tables import IngestTables
from elsinore.lake.answered import Answered, answered_by, names_of
from elsinore.ledger.fold import Fold
from elsinore.ledger.inputs import silent_hours
from elsinore.ledger.of_run import RunLedger
from elsinore.ledger.results import standing
from elsinore.ledger.rows import State
from elsinore.ledger.run_metrics import EMPTIED, UNREAD, note_metrics, text_metrics
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.planned_hours import hours_to_recompute
from elsinore.publish.tables import ResultTables
from elsinore.settings import Settings
from elsinore.spark.probe import check_workers
from elsinore.spark.session import open_session
from elsinore.store.regions import interval_of, run_key
from elsinore.store.tables import Lake
from elsinore.timeline import DAY, Interval
from elsinore.wording import some_of

#: Why the hours of a workload with errors are not computed.
_NOT_VALID = "the workload has errors: `elsinore check` shows them"
#: The figure with the reasons of files that could not be collected, as JSON.
NOT_COLLECTED = "not_collected"


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Ingest, and return the counts, what alerts need, and the hours to compute.

    Raises:
        DataError: no hour has a file, and the landing zone has unrecognized files.
    """
    interval, run = arguments.interval, arguments.run
    answered = answered_by(settings, arguments.workloads)
    # Also of a workload that is not valid now: its hours wait until it is corrected.
    asked = [settings.of_workload(name) for name in names_of(settings, arguments.workloads)]
    for own in asked:
        Lake.open(own).create_records()
    ledger = RunLedger.open(settings, answered[0].lake.stream.name, STEP, run)
    ledger.ledger.create()
    valid = {one.name for one in answered}
    for own in asked:
        if own.workload in valid:
            ledger.append(State.PLANNED, interval, own.workload_name, {})
        else:  # no step of this run will compute its hours
            ledger.append(State.FAILED, interval, own.workload_name, {"reason": _NOT_VALID})
    with (
        ledger.failures(interval, {own.workload_name: {} for own in asked}),
        open_session(settings, f"ingest_events {interval} {run}") as spark,
    ):
        check_workers(spark, settings)
        tables = IngestTables.open(spark, settings)
        tables.create()
        for own in asked:
            ResultTables.open(spark, own).create()
        done = ingest_run(
            tables, ledger.ledger, settings, interval, run=run, by_hand=arguments.by_hand
        )
    state = ledger.state(answered[0].title)
    figures = _figures(answered[0], settings, done, state, interval)
    first = _reported_first(answered[0], settings, done, figures, interval)
    planned = hours_to_recompute(ledger.ledger, settings, answered, interval)
    noted = figures | {name: planned[name] for name in ("hours_left", "hours_lost")}
    unread = figures.get(UNREAD)
    if fails := unread and not figures["files"]:  # then the next run reports them
        noted.pop(NOT_COLLECTED, None)
    for one in answered:
        note_metrics(one.lake, one.fingerprint, interval, STEP, noted)
    if fails:
        raise DataError(
            f"no file of these hours arrived, but unrecognized files: {unread}",
            hint=raw_names(answered[0].lake.stream.sources),
        )
    silent = {"silent_hours": silent_hours(state, interval.end)}
    return {**figures, **planned, **standing(state), **silent, **first}


def _figures(
    one: Answered, settings: Settings, done: IngestedRun, state: Fold, interval: Interval
) -> dict[str, Any]:
    """Return the counts of the run, and what is probably wrong, as text."""
    figures: dict[str, Any] = {**done.figures, **doubts(one.lake, settings, state, interval)}
    if done.refused:
        figures["refused_hours"] = json.dumps(done.refused)
    if done.not_collected:
        figures[NOT_COLLECTED] = json.dumps(done.not_collected)
    if unread := some_of(unread_files(settings.landing, interval, one.lake.stream.sources)):
        figures[UNREAD] = unread
    return figures


def _reported_first(
    one: Answered, settings: Settings, done: IngestedRun, figures: Mapping[str, Any],
    interval: Interval,
) -> dict[str, Any]:  # fmt: skip
    """Return what no other run has reported, so that each problem causes one alert."""
    known = [json.loads(text).items() for text in _reported(one, interval, NOT_COLLECTED)]
    files = {
        name: why for name, why in done.not_collected.items()
        if not any((name, why) in of_run for of_run in known)
    }  # fmt: skip
    unread, unread_first = figures.get(UNREAD), ""
    if unread and unread not in _reported(one, interval, UNREAD):
        unread_first = f"unrecognized files: {unread}; {raw_names(one.lake.stream.sources)}"
    return {
        "refused_first": {**done.refused_first, **files},
        "emptied_first": _emptied_first(one, interval, figures),
        "unread_first": unread_first,
    }


def _emptied_first(
    one: Answered, interval: Interval, figures: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Return the fields that lost their values, without fields that an alert of the last day had.

    A column that stays empty causes one alert, not one per hour.
    """
    found: dict[str, list[str]] = json.loads(figures.get(EMPTIED, "{}"))
    if not found:
        return {}
    told = text_metrics(one.lake, one.fingerprint, STEP, EMPTIED)
    told.pop(run_key(interval), None)
    recent = [
        json.loads(text)
        for key, text in told.items()
        if interval.start - DAY < interval_of(key).end <= interval.start
    ]
    known = {name for by_hour in recent for names in by_hour.values() for name in names}
    new = {label: [name for name in names if name not in known] for label, names in found.items()}
    return {label: names for label, names in new.items() if names}


def _reported(one: Answered, interval: Interval, metric: str) -> Collection[str]:
    """Return a metric of the ingests of all other runs."""
    texts = text_metrics(one.lake, one.fingerprint, STEP, metric)
    texts.pop(run_key(interval), None)
    return texts.values()
