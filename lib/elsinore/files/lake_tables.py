"""Find directories that are lake tables (Delta, Iceberg, Hudi), so as not to read them as files.

Their data files also contain rows that were deleted, updated or compacted away: only the table's
log names the current files.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from elsinore.errors import DataError, ParameterError

#: Directories of a table without data files.
_LOGS = ("_delta_log", "metadata", ".hoodie")
_VERSION = re.compile(r"(.+)@v?(\d+)")
_ICEBERG_METADATA = re.compile(r".+\.metadata\.json(\.\w+)?|snap-.+\.avro|version-hint\.text")


class TableFormat(StrEnum):
    """Formats of tables."""

    DELTA = "Delta"
    ICEBERG = "Iceberg"
    HUDI = "Hudi"


class LakeTable(NamedTuple):
    """A table as a source of events."""

    path: Path  #: its directory
    form: TableFormat = TableFormat.DELTA
    version: int | None = None  #: None: the current one
    within: str | None = None  #: only the data files in this directory below it; None: all
    below: Path | None = None  #: a trusted directory that contains it; None: it is trusted

    @property
    def name(self) -> str:
        """The name in messages: its directory's name, and its version if one is named."""
        return self.path.name + ("" if self.version is None else f"@{self.version}")

    @property
    def trusted(self) -> Path:
        """The directory below which no link is followed."""
        return self.below or self.path

    def __str__(self) -> str:
        return str(self.path) + ("" if self.version is None else f"@{self.version}")


def format_of_table(path: Path) -> TableFormat | None:
    """Return the format of the table at `path`; None if it is not a table."""
    if _is_directory(path / "_delta_log"):
        return TableFormat.DELTA
    if _is_directory(path / ".hoodie"):
        return TableFormat.HUDI
    if _is_directory(metadata := path / "metadata"):
        names = (file.name for file in metadata.glob("*"))
        if any(map(_ICEBERG_METADATA.fullmatch, names)):
            return TableFormat.ICEBERG
    return None


class TableFinder:
    """Find the tables that contain paths; each directory is read once."""

    def __init__(self) -> None:
        self._known: dict[Path, TableFormat | None] = {}

    def at(self, path: Path) -> LakeTable | None:
        """Return the table whose directory is at `path`, if it is one."""
        if path not in self._known:
            self._known[path] = format_of_table(path)
        form = self._known[path]
        return None if form is None else LakeTable(path, form)

    def around(self, path: Path) -> LakeTable | None:
        """Return the table that contains a file or directory, links followed or not."""
        for whole in dict.fromkeys((path.absolute(), path.resolve())):
            for parent in whole.parents:
                if table := self.at(parent):
                    return table
        return None

    def below(self, top: Path) -> dict[Path, LakeTable]:
        """Return by path the tables at a directory or below it, without hidden ones."""
        found: dict[Path, LakeTable] = {}
        for path in (top / _LOGS[0], *(path for path in top.rglob("*") if path.name in _LOGS)):
            inside = path.parent.relative_to(top).parts
            is_hidden = any(part.startswith((".", "_")) for part in inside)
            if not is_hidden and (table := self.at(path.parent)):
                found[path.parent] = table
        return {
            path: table for path, table in found.items() if found.keys().isdisjoint(path.parents)
        }


def named_version(path: Path, finder: TableFinder) -> LakeTable | None:
    """Return the table that `table@version` names; None if the path names none.

    Raises:
        ParameterError: the version of a Delta table is not a number.
    """
    match = _VERSION.fullmatch(path.name)
    if match and (table := finder.at(path.with_name(match[1]))):
        return table._replace(version=int(match[2]))
    base, sign, version = path.name.rpartition("@")
    if sign and base and finder.at(path.with_name(base)):
        raise ParameterError(
            f"{version!r} is not a version of the table {path.with_name(base)}",
            hint=f"write a whole number, as in {path.with_name(base)}@0",
        )
    return None


def require_readable(table: LakeTable) -> LakeTable:
    """Refuse a table of a format that Elsinore does not read.

    Raises:
        DataError: it is an Iceberg or Hudi table.
    """
    hints = {
        TableFormat.ICEBERG: "export it: duckdb -c "
        f"\"COPY (FROM iceberg_scan('{table.path}')) TO 'events.parquet'\"; "
        "or pass `scan().to_arrow()` of pyiceberg to Workload.run",
        TableFormat.HUDI: "export it with Spark: "
        f"spark.read.format('hudi').load('{table.path}').write.parquet('events')",
    }
    if hint := hints.get(table.form):
        problem = f"{table.path} is a table in the format {table.form}, which is not supported"
        raise DataError(problem, hint=hint, file=str(table.path))
    return table


def part_of_table(path: Path, table: LakeTable) -> ParameterError:
    """Return the error of a path inside of a table, which may have outdated rows."""
    problem = f"{path} is a part of the {table.form} table {table.path}, and may have deleted rows"
    hint = f"name the whole table: {table.path}"
    return ParameterError(problem, hint=hint, file=str(path))


def is_in_log(path: Path, table: LakeTable) -> bool:
    """Return whether a path is, or is inside, a directory with a table's log."""
    for whole in (path.absolute(), path.resolve()):
        if whole.is_relative_to(table.path):
            parts = whole.relative_to(table.path).parts
            return bool(parts) and parts[0] in _LOGS
    return False


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except PermissionError:
        return False
