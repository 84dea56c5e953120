"""Cache results of whole hours of events between runs, as files next to the tables.

These are pane results of queries (`spark.pane_tasks`) and event counts (`lake.plans`). If a file is
missing, its hour is computed again. The name of a file contains the version of `events` that it was
computed from. It is valid until a later commit changes events of its hour. So late events cost only
their own hours, and two runs that write one hour write the same.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.errors import ConflictError
from elsinore.lake.event_files import Bucket
from elsinore.ledger.event_changes import EventChanges
from elsinore.places import state, whole_file
from elsinore.settings import LakePath
from elsinore.store.delta_log import write_failures
from elsinore.store.tables import Lake
from elsinore.timeline import hour_label, parse_hour

#: The directory of cached files, next to the directories of the tables.
FOLDER = "kept"

_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)\.v(\d+)\.(\d+)-(\d+)\.[0-9a-f]{8}\.parquet")


@dataclass(frozen=True, slots=True)
class CachedHours:
    """Cached files of one question about hours, in a directory named after all that it depends on.

    Attributes:
        folder: The directory.
    """

    folder: Path

    @classmethod
    def of(cls, lake: Lake, asked: Iterable[object]) -> CachedHours:
        """Return the cache of a question.

        The question includes the id of `events`, because version numbers are specific to a table.
        """
        names = [lake.log("events").metadata().id, *map(str, asked)]
        return cls(lake.root / FOLDER / sha256("\n".join(names).encode()).hexdigest()[:16])

    def find(
        self, lake: LakePath, hours: Collection[int], version: int, changes: EventChanges
    ) -> dict[int, tuple[Path, ...]]:
        """Return the valid files of some hours at a version of `events`.

        Args:
            lake: The lake with the table `events`.
            hours: The hours.
            version: The version.
            changes: The changes that the ledger records. If a later commit changed a day, no hour
                of this day is valid, because its changed hours are unknown.
        """
        parts: dict[tuple[int, int, int], dict[int, Path]] = defaultdict(dict)
        for hour, at, number, of, path in self._files():
            if hour in hours and at <= version:
                parts[hour, at, of][number] = path
        # Sorted by version, so the newest complete set of files of an hour wins.
        found = {
            hour: (at, tuple(parts[hour, at, of].values()))
            for hour, at, of in sorted(parts)
            if len(parts[hour, at, of]) == of
        }
        is_older = any(at < version for at, _ in found.values())
        days = changes.unrecorded_days(lake, version) if is_older else set[str]()

        def is_valid(hour: int, at: int) -> bool:
            if at == version:
                return True
            is_known = days is not None and hour_label(hour)[:10] not in days
            return is_known and changes.last_of(hour) <= at

        return {hour: files for hour, (at, files) in found.items() if is_valid(hour, at)}

    def all_of(
        self, lake: LakePath, hours: Collection[int], version: int, changes: EventChanges
    ) -> list[Path]:
        """Return the files of hours that are all cached; see `find`.

        Raises:
            ConflictError: files were removed meanwhile.
        """
        found = self.find(lake, hours, version, changes)
        if len(found) < len(hours):
            raise ConflictError("cached hours were removed while a run used them")
        return [path for hour in hours for path in found[hour]]

    def write(self, hour: int, version: int, bucket: Bucket | None, rows: pa.Table) -> None:
        """Cache the rows of an hour, or of a bucket of it.

        Raises:
            SetupError: the disk is full or read-only, or an object store refuses.
            StoreError: an object store does not answer.
        """
        number, of = (bucket.number, bucket.of) if bucket else (0, 1)
        unique = os.urandom(4).hex()
        name = f"{hour_label(hour)}.v{version}.{number}-{of}.{unique}.parquet"
        with write_failures(FOLDER), whole_file(self.folder / name) as file:
            pq.write_table(rows, file, compression="zstd", row_group_size=50_000)

    def drop_before(self, hour: int) -> None:
        """Remove the files of the hours before one."""
        for own, *_, path in self._files():
            if own < hour:
                path.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[int, int, int, int, Path]]:
        """Yield the files with the hour, version, bucket and number of buckets in their names."""
        for path in self.folder.glob("*.parquet") if self.folder.is_dir() else ():
            if found := _NAME.fullmatch(path.name):
                at, number, of = map(int, found.groups()[1:])
                yield parse_hour(found[1]), at, number, of, path


def read_cached(files: Collection[Path], queries: Collection[int] = ()) -> pa.Table:
    """Return the rows of cached files.

    Args:
        files: The files.
        queries: Only rows with these numbers in the column `query`; empty: all rows.

    Raises:
        ConflictError: Another process removed a file meanwhile.
    """
    chosen = [("query", "in", list(queries))] if queries else None
    with _still_there():
        tables = [pq.read_table(str(path), filters=chosen, use_threads=False) for path in files]
    return pa.concat_tables(tables, promote_options="default")


def cached_bytes(files: Iterable[Path]) -> int:
    """Return the total bytes of cached files.

    Raises:
        ConflictError: Another process removed a file meanwhile.
    """
    with _still_there():
        return sum(state(path)[0] for path in files)


@contextmanager
def _still_there() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ConflictError(f"cached hours were removed during the run: {error}") from error


def drop_cached_hours(lake: LakePath, *, unused_since: int | None = None) -> int:
    """Remove cached files.

    Args:
        lake: The lake.
        unused_since: Keep directories with a file that is newer than this time, in nanoseconds
            since 1970; None: remove all files.

    Returns:
        The number of removed files.
    """
    root, removed = lake / FOLDER, 0
    for folder in root.iterdir() if root.is_dir() else ():
        files = list(folder.iterdir())
        changed = []
        for path in files:
            with suppress(FileNotFoundError):  # removed meanwhile, or renamed
                changed.append(state(path)[1])
        if unused_since is None or all(time < unused_since for time in changed):
            for path in files:
                path.unlink(missing_ok=True)
            removed += len(files)
    return removed
