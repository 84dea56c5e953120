"""Which published hours late or corrected events have re-opened; read without a JVM.

An hour is stale if a commit of `events` after the version that its results were computed from
touches an event time that one of its windows holds. Both stand in the lake itself, the touched
times in the very commit that changed the events: no run can forget to tell the next. So is an hour
that is not settled: a run that was killed, or two at once, left other rows than it says. And so is
one that waited for a landing that has come since. An hour that nobody has published was missed if a
run that was about it failed, or if it lies between others, as while the scheduler was down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.lake.delta_log import Commit, changed_partitions, commits, read_rows
from elsinore.lake.event_files import reach_of
from elsinore.lake.landing_zone import under_way
from elsinore.lake.provenance import (
    PUBLICATIONS,
    PUBLISHED,
    read_publications,
    staged_origins,
)
from elsinore.lake.run_metrics import failed_hours, tried_hours
from elsinore.lake.tables import Lake, with_column
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import (
    DAY,
    HOUR,
    Interval,
    format_instant,
    hour_label,
    hours_of,
    parse_hour,
    parse_instant,
    stretches,
)
from elsinore.windows import Window, joint_reach
from elsinore.wording import some_of


class StaleHours(NamedTuple):
    """Published hours whose windows hold events that have changed since."""

    own: set[int]  #: those of the workload
    others: set[int]  #: those of other workloads


def _borders(part: Interval) -> dict[str, str]:
    return {"start": format_instant(part.start), "end": format_instant(part.end)}


def stale_hours(lake: LakePath, workload: Workload, interval: Interval | None = None) -> StaleHours:
    """The stale ones among all published hours, or an interval's, by the windows of a workload.

    What neither the log of `events` nor the table `history` knows may have touched everything.
    Hours that cannot be computed any more (`lost_hours`) stay as they are published.

    Raises:
        DataError: a table is missing or damaged.
    """
    own, others = _changed_hours(lake, workload, interval)
    lost = lost_hours(lake, workload, own | others)
    return StaleHours(own - lost, others - lost)


def _changed_hours(
    lake: LakePath, workload: Workload, interval: Interval | None = None
) -> StaleHours:
    """The published hours whose rows are not those of today's events, or may not be."""
    found = StaleHours(set(), set())
    labels = None if interval is None else [*map(hour_label, hours_of(interval))]
    publications = read_publications(lake, labels).values()
    if not publications:
        return found
    versions = {parse_hour(one.window_end_hour): one.events_version for one in publications}
    touched = _touched_since(lake, {query.window for query in workload.queries}, versions)
    landed = _landed(lake) if any(one.awaited for one in publications) else frozenset()
    own = workload_fingerprint(workload)
    for hour, one in zip(versions, publications, strict=True):
        arrived = any(landed.intersection(hours_of(part)) for part in one.awaited)
        if hour in touched or arrived or not one.settled:
            (found.own if one.workload_fingerprint == own else found.others).add(hour)
    return found


def lost_hours(lake: LakePath, workload: Workload, hours: Iterable[int]) -> set[int]:
    """Those of some hours whose windows held events that were removed, as old as is kept."""
    if not (asked := set(hours)):
        return set()
    holds_removed = _spans(lake, removed=True)
    return {hour for hour in asked if holds_removed(_reach(workload, hour))}


def is_lost(lake: LakePath, workload: Workload, interval: Interval) -> bool:
    """Return whether none of some hours can be computed any more (`lost_hours`)."""
    hours = {*hours_of(interval)}
    return lost_hours(lake, workload, hours) == hours


def _spans(lake: LakePath, *, removed: bool = False) -> Callable[[Interval], bool]:
    """Tells of an interval whether events of landings may lie in it, or such as were removed.

    Each landing had them from its first to its last.
    """
    rows = read_rows(lake, "landings")
    if removed and "kept_from" not in rows.column_names:  # an earlier release has told nobody
        return lambda _: False
    names = ["first_event", "last_event", *["kept_from"] * removed]
    rows = rows.select(names).drop_null()
    first, last, *kept = (rows[name].cast(pa.int64()).to_numpy() for name in names)
    order = np.argsort(first)
    first, ends = first[order], np.maximum.accumulate(np.minimum.reduce([last + 1, *kept])[order])

    def holds(reach: Interval) -> bool:
        before = int(np.searchsorted(first, reach.end))
        return before > 0 and bool(ends[before - 1] > reach.start)

    return holds


def require_kept(lake: LakePath, workload: Workload, interval: Interval) -> None:
    """Refuse to give out what hours come to with what is left of their events (DataError)."""
    if lost := lost_hours(lake, workload, hours_of(interval)):
        raise DataError(
            f"events in windows of {some_of(map(hour_label, sorted(lost)))} were removed after "
            "their retention period",
            hint="published results stay; to recompute them, raise keep_days and ingest the raw "
            "files of these windows again: `elsinore land`",
        )


def renew(lake: Lake, workload: Workload, *, run: str) -> None:
    """Say of the published hours that nothing has changed that they are of the tables as they are.

    They are; and who looks next reads the commits since then, not those of all the hours' lives.

    Raises:
        DataError: a table is missing or damaged.
        ConflictError: others kept publishing meanwhile.
    """
    own = workload_fingerprint(workload)

    def renewed(rows: pa.Table) -> pa.Table:
        # Looked up before the stale ones are: what comes meanwhile leaves an hour as it was.
        versions = lake.version("events"), lake.version(PUBLISHED)
        labels = pa.array(map(hour_label, _changed_hours(lake.root, workload).own), pa.string())
        is_changed = pc.is_in(rows["window_end_hour"].cast(pa.string()), labels)
        right = pc.and_not(pc.equal(rows["workload_fingerprint"], own), is_changed)
        # No hour was published as that version: it is no whole one (`read_publications`).
        new = ("events_version", "published_version", "published_together"), (*versions, 0)
        for name, value in zip(*new, strict=True):
            rows = with_column(rows, name, pc.if_else(right, value, rows[name]))
        return rows

    lake.amend(PUBLICATIONS, renewed, run=run)


def _landed(lake: LakePath) -> frozenset[int]:
    """The hours whose landing had a file and has ended."""
    rows = read_rows(lake, "landings", columns=["file_hour", "files", "listing"])
    ended = pc.and_not(pc.greater(rows["files"], 0), under_way(rows["listing"]))
    return frozenset(map(parse_hour, rows["file_hour"].filter(ended).to_pylist()))


def silent_hours(lake: LakePath, until: int) -> int:
    """Hours without a file before an instant, since the last that had one; 0 if none ever had."""
    last = max((hour for hour in _landed(lake) if hour < until), default=until - HOUR)
    return (until - HOUR - last) // HOUR


def awaited_landings(
    lake: LakePath, workload: Workload, hours: Iterable[int]
) -> dict[int, tuple[Interval, ...]]:
    """By hour, the hours that its windows reach and that have no landed file.

    From the first landed hour on: before it there was no stream. An empty file says that an hour
    had no events; where there is none, nobody knows.
    """
    landed = _landed(lake)
    first = min(landed, default=0)
    return {
        hour: stretches(
            h for h in hours_of(_reach(workload, hour)) if h > first and h not in landed
        )
        for hour in hours
    }


def _reach(workload: Workload, hour: int) -> Interval:
    """From where to where the windows of an hour reach."""
    return reach_of(workload.queries, Interval(hour, hour + HOUR))


def _missed(lake: LakePath, workload: Workload, until: int, days: int) -> set[int]:
    """The hours whose windows hold landed files or events, and that nobody has published for any
    queries.

    From the first published hour on those of the last days before an instant, or before the latest
    published one; and of whatever time those of stops and of runs that failed. Without days none.
    """
    if not days:
        return set()
    published = read_rows(lake, PUBLICATIONS, columns=["window_end_hour"])["window_end_hour"]
    known = set(map(parse_hour, published.to_pylist()))
    ends = {until, max(known, default=until)}
    first = min(known, default=until)
    lately = {
        hour
        for end in ends
        for hour in range(max(first, end - days * DAY), end, HOUR)
        if hour not in known
    }
    accounts = read_rows(lake, "landings", columns=["file_hour"])["file_hour"].to_pylist()
    before = {hour for hour in map(parse_hour, accounts) if hour < max(ends)} - known - lately
    if not before and not lately:
        return set()
    landed, holds_events = _landed(lake), _spans(lake)
    windows = {query.window for query in workload.queries}

    def holds(hour: int) -> bool:
        reach = joint_reach(windows, Interval(hour, hour + HOUR))
        return not landed.isdisjoint(hours_of(reach)) or holds_events(reach)

    before = set(filter(holds, before))
    if before:  # seldom, in a lake of one workload
        before &= tried_hours(lake)
    return before.union(filter(holds, lately))


def overtaken(lake: LakePath, workload: Workload, interval: Interval) -> tuple[Interval, ...]:
    """The hours of an interval whose staged results are older than an event of their windows.

    What `stale_hours` says of published results, said of those that are about to be published.

    Raises:
        DataError: a table is damaged.
    """
    staged = staged_origins(lake, interval)
    versions = {parse_hour(label): one.events_version for label, one in staged.items()}
    windows = {query.window for query in workload.queries}
    return stretches(_touched_since(lake, windows, versions))


def owning_hours(windows: Iterable[Window], first: int, last: int) -> set[int]:
    """The hours that own a window which holds `first`, `last` or an instant between them.

    Both lie in one hour.
    """
    found = set()
    for window in windows:
        lowest, highest = window.indices(first).start, window.indices(last).stop - 1
        ends = Interval(window.bounds(lowest).end - 1, window.bounds(highest).end)
        for hour in hours_of(ends):
            ending = window.ending_in(Interval(hour, hour + HOUR))
            if max(ending.start, lowest) < min(ending.stop, highest + 1):
                found.add(hour)
    return found


def touched_times(lake: LakePath, commit: Commit) -> dict[str, tuple[int, int]] | None:
    """By hour, the first and the last event time that a commit of `events` may have changed.

    None: it may have changed any.
    """
    if not commit.changes_rows:
        return {}
    if "touched" in commit.note:
        return dict(commit.note["touched"])
    days = changed_partitions(lake / "events", commit.version, "event_day")
    if days is None:
        return None
    starts = map(parse_instant, days)
    hours = (hour for start in starts for hour in range(start, start + DAY, HOUR))
    return {hour_label(hour): (hour, hour + HOUR - 1) for hour in hours}


def _touched_since(
    lake: LakePath,
    windows: Collection[Window],
    versions: Mapping[int, int],
    until: int | None = None,
) -> set[int]:
    """The hours of which a window was touched after the version of `events` that each is from.

    `until` is the last version that is looked at, if not the latest.
    """
    found: set[int] = set()
    if not versions:
        return found
    reach = max(window.within for window in windows)
    for commit in commits(lake / "events", after=min(versions.values())):
        if until is not None and commit.version > until:
            continue
        touched = touched_times(lake, commit)
        if touched is None:
            found |= {hour for hour, version in versions.items() if version < commit.version}
            continue
        for first, last in touched.values():
            near = hours_of(Interval(first, last + reach))
            # Most commits touch what was computed from them.
            behind = {hour for hour in near if versions.get(hour, commit.version) < commit.version}
            if behind - found:
                found |= behind & owning_hours(windows, first, last)
    return found


def touched_hours(lake: LakePath, versions: Mapping[int, int], until: int) -> set[int]:
    """Of some hours, those of which an event was changed after a version of `events`, each its own,
    and not after `until`.
    """
    return _touched_since(lake, {Window(HOUR, HOUR)}, versions, until)


def hours_to_reopen(
    answered: Collection[tuple[LakePath, Workload]],
    interval: Interval,
    *,
    most: int,
    next_most: int = 0,
    days: int = 0,
) -> dict[str, Any]:
    """What a run is to compute beside its own hours: those that are stale or were missed.

    For JSON: the stretches that it takes on, each to be computed by itself, as `reopened`, how many
    hours they are (`reopened_hours`), how many are too many for it (`hours_left`), and of these the
    next stretch to `catch_up` with; and how many hours were missed whose events have been removed
    (`hours_lost`). Hours that have failed before come after all others, one by one, those first
    that have waited longest: what is wrong with some of them keeps no other from being published.
    In all hours of a stretch the same workloads lack events (`lost_hours`).

    Args:
        answered: the workloads of the run, each with the folder of its tables.
        interval: the hours of the run.
        most: how many hours the run may take on beside its own.
        next_most: how many hours to catch up with next.
        days: how many days before its own hours may have been missed, beside those of earlier runs
            that failed; 0: neither is looked for.
    """
    hours, new, lost, tried = set[int](), set[int](), set[int](), dict[int, float]()
    for lake, workload in answered:
        missed = _missed(lake, workload, interval.start, days)
        gone = lost_hours(lake, workload, missed)
        own, lost = stale_hours(lake, workload).own | (missed - gone), lost | gone
        own = {hour for hour in own if not interval.contains(hour)}
        hours |= own
        failed = _tried(lake, workload, own)
        new |= own - failed.keys()
        tried |= {hour: max(at, tried.get(hour, at)) for hour, at in failed.items()}
    lacking: dict[int, int] = Counter()
    for number, (lake, workload) in enumerate(answered):
        lacking.update(dict.fromkeys(lost_hours(lake, workload, hours), 1 << number))
    # The latest ones: catching up begins with the first.
    again = sorted(hours - new, key=lambda hour: (tried[hour], hour), reverse=True)
    order = [*again, *sorted(new)]
    cut = max(len(order) - most, 0)
    following = _parts(order[:cut], new, lacking)[:1]
    catch_up = [Interval(p.start, min(p.end, p.start + next_most * HOUR)) for p in following]
    return {
        "reopened": [_borders(part) for part in _parts(order[cut:], new, lacking)],
        "reopened_hours": len(order) - cut,
        "hours_left": cut,
        "hours_lost": len(lost),
        "catch_up": [_borders(part) for part in catch_up],
    }


def _parts(
    hours: Sequence[int], new: Collection[int], lacking: Mapping[int, int]
) -> list[Interval]:
    """The new ones of some hours, in order, neighbours together that are alike; then the others,
    the last first.
    """
    alike = groupby((hour for hour in hours if hour in new), key=lambda hour: lacking[hour])
    others = (Interval(hour, hour + HOUR) for hour in reversed(hours) if hour not in new)
    return [*chain.from_iterable(stretches(same) for _, same in alike), *others]


def _tried(lake: LakePath, workload: Workload, hours: Collection[int]) -> dict[int, float]:
    """Those of some unpublished hours that were staged of today's events, or could not be: they
    failed. By hour when, in milliseconds since 1970.
    """
    if not hours:
        return {}
    own, every = workload_fingerprint(workload), Interval(min(hours), max(hours) + HOUR)
    failed = failed_hours(lake, workload)
    known = {hour: failed[hour] for hour in hours if hour in failed}
    for hour, one in ((parse_hour(of), one) for of, one in staged_origins(lake, every).items()):
        staged = one.events_version, float(one.time)
        if hour in hours and one.workload == own and known.get(hour, staged) <= staged:
            known[hour] = staged
    versions = {hour: version for hour, (version, _) in known.items()}
    windows = {query.window for query in workload.queries}
    touched = _touched_since(lake, windows, versions)
    return {hour: at for hour, (_, at) in known.items() if hour not in touched}
