"""Find what a run has to ingest: its own hours, and earlier ones with new or changed files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from elsinore.catalog.source_rule import SourceRule
from elsinore.ingest.landing_zone import LandingFile, landing_files, readable_files
from elsinore.ingest.write_raw import unpacked_size
from elsinore.ledger.fold import Fold
from elsinore.ledger.inputs import ERASING, interrupted, late, missing
from elsinore.ledger.rows import Longs
from elsinore.timeline import DAY, Interval, hour_label, hours_of, parse_hour

#: The longest stop of the scheduler after which runs ingest the missed hours without being asked.
_LONGEST_STOP = 31 * DAY

_NONE: Longs = np.array([], np.int64)


@dataclass(frozen=True)
class Part:
    """Hours to ingest in one batch.

    Attributes:
        own: Hours of the run, in microseconds since 1970.
        others: Earlier hours.
        files: All files of these hours.
    """

    own: tuple[int, ...]
    others: tuple[int, ...]
    files: tuple[LandingFile, ...]

    @property
    def hours(self) -> tuple[int, ...]:
        """All hours, ascending."""
        return tuple(sorted((*self.own, *self.others)))

    def of(self, hours: Collection[int]) -> Part:
        """Return the part of some hours."""
        labels = set(map(hour_label, hours))
        own, others = (
            tuple(hour for hour in each if hour in hours) for each in (self.own, self.others)
        )
        return Part(own, others, tuple(file for file in self.files if file.landing in labels))

    def smaller(self) -> list[Part]:
        """Return it in smaller parts, the run's own hours first; one earlier hour is indivisible.

        The run's own hours are not divided either.
        """
        if self.own:
            return [self.of(self.own), *([self.of(self.others)] if self.others else [])]
        middle = len(self.others) // 2
        halves = (self.others[:middle], self.others[middle:])
        return [self.of(half) for half in halves if half]


@dataclass(frozen=True)
class Found:
    """The hours that a run has to ingest.

    Attributes:
        whole: The hours and their files.
        refused: By label, why an earlier hour cannot be ingested now.
    """

    whole: Part
    refused: dict[str, str]

    def parts(self, most: int, last: Collection[int] = ()) -> list[Part]:
        """Return it in parts, the run's own hours first.

        Args:
            most: Maximum bytes of records of a part; an hour with more is a part of its own.
            last: Hours that come after all others, such as hours that failed before.
        """
        sizes: Counter[str] = Counter()
        for file in self.whole.files:
            sizes[file.landing] += unpacked_size(file)
        parts, size = list[list[int]](), most
        for hour in [*self.whole.own, *sorted(self.whole.others, key=last.__contains__)]:
            own = sizes[hour_label(hour)]
            if not parts or size + own > most:
                parts, size = [*parts, []], 0
            parts[-1].append(hour)
            size += own
        return [self.whole.of(set(part)) for part in parts]


def missed_hours(state: Fold, until: int) -> Longs:
    """Return the hours before a time that no run has ingested, for example during a stop.

    A stop of more than 31 days leaves hours that must be asked for.

    Args:
        state: The state of the hours.
        until: Start of the hours of a run.
    """
    return missing(state, until, since=until - _LONGEST_STOP)


def find_files(
    zone: Path, rules: Sequence[SourceRule], state: Fold, own: Interval, *,
    late_arrival_days: int, missed: Longs = _NONE,
) -> Found:  # fmt: skip
    """Compare the landing zone with the ledger.

    Args:
        zone: The landing zone.
        rules: Rules for files that are ingested where they are stored.
        state: The state of the hours.
        own: The hours of the run, which are ingested in any case.
        late_arrival_days: Number of days before these hours, and before missed ones, in which new
            and changed files are looked for; 0: only the run's own hours are ingested.
        missed: Earlier hours to ingest, with or without files (`missed_hours`).

    Raises:
        DataError: the landing zone is missing, or a file of the run's own hours cannot be read.
    """
    files = landing_files(zone, own, rules)
    asked = tuple(hours_of(own))
    if not late_arrival_days:
        return Found(Part(asked, (), files), {})
    first = min(own.start, int(missed.min(initial=own.start))) - late_arrival_days * DAY
    earlier, faults = readable_files(zone, Interval(first, own.start), rules)
    held = set(map(hour_label, interrupted(state).tolist()))
    faults |= {file.landing: ERASING for file in earlier if file.landing in held}
    wanted = np.union1d(late(state, listing(earlier)).hours, missed)
    refused = set(map(parse_hour, faults))
    others = tuple(hour for hour in wanted.tolist() if hour not in refused)
    labels = set(map(hour_label, others))
    chosen = (file for file in earlier if file.landing in labels)
    return Found(Part(asked, others, (*files, *chosen)), faults)


def listing(files: Collection[LandingFile]) -> pa.Table:
    """Return a row per file with `hour`, `name`, `size` and `modified`, as the ledger stores it."""
    rows = [
        {"hour": file.landing, "name": file.name, "size": file.size, "modified": file.changed}
        for file in files
    ]
    kinds = {"hour": pa.string(), "name": pa.string(), "size": pa.int64(), "modified": pa.int64()}
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))
