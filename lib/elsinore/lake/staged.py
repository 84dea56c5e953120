"""Staged results of some hours, by the version of the table that has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Staged:
    """The staged results of the hours of a slice, all from one aggregation.

    Attributes:
        version: The version of `results_staged` that has them. Later versions can have results of
            other runs.
        events_version: The version of `events` that they were computed from.
        plan_fingerprint: Of their static plan.
        workload_fingerprint: Of their queries.
    """

    version: int
    events_version: int
    plan_fingerprint: str
    workload_fingerprint: str

    def columns(self) -> dict[str, Any]:
        """Return the columns of the ledger that name them."""
        return {
            "results_version": self.version, "events_version": self.events_version,
            "plan_fingerprint": self.plan_fingerprint,
            "workload_fingerprint": self.workload_fingerprint,
        }  # fmt: skip
