"""`elsinore hours`: the state of each hour of a stream, and the hours that have to be computed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

import typer

from elsinore.errors import ParameterError
from elsinore.lake.answered import Answered, answered_by
from elsinore.ledger.days import shown_days
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.rows import State
from elsinore.ledger.show import View, hours_json, hours_text
from elsinore.ledger.table import Ledger
from elsinore.ledger.to_compute import Planned, Question, to_compute
from elsinore.publish.changed_results import unrecorded_changes
from elsinore.settings import Settings
from elsinore.timeline import DAY, Interval, hour_label, instant_of, parse_instant
from elsinore.wording import shown

#: Maximum number of days that are shown.
MOST_DAYS = 366


@dataclass(frozen=True, kw_only=True)
class HoursOptions:
    """Options of `elsinore hours`."""

    days: int
    since: str | None
    as_json: bool


def show_hours(options: HoursOptions) -> None:
    """Print the state of the hours of each workload; see `hours_text` and `hours_json`.

    Raises:
        ParameterError: `since` is not a day, or more than a year before the last day.
        DataError: a table of the lake is missing.
    """
    settings, now = Settings.load().require_current(), instant_of(datetime.now(UTC))
    found = [_shown(settings, one, options, now) for one in answered_by(settings)]
    if options.as_json:
        typer.echo(json.dumps([hours_json(*one) for one in found]))
    else:
        typer.echo("\n".join(hours_text(*one) for one in found), nl=False)


def _shown(
    settings: Settings, one: Answered, options: HoursOptions, now: int
) -> tuple[Fold, View, list[Planned]]:
    """Return the state of the hours of a workload, the part to show, and the hours to compute."""
    workload = one.title
    reach, fingerprint, stream = one.reach, one.fingerprint, one.lake.stream.name
    state = fold(Ledger.open(settings).read(workloads=[workload]), workload)
    days, until = shown_days(state, now, options.days)
    if options.since is not None:
        days = _since(options.since, days.end)
    since = until - settings.late_arrival_days * DAY
    changed = unrecorded_changes(one.lake.root, state[State.PUBLISHED])
    ask = Question(
        reach=reach, until=until, since=since, fingerprint=fingerprint, changed=changed
    )  # fmt: skip
    view = View(stream=stream, workload=workload, days=days, until=until, now=now, reach=reach)
    return state, view, to_compute(state, ask)


def _day(instant: int) -> str:
    return hour_label(instant)[:10]


def _since(text: str, end: int) -> Interval:
    """Return the days from one to the end of the days to show."""
    example = "write a day such as 2013-02-08"
    try:
        start = parse_instant(text) // DAY * DAY
    except ValueError as error:
        raise ParameterError(f"--since: {error}", hint=example) from error
    if not end - MOST_DAYS * DAY <= start < end:
        raise ParameterError(
            f"--since {shown(text)} is not one of the {MOST_DAYS} days before {_day(end)}",
            hint=example,
        )
    return Interval(start, end)
