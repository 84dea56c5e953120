"""Which published hours late or corrected events have re-opened; read without a JVM.

An hour is stale if a commit of `events` after the version that its results were computed from
touches an event time that one of its windows holds. Both stand in the lake itself, the touched
times in the very commit that changed the events: no run can forget to tell the next. So is an hour
that is not settled: a run that was killed, or two at once, left other rows than it says.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from elsinore.errors import ParameterError
from elsinore.lake.delta_log import commits
from elsinore.lake.provenance import read_publications, staged_origins
from elsinore.lake.run_metrics import LAND_STEP, Metric, find_text, record_metrics
from elsinore.lake.tables import Lake
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import (
    HOUR,
    Interval,
    format_instant,
    hour_label,
    hours_of,
    parse_instant,
    stretches,
)
from elsinore.windows import Window

#: Metric of the step `land`: the hours as JSON.
REOPENED = "reopened"


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

    What neither the log of `events` nor the table `history` knows may have touched everything.

    Args:
        lake: folder of the Delta tables.
        workload: whose windows count.

    Raises:
        DataError: a table is missing or damaged.
    """
    publications = read_publications(lake).values()
    if not publications:
        return StaleHours((), ())
    versions = {
        parse_instant(f"{publication.owned_hour}:00"): publication.events_version
        for publication in publications
    }
    touched = _touched_since(lake, {query.window for query in workload.queries}, versions)
    own = workload_fingerprint(workload)
    found: dict[bool, list[int]] = {True: [], False: []}
    for hour, publication in zip(versions, publications, strict=True):
        if hour in touched or not publication.settled:
            found[publication.workload_fingerprint == own].append(hour)
    return StaleHours(stretches(found[True]), tuple(sorted(map(hour_label, found[False]))))


def overtaken(lake: Path, workload: Workload, parts: Iterable[Interval]) -> tuple[Interval, ...]:
    """The hours of some intervals whose staged results are older than an event of their windows.

    What `stale_hours` says of published results, said of those that are about to be published.

    Raises:
        DataError: a table is damaged.
    """
    staged = {label: found for part in parts for label, found in staged_origins(lake, part).items()}
    versions = {parse_instant(f"{label}:00"): one.events_version for label, one in staged.items()}
    windows = {query.window for query in workload.queries}
    return stretches(_touched_since(lake, windows, versions)) if versions else ()


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


def _touched_since(
    lake: Path, windows: Collection[Window], versions: Mapping[int, int]
) -> set[int]:
    """The hours of which a window was touched after the version of `events` that each is from."""
    reach = max(window.within for window in windows)
    found: set[int] = set()
    for commit in commits(lake / "events", after=min(versions.values())):
        if not commit.changes_rows:
            continue
        if "touched" not in commit.note:
            # It may have touched everything.
            found |= {hour for hour, version in versions.items() if version < commit.version}
            continue
        for first, last in commit.note["touched"].values():
            near = hours_of(Interval(first, last + reach))
            # Most commits touch what was computed from them.
            behind = {hour for hour in near if versions.get(hour, commit.version) < commit.version}
            if behind - found:
                found |= behind & owning_hours(windows, first, last)
    return found


def reopen_hours(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    *,
    figures: Mapping[str, Metric],
    run: str,
) -> tuple[Interval, ...]:
    """Find the stale hours of a workload outside of a run's interval, and keep them for its steps.

    Args:
        lake: the tables.
        workload: whose windows count.
        interval: the hours of the run, which have landed.
        figures: what else to record of the landing, in the same commit.
        run: what to write into the table's history.

    Returns:
        The hours, neighbours together, each stretch to be aggregated and validated by itself.

    Raises:
        ConflictError: another run over the same interval wrote meanwhile.
    """
    found = stale_hours(lake.root, workload).outside(interval)
    borders = [[format_instant(part.start), format_instant(part.end)] for part in found]
    metrics = {**figures, REOPENED: json.dumps(borders)}
    record_metrics(lake, workload, interval, LAND_STEP, metrics, run=run)
    return found


def reopened_hours(lake: Lake, workload: Workload, interval: Interval) -> tuple[Interval, ...]:
    """What `reopen_hours` found last for a run; nothing where it was not asked.

    Raises:
        ParameterError: the metric is damaged.
    """
    text = find_text(lake, workload, interval, LAND_STEP, REOPENED) or "[]"
    try:
        return tuple(Interval.parse(start, end) for start, end in json.loads(text))
    except (ValueError, TypeError, AttributeError) as error:
        raise ParameterError(f"the hours that {interval} re-opened are damaged: {error}") from error
