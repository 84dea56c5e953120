"""Count stored events that share their time, for the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from elsinore.events import TIME_COLUMN
from elsinore.executors.input.ties import Ties, ties_of
from elsinore.lake.event_files import attributes_read, event_table, events_in_order, types_read
from elsinore.lake.stored_events import files_of
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.timeline import Interval

#: Number of events that are counted together, unless more share a time. Parts with more than twice
#: this number are sampled.
_ROWS = 16_000


def stored_ties(root: LakePath, workload: Workload, interval: Interval) -> list[Ties]:
    """Count the stored events of an interval that share their time, as `ties_of` does.

    Raises:
        DataError: `events` cannot be read.
    """
    queries = workload.queries
    types, names = types_read(workload, queries), attributes_read(queries)
    files = files_of(root / "events", None, interval)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Ties] = {}
    for rows in _parts(events_in_order(files, interval, workload.schema, types, names)):
        for one in ties_of(queries, event_table(workload.schema, rows)):
            place = one.queries, one.keys
            found[place] = found[place].joined(one) if place in found else one
    return list(found.values())


def _parts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches in the order of time to tables; equal times are in the same table."""
    waiting: list[pa.RecordBatch] = []
    for batch in (each.slice(at, _ROWS) for each in batches for at in range(0, len(each), _ROWS)):
        waiting.append(batch)
        if sum(map(len, waiting)) >= _ROWS:
            rows = pa.Table.from_batches(waiting)
            times = np.asarray(rows[TIME_COLUMN])
            end = int(np.searchsorted(times, times[-1]))
            if end:
                yield _joined(rows.slice(0, end))
                waiting = rows.slice(end).to_batches()
    if waiting:
        yield _joined(pa.Table.from_batches(waiting))


def _joined(rows: pa.Table) -> pa.Table:
    return rows.unify_dictionaries().combine_chunks()
