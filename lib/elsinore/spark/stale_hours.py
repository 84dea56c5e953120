"""Which published hours late or corrected events have re-opened; read without a JVM.

An hour is stale if a commit of `events` after the version that its results were computed from
touches an event time that one of its windows holds. Both stand in the lake itself, the touched
times in the very commit that changed the events: no run can forget to tell the next. So is an hour
that is not settled: a run that was killed, or two at once, left other rows than it says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.commit_notes import commits
from elsinore.spark.published_origin import read_publications
from elsinore.timeline import HOUR, Interval, hour_label, hours_of, parse_instant, stretches
from elsinore.windows.window import Window

#: Commits that change no row. Any other one that does not note what it touched touches everything.
_KEEP_ROWS = frozenset(
    {
        "CREATE TABLE",
        "OPTIMIZE",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "VACUUM END",
        "VACUUM START",
    }
)


@dataclass(frozen=True, slots=True)
class StaleHours:
    """Published hours whose windows hold events that have changed since.

    Attributes:
        own: those of the workload, neighbours together.
        others: labels of those that were published for other workloads.
    """

    own: tuple[Interval, ...]
    others: tuple[str, ...]

    def outside(self, interval: Interval) -> tuple[Interval, ...]:
        """The own ones that do not lie in an interval."""
        return stretches(
            hour for part in self.own for hour in hours_of(part) if not interval.contains(hour)
        )

    def inside(self, parts: Iterable[Interval]) -> tuple[Interval, ...]:
        """The own ones that lie in some intervals."""
        wanted = {hour for part in parts for hour in hours_of(part)}
        return stretches(hour for part in self.own for hour in hours_of(part) if hour in wanted)


def stale_hours(lake: Path, workload: Workload) -> StaleHours:
    """The stale ones among all published hours of the lake.

    A change is known for as long as Delta keeps the log of `events`, 30 days by default.

    Args:
        lake: folder of the Delta tables.
        workload: whose windows count.

    Raises:
        DataError: a table is missing or damaged.
    """
    publications = read_publications(lake).values()
    if not publications:
        return StaleHours((), ())
    oldest = min(publication.events_version for publication in publications)
    touched, everything = _last_touched(lake, workload, after=oldest)
    own = workload_fingerprint(workload)
    found: dict[bool, list[int]] = {True: [], False: []}
    for publication in publications:
        hour = parse_instant(f"{publication.owned_hour}:00")
        is_behind = max(touched.get(hour, -1), everything) > publication.events_version
        if is_behind or not publication.settled:
            found[publication.workload_fingerprint == own].append(hour)
    return StaleHours(stretches(found[True]), tuple(sorted(map(hour_label, found[False]))))


def owning_hours(windows: Iterable[Window], first: int, last: int) -> set[int]:
    """The hours that own a window which holds `first`, `last` or an instant between them.

    Args:
        windows: WITHIN and SLIDE of each query.
        first: an instant.
        last: an instant of the same hour, not before `first`.
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


def _last_touched(lake: Path, workload: Workload, *, after: int) -> tuple[dict[int, int], int]:
    """By hour, the last version of `events` that touched one of its windows; and any hour's."""
    windows = {query.window for query in workload.queries}
    touched: dict[int, int] = {}
    everything = -1
    for commit in commits(lake / "events", after=after):
        if commit.operation in _KEEP_ROWS:
            continue
        if "touched" not in commit.note:
            everything = max(everything, commit.version)
            continue
        for first, last in commit.note["touched"].values():
            for hour in owning_hours(windows, first, last):
                touched.setdefault(hour, commit.version)
    return touched, everything
