"""Count events to obtain the statistics from which a plan is found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.hints import Either, Hint
from elsinore.query.bound import Workload
from elsinore.row_hashes import row_hashes
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import Interval

#: Maximum number of stored hashes per set of keys, 512 KB. From this number of values on, the
#: number is estimated, with a standard error of 0.4 % (the root of 1 / (MOST_HASHES - 2)).
MOST_HASHES = 65_536


def observe(workload: Workload, events: EventTable) -> Statistics:
    """Return the statistics of events, over the time from the first to the last event.

    Raises:
        DataError: the table is empty.
    """
    if not len(events):
        hint = Hint(Either("name files with --events FILE", "pass at least one event"))
        raise DataError("a plan needs at least one event", hint=hint)
    counts = EventCounts(workload)
    counts.add(events.table)
    return counts.statistics(observed_interval(events))


class EventCounts:
    """Numbers of events per type, and of distinct values of the keys that plans need.

    NULL is not counted as a value. A set of keys that no event has as a whole is left out. Events
    of types that no query reads are ignored.

    For each set of keys, the smallest hashes of its values are stored (k-minimum values: Bar-Yossef
    et al., RANDOM 2002). They depend only on the values, not on the order of the events or on how
    they are divided among several counters. Fewer than `MOST_HASHES` values are counted exactly.
    """

    def __init__(self, workload: Workload) -> None:
        self._codes = {name: workload.schema.type_codes[name] for name in event_types(workload)}
        self._counts = np.zeros(len(workload.schema.types), np.int64)
        self._hashes = dict.fromkeys(partition_keys(workload), np.zeros(0, np.uint64))
        self.attributes = sorted({name for keys in self._hashes for name in keys})

    def add(self, batch: pa.Table) -> None:
        """Count events of a table with the column `_type` and the columns of `attributes`."""
        self._counts += np.bincount(np.asarray(batch[TYPE_COLUMN]), minlength=self._counts.size)
        read = pc.is_in(batch[TYPE_COLUMN], pa.array([*self._codes.values()], pa.int32()))
        own = batch.select(self.attributes).filter(read)
        for keys in self._hashes:
            self._add_hashes(keys, row_hashes(own.select(keys).drop_null(), keys))

    def _add_hashes(self, keys: tuple[str, ...], found: np.ndarray) -> None:
        before = self._hashes[keys]
        if before.size == MOST_HASHES:
            found = found[found < before[-1]]
        merged = np.sort(np.concatenate([before, found]))
        # Takes a tenth of the time of np.unique, which builds a hash table.
        is_first = np.append(True, merged[1:] != merged[:-1])[: merged.size]
        self._hashes[keys] = merged[is_first][:MOST_HASHES]

    def to_table(self) -> pa.Table:
        """Return the counts as a table to store.

        It has a row with the counts by type, in which `keys` is NULL, and a row with the hashes of
        each set of keys.
        """
        parts = [self._counts.astype(np.uint64), *self._hashes.values()]
        begins = np.cumsum([0, *(part.size for part in parts)])
        numbers = pa.array(np.concatenate(parts))
        keys = pa.array([None, *map(list, self._hashes)], pa.list_(pa.string()))
        lists = pa.ListArray.from_arrays(pa.array(begins, pa.int32()), numbers)
        return pa.table({"keys": keys, "numbers": lists})

    def add_table(self, kept: pa.Table) -> None:
        """Add counts of the same workload: a table of `to_table`, or several concatenated ones."""
        for keys, row in zip(kept["keys"].to_pylist(), kept["numbers"], strict=True):
            numbers = np.asarray(row.values)
            if keys is None:
                self._counts += numbers.astype(np.int64)
            else:
                self._add_hashes(tuple(keys), numbers)

    def statistics(self, observed: Interval) -> Statistics:
        """Return the counts as the rates of an interval."""
        events = {name: int(self._counts[code]) for name, code in self._codes.items()}
        distinct = {keys: _distinct(found) for keys, found in self._hashes.items() if found.size}
        return Statistics.counted(observed, events, distinct)


def event_types(workload: Workload) -> list[str]:
    """Return the types that the queries name, sorted."""
    return sorted({name for query in workload.queries for name in query.event_types})


def observed_interval(events: EventTable) -> Interval:
    """Return the interval from the first event to the last; there must be an event."""
    limits = pc.min_max(events.table[TIME_COLUMN]).as_py()
    return Interval(limits["min"], limits["max"] + 1)


def _distinct(smallest: np.ndarray) -> int:
    """Return the number of distinct values, given their smallest hashes.

    This is the unbiased estimate of Beyer et al., "On synopses for distinct-value estimation under
    multiset operations", SIGMOD 2007, section 4.1.
    """
    if smallest.size < MOST_HASHES:
        return int(smallest.size)
    return ((MOST_HASHES - 1) << 64) // (int(smallest[-1]) + 1)
