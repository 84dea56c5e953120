"""Statistics of events at hand, from which a plan can be found."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.events.table import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.bound import Workload
from elsinore.sharing.statistics import Statistics
from elsinore.sharing.weigh import partition_keys
from elsinore.timeline import Interval


def observe(workload: Workload, events: EventTable) -> Statistics:
    """How many events of each type there are, and distinct values of the keys that plans ask for.

    NULL is no value; sets of keys that no event carries whole are left out.

    Raises:
        DataError: there is no event.
    """
    if not len(events):
        raise DataError("there is no event to find a plan from")
    codes = np.asarray(events.table[TYPE_COLUMN])
    counts = np.bincount(codes, minlength=len(events.schema.types)).tolist()
    named = {name for query in workload.queries for name in query.event_types}
    partitions = {keys: _distinct(events.table, keys) for keys in partition_keys(workload)}
    return Statistics.counted(
        observed_interval(events),
        {t.name: n for t, n in zip(events.schema.types, counts, strict=True) if t.name in named},
        {keys: count for keys, count in partitions.items() if count},
    )


def observed_interval(events: EventTable) -> Interval:
    """From the first event to the last; there must be one."""
    limits = pc.min_max(events.table[TIME_COLUMN]).as_py()
    return Interval(limits["min"], limits["max"] + 1)


def _distinct(table: pa.Table, names: tuple[str, ...]) -> int:
    found = table.select(list(names)).drop_null()
    return int(found.group_by(list(names)).aggregate([]).num_rows)
