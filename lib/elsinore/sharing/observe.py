"""Statistics counted from events, from which a plan can be found."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.bound import Workload
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import Interval


def observe(workload: Workload, events: EventTable) -> Statistics:
    """Statistics of events at hand, from the first to the last; DataError: there is none."""
    if not len(events):
        raise DataError("there is no event to find a plan from")
    return count_events(workload, observed_interval(events), [events.table])


def count_events(workload: Workload, observed: Interval, batches: Iterable[pa.Table]) -> Statistics:
    """How many events of each type there are, and distinct values of the keys that plans ask for.

    NULL is no value; sets of keys that no event carries whole are left out. Events of types that no
    query reads do not count. In memory are one batch, which has `_type` and the attributes of
    `partition_keys`, and the distinct values. `observed` is the interval that the events are of.
    """
    codes = {name: workload.schema.type_codes[name] for name in event_types(workload)}
    counts = np.zeros(len(workload.schema.types), np.int64)
    read_codes = pa.array([*codes.values()], pa.int32())
    values: dict[tuple[str, ...], pa.Table | None] = dict.fromkeys(partition_keys(workload))
    attributes = sorted({name for keys in values for name in keys})
    for batch in batches:
        counts += np.bincount(np.asarray(batch[TYPE_COLUMN]), minlength=counts.size)
        own = batch.select(attributes).filter(pc.is_in(batch[TYPE_COLUMN], value_set=read_codes))
        for keys, before in values.items():
            found = _distinct(own.select(list(keys)))
            values[keys] = found if before is None else _distinct(pa.concat_tables([before, found]))
    events = {name: int(counts[code]) for name, code in codes.items()}
    distinct = {keys: found.num_rows for keys, found in values.items() if found}
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
