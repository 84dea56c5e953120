"""Count stored events that share their time, for the report."""

from __future__ import annotations

import pyarrow as pa

from elsinore.engine.ties import Ties, ties_of
from elsinore.lake.event_files import attributes_read, event_table, events_in_order, types_read
from elsinore.lake.stored_events import files_of
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.timeline import HOUR, Interval, hours_of


def stored_ties(root: LakePath, workload: Workload, interval: Interval) -> list[Ties]:
    """Count the stored events of some hours that share their time, as `ties_of` does.

    Events are read hour by hour, because equal times are in the same hour.

    Raises:
        DataError: `events` cannot be read.
    """
    queries = workload.queries
    types, names = types_read(workload, queries), attributes_read(queries)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Ties] = {}
    for hour in hours_of(interval):
        part = Interval(hour, hour + HOUR)
        files = files_of(root / "events", None, part)
        batches = list(events_in_order(files, part, workload.schema, types, names))
        if not batches:
            continue
        rows = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
        for one in ties_of(queries, event_table(workload.schema, rows)):
            place = one.queries, one.keys
            found[place] = found[place].joined(one) if place in found else one
    return list(found.values())
