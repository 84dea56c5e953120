"""Statistics counted from events, from which a plan can be found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.bound import Workload
from elsinore.row_hashes import row_hashes
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import Interval

#: Hashes that are held of the values of a set of keys, 512 KB. Of so many values or more the number
#: is estimated, with a standard error of 0.4 % (the root of 1 / (MOST_HASHES - 2)).
MOST_HASHES = 65_536


def observe(workload: Workload, events: EventTable) -> Statistics:
    """Statistics of events at hand, from the first to the last; DataError: there is none."""
    if not len(events):
        raise DataError("a plan needs at least one event", hint="name files with --events FILE")
    counts = EventCounts(workload)
    counts.add(events.table)
    return counts.statistics(observed_interval(events))


class EventCounts:
    """How many events of each type there are, and distinct values of the keys that plans ask for.

    NULL is no value; sets of keys that no event carries whole are left out. Events of types that no
    query reads do not count. Of the values of a set of keys the smallest hashes are held
    (k-minimum values: Bar-Yossef et al., RANDOM 2002). These depend on the values alone, neither on
    their order nor on who counted which of them; fewer than `MOST_HASHES` are told exactly.
    """

    def __init__(self, workload: Workload) -> None:
        self._codes = {name: workload.schema.type_codes[name] for name in event_types(workload)}
        self._counts = np.zeros(len(workload.schema.types), np.int64)
        self._hashes = dict.fromkeys(partition_keys(workload), np.zeros(0, np.uint64))
        self.attributes = sorted({name for keys in self._hashes for name in keys})

    def add(self, batch: pa.Table) -> None:
        """Count events: `_type` and `attributes`."""
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
        # A tenth of the time of np.unique, which builds a table first.
        is_first = np.append(True, merged[1:] != merged[:-1])[: merged.size]
        self._hashes[keys] = merged[is_first][:MOST_HASHES]

    def to_table(self) -> pa.Table:
        """What was counted, to be kept: counts by type `of` '', and hashes of sets of keys."""
        parts = {"": self._counts.astype(np.uint64)}
        parts |= {" ".join(keys): hashes for keys, hashes in self._hashes.items()}
        of = np.repeat([*parts], [part.size for part in parts.values()])
        return pa.table({"of": of, "number": np.concatenate([*parts.values()])})

    def add_table(self, kept: pa.Table) -> None:
        """Add what others of the same workload have counted, a table or several in a row."""

        def numbers(of: str) -> np.ndarray:
            return np.asarray(kept.filter(pc.field("of") == of)["number"])

        counts = numbers("").astype(np.int64).reshape(-1, self._counts.size)
        self._counts += counts.sum(axis=0)
        for keys in self._hashes:
            self._add_hashes(keys, numbers(" ".join(keys)))

    def statistics(self, observed: Interval) -> Statistics:
        """What was counted, as the rates of an interval."""
        events = {name: int(self._counts[code]) for name, code in self._codes.items()}
        distinct = {keys: _distinct(found) for keys, found in self._hashes.items() if found.size}
        return Statistics.counted(observed, events, distinct)


def event_types(workload: Workload) -> list[str]:
    """The types that the queries name."""
    return sorted({name for query in workload.queries for name in query.event_types})


def observed_interval(events: EventTable) -> Interval:
    """From the first event to the last; there must be one."""
    limits = pc.min_max(events.table[TIME_COLUMN]).as_py()
    return Interval(limits["min"], limits["max"] + 1)


def _distinct(smallest: np.ndarray) -> int:
    """Of how many values these are the smallest hashes: the unbiased estimate of Beyer et al.

    "On synopses for distinct-value estimation under multiset operations", SIGMOD 2007, section 4.1.
    """
    if smallest.size < MOST_HASHES:
        return int(smallest.size)
    return ((MOST_HASHES - 1) << 64) // (int(smallest[-1]) + 1)
