"""The state of hours as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elsinore.ledger.days import LEGEND, calendar, completeness, day_labels, freshness, runs_of
from elsinore.ledger.fold import Fold
from elsinore.ledger.to_compute import Planned, in_words
from elsinore.timeline import DAY, HOUR, MINUTE, SECOND, Interval, format_instant, hour_label
from elsinore.wording import plural

#: The header of a day's cells, and widths of the columns after them.
_CLOCK = "0     6     12    18    "
_COLUMNS = {"arrived": "files", "published": "published", "records": "records", "bad": "invalid",
            "rows": "results", "checked": "checked"}  # fmt: skip
#: Lines of hours to compute that a table shows.
_LINES = 10


@dataclass(frozen=True, kw_only=True)
class View:
    """The part of a ledger to show.

    Attributes:
        stream: name of the stream.
        workload: name of the workload.
        days: whole days.
        until: end of the hours that are over, a whole hour.
        now: the current time.
        reach: how many hours before their own the windows of the workload reach.
    """

    stream: str
    workload: str
    days: Interval
    until: int
    now: int
    reach: int


def hours_text(state: Fold, view: View, planned: Sequence[Planned]) -> str:
    """Return a line per day, a legend of its cells, and the hours to compute.

    Args:
        state: the state of the hours.
        view: what to show.
        planned: the hours to compute, see `to_compute`.
    """
    cells = runs_of(calendar(state, view.days, view.reach, view.until))
    counts = completeness(state, view.days, view.reach, view.until).to_pylist()
    rows = [_row(one) for one in counts]
    widths = {
        name: max(len(title), *(len(row[name]) for row in rows)) for name, title in _COLUMNS.items()
    }
    header = "  ".join(f"{title:>{widths[name]}}" for name, title in _COLUMNS.items())
    lines = [f"stream {view.stream}, workload {view.workload}: {_age(state, view.now)}", ""]
    lines.append(f"{'day':10}  {_CLOCK}  {header}")
    for label, of_day, row in zip(day_labels(view.days), cells, rows, strict=True):
        numbers = "  ".join(f"{row[name]:>{width}}" for name, width in widths.items())
        lines.append(f"{label}  {of_day}  {numbers}")
    there = set("".join(cells))
    legend = [f"{cell.value} {meaning}" for cell, meaning in LEGEND.items() if cell.value in there]
    lines += ["", "  ".join(legend)] if legend else []
    return "\n".join([*lines, "", *_planned_lines(planned)]) + "\n"


def _row(counts: dict[str, Any]) -> dict[str, str]:
    share = counts["coverage"]
    return {
        "arrived": f"{counts['arrived']}/{counts['hours']}",
        "published": f"{counts['published']}",
        "records": f"{counts['records']:,}",
        "bad": f"{counts['bad_records']:,}",
        "rows": f"{counts['rows']:,}",
        "checked": "-" if share is None else f"{share:.1%}",
    }


def _planned_lines(planned: Sequence[Planned]) -> list[str]:
    if not planned:
        return ["no hour has to be computed"]
    count = len(planned)
    lines = in_words(planned)
    more = len(lines) - _LINES
    rest = [f"  and {more:,} more {plural('line', more)}; --json lists every hour"]
    title = f"{count:,} {plural('hour', count)} to compute:"
    return [title, *(f"  {line}" for line in lines[:_LINES]), *(rest if more > 0 else [])]


def _age(state: Fold, now: int) -> str:
    age = freshness(state, now)
    if age is None:
        return "no hour is published"
    end = hour_label(now - age)
    return f"the newest published hour ended at {end}:00 UTC, {duration(age)} ago"


def duration(micros: int) -> str:
    """Return a duration in its two largest units.

    >>> duration(26 * HOUR + 5 * MINUTE), duration(7 * MINUTE), duration(-HOUR)
    ('1 day 2 h', '7 min', '0 min')
    """
    rest = max(micros, 0)
    days, rest = divmod(rest, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes = rest // MINUTE
    if days:
        return f"{days:,} {plural('day', days)}" + (f" {hours} h" if hours else "")
    if hours:
        return f"{hours} h" + (f" {minutes} min" if minutes else "")
    return f"{minutes} min"


def hours_json(state: Fold, view: View, planned: Sequence[Planned]) -> dict[str, Any]:
    """Return the same as plain values for JSON, with every hour to compute.

    Times are ISO 8601, `freshness_seconds` is the age of the newest published hour, and `cells` has
    a character per hour of the day, which `legend` explains.
    """
    cells = runs_of(calendar(state, view.days, view.reach, view.until))
    counts = completeness(state, view.days, view.reach, view.until).to_pylist()
    age = freshness(state, view.now)
    return {
        "stream": view.stream,
        "workload": view.workload,
        "until": format_instant(view.until),
        "freshness_seconds": None if age is None else age / SECOND,
        "legend": {cell.value: meaning for cell, meaning in LEGEND.items()},
        "days": [
            {**one, "day": label, "cells": of_day}
            for label, of_day, one in zip(day_labels(view.days), cells, counts, strict=True)
        ],
        "to_compute": [
            {"hour": hour_label(one.hour), "reason": str(one.why), "text": one.text}
            for one in planned
        ],
    }
