"""Read the log and the rows of a table in this process, which takes milliseconds.

A statement of Spark for the same takes a tenth of a second. Each function returns None if only
Spark can answer: the log is in an object store, others keep its last commits, or its data files do
not contain exactly its rows.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc

from elsinore.errors import DataError, SetupError
from elsinore.places import scheme
from elsinore.store.delta_log import OpenTable, arrow_dataset, open_table
from elsinore.store.regions import Hours, Landings

_COMMIT = re.compile(r"(\d{20})\.json")
_LOG = "_delta_log"
#: The directory of commits that a catalog has, but not yet the log (Delta's protocol, "Catalog
#: managed tables").
_STAGED = "_staged_commits"
#: Seconds that a commit may take to follow the directory of its log.
_PATIENCE = 5.0
#: Delta's first reader version: data files contain exactly the rows of the table.
_PLAIN = 1


class LoggedCommit(NamedTuple):
    """A commit in the log; `note` is its user metadata, empty without any."""

    version: int
    operation: str
    note: str
    metrics: Mapping[str, str]


def latest_version(table: str) -> int | None:
    """Return the latest version of a table."""
    versions = _versions(table)
    return versions[0] if versions else None


def remove_empty_log(table: str) -> bool:
    """Remove a log on this machine that has no commit, and return whether there was one.

    A creator that was killed can leave it. Spark takes it for a table, and does not create one.
    Another creator at work gets some seconds for its commit.
    """
    log = Path(table, _LOG)
    if scheme(table) is not None or not log.is_dir():
        return False
    end = time.monotonic() + _PATIENCE
    while _is_empty(log):
        if time.monotonic() > end:
            shutil.rmtree(log)
            return True
        time.sleep(0.1)
    return False


def _is_empty(log: Path) -> bool:
    """Return whether a log has no file but temporary ones."""
    return all(path.name.startswith(".") for path in log.rglob("*") if path.is_file())


def latest_commits(table: str, limit: int) -> list[LoggedCommit] | None:
    """Return the last commits of a table, the latest first, at most `limit`."""
    versions = _versions(table)[:limit]
    try:
        return [_commit(Path(table, _LOG), version) for version in versions] or None
    except FileNotFoundError:  # the log was cleaned in the meantime
        return None


class StoredDefinition(NamedTuple):
    """The columns of a table, in Spark's JSON, and its properties."""

    columns: dict[str, Any]
    properties: Mapping[str, str]


def stored_definition(table: str) -> StoredDefinition | None:
    """Return the columns and the properties of the latest version of a table."""
    opened = _open_plain(table)
    if opened is None:
        return None
    columns = json.loads(opened.schema().to_json())
    return StoredDefinition(columns, opened.metadata().configuration)


def count_between(table: str, column: str, first: str, last: str) -> int | None:
    """Return the number of rows of a table whose text in a column is in a range."""
    opened = _open_plain(table)
    if opened is None:
        return None
    condition = [[(column, ">=", first), (column, "<=", last)]]
    inside = (pc.field(column) >= first) & (pc.field(column) <= last)
    return int(arrow_dataset(opened, condition).count_rows(filter=inside))


def count_by_hour(
    table: str, hours: Hours | Landings, version: int | None = None
) -> dict[str, int] | None:
    """Return the number of rows of each of some hours that has rows.

    It reads one column, of files that can have rows of these hours.

    Args:
        table: The directory of a table that is partitioned by day.
        hours: The hours.
        version: The version; None: the latest one.
    """
    opened = _open_plain(table, version)
    if opened is None:
        return None
    counts: Counter[str] = Counter()
    rows = arrow_dataset(opened, hours.conditions(by_day=True))
    try:
        inside = hours.expression(by_day=True)
        for batch in rows.to_batches(columns=[hours.column], filter=inside):
            for found in pc.value_counts(batch.column(0)).to_pylist():
                counts[found["values"]] += found["counts"]
    except FileNotFoundError:  # it was vacuumed; Spark's error names the table and the fix
        return None
    return dict(counts)


def _open_plain(table: str, version: int | None = None) -> OpenTable | None:
    """Open a table whose data files contain exactly its rows; None: only Spark can read it."""
    if not _versions(table):
        return None
    try:
        opened = open_table(Path(table), version)
    except SetupError as error:
        if "features" not in error.fields:
            raise
        return None
    return opened if opened.protocol().min_reader_version == _PLAIN else None


def _versions(table: str) -> list[int]:
    """Return the versions in the log, the latest first; none if only Spark knows them."""
    if scheme(table):
        return []
    try:
        names = os.listdir(Path(table, _LOG))
    except (FileNotFoundError, NotADirectoryError):
        return []
    # Spark makes the directory for every table.
    if _STAGED in names and os.listdir(Path(table, _LOG, _STAGED)):
        return []
    return sorted((int(name[1]) for name in map(_COMMIT.fullmatch, names) if name), reverse=True)


def _commit(log: Path, version: int) -> LoggedCommit:
    file = log / f"{version:020}.json"
    try:
        for line in file.read_bytes().splitlines():
            info: dict[str, Any] | None = json.loads(line).get("commitInfo")
            if info is not None:
                metrics = info.get("operationMetrics") or {}
                note = info.get("userMetadata") or ""
                return LoggedCommit(version, str(info.get("operation", "")), note, metrics)
    except (ValueError, AttributeError) as error:
        raise DataError(
            f"the log of the table {log.parent.name} is damaged at version {version}: {error}",
            hint=f"restore {file} from a backup",
        ) from error
    return LoggedCommit(version, "", "", {})
