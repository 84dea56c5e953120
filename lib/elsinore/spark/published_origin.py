"""Where published results come from: the table `publications`, checked against the results' log.

Read without a JVM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from elsinore.errors import DataError
from elsinore.spark.commit_notes import commits

PUBLISHED, PUBLICATIONS = "trend_aggregates", "publications"


@dataclass(frozen=True, slots=True)
class Publication:
    """Where the published results of an hour come from; one row of `publications`.

    Attributes:
        owned_hour: the hour's label.
        workload: the workload's name.
        workload_fingerprint: what it was.
        plan_fingerprint: the static plan.
        events_version: the version of `events` that was read.
        run: the run that published.
        digest: sha256 of the hour's rows.
        rows: how many they are.
        validated: values of them that agree with the reference.
        published_at: when.
        settled: whether the hour's rows are still these. A run that was killed between its two
            commits leaves newer rows; publishing again settles the hour.
    """

    owned_hour: str
    workload: str
    workload_fingerprint: str
    plan_fingerprint: str
    events_version: int
    run: str
    digest: str
    rows: int
    validated: int
    published_at: datetime
    settled: bool


def read_publications(lake: Path, hours: Collection[str] | None = None) -> dict[str, Publication]:
    """By hour, where its published results come from; hours that were not published are left out.

    Args:
        lake: folder of the Delta tables.
        hours: labels of hours; None: all.

    Raises:
        DataError: a table is missing or damaged.
    """
    rows = _rows(lake)
    wanted = {row["owned_hour"] for row in rows} if hours is None else set(hours)
    digests = _unrecorded_digests(lake, rows)
    found = {}
    for row in rows:
        version, _ = row.pop("published_version"), row.pop("published_together")
        label, digest = row["owned_hour"], row["digest"]
        if label in wanted:
            newer = digests.get(label)
            settled = newer is None or newer[0] < version or newer[1] == digest
            found[label] = Publication(**row, settled=settled)
    return found


def _rows(lake: Path) -> list[dict[str, Any]]:
    try:
        dataset = DeltaTable(str(lake / PUBLICATIONS)).to_pyarrow_dataset()
        found: list[dict[str, Any]] = dataset.to_table().to_pylist()
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise DataError(
            f"cannot read the table {PUBLICATIONS}: {error}", hint="has the lake been set up?"
        ) from error
    return found


def _unrecorded_digests(
    lake: Path, rows: Iterable[Mapping[str, Any]]
) -> dict[str, tuple[int, str]]:
    """By hour, version and digest of the last commit of its rows that is not wholly on record.

    A version all of whose hours are on record is not looked at: there are few others.
    """
    recorded = Counter((row["published_version"], row["published_together"]) for row in rows)
    whole = {version for (version, hours), count in recorded.items() if count == hours}
    found: dict[str, tuple[int, str]] = {}
    for commit in commits(lake / PUBLISHED, without=whole):
        for label, digest in commit.note.get("digests", {}).items():
            found.setdefault(label, (commit.version, digest))
    return found
