"""What was written beside the commits of a Delta table; read from its log, without a JVM.

A note is in the commit itself (`userMetadata`): what it says of the rows is true of exactly this
version of the table, whoever is killed when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elsinore.errors import DataError

#: Commits that change no row.
_KEEP_ROWS = frozenset(
    {
        "CREATE TABLE",
        "OPTIMIZE",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "VACUUM END",
        "VACUUM START",
    }
)

_COMMIT = re.compile(r"(\d{20})\.json")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a table.

    Attributes:
        version: the version of the table that it made.
        operation: what it did, as Delta calls it, such as `MERGE`.
        note: the object in its `userMetadata`; empty where that is no JSON object.
    """

    version: int
    operation: str
    note: dict[str, Any]

    @property
    def changes_rows(self) -> bool:
        """Whether it can have changed any."""
        return self.operation not in _KEEP_ROWS


def commits(
    table: Path, *, after: int = -1, without: Collection[int] = frozenset()
) -> Iterator[Commit]:
    """The commits of a table that made versions above `after`, newest first; some left out.

    Commits that Delta has cleaned from the log (by default after 30 days) are not among them. The
    log is read file by file: `deltalake`'s history numbers commits wrongly while others write.

    Raises:
        DataError: the log is damaged.
    """
    log = table / "_delta_log"
    names = (_COMMIT.fullmatch(path.name) for path in log.iterdir()) if log.is_dir() else ()
    for version in sorted((int(name[1]) for name in names if name), reverse=True):
        if version <= after:
            return
        if version in without:
            continue
        yield _read(log / f"{version:020}.json", version)


def _read(path: Path, version: int) -> Commit:
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                info = json.loads(line).get("commitInfo")
                if info is not None:
                    note = _object(info.get("userMetadata"))
                    return Commit(version, str(info.get("operation", "")), note)
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(
            f"the log of the table {path.parents[1].name} is damaged at version {version}: {error}"
        ) from error
    return Commit(version, "", {})


def _object(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
