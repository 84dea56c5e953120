"""Runs queries as `auto` decided."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.auto.alike import alike, for_all
from elsinore.engine.auto.sharing import NOTHING_SHARED, Sharing
from elsinore.engine.columns import EventColumns
from elsinore.engine.hamlet import aggregate_set
from elsinore.engine.hamlet.observe import Observer
from elsinore.engine.segments import aggregate_segments
from elsinore.engine.sweep import aggregate_sweep, sweep_sets
from elsinore.events import EventTable
from elsinore.lowering.sharable import sharable_sets
from elsinore.query.bound import BoundQuery
from elsinore.template.support import aseq_refusals
from elsinore.timeline import Interval


def aggregate_auto(
    queries: Collection[BoundQuery],
    events: EventTable | EventColumns,
    sharing: Sharing = NOTHING_SHARED,
    *,
    owned: Interval | None = None,
    observer: Observer | None = None,
    threads: int = 1,
) -> Iterator[pa.Table]:
    """Unfinished rows (`results.partial`) of queries over all events of a table.

    Queries that are equal but for what they return are run once. Collapsed queries are swept; those
    of fixed length run in one pass, with the segments that they share; the queries of a set run by
    Hamlet; each of the others runs by itself. The rows do not depend on what is shared.

    Args:
        queries: some or all of the workload's; what sharing says of the others is left aside.
        events: in any order; all partitions together. Columns of an earlier call are used again.
        sharing: who shares what.
        owned: only the windows that end in this interval; None for every window.
        observer: is told what the sets did.
        threads: how many may work side by side, where an executor can make use of them.

    Raises:
        UnsupportedQueryError: greta cannot run a query.
    """
    columns = EventColumns.of(events)
    classes = alike(tuple(queries))
    run = [found.run for found in classes]
    for table in _aggregate_all(run, columns, sharing, owned, observer, threads):
        yield from for_all(classes, table)


def _aggregate_all(
    queries: Collection[BoundQuery],
    columns: EventColumns,
    sharing: Sharing,
    owned: Interval | None,
    observer: Observer | None,
    threads: int,
) -> Iterator[pa.Table]:
    left = {query.name: query for query in queries}
    for names in sharing.sweeps:
        for swept in sweep_sets([left[name] for name in names if name in left]).sets:
            yield aggregate_sweep(swept, columns, owned=owned, threads=threads)
            for query in swept.queries:
                del left[query.name]
    fixed = {name: query for name, query in left.items() if not aseq_refusals(query)}
    here = [[place for place in places if place.query in fixed] for places in sharing.segments]
    if fixed:
        wanted = [places for places in here if len(places) > 1]
        yield aggregate_segments(list(fixed.values()), columns, wanted, owned=owned)
    alone = {name: query for name, query in left.items() if name not in fixed}
    for names in sharing.sets:
        # Some queries of a set may not be here; what is left of it need not be one set.
        for found in sharable_sets([alone[name] for name in names if name in alone]).sets:
            yield aggregate_set(found, columns, owned=owned, observer=observer)
            for query in found.queries:
                del alone[query.name]
    for query in alone.values():
        yield aggregate_query(query, columns, owned=owned)
