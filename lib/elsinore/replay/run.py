"""`elsinore replay`: raw flights for a stretch of hours, then the DAG `hourly_replay` over them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

from elsinore.generate.flights import generate_flights, hour_path
from elsinore.replay.run_dag import OnProgress, run_dag
from elsinore.replay.summary import ReplaySummary, read_summary
from elsinore.settings import Settings
from elsinore.spark.server import server_url
from elsinore.timeline import EPOCH, HOUR, Interval, hour_label, hours_of, require_whole_hours

#: Two winter days with a snow storm in the first: many delays, many cancellations.
DEFAULT_START, DEFAULT_END = "2013-02-08T00:00:00Z", "2013-02-10T00:00:00Z"


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
    for stretch in _stretches_without_files(settings.landing, interval):
        generate_flights(settings.landing, start=_moment(stretch.start), end=_moment(stretch.end))
    with ThreadPoolExecutor(1) as thread:
        # While Airflow starts; should it fail, the first task says why.
        thread.submit(server_url, settings)
        log = run_dag(settings, interval, progress or (lambda step: None))
    return read_summary(settings, interval, log=log, seconds=time.monotonic() - began)


def _stretches_without_files(landing: Path, interval: Interval) -> Iterator[Interval]:
    missing: Interval | None = None
    for hour in hours_of(interval):
        path = hour_path(landing, hour)
        if any(path.parent.glob(f"events-{hour_label(hour)}*")):
            continue
        if missing is not None and missing.end == hour:
            missing = Interval(missing.start, hour + HOUR)
            continue
        if missing is not None:
            yield missing
        missing = Interval(hour, hour + HOUR)
    if missing is not None:
        yield missing


def _moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
