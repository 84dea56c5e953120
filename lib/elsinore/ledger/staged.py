"""Questions about staged results: which version of `results_staged` a slice has, and its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsinore.ledger.fold import Fold, LastRows
from elsinore.ledger.rows import Longs, State
from elsinore.timeline import Interval, hours_of


@dataclass(frozen=True)
class Staged:
    """The staged results of the hours of a slice, all from one aggregation.

    Attributes:
        version: The version of `results_staged` with these results. Later versions can have results
            of other runs.
        events_version: The version of `events` from which they were computed.
        plan_fingerprint: The fingerprint of the static plan.
        workload_fingerprint: The fingerprint of the queries.
    """

    version: int
    events_version: int
    plan_fingerprint: str
    workload_fingerprint: str

    def columns(self) -> dict[str, Any]:
        """Return the values by the names of the ledger's columns."""
        return {
            "results_version": self.version, "events_version": self.events_version,
            "plan_fingerprint": self.plan_fingerprint,
            "workload_fingerprint": self.workload_fingerprint,
        }  # fmt: skip


def staged(state: Fold, interval: Interval, *, of: State = State.AGGREGATED) -> Staged | None:
    """Return the staged results of a slice that were aggregated, or validated, last.

    Args:
        state: The state of the hours.
        interval: The hours of the slice.
        of: `AGGREGATED` or `VALIDATED`.

    Returns:
        None if an hour has none, or if the hours have results of several aggregations.
    """
    rows = _of(state[of], interval)
    if len(rows.hours) < sum(1 for _ in hours_of(interval)):
        return None
    names = ("results_version", "events_version", "plan_fingerprint", "workload_fingerprint")
    found = {
        tuple(row.values()) for row in rows.rows.select(names).to_pylist()
    }  # fmt: skip
    return Staged(*found.pop()) if len(found) == 1 else None


def is_validated(state: Fold, interval: Interval, what: Staged) -> bool:
    """Return whether the last validation of each hour of a slice was of these results."""
    return staged(state, interval, of=State.VALIDATED) == what


def checked_rows(state: Fold, interval: Interval) -> Longs:
    """Return how many results of each hour of a slice equal the reference, by its validation."""
    return _of(state[State.VALIDATED], interval).longs("checked_rows")


def _of(rows: LastRows, interval: Interval) -> LastRows:
    return rows.where((rows.hours >= interval.start) & (rows.hours < interval.end))


def per_hour(counts: Mapping[int, int], hours: Longs) -> Longs:
    """Return a count for each hour; 0 for hours without one."""
    return np.array([counts.get(hour, 0) for hour in hours.tolist()], np.int64)
