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
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.compute as pc

from elsinore.errors import DataError, SetupError
from elsinore.places import scheme
from elsinore.store.delta_log import arrow_dataset, open_table

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


def count_between(table: str, column: str, first: str, last: str) -> int | None:
    """Return the number of rows of a table whose text in a column is in a range."""
    if not _versions(table):
        return None
    try:
        opened = open_table(Path(table))
        if opened.protocol().min_reader_version != _PLAIN:
            return None
        condition = [[(column, ">=", first), (column, "<=", last)]]
        inside = (pc.field(column) >= first) & (pc.field(column) <= last)
        return int(arrow_dataset(opened, condition).count_rows(filter=inside))
    except SetupError as error:
        if "features" not in error.fields:
            raise
        return None


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
