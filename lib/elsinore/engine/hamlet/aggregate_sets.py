"""Runs queries with as much Hamlet sharing as they allow; the others run beside, by greta."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.hamlet.aggregate_set import aggregate_set
from elsinore.engine.hamlet.decisions import DYNAMIC, Decisions
from elsinore.engine.hamlet.observe import Observer
from elsinore.events import EventTable
from elsinore.lowering.sharable import SharableSet, sharable_sets
from elsinore.query.bound import BoundQuery
from elsinore.template.support import require_greta
from elsinore.timeline import Interval


def aggregate_sets(
    queries: Sequence[BoundQuery],
    events: EventTable,
    *,
    owned: Interval | None = None,
    decisions: Decisions = DYNAMIC,
    observers: Callable[[SharableSet], Observer] | None = None,
) -> Iterator[pa.Table]:
    """Unfinished rows (`results.partial`) of queries over all events of a table, set by set.

    `observers` makes for each set the observer that is told what was done.

    Raises:
        UnsupportedQueryError: a query can neither share nor be run by greta.
    """
    require_greta(queries, "hamlet")
    sharing = sharable_sets(queries)
    for found in sharing.sets:
        observer = None if observers is None else observers(found)
        yield aggregate_set(found, events, owned=owned, decisions=decisions, observer=observer)
    for query, _ in sharing.beside:
        yield aggregate_query(query, events, owned=owned)
