"""The changes to events since a version: those that the ledger records, and those after them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elsinore.lake.delta_log import changed_partitions
from elsinore.settings import LakePath


@dataclass(frozen=True)
class EventChanges:
    """The changes to events that the ledger records (`ledger.results.event_changes`).

    Attributes:
        hours: First instants of the hours of events that changed, ascending.
        versions: For each, the last version of `events` that changed it.
        recorded: The version of `events` to which this is complete.
    """

    hours: npt.NDArray[np.int64]
    versions: npt.NDArray[np.int64]
    recorded: int

    def last_of(self, hour: int) -> int:
        """Return the last recorded version that changed an hour; -1: none did."""
        at = int(np.searchsorted(self.hours, hour))
        return int(self.versions[at]) if at < len(self.hours) and self.hours[at] == hour else -1

    def unrecorded_days(self, lake: LakePath, version: int) -> set[str] | None:
        """Return the days of events that changed after this, up to a version; None: any day.

        A run that was killed before it appended to the ledger leaves such commits, and so do other
        jobs that write `events`.
        """
        days = set[str]()
        for number in range(self.recorded + 1, version + 1):
            changed = changed_partitions(lake / "events", number, "event_day")
            if changed is None:
                return None
            days |= changed
        return days
