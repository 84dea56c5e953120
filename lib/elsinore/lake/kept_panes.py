"""What panes do to queries, kept beside the tables from run to run: a file for each hour.

A memory, no table: whoever finds no file works the hour out again from its events. A file's name
says which version of `events` it is of, and it is right for as long as no later commit touches its
hour. So late events cost their own hours, and two runs that write one hour write the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.engine.linear.carried import CarriedPanes
from elsinore.errors import ConflictError
from elsinore.lake.delta_log import write_failures
from elsinore.lake.stale_hours import touched_hours
from elsinore.lake.tables import Lake
from elsinore.lowering.carriers import carriers_of
from elsinore.places import state, whole_file
from elsinore.settings import LakePath
from elsinore.timeline import hour_label, parse_hour

#: The folder beside those of tables.
FOLDER = "panes"

#: To be raised where rows of panes come to mean something else, or were wrong: others do not count.
_MEANING = 1

_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)\.v(\d+)\.[0-9a-f]{8}\.parquet")


@dataclass(frozen=True, slots=True)
class KeptPanes:
    """The files of one set of queries, whose rows are those of `CarriedPanes.pane_rows`."""

    folder: Path

    @classmethod
    def of(cls, lake: Lake, carried: CarriedPanes) -> KeptPanes:
        """Where the rows of some queries are kept, by all that these depend on.

        Versions are those of one table: one that was made anew has another id.
        """
        asked = [f"{_MEANING} {carried.block} {lake.log('events').metadata().id}"]
        asked += [f"{query.fingerprint} {carriers_of(query)}" for query in carried.queries]
        return cls(lake.root / FOLDER / sha256("\n".join(asked).encode()).hexdigest()[:16])

    def find(self, lake: LakePath, hours: Collection[int], version: int) -> dict[int, Path]:
        """The files that are right for some hours, at a version of `events`.

        Raises:
            DataError: the log of `events` is damaged.
        """
        versions: dict[int, int] = {}
        files: dict[int, Path] = {}
        for hour, made, path in self._files():
            if hour in hours and versions.get(hour, -1) < made <= version:
                versions[hour], files[hour] = made, path
        touched = touched_hours(lake, versions, version)
        return {hour: path for hour, path in files.items() if hour not in touched}

    def write(self, hour: int, version: int, rows: pa.Table) -> None:
        """Keep the rows of an hour.

        Raises:
            SetupError: the disk is full or read-only, or an object store refuses.
            StoreError: an object store does not answer.
        """
        name = f"{hour_label(hour)}.v{version}.{os.urandom(4).hex()}.parquet"
        with write_failures(FOLDER), whole_file(self.folder / name) as file:
            # By query, so that others are not read.
            pq.write_table(rows.sort_by("query"), file, compression="zstd", row_group_size=50_000)

    def drop_before(self, hour: int) -> None:
        """Remove the files of the hours before one."""
        for label, _, path in self._files():
            if label < hour:
                path.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[int, int, Path]]:
        """The hour and the version of each file."""
        for path in self.folder.glob("*.parquet") if self.folder.is_dir() else ():
            if found := _NAME.fullmatch(path.name):
                yield parse_hour(found[1]), int(found[2]), path


def read_panes(files: Collection[Path], queries: Collection[str]) -> pa.Table:
    """The rows of files that are of some queries, by the names that these have there.

    Raises:
        ConflictError: a file is gone, since another process removed it meanwhile.
    """
    chosen = [("query", "in", list(queries))]
    try:
        return pa.concat_tables(
            pq.read_table(str(path), filters=chosen, use_threads=False) for path in files
        )
    except FileNotFoundError as error:
        raise ConflictError(f"kept panes were removed meanwhile: {error}") from error


def drop_kept_panes(lake: LakePath, *, unused_since: int | None = None) -> int:
    """Remove all kept panes, or those of queries for which none were written since an instant.

    `unused_since` in nanoseconds since 1970. Gives how many files went.
    """
    root, removed = lake / FOLDER, 0
    for folder in root.iterdir() if root.is_dir() else ():
        files = list(folder.iterdir())
        if unused_since is None or all(state(path)[1] < unused_since for path in files):
            for path in files:
                path.unlink(missing_ok=True)
            removed += len(files)
    return removed
