"""Spark tasks that compute cached panes, and windows from them.

The plan chooses the queries (`executors.plan.choose_cached`). The tasks are functions from Arrow
batches to Arrow batches, created on the driver and called in Python workers, as in
`aggregate_worker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

import pyarrow as pa

from elsinore.executors.aggregates import accumulators_of
from elsinore.executors.input.in_order import aggregate_in_order
from elsinore.executors.linear.cached_panes import CachedPanes
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.wire import Place, from_arrow, to_arrow
from elsinore.executors.plan import RuntimePlan
from elsinore.executors.plan.alike import answered_by
from elsinore.lake.cached_hours import CachedHours, cached_bytes, read_cached
from elsinore.lake.event_files import (
    EventFile,
    Share,
    attributes_read,
    event_table,
    events_in_order,
    hour_shares,
    reach_of,
    types_read,
)
from elsinore.lake.stored_events import files_of
from elsinore.ledger.event_changes import EventChanges
from elsinore.query.bound import Workload
from elsinore.query.print_query import count_of
from elsinore.results.task_rows import EVENTS, FINISHED_SCHEMA, Counts, counts_of
from elsinore.settings import LakePath
from elsinore.spark.aggregate_worker import Task, counting, each_number, finished
from elsinore.store.tables import Lake
from elsinore.timeline import DAY, HOUR, Interval, hours_of

#: Version of cached panes; raise it if the meaning of their rows changes, or if rows were wrong.
_MEANING = 3

#: Cost of multiplying a byte of cached panes, in bytes of events to read. Panes that exceed their
#: events by this factor have too many partitions to cache.
CACHED_BYTE = 16

#: Maximum bytes of events that a task aggregates at a time (about four million events).
MOST_BYTES = 100_000_000

#: How long cached panes are kept for other slices, after the windows of a slice no longer need
#: them.
_STAY = 7 * DAY


@dataclass(frozen=True)
class PaneTasks:
    """The tasks for the queries of a slice that are computed from cached panes."""

    lake: LakePath
    cores: int  #: total number of cores of all tasks
    #: all queries of the slice, and their plan.
    workload: Workload
    plan: RuntimePlan
    panes: CachedPanes  #: the queries that use cached panes
    cache: CachedHours  #: the cached files of their panes
    owned: Interval  #: the slice
    version: int  #: the version of `events`
    changes: EventChanges  #: the changes to events that the ledger records
    hours: tuple[int, ...]  #: all hours that the windows of these queries reach
    found: Mapping[int, Sequence[Path]]  #: the valid cached files, by hour
    files: tuple[EventFile, ...]  #: files of `events` that can have events of the hours

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """Return the hours whose panes are missing in the cache."""
        return tuple(hour for hour in self.hours if hour not in self.found)

    @cached_property
    def parts(self) -> list[tuple[int, Share]]:
        """Return the missing hours of the tasks, split if they are fewer than cores."""
        shared = [
            {key.attribute for key in query.keys if key.value is None}
            for query in self.panes.queries
        ]
        keys = tuple(sorted(set.intersection(*shared)))
        return hour_shares(self.missing, self.files, keys, self.cores)

    @cached_property
    def rest(self) -> RuntimePlan | None:
        """Return the plan of the queries that do not use cached panes, if there are any."""
        run = {query.name for query in self.panes.queries}
        done = {q.name for each in self.plan.classes if each.run.name in run for q in each.queries}
        names = [query.name for query in self.plan.queries if query.name not in done]
        return self.plan.of_queries(names) if names else None

    def in_words(self) -> str:
        """Return a description for reports."""
        queries = count_of(len(self.panes.queries), "query")
        reused = count_of(len(self.found), "hour")
        return f"panes of {queries} cached: {reused} reused, {len(self.missing)} computed"

    def compute_missing(self) -> Callable[[int], Counts]:
        """Return a task function that caches the panes of a part, and returns its counts."""
        panes, cache, version = self.panes, self.cache, self.version
        schema, types = self.workload.schema, types_read(self.workload, panes.queries)
        read, parts = attributes_read(panes.queries), self.parts

        def pane_rows(
            share: Share, files: Sequence[EventFile], part: Interval, told: Counter[str]
        ) -> Iterator[PartialRows]:
            found = events_in_order(files, part, schema, types, read, share.bucket)
            cuts = _cuts(share.portion * sum(file.bytes_in(part) for file in files))
            cut = replace(panes, block=HOUR // cuts)

            def rows_of(table: pa.Table, owned: Interval | None) -> Iterator[PartialRows]:
                yield from cut.pane_rows(event_table(schema, table), owned)

            rows = aggregate_in_order(counting(found, told), cut.block, rows_of, owned=part)
            if cuts == 1:
                yield from rows
            else:
                yield from cut.folded(list(rows), HOUR)

        def write_hour(number: int) -> Counts:
            (hour, share), told = parts[number], Counter({EVENTS: 0})
            part, rows = Interval(hour, hour + HOUR), list[PartialRows]()
            for files in share.in_turn():
                rows += pane_rows(share, files, part, told)
            # By query, so that panes of other queries are not read.
            order = [(name, "ascending") for name in Place._fields]
            cache.write(hour, version, share.bucket, to_arrow(rows, panes.places).sort_by(order))
            return told

        return write_hour

    def multiply(self, tasks: int) -> Task:
        """Return a task function that computes the finished rows of its queries from panes.

        The panes of all hours must be cached. Cached files that are too old for later runs are
        removed.

        Raises:
            ConflictError: cached files were removed during the run.
        """
        files = self.cache.all_of(self.lake, self.hours, self.version, self.changes)
        self.cache.drop_before(self.hours[0] - _STAY)
        panes, workload, owned = self.panes, self.workload, self.owned
        answered = answered_by(self.plan.classes)

        def rows_of(number: int) -> Iterator[pa.RecordBatch]:
            told: Counter[str] = Counter()
            mine = range(number, len(panes.queries), tasks)
            stored = from_arrow(read_cached(files, mine), panes.pane_queries)
            for rows in panes.window_rows(stored, owned):
                yield from finished(workload, answered, [rows], told)
            yield counts_of(FINISHED_SCHEMA, told)

        return each_number(rows_of)


def pane_tasks(
    lake: Lake, workload: Workload, plan: RuntimePlan, owned: Interval, version: int,
    changes: EventChanges,
) -> PaneTasks | None:  # fmt: skip
    """Return the tasks for the queries of a plan whose panes are cached.

    None if there are none, or if multiplying the panes costs more than reading their events. Then
    the plan runs the queries from events.

    Args:
        lake: The lake.
        workload: The queries.
        plan: The plan of the aggregation.
        owned: The slice.
        version: Version of `events`.
        changes: The changes to events that the ledger records, by which cached panes are reused.
    """
    if plan.cached is None:
        return None
    panes = plan.cached.panes
    # Also for an hour in which no window ends: a later hour needs its panes.
    reach = reach_of(panes.queries, owned)
    hours, files = tuple(hours_of(reach)), files_of(lake.path("events"), version, reach)
    cache = cache_of(lake, panes)
    found = cache.find(lake.root, hours, version, changes)
    parts = [Interval(hour, hour + HOUR) for hour in found]
    events = sum(file.bytes_in(part) for file in files for part in parts)
    if CACHED_BYTE * cached_bytes(chain.from_iterable(found.values())) > events > 0:
        return None
    return PaneTasks(
        lake.root, lake.cores, workload, plan, panes, cache, owned, version, changes, hours, found,
        files,
    )  # fmt: skip


def cache_of(lake: Lake, panes: CachedPanes) -> CachedHours:
    """Return the cache of panes of queries, with rows of `CachedPanes.pane_rows`."""
    queries = [f"{query.fingerprint} {accumulators_of(query)}" for query in panes.queries]
    return CachedHours.of(lake, [f"panes {_MEANING} {panes.block}", *queries])


def _cuts(size: float) -> int:
    """Return the number of parts of an hour with `size` bytes of events that fit in memory.

    >>> _cuts(0), _cuts(600_000_000)
    (1, 6)
    """
    return next(n for n in range(1, HOUR) if n * MOST_BYTES >= size and HOUR % n == 0)
