"""Find windows with ingested events that no run has published yet."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elsinore.ledger.fold import Fold
from elsinore.ledger.inputs import event_ranges
from elsinore.ledger.results import published
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.timeline import HOUR, MAX_INSTANT, Interval, format_instant, hour_label
from elsinore.windows import owning_hour


@dataclass(frozen=True)
class OpenWindows:
    """The open windows of some queries.

    Attributes:
        ends: by query, when the last of its open windows ends, microseconds.
        hours: from the first to the last hour that owns an open window; None without any.
    """

    ends: dict[str, int] = field(default_factory=dict)
    hours: Interval | None = None


def open_windows(state: Fold, workload: Workload, until: int) -> OpenWindows:
    """Find the unpublished windows that end after a whole hour and contain an earlier event.

    An event is earlier if the hour of its file is before the hour. A window is unpublished if its
    hour is not published for these queries.

    Args:
        state: the state of the hours of the workload.
        workload: the queries.
        until: the first instant of the hour.
    """
    events = _last_events(state, until)
    done = published(state, workload_fingerprint(workload)).hours
    closed = set(done[done >= until].tolist())
    ends, first, last = dict[str, int](), list[int](), list[int]()
    for query in workload.queries:
        found = [query.window.open_ends(event, until, closed) for event in events]
        if known := [both for both in found if both]:
            ends[query.name] = max(end for _, end in known)
            first.append(owning_hour(min(end for end, _ in known)))
            last.append(owning_hour(ends[query.name]))
    hours = Interval(min(first), max(last) + HOUR) if ends else None
    return OpenWindows(ends, hours)


def is_reached(state: Fold, workload: Workload, interval: Interval) -> bool:
    """Return whether a window that ends in these hours contains an earlier event."""
    events = _last_events(state, interval.start)
    found = (q.window.open_ends(at, interval.start, ()) for q in workload.queries for at in events)
    return any(ends and ends[0] <= interval.end for ends in found)


def _last_events(state: Fold, until: int) -> set[int]:
    """Return event times of which each open window contains at least one.

    A window that ends after `until` and contains an earlier event contains all later events before
    `until`, so the last of them is enough. Events can be ingested before their own hour.
    """
    first, last = event_ranges(state, until)
    past = np.minimum(last, until - 1)[first < until]
    early = set(last[last >= until].tolist())
    return early | {int(past.max())} if len(past) else early


def replay_command(hours: Interval, program: str = "elsinore", stream: str = "") -> str:
    """Return the command that replays some hours of a stream.

    >>> replay_command(Interval(0, 2 * HOUR), stream="rides")
    'ELSINORE_STREAM=rides elsinore replay --start 1970-01-01T00:00 --end 1970-01-01T02:00'
    """
    start, end = (hour_label(min(border, MAX_INSTANT)) for border in (hours.start, hours.end))
    of_stream = f"ELSINORE_STREAM={stream} " if stream else ""
    return f"{of_stream}{program} replay --start {start}:00 --end {end}:00"


def show_minute(instant: int) -> str:
    """Return a time to the minute, for messages; after year 9999, its last minute.

    >>> show_minute(90 * HOUR)
    '1970-01-04 18:00 UTC'
    """
    return f"{format_instant(min(instant, MAX_INSTANT))[:16].replace('T', ' ')} UTC"


def split_at(hours: Interval, now: int) -> tuple[Interval | None, Interval | None]:
    """Split hours into the hours that are over at a time, and the hours that are not.

    >>> split_at(Interval(0, 2 * HOUR), HOUR + 1)
    (Interval(start=0, end=3600000000), Interval(start=3600000000, end=7200000000))
    """
    border = min(max(now // HOUR * HOUR, hours.start), hours.end)
    over = Interval(hours.start, border) if border > hours.start else None
    rest = Interval(border, hours.end) if border < hours.end else None
    return over, rest
