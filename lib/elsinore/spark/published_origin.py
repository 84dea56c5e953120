"""Where published results come from: the table `publications`, checked against the results' log.

Read without a JVM.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
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
    rows = _rows(lake, hours)
    digests = _latest_digests(lake, {row["owned_hour"] for row in rows})
    return {
        row["owned_hour"]: Publication(
            **row, settled=digests.get(row["owned_hour"], row["digest"]) == row["digest"]
        )
        for row in rows
    }


def _rows(lake: Path, hours: Collection[str] | None = None) -> list[dict[str, Any]]:
    chosen = None if hours is None else ds.field("owned_hour").isin(pa.array([*hours], pa.string()))
    try:
        dataset = DeltaTable(str(lake / PUBLICATIONS)).to_pyarrow_dataset()
        found: list[dict[str, Any]] = dataset.to_table(filter=chosen).to_pylist()
    except (DeltaError, OSError, pa.ArrowException) as error:
        raise DataError(
            f"cannot read the table {PUBLICATIONS}: {error}", hint="has the lake been set up?"
        ) from error
    return found


def _latest_digests(lake: Path, hours: set[str]) -> dict[str, str]:
    """By hour, the digest that the last commit of its rows notes; none where the log forgot it."""
    found: dict[str, str] = {}
    for commit in commits(lake / PUBLISHED):
        for label, digest in commit.note.get("digests", {}).items():
            if label in hours:
                found.setdefault(label, digest)
        if len(found) == len(hours):
            break
    return found
