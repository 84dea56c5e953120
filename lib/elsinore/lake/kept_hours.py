"""What hours were found to hold, kept beside the tables from run to run: files of whole hours.

What their panes do to queries (`spark.carry`), and how many events they have (`lake.plans`). A
memory, no table: whoever finds no file works the hour out again from its events. A file's name
says which version of `events` it is of, and it is right for as long as no later commit touches its
hour. So late events cost their own hours, and two runs that write one hour write the same.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.errors import ConflictError
from elsinore.lake.delta_log import write_failures
from elsinore.lake.event_files import Bucket
from elsinore.lake.stale_hours import touched_hours
from elsinore.lake.tables import Lake
from elsinore.places import state, whole_file
from elsinore.settings import LakePath
from elsinore.timeline import hour_label, parse_hour

#: The folder beside those of tables.
FOLDER = "kept"

#: Does something for each number below a limit, in tasks; gives what each gave, which JSON can say.
InTasks = Callable[[int, Callable[[int], Any]], list[Any]]

_NAME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)\.v(\d+)\.(\d+)-(\d+)\.[0-9a-f]{8}\.parquet")


def in_turn(number: int, do: Callable[[int], Any]) -> list[Any]:
    """One after another, in this process."""
    return [do(each) for each in range(number)]


@dataclass(frozen=True, slots=True)
class KeptHours:
    """The files of what was asked of hours, by all that the answer depends on."""

    folder: Path

    @classmethod
    def of(cls, lake: Lake, asked: Iterable[object]) -> KeptHours:
        """Where the answers to something are kept.

        Versions are those of one table: one that was made anew has another id.
        """
        names = [lake.log("events").metadata().id, *map(str, asked)]
        return cls(lake.root / FOLDER / sha256("\n".join(names).encode()).hexdigest()[:16])

    def find(
        self, lake: LakePath, hours: Collection[int], version: int
    ) -> dict[int, tuple[Path, ...]]:
        """The files that are right for some hours, at a version of `events`.

        Raises:
            DataError: the log of `events` is damaged.
        """
        parts: dict[tuple[int, int, int], dict[int, Path]] = defaultdict(dict)
        for hour, at, number, of, path in self._files():
            if hour in hours and at <= version:
                parts[hour, at, of][number] = path
        # Of an hour the newest that is whole comes last, and stays.
        found = {
            hour: (at, tuple(parts[hour, at, of].values()))
            for hour, at, of in sorted(parts)
            if len(parts[hour, at, of]) == of
        }
        touched = touched_hours(lake, {hour: at for hour, (at, _) in found.items()}, version)
        return {hour: files for hour, (_, files) in found.items() if hour not in touched}

    def all_of(self, lake: LakePath, hours: Collection[int], version: int) -> list[Path]:
        """The files of hours of which none is missing any more.

        Raises:
            ConflictError: what was kept of one was removed meanwhile.
        """
        found = self.find(lake, hours, version)
        if len(found) < len(hours):
            raise ConflictError("cached hours were removed while a run used them")
        return [path for hour in hours for path in found[hour]]

    def write(self, hour: int, version: int, bucket: Bucket | None, rows: pa.Table) -> None:
        """Keep the rows of an hour, or of a bucket of it.

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
        """Files with what their names say: of an hour, at a version, bucket `number` of so many."""
        for path in self.folder.glob("*.parquet") if self.folder.is_dir() else ():
            if found := _NAME.fullmatch(path.name):
                at, number, of = map(int, found.groups()[1:])
                yield parse_hour(found[1]), at, number, of, path


def read_kept(files: Collection[Path], queries: Collection[str] = ()) -> pa.Table:
    """The rows of files, of some queries alone if these are named.

    Raises:
        ConflictError: a file is gone, since another process removed it meanwhile.
    """
    chosen = [("query", "in", list(queries))] if queries else None
    with _still_there():
        tables = [pq.read_table(str(path), filters=chosen, use_threads=False) for path in files]
    return pa.concat_tables(tables, promote_options="default")


def kept_bytes(files: Iterable[Path]) -> int:
    """How large files are; raises as `read_kept`."""
    with _still_there():
        return sum(state(path)[0] for path in files)


@contextmanager
def _still_there() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ConflictError(f"cached hours were removed during the run: {error}") from error


def drop_kept_hours(lake: LakePath, *, unused_since: int | None = None) -> int:
    """Remove all that is kept, or what nothing was added to since an instant.

    `unused_since` in nanoseconds since 1970. Gives how many files went.
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
