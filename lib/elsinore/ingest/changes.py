"""The changes of a table since a version, without the rows that were removed as too old.

Commits that remove rows after their retention period have a note (`RETENTION`). Their deletions
withdraw nothing: the events of removed raw records stay, and no results become stale.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.store.spark_tables import Commit, SparkTables

#: In the note of a commit that removed old rows: the first day that stayed.
RETENTION = "retention"
#: In the note of a commit of `events`: the changed hours of all earlier versions are in the ledger.
RECORDED = "recorded"

#: Commits in which the version is looked for before all of them are.
_RECENT = 20


def changes_after(store: SparkTables, table: str, after: int, last: int) -> DataFrame | None:
    """Return the change feed of the versions after a version; None if no row changed.

    Files of commits that changed no row, or removed old rows, are not needed: they may be gone.

    Args:
        store: The tables.
        table: Name of the table.
        after: The version.
        last: The last version of the feed, which exists.

    Raises:
        PySparkException: also if the feed is gone; see `is_vacuumed`.
    """
    for limit in (_RECENT, None):
        commits = [one for one in store.history(table, limit) if one.version <= last]
        later, is_whole = _later(commits, after)
        if is_whole:
            break
    removed = [commit.version for commit in later if RETENTION in commit.note]
    changed = [
        commit.version for commit in later if commit.changes_rows and RETENTION not in commit.note
    ]
    first = changed[-1] if is_whole and changed else after + 1
    if is_whole and not changed:
        return None
    feed = store.changes(table, first, last)
    between = [version for version in removed if version >= first]
    if not between:
        return feed
    return feed.where(~F.col("_commit_version").isin(between))


def _later(commits: list[Commit], after: int) -> tuple[list[Commit], bool]:
    """Return the commits after a version, the latest first, and whether all of them are there."""
    later = list[Commit]()
    for commit in commits:
        if commit.version <= after or RECORDED in commit.note:
            return later, True
        later.append(commit)
    return later, bool(later) and later[-1].version == after + 1
