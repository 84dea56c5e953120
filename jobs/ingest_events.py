"""Ingests the raw files of an interval's hours, and returns which hours have to be computed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from elsinore.errors import DataError
from elsinore.ingest.ingest_run import STEP, ingest_run
from elsinore.ingest.tables import IngestTables
from elsinore.lake.answered import Answered, answered_by
from elsinore.lake.landing_zone import raw_names, unread_files
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import TABLE as METRICS
from elsinore.lake.run_metrics import UNREAD, note_metrics, text_metrics
from elsinore.ledger.fold import fold
from elsinore.ledger.inputs import silent_hours
from elsinore.ledger.results import provisional, published
from elsinore.ledger.table import TABLE, Ledger, Rows
from elsinore.ledger.to_compute import Planned, Question, choose, lost_hours, merge, to_compute
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.session import open_session
from elsinore.timeline import DAY, HOUR, Interval, format_instant
from elsinore.wording import some_of

#: The figure with the reasons of files that could not be collected, as JSON.
NOT_COLLECTED = "not_collected"


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Ingest, and return the counts, what alerts need, and the hours to compute.

    Raises:
        DataError: no hour has a file, and the landing zone has unrecognized files.
    """
    interval, run = arguments.interval, arguments.run
    answered = answered_by(settings, arguments.workloads)
    # Its other tables are of the earlier model.
    lake = answered[0].lake
    replace(lake, tables={METRICS: lake.tables[METRICS]}).create_all()
    ledger = open_ledger(settings)
    ledger.create()
    with open_session(settings, f"ingest_events {interval} {run}") as spark:
        tables = IngestTables.open(spark, settings)
        tables.create()
        done = ingest_run(tables, ledger, settings, interval, run=run, by_hand=arguments.by_hand)
    figures: dict[str, Any] = dict(done.figures)
    if done.refused:
        figures["refused_hours"] = json.dumps(done.refused)
    if done.not_collected:
        figures[NOT_COLLECTED] = json.dumps(done.not_collected)
    rules = lake.stream.sources
    unread = some_of(unread_files(settings.landing, interval, rules))
    unread_first = ""
    if unread:
        figures[UNREAD] = unread
        if unread not in _reported(answered[0], interval, UNREAD):
            unread_first = f"unrecognized files: {unread}; {raw_names(rules)}"
    known = [json.loads(text).items() for text in _reported(answered[0], interval, NOT_COLLECTED)]
    first = {
        name: why for name, why in done.not_collected.items()
        if not any((name, why) in of_run for of_run in known)
    }  # fmt: skip
    rows = ledger.read()
    planned = hours_to_compute(rows, settings, answered, interval)
    noted = figures | {name: planned[name] for name in ("hours_left", "hours_lost")}
    fails = unread and not figures["files"]
    if fails:  # the next run reports them
        noted.pop(NOT_COLLECTED, None)
    for one in answered:
        note_metrics(one.lake, one.workload, interval, STEP, noted)
    if fails:
        raise DataError(
            f"no file of these hours arrived, but unrecognized files: {unread}",
            hint=raw_names(rules),
        )
    return {
        **figures, **planned, **_published(rows, settings, answered[0]),
        "silent_hours": silent_hours(fold(rows), interval.end),
        "refused_first": {**done.refused_first, **first},
        "unread_first": unread_first,
    }  # fmt: skip


def open_ledger(settings: Settings) -> Ledger:
    """Return the ledger of the stream."""
    declared = settings.tables_dir.parent / "next" / "hours.yaml"
    return Ledger.declared(settings.home / settings.stream / "lake" / TABLE, declared)


def hours_to_compute(
    rows: Rows, settings: Settings, answered: Sequence[Answered], interval: Interval
) -> dict[str, Any]:
    """Return what a run computes in addition to its own hours, as plain data.

    Its keys are `reopened`, the ranges of hours; `reopened_hours`, their number; `hours_left`, how
    many are too many for the run; `catch_up`, the first range of these; and `hours_lost`, how many
    cannot be computed because their events were removed.
    """
    planned, lost = list[Sequence[Planned]](), set[int]()
    for one in answered:
        state = fold(rows, _name(settings, one))
        ask = Question(
            reach=max(query.window.hours_back for query in one.workload.queries),
            until=interval.end, since=interval.start - settings.late_days * DAY,
            fingerprint=workload_fingerprint(one.workload), own=interval,
        )  # fmt: skip
        planned.append(to_compute(state, ask))
        lost.update(lost_hours(state, ask).tolist())
    most = settings.reopen_hours
    chosen = choose(merge(planned), most=most, next_most=most)
    return {
        "reopened": list(map(_borders, chosen.taken)),
        "reopened_hours": chosen.hours,
        "hours_left": chosen.left,
        "hours_lost": len(lost),
        "catch_up": list(map(_borders, chosen.catch_up)),
    }


def _borders(part: Interval) -> dict[str, str]:
    return {"start": format_instant(part.start), "end": format_instant(part.end)}


def _name(settings: Settings, one: Answered) -> str:
    return settings.of_workload(one.name).queries.stem


def _published(rows: Rows, settings: Settings, one: Answered) -> Mapping[str, int]:
    """Return the end of the latest published hour, if there is one, and the provisional hours."""
    state = fold(rows, _name(settings, one))
    hours = published(state).hours
    until = {"published_until": int(hours[-1]) + HOUR} if len(hours) else {}
    return {"provisional_hours": len(provisional(state)), **until}


def _reported(one: Answered, interval: Interval, metric: str) -> Collection[str]:
    """Return a metric of the ingests of all other runs."""
    texts = text_metrics(one.lake, one.workload, STEP, metric)
    texts.pop(run_key(interval), None)
    return texts.values()
