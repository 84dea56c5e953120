"""Lands the raw files of an interval's hours, and says which other hours that re-opens."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from elsinore.errors import DataError
from elsinore.lake.answered import Answered, answered_by, names_of
from elsinore.lake.land import REFUSED, land
from elsinore.lake.landing_doubts import doubts
from elsinore.lake.landing_zone import hours_of_stop, raw_names, unread_files
from elsinore.lake.provenance import read_publications, standing
from elsinore.lake.regions import interval_of, run_key
from elsinore.lake.run_metrics import (
    EMPTIED,
    LAND_STEP,
    UNREAD,
    note_metrics,
    note_tried,
    record_metrics,
    text_metrics,
    tried_hours,
)
from elsinore.lake.stale_hours import hours_to_reopen, silent_hours
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.query.bound import Workload
from elsinore.settings import Settings
from elsinore.spark.tasks import in_tasks_of
from elsinore.timeline import DAY, Interval, parse_hour, stretches
from elsinore.wording import some_of


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Land, and give the counts and what `hours_to_reopen` says.

    Raises:
        DataError: no hour has a file, and files that nothing reads lie there.
    """
    answered = answered_by(settings, arguments.workloads)
    _, lake, workload = answered[0]
    interval, run = arguments.interval, arguments.run
    every = _every_workload(settings, arguments.workloads, answered)
    for own in every:
        own.lake.create_all()
    looks = settings.late_days > 0 and not arguments.by_hand
    stop = hours_of_stop(lake, interval.start) if looks else []
    for own in every:
        if stop:
            _note_stop(own, stop, run)
        note_tried(own.lake, own.workload, interval)
        if own.workload is None:  # it has no report that would do so
            record_metrics(own.lake, run, interval)
    told = _told(lake, workload, interval, REFUSED) if stop else ()
    last = {label for refused in map(json.loads, told) for label in refused}
    with in_tasks_of(settings, f"land_events {interval} {run}") as in_tasks:
        figures = land(lake, settings, interval, run=run, in_tasks=in_tasks, stop=stop, last=last)
    figures |= doubts(lake, settings, interval)
    rules = lake.stream.sources
    unread = some_of(unread_files(settings.landing, interval, rules))
    unread_first = ""
    if unread:
        figures[UNREAD] = unread
        if unread not in _told(lake, workload, interval, UNREAD):
            unread_first = f"unrecognized files: {unread}; {raw_names(rules)}"
    first = _refused_first(lake, workload, interval, figures)
    most, days = settings.reopen_hours, settings.late_days
    ours = [(one.lake.root, one.workload) for one in answered]
    reopened = hours_to_reopen(ours, interval, most=most, next_most=most, days=days)
    noted = figures | {name: reopened[name] for name in ("hours_left", "hours_lost")}
    fails = unread and not figures["files"]
    if fails:  # then the next run tells of them
        noted.pop(REFUSED, None)
    for one in answered:
        note_metrics(one.lake, one.workload, interval, LAND_STEP, noted)
    if fails:
        raise DataError(
            f"no file of these hours arrived, but unrecognized files: {unread}",
            hint=raw_names(rules),
        )
    return {
        **figures,
        **reopened,
        **standing(lake.root),
        "silent_hours": silent_hours(lake.root, interval.end),
        "refused_first": first,
        "emptied_first": _emptied_first(lake, workload, interval, figures),
        "unread_first": unread_first,
    }


class _OfRun(NamedTuple):
    lake: Lake
    workload: Workload | None  #: none where it is not valid now: its hours wait for it


def _every_workload(
    settings: Settings, names: Sequence[str], answered: Sequence[Answered]
) -> list[_OfRun]:
    """The workloads that a run is of, with those that it leaves out."""
    valid = {one.name: _OfRun(one.lake, one.workload) for one in answered}
    return [
        valid.get(name) or _OfRun(Lake.open(settings.of_workload(name)), None)
        for name in names_of(settings, names)
    ]


def _note_stop(own: _OfRun, stop: Sequence[int], run: str) -> None:
    """Note that a workload is to have the hours of a stop published, but for those before it came.

    They count as tried, so that later runs go on with what this one does not get to.
    """
    tried = tried_hours(own.lake.root)
    first = min([*map(parse_hour, read_publications(own.lake.root)), *tried], default=stop[-1])
    for missed in stretches(hour for hour in stop if hour > first and hour not in tried):
        note_tried(own.lake, own.workload, missed, is_run=False)
        record_metrics(own.lake, run, missed)


def _refused_first(
    lake: Lake, workload: Workload, interval: Interval, figures: Mapping[str, Any]
) -> dict[str, str]:
    """The refused landings that no other run has told of: each run tries all of them again."""
    if REFUSED not in figures:
        return {}
    told = _told(lake, workload, interval, REFUSED)
    known = {refused for text in told for refused in json.loads(text).items()}
    return dict(json.loads(figures[REFUSED]).items() - known)


def _emptied_first(
    lake: Lake, workload: Workload, interval: Interval, figures: Mapping[str, Any]
) -> dict[str, list[str]]:
    """Return the fields that lost their values, without fields that an alert of the last day had.

    A column that stays empty causes one alert, not one per hour.
    """
    found: dict[str, list[str]] = json.loads(figures.get(EMPTIED, "{}"))
    if not found:
        return {}
    told = text_metrics(lake, workload, LAND_STEP, EMPTIED)
    told.pop(run_key(interval), None)
    recent = [
        json.loads(text)
        for key, text in told.items()
        if interval.start - DAY < interval_of(key).end <= interval.start
    ]
    known = {name for by_hour in recent for names in by_hour.values() for name in names}
    new = {label: [name for name in names if name not in known] for label, names in found.items()}
    return {label: names for label, names in new.items() if names}


def _told(lake: Lake, workload: Workload, interval: Interval, metric: str) -> Collection[str]:
    """A metric of the landings of all other runs."""
    told = text_metrics(lake, workload, LAND_STEP, metric)
    told.pop(run_key(interval), None)
    return told.values()
