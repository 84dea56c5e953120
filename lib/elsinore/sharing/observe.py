"""Statistics counted from events, from which a plan can be found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.bound import Workload
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import Interval

#: Columns of what is kept, beside attributes, whose names begin with a letter.
_OF, _COUNT = "_of", "_count"


def observe(workload: Workload, events: EventTable) -> Statistics:
    """Statistics of events at hand, from the first to the last; DataError: there is none."""
    if not len(events):
        raise DataError("there is no event to find a plan from")
    counts = EventCounts(workload)
    counts.add(events.table)
    return counts.statistics(observed_interval(events))


class EventCounts:
    """How many events of each type there are, and distinct values of the keys that plans ask for.

    NULL is no value; sets of keys that no event carries whole are left out. Events of types that no
    query reads do not count. In memory are the distinct values.
    """

    def __init__(self, workload: Workload) -> None:
        self._codes = {name: workload.schema.type_codes[name] for name in event_types(workload)}
        self._counts = np.zeros(len(workload.schema.types), np.int64)
        self._values: dict[tuple[str, ...], pa.Table | None]
        self._values = dict.fromkeys(partition_keys(workload))
        self.attributes = sorted({name for keys in self._values for name in keys})

    def add(self, batch: pa.Table) -> None:
        """Count events: `_type` and `attributes`."""
        self._counts += np.bincount(np.asarray(batch[TYPE_COLUMN]), minlength=self._counts.size)
        read = pc.is_in(batch[TYPE_COLUMN], pa.array([*self._codes.values()], pa.int32()))
        own = batch.select(self.attributes).filter(read)
        for keys in self._values:
            self._add_values(keys, own.select(list(keys)))

    def _add_values(self, keys: tuple[str, ...], rows: pa.Table) -> None:
        found, before = _distinct(rows), self._values[keys]
        self._values[keys] = _distinct(pa.concat_tables([before, found])) if before else found

    def to_table(self) -> pa.Table:
        """What was counted, to be kept: values by the keys in `_of`, and counts where it is ''."""
        tables = [pa.table({_OF: [""] * self._counts.size, TYPE_COLUMN: range(self._counts.size)})]
        tables[0] = tables[0].append_column(_COUNT, pa.array(self._counts))
        for keys, found in self._values.items():
            if found:
                tables.append(found.append_column(_OF, pa.repeat(" ".join(keys), found.num_rows)))
        return pa.concat_tables(tables, promote_options="default")

    def add_table(self, kept: pa.Table) -> None:
        """Add what others of the same workload have counted, all of their rows in any order."""
        counts = kept.filter(pc.field(_OF) == "")
        np.add.at(self._counts, np.asarray(counts[TYPE_COLUMN]), np.asarray(counts[_COUNT]))
        for keys in self._values:
            if (found := kept.filter(pc.field(_OF) == " ".join(keys))).num_rows:
                self._add_values(keys, found.select(list(keys)))

    def statistics(self, observed: Interval) -> Statistics:
        """What was counted, as the rates of an interval."""
        events = {name: int(self._counts[code]) for name, code in self._codes.items()}
        distinct = {keys: found.num_rows for keys, found in self._values.items() if found}
        return Statistics.counted(observed, events, distinct)


def event_types(workload: Workload) -> list[str]:
    """The types that the queries name."""
    return sorted({name for query in workload.queries for name in query.event_types})


def observed_interval(events: EventTable) -> Interval:
    """From the first event to the last; there must be one."""
    limits = pc.min_max(events.table[TIME_COLUMN]).as_py()
    return Interval(limits["min"], limits["max"] + 1)


def _distinct(table: pa.Table) -> pa.Table:
    """Each row without NULL once, with texts in full: each batch has its own dictionary."""
    found = (
        table.unify_dictionaries()
        .drop_null()
        .group_by(table.column_names, use_threads=False)
        .aggregate([])
    )
    plain = pa.schema(
        (f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type)
        for f in found.schema
    )
    return found.cast(plain)
