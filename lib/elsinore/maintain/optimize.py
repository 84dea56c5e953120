"""Compact small files of the tables, and remove files that no recent version uses.

No Z-order: tables are partitioned by day, by which all reads choose.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from deltalake import CommitProperties, DeltaTable

from elsinore.errors import ParameterError
from elsinore.lake.cached_hours import drop_cached_hours
from elsinore.maintain.tables import OwnTables
from elsinore.places import is_here
from elsinore.store.delta_log import open_table, write_failures
from elsinore.store.tables import LOG_KEPT

#: Hours for which removed files are kept at least: the default of Delta, and many times the longest
#: run, so that a reader does not lose the version that it has pinned.
LEAST_KEPT = 7 * 24

_RETENTION = "delta.deletedFileRetentionDuration"


def maintain(own: OwnTables, *, keep_hours: int, run: str) -> dict[str, int]:
    """OPTIMIZE the tables of data and VACUUM all tables; rows stay as they are.

    Records and the ledger are compacted when they are written.

    Args:
        own: The tables.
        keep_hours: Hours for which a removed file is kept, and cached hours since they were used.
        run: Id of the run, for the history of the tables.

    Returns:
        By `<table>_removed` the number of removed files.

    Raises:
        ParameterError: `keep_hours` is less than `LEAST_KEPT`.
        ConflictError: other writers won each time.
        DataError: a table uses a feature that Delta does not support.
    """
    if keep_hours < LEAST_KEPT:
        raise ParameterError(
            f"files must be kept for at least {LEAST_KEPT} hours, not {keep_hours}",
            hint=f"set ELSINORE_VACUUM_RETENTION_HOURS={LEAST_KEPT} or more",
        )
    note, removed = {"run": run}, dict[str, int]()
    for table, store in own.data.items():
        store.optimize(table, note)
        removed[table] = store.vacuum(table, keep_hours, note)
    for path in records_of(own):
        removed[path.name] = vacuum_records(path, keep_hours, run)
    drop_cached_hours(own.lake.root, unused_since=time.time_ns() - keep_hours * 3600 * 10**9)
    return {f"{table}_removed": count for table, count in removed.items()}


def records_of(own: OwnTables) -> Iterator[Path]:
    """Yield the directories of the tables that delta-rs writes."""
    yield from map(own.lake.path, own.records)
    if own.is_of_stream:
        yield own.ledger.path


def vacuum_records(path: Path, keep_hours: float, run: str) -> int:
    """VACUUM a table that delta-rs writes.

    Args:
        path: Its directory.
        keep_hours: Hours for which removed files are kept, later too; 0: none is kept.
        run: Id of the run.

    Returns:
        The number of removed files.

    Raises:
        ConflictError: another writer committed first.
    """
    commit = CommitProperties(custom_metadata={"run": run})
    with write_failures(path):
        if keep_hours and (new := _new_properties(open_table(path), keep_hours)):
            open_table(path).alter.set_table_properties(new, commit_properties=commit)
        # Without stale files, a vacuum would write two commits about it.
        unused = open_table(path).vacuum(
            int(keep_hours), enforce_retention_duration=bool(keep_hours), full=True
        )
        if unused:
            open_table(path).vacuum(
                int(keep_hours), dry_run=False, enforce_retention_duration=bool(keep_hours),
                full=True, commit_properties=commit,
            )  # fmt: skip
    return len(unused) + _drop_unfinished(path, time.time() - keep_hours * 3600)


def _new_properties(table: DeltaTable, keep_hours: float) -> dict[str, str]:
    """Return the properties of retention that a table lacks, which any VACUUM follows."""
    wanted = {_RETENTION: f"interval {int(keep_hours)} hours", **LOG_KEPT}
    stored = {_RETENTION: f"interval {LEAST_KEPT} hours", **table.metadata().configuration}
    return {name: value for name, value in wanted.items() if stored.get(name) != value}


def _drop_unfinished(table: Path, before: float) -> int:
    """Remove files that a killed writer did not finish, if changed before a time.

    On a disk delta-rs writes `<file>#<number>` and renames it; VACUUM does not see such names.
    """
    removed = 0
    for path in table.rglob("*#[0-9]*") if is_here(table) else ():
        with suppress(FileNotFoundError):  # it has just been finished
            if path.is_file() and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed
