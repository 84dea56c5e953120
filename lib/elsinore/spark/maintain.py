"""Maintenance of the lake: small files are put together, and files that nothing needs are removed.

No Z-order: a partition is a day or an hour, by which all reads choose, and a file that holds a
whole one leaves nothing to skip.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import deltalake

from elsinore.errors import ParameterError
from elsinore.spark.failures import spark_failures
from elsinore.spark.tables import Lake

#: The step's name in `run_metrics`.
MAINTAIN_STEP = "maintain"

#: Hours that removed files are kept at least, whoever asks for less: Delta's own default, and many
#: times the longest run, so that no reader loses the version that it has pinned.
LEAST_KEPT = 7 * 24

#: Files of a partition below this size are worth putting together; they are joined up to it.
_TARGET_BYTES = 128 * 1024 * 1024
_RETENTION = "delta.deletedFileRetentionDuration"
_TARGET = "spark.databricks.delta.optimize.maxFileSize"
_SMALL = "spark.databricks.delta.optimize.minFileSize"


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did to a table, in files.

    Attributes:
        live_before: files that the latest version named before.
        live: files that it names now.
        removed: files that VACUUM removed from the disk.
    """

    live_before: int
    live: int
    removed: int


def maintain(lake: Lake, *, keep_hours: int, run: str) -> dict[str, Maintained]:
    """OPTIMIZE each table where that helps, then VACUUM all of them.

    Rows stay what they are. A concurrent writer of the same files makes this lose, or loses itself;
    either is tried again.

    Args:
        lake: the tables; those that were not created yet are left out.
        keep_hours: how long a file is kept after no latest version names it.
        run: what to write into the tables' history, for people.

    Raises:
        ParameterError: `keep_hours` is less than `LEAST_KEPT`.
        ConflictError: another writer got there first.
    """
    require_safe(keep_hours)
    there = [name for name in lake.tables if deltalake.DeltaTable.is_deltatable(_path(lake, name))]
    return {name: _maintain(lake, name, keep_hours, run) for name in there}


def figures(maintained: Mapping[str, Maintained]) -> dict[str, int]:
    """As plain values, for metrics: `<table>_<figure>`."""
    return {
        f"{table}_{figure}": count
        for table, counts in maintained.items()
        for figure, count in asdict(counts).items()
    }


def require_safe(keep_hours: int) -> None:
    """Refuse a retention that could take a version from under a reader.

    Raises:
        ParameterError: it is less than `LEAST_KEPT`.
    """
    if keep_hours < LEAST_KEPT:
        raise ParameterError(
            f"files must be kept for {LEAST_KEPT} hours at least, not {keep_hours}",
            hint="a version that a run reads must not go while it reads",
        )


def is_worth_compacting(lake: Lake, table: str) -> bool:
    """Whether any partition of a table has two small files or more; read from its log alone."""
    adds = deltalake.DeltaTable(_path(lake, table)).get_add_actions(flatten=True)
    keys = [f"partition.{column}" for column in lake.schema(table).partition_by]
    columns = [adds.column(key).to_pylist() for key in keys]
    sizes = adds.column("size_bytes").to_pylist()
    places = zip(*columns, strict=True) if columns else [()] * len(sizes)
    small = Counter(
        place for place, size in zip(places, sizes, strict=True) if size < _TARGET_BYTES
    )
    return any(count > 1 for count in small.values())


def _maintain(lake: Lake, table: str, keep_hours: int, run: str) -> Maintained:
    before = len(_live(lake, table))
    with spark_failures():
        if is_worth_compacting(lake, table):
            _compact(lake, table, run)
        _set_retention(lake, table, keep_hours)
        stale = _stale(lake, table, keep_hours)
        if stale:
            lake.delta(table).vacuum()
    removed = sum(not path.exists() for path in stale)
    return Maintained(before, len(_live(lake, table)), removed)


def _compact(lake: Lake, table: str, run: str) -> None:
    noted = "spark.databricks.delta.commitInfo.userMetadata"
    for name, value in ((_TARGET, _TARGET_BYTES), (_SMALL, _TARGET_BYTES), (noted, run)):
        lake.spark.conf.set(name, str(value))
    try:
        lake.delta(table).optimize().executeCompaction()
    finally:
        for name in (_TARGET, _SMALL, noted):
            lake.spark.conf.unset(name)


def _set_retention(lake: Lake, table: str, keep_hours: int) -> None:
    """Write the retention into the table, which every vacuum of it follows, whoever starts it.

    Delta 4.4 ignores hours that are given to VACUUM itself, unless they are none.
    """
    wanted = _retention(keep_hours)
    set_to = deltalake.DeltaTable(_path(lake, table)).metadata().configuration.get(_RETENTION)
    if (set_to or _retention(LEAST_KEPT)) == wanted:
        return
    # The settings' path as a quoted name, and a whole number: Delta takes no parameters here.
    name = _path(lake, table).replace("`", "``")
    lake.spark.sql(f"ALTER TABLE delta.`{name}` SET TBLPROPERTIES ('{_RETENTION}' = '{wanted}')")


def _retention(hours: int) -> str:
    return f"interval {int(hours)} hours"


def _stale(lake: Lake, table: str, keep_hours: int) -> list[Path]:
    """Files that the latest version does not name and that are old enough for VACUUM to look at.

    Without any, VACUUM would list the whole table for nothing, and write two commits about it.
    """
    live = _live(lake, table)
    before = time.time() - keep_hours * 3600
    root = lake.path(table)
    return [
        path
        for path in root.rglob("*.parquet")
        if path.relative_to(root).parts[0] != "_delta_log"
        and path.name not in live
        and path.stat().st_mtime < before
    ]


def _live(lake: Lake, table: str) -> set[str]:
    """Names of the files of the latest version; Delta never gives one name to two files."""
    uris = deltalake.DeltaTable(_path(lake, table)).file_uris()
    return {uri.rsplit("/", 1)[-1] for uri in uris}


def _path(lake: Lake, table: str) -> str:
    return str(lake.path(table))
