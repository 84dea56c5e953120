"""The state of hours by day: completeness, coverage and a calendar."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.ledger.fold import Fold, LastRows, is_in
from elsinore.ledger.inputs import arrived, missing
from elsinore.ledger.results import lost, provisional, stale, waiting
from elsinore.ledger.rows import Longs, State
from elsinore.timeline import DAY, HOUR, Interval, hour_label


class Cell(StrEnum):
    """The state of one hour in a calendar. If several apply, the last one."""

    OUTSIDE = " "  #: before the first known hour, or not over
    MISSING = "."  #: no run has ingested it
    NO_FILE = "-"  #: a run has found no file
    INGESTED = "i"  #: ingested, not published
    LOST = "x"  #: not published, and events of its windows were removed
    PUBLISHED = "#"
    PROVISIONAL = "p"  #: published while inputs were missing
    WAITING = "w"  #: provisional, and a missing input has arrived
    STALE = "s"  #: published, and events of its windows changed; it can be computed again
    FAILED = "F"  #: the last attempt failed


#: Meanings of the cells.
LEGEND = {
    Cell.PUBLISHED: "published", Cell.PROVISIONAL: "provisional", Cell.WAITING: "inputs arrived",
    Cell.STALE: "stale", Cell.FAILED: "failed", Cell.INGESTED: "ingested", Cell.NO_FILE: "no file",
    Cell.MISSING: "missing", Cell.LOST: "events removed",
}  # fmt: skip

Cells = npt.NDArray[np.str_]


def calendar(state: Fold, days: Interval, reach: int, until: int) -> Cells:
    """Return the state of each hour of some days.

    Args:
        state: the state of the hours.
        days: whole days.
        reach: how many hours before their own the windows of the workload reach.
        until: end of the hours that are over, a whole hour.

    Returns:
        The values of `Cell`, an array of shape (days, 24).
    """
    hours = _hours_of(days)
    done, known = state[State.PUBLISHED].hours, state.known
    ingested = state[State.INGESTED].hours
    unpublished = np.setdiff1d(hours, done)
    by_cell: dict[Cell, Longs] = {
        Cell.MISSING: missing(state, min(until, days.end), since=days.start),
        Cell.NO_FILE: ingested,
        Cell.INGESTED: arrived(state),
        Cell.LOST: np.intersect1d(lost(state, unpublished, reach), known),
        Cell.PUBLISHED: done,
        Cell.PROVISIONAL: provisional(state),
        Cell.WAITING: waiting(state),
        Cell.STALE: _to_recompute(state, reach),
        Cell.FAILED: np.union1d(state.failed.last.hours, state.failed_ingests.last.hours),
    }
    cells = np.full(len(hours), Cell.OUTSIDE.value, "<U1")
    for cell, of in by_cell.items():
        cells[is_in(of, hours)] = cell.value
    return cells.reshape(-1, 24)


def completeness(state: Fold, days: Interval, reach: int, until: int) -> pa.Table:
    """Return a row per day with numbers of hours and rows.

    Args:
        state: the state of the hours.
        days: whole days.
        reach: how many hours before their own the windows of the workload reach.
        until: end of the hours that are over, a whole hour.

    Returns:
        `day` (date); numbers of hours: `hours` that are over since the first ingested hour,
        `arrived` with a file, `missing` that no run has ingested, `published`, `provisional`,
        `stale`, `failed`; sums: `records`, `bad_records`, `rows` and `checked_rows` of the
        published results; `coverage`, the share of the rows that were checked, NULL without rows.
    """
    count = days.length // DAY
    ingested, done = state[State.INGESTED], state[State.PUBLISHED]
    end = min(until, days.end)
    first = max(int(ingested.hours[0]), days.start) if len(ingested.hours) else end
    over = np.arange(first, end, HOUR, dtype=np.int64)
    failed = np.union1d(state.failed.last.hours, state.failed_ingests.last.hours)
    to_recompute = _to_recompute(state, reach)
    of_hours = {
        "hours": over, "arrived": arrived(state), "missing": missing(state, end, since=days.start),
        "published": done.hours, "provisional": provisional(state), "stale": to_recompute,
        "failed": failed,
    }  # fmt: skip
    columns = {name: _per_day(hours, days) for name, hours in of_hours.items()}
    for name in ("records", "bad_records"):
        columns[name] = _sums(ingested, name, days)
    for name in ("rows", "checked_rows"):
        columns[name] = _sums(done, name, days)
    starts = days.start + DAY * np.arange(count, dtype=np.int64)
    day = pa.array(starts, pa.timestamp("us")).cast(pa.date32())
    rows = columns["rows"]
    coverage = np.divide(columns["checked_rows"], rows, out=np.zeros(count), where=rows > 0)
    return pa.table({"day": day, **columns, "coverage": pa.array(coverage, mask=rows == 0)})


def freshness(state: Fold, now: int) -> int | None:
    """Return the age of the newest published hour: the time since its end, in microseconds.

    Returns:
        None if no hour is published.
    """
    done = state[State.PUBLISHED].hours
    return now - int(done[-1]) - HOUR if len(done) else None


def shown_days(state: Fold, now: int, days: int) -> tuple[Interval, int]:
    """Return the days to show, and the end of the hours that are over.

    The last day is the current one. If the newest known hour is further in the past than the number
    of days, it is the day of this hour: a replay of old files has no current day. Days before the
    first known hour are left out.
    """
    until, known = now // HOUR * HOUR, state.known
    newest = int(known[-1]) + HOUR if len(known) else until
    if newest <= until - days * DAY or newest > until:
        until = newest
    end = -(-until // DAY) * DAY
    first = int(known[0]) // DAY * DAY if len(known) else end
    start = max(end - days * DAY, min(first, end - DAY))
    return Interval(start, end), until


def runs_of(cells: Cells) -> list[str]:
    """Return the cells of each day as text.

    >>> runs_of(np.array([["#", ".", "#"]]))
    ['#.#']
    """
    return ["".join(day) for day in cells.tolist()]


def day_labels(days: Interval) -> list[str]:
    """Return the days of a range as text, as in `2013-02-08`."""
    return [hour_label(start)[:10] for start in range(days.start, days.end, DAY)]


def _to_recompute(state: Fold, reach: int) -> Longs:
    """Return the stale hours that can be computed again."""
    hours = stale(state, reach)
    return np.setdiff1d(hours, lost(state, hours, reach))


def _hours_of(days: Interval) -> Longs:
    return np.arange(days.start, days.end, HOUR, dtype=np.int64)


def _per_day(hours: Longs, days: Interval) -> Longs:
    inside = hours[(hours >= days.start) & (hours < days.end)]
    return np.bincount((inside - days.start) // DAY, minlength=days.length // DAY)


def _sums(rows: LastRows, column: str, days: Interval) -> Longs:
    """Return the sum of a column per day; NULL counts as 0."""
    inside = (rows.hours >= days.start) & (rows.hours < days.end)
    values = np.maximum(rows.longs(column)[inside], 0)
    sums = np.zeros(days.length // DAY, np.int64)
    np.add.at(sums, (rows.hours[inside] - days.start) // DAY, values)
    return sums
