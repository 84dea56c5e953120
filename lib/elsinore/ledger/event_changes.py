"""Changes to stored events: by hour from the ledger, and by day from newer commits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elsinore.settings import LakePath
from elsinore.store.delta_log import changed_partitions


@dataclass(frozen=True)
class EventChanges:
    """The changes to events that the ledger records (`ledger.results.event_changes`).

    Attributes:
        hours: Start timestamps of the changed hours, ascending.
        versions: For each hour, the last version of `events` that changed it.
        recorded: The version of `events` up to which the changes are recorded.
    """

    hours: npt.NDArray[np.int64]
    versions: npt.NDArray[np.int64]
    recorded: int

    def last_of(self, hour: int) -> int:
        """Return the last recorded version that changed an hour; -1 if no version did."""
        at = int(np.searchsorted(self.hours, hour))
        return int(self.versions[at]) if at < len(self.hours) and self.hours[at] == hour else -1

    def unrecorded_days(self, lake: LakePath, version: int) -> set[str] | None:
        """Return the days that newer commits changed, up to a version; None: any day.

        The ledger lacks the commits of runs that were killed before they appended to it, and the
        commits of other jobs that write `events`.

        Args:
            lake: The lake with the table `events`.
            version: The last version to read.
        """
        days = set[str]()
        for number in range(self.recorded + 1, version + 1):
            changed = changed_partitions(lake / "events", number, "event_day")
            if changed is None:
                return None
            days |= changed
        return days
