"""Find hours of `results` that later commits changed, to publish them again; read without a JVM."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from elsinore.ledger.fold import LastRows
from elsinore.ledger.rows import Longs
from elsinore.settings import LakePath
from elsinore.store.delta_log import UNKNOWN, Commit, changed_partitions, commits, open_table
from elsinore.store.tables import RESULTS
from elsinore.timeline import DAY, HOUR, parse_hour

_DAY = "window_end_day"


def unrecorded_changes(lake: LakePath, published: LastRows) -> tuple[Longs, Longs]:
    """Return the hours of `results` that commits changed which these publications did not make.

    Args:
        lake: directory of the Delta tables.
        published: last publications of hours.

    Returns:
        As `changed_results`.
    """
    if not len(published.hours):
        return published.hours, published.hours
    versions = published.longs("results_version")
    # A publication that changed no row names the version that it found, which others made.
    made = versions[published.longs("changed_rows") > 0]
    return changed_results(lake, int(versions.min()), without=frozenset(made.tolist()))


def changed_results(
    lake: LakePath, after: int, *, without: Collection[int] = frozenset()
) -> tuple[Longs, Longs]:
    """Return the hours whose published results changed after a version of `results`.

    Commits of `publish` note their hours. Another commit counts as a change of all hours of the
    days whose files it changed. Commits that Delta has cleaned from the log are skipped: runs have
    settled their hours since.

    Args:
        lake: directory of the Delta tables.
        after: a version of `results`; -1 for all commits.
        without: versions that are left out.

    Returns:
        The hours, ascending, and for each the last version of `results` that changed it; see
        `ledger.results.unsettled`. Both are empty if the table does not exist.

    Raises:
        DataError: the log of the table is damaged.
    """
    last: dict[int, int] = {}
    for commit in commits(lake / RESULTS, after=after, without=without):
        if commit.changes_rows and commit.operation != UNKNOWN:
            for hour in _hours_of(lake, commit):
                last.setdefault(hour, commit.version)
    hours = np.array(sorted(last), np.int64)
    return hours, np.array([last[hour] for hour in hours.tolist()], np.int64)


def _hours_of(lake: LakePath, commit: Commit) -> Iterator[int]:
    """Return the hours that a commit can have changed."""
    noted = commit.note.get("hours")
    if isinstance(noted, list):
        yield from map(parse_hour, noted)
        return
    days = changed_partitions(lake / RESULTS, commit.version, _DAY)
    for day in _all_days(lake) if days is None else days:
        start = parse_hour(f"{day}T00")
        yield from range(start, start + DAY, HOUR)


def _all_days(lake: LakePath) -> set[str]:
    files = open_table(lake / RESULTS).files()
    return set(map(str, files[f"partition.{_DAY}"].unique().to_pylist()))
