"""Ledgers for tests: rows written by hand, with hours counted from 2013-02-08T00."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.catalog.yaml_text import read_model
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.rows import OF_STREAM, Longs, State
from elsinore.store.tables import TableSchema
from elsinore.timeline import HOUR, hour_label, parse_instant

DECLARATION = Path(__file__).parents[3] / "schemas" / "tables" / "hours.yaml"
SCHEMA = read_model(DECLARATION, TableSchema, "a table")
START = parse_instant("2013-02-08")
WORKLOAD = "delays"


def at(*hours: int) -> Longs:
    """Return hours by their numbers."""
    return START + HOUR * np.array(hours, np.int64)


def numbers(hours: Longs) -> list[int]:
    """Return the numbers of hours."""
    return [int(hour - START) // HOUR for hour in hours]


def label(hour: int) -> str:
    """Return an hour as it is stored."""
    return hour_label(START + hour * HOUR)


def row(state: State, hour: int, workload: str | None = None, **columns: Any) -> dict[str, Any]:
    """Return a row without its version; the workload follows from the state."""
    own = "" if state in OF_STREAM else WORKLOAD
    return {
        "stream": "flights", "workload": own if workload is None else workload,
        "hour": label(hour), "state": str(state), "step": "test", "run": "r", **columns,
    }  # fmt: skip


def ingested(hour: int, *names: str, **columns: Any) -> dict[str, Any]:
    """Return the row of an hour with files of 10 bytes; without names, no file had arrived."""
    files = [{"name": name, "size": 10, "modified": 1} for name in names]
    return row(State.INGESTED, hour, file_count=len(files), files=files, **columns)


def refreshed(hour: int, version: int) -> dict[str, Any]:
    """Return the row of an hour of events that changed at a version."""
    return row(State.REFRESHED, hour, events_version=version)


def published(hour: int, version: int, *missing: int, **columns: Any) -> dict[str, Any]:
    """Return the row of a publication, of a version of events, with missing inputs."""
    inputs = [label(one) for one in missing]
    given = {"workload_fingerprint": "f", "rows": 4, "checked_rows": 1, **columns}
    return row(State.PUBLISHED, hour, events_version=version, missing_inputs=inputs, **given)


def failed(hour: int, reason: str = "it broke", **columns: Any) -> dict[str, Any]:
    """Return the row of a failed attempt."""
    return row(State.FAILED, hour, reason=reason, **columns)


def table(*commits: dict[str, Any] | Sequence[dict[str, Any]]) -> pa.Table:
    """Return the rows of commits in order, each a row or several, last commit first."""
    rows = []
    for version, commit in enumerate(commits, start=1):
        for one in [commit] if isinstance(commit, dict) else commit:
            rows.append({"version": version, "time": version, **one})
    return pa.Table.from_pylist(rows[::-1], schema=SCHEMA.arrow())


def state(*commits: dict[str, Any] | Sequence[dict[str, Any]], workload: str = WORKLOAD) -> Fold:
    """Return the state after commits."""
    return fold(table(*commits), workload)
