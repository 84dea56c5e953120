"""The version of the table `results_staged` with the results of a slice, and its lineage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
