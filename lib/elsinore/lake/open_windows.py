"""Find windows with landed events that no run has computed yet, without a JVM."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.lake.delta_log import read_rows
from elsinore.lake.provenance import PUBLICATIONS
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import HOUR, MAX_INSTANT, Interval, format_instant, hour_label, parse_hour
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


def open_windows(lake: LakePath, workload: Workload, until: int) -> OpenWindows:
    """Find the unpublished windows that end after a whole hour and contain an earlier event.

    An event is earlier if it landed before the hour. A window is unpublished if its hour is not
    published for the workload.

    Raises:
        DataError: a table is missing or damaged.
    """
    events = _last_events(lake, until)
    closed = _published(lake, workload, until) if events else set[int]()
    ends, first, last = dict[str, int](), list[int](), list[int]()
    for query in workload.queries:
        found = [query.window.open_ends(event, until, closed) for event in events]
        if known := [both for both in found if both]:
            ends[query.name] = max(end for _, end in known)
            first.append(owning_hour(min(end for end, _ in known)))
            last.append(owning_hour(ends[query.name]))
    hours = Interval(min(first), max(last) + HOUR) if ends else None
    return OpenWindows(ends, hours)


def is_reached(lake: LakePath, workload: Workload, interval: Interval) -> bool:
    """Return whether a window that ends in these hours contains an earlier event.

    Raises:
        DataError: the table `landings` is missing or damaged.
    """
    events = _last_events(lake, interval.start)
    found = (q.window.open_ends(at, interval.start, ()) for q in workload.queries for at in events)
    return any(ends and ends[0] <= interval.end for ends in found)


def _last_events(lake: LakePath, until: int) -> set[int]:
    """Return event times of which each open window contains at least one.

    A window that ends after `until` and contains an earlier event contains all later events before
    `until`, so the last of them is enough. Events can land before their own hour.
    """
    before = pc.field("file_hour") < hour_label(until)
    rows = read_rows(lake, "landings", columns=["first_event", "last_event"], where=before)
    spans = [column.cast(pa.int64()).to_pylist() for column in rows.drop_null().columns]
    pairs = list(zip(*spans, strict=True))
    past = [min(last, until - 1) for first, last in pairs if first < until]
    early = {last for _, last in pairs if last >= until}
    return early | {max(past)} if past else early


def _published(lake: LakePath, workload: Workload, until: int) -> set[int]:
    columns = ["window_end_hour", "workload_fingerprint"]
    rows = read_rows(lake, PUBLICATIONS, columns=columns)
    own = pc.equal(rows["workload_fingerprint"], workload_fingerprint(workload))
    later = pc.greater_equal(rows["window_end_hour"], hour_label(until))
    return set(map(parse_hour, rows["window_end_hour"].filter(pc.and_(own, later)).to_pylist()))


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
