"""Cache pane results of queries between runs: the choice of queries, and the Spark tasks.

The tasks are functions from Arrow batches to Arrow batches, created on the driver and called in
Python workers, as in `aggregate_worker`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import gcd
from pathlib import Path

import pyarrow as pa

from elsinore.executors.aggregates import accumulators_of
from elsinore.executors.input.in_order import aggregate_in_order
from elsinore.executors.linear.cached_panes import CarriedPanes, carried_refusals
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.wire import Place, from_arrow, to_arrow
from elsinore.executors.plan import RuntimePlan
from elsinore.executors.plan.alike import answered_by
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
from elsinore.lake.kept_hours import KeptHours, kept_bytes, read_kept
from elsinore.lake.stored_events import files_of
from elsinore.ledger.event_changes import EventChanges
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.print_query import count_of
from elsinore.results.task_rows import EVENTS, FINISHED_SCHEMA, Counts, counts_of
from elsinore.settings import LakePath
from elsinore.spark.aggregate_worker import Task, counting, each_number, finished
from elsinore.store.tables import Lake
from elsinore.timeline import DAY, HOUR, Interval, hours_of

#: Version of cached panes; raise it if the meaning of their rows changes, or if rows were wrong.
_MEANING = 3

#: Minimum bytes of events before a slice for which caching panes is worthwhile: two more Spark jobs
#: take as long as reading about two million events.
FEWEST_BYTES = 50_000_000

#: Maximum number of panes of a window; the cost of a window grows with it.
MOST_PANES = 200

#: Cost of multiplying a byte of cached panes, in bytes of events to read. Panes that exceed their
#: events by this factor have too many partitions to cache.
KEPT_BYTE = 16

#: Maximum bytes of events that a task aggregates at a time (about four million events).
MOST_BYTES = 100_000_000

#: How long cached panes are kept for other slices, after the windows of a slice no longer need
#: them.
_STAY = 7 * DAY


@dataclass(frozen=True)
class Carrying:
    """The queries of a slice that are computed from cached panes, and the cached files."""

    lake: LakePath
    cores: int  #: total number of cores of all tasks
    #: all queries of the slice, and their plan.
    workload: Workload
    plan: RuntimePlan
    carried: CarriedPanes  #: the queries that use cached panes
    kept: KeptHours  #: the cache of their panes
    owned: Interval  #: the slice
    version: int  #: the version of `events`
    changes: EventChanges  #: the changes to events that the ledger records
    hours: tuple[int, ...]  #: all hours that the windows of these queries reach
    found: Mapping[int, Sequence[Path]]  #: the valid cached files, by hour
    files: tuple[EventFile, ...]  #: files of `events` that can have events of the hours

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """The hours whose panes are missing in the cache."""
        return tuple(hour for hour in self.hours if hour not in self.found)

    @cached_property
    def parts(self) -> list[tuple[int, Share]]:
        """The missing hours of the tasks, split if they are fewer than cores."""
        shared = [
            {key.attribute for key in query.keys if key.value is None}
            for query in self.carried.queries
        ]
        keys = tuple(sorted(set.intersection(*shared)))
        return hour_shares(self.missing, self.files, keys, self.cores)

    @cached_property
    def rest(self) -> RuntimePlan | None:
        """The plan of the queries that do not use cached panes, if there are any."""
        run = {query.name for query in self.carried.queries}
        done = {q.name for each in self.plan.classes if each.run.name in run for q in each.queries}
        names = [query.name for query in self.plan.queries if query.name not in done]
        return self.plan.of_queries(names) if names else None

    def in_words(self) -> str:
        """Return a description for reports."""
        queries = count_of(len(self.carried.queries), "query")
        kept = count_of(len(self.found), "hour")
        return f"panes of {queries} cached: {kept} reused, {len(self.missing)} computed"

    def work_out(self) -> Callable[[int], Counts]:
        """Return a task function that caches the panes of a part, and returns its counts."""
        carried, schema, kept, version = self.carried, self.workload.schema, self.kept, self.version
        types = types_read(self.workload, carried.queries)
        read, parts = attributes_read(carried.queries), self.parts

        def pane_rows(
            share: Share, files: Sequence[EventFile], part: Interval, told: Counter[str]
        ) -> Iterator[PartialRows]:
            found = events_in_order(files, part, schema, types, read, share.bucket)
            cuts = _cuts(share.portion * sum(file.bytes_in(part) for file in files))
            cut = replace(carried, block=HOUR // cuts)

            def panes(table: pa.Table, owned: Interval | None) -> Iterator[PartialRows]:
                yield from cut.pane_rows(event_table(schema, table), owned)

            rows = aggregate_in_order(counting(found, told), cut.block, panes, owned=part)
            if cuts == 1:
                yield from rows
            else:
                yield from cut.folded(list(rows), HOUR)

        def keep(number: int) -> Counts:
            (hour, share), told = parts[number], Counter({EVENTS: 0})
            part, panes = Interval(hour, hour + HOUR), list[PartialRows]()
            for files in share.in_turn():
                panes += pane_rows(share, files, part, told)
            # By query, so that panes of other queries are not read.
            order = [(name, "ascending") for name in Place._fields]
            kept.write(hour, version, share.bucket, to_arrow(panes, carried.places).sort_by(order))
            return told

        return keep

    def multiply(self, tasks: int) -> Task:
        """Return a task function that computes the finished rows of its queries from panes.

        The panes of all hours must be cached. Cached files that are too old for later runs are
        removed.

        Raises:
            ConflictError: cached files were removed during the run.
        """
        files = self.kept.all_of(self.lake, self.hours, self.version, self.changes)
        self.kept.drop_before(self.hours[0] - _STAY)
        carried, workload, owned = self.carried, self.workload, self.owned
        answered = answered_by(self.plan.classes)

        def rows_of(number: int) -> Iterator[pa.RecordBatch]:
            told: Counter[str] = Counter()
            mine = range(number, len(carried.queries), tasks)
            panes = from_arrow(read_kept(files, mine), carried.pane_queries)
            for rows in carried.window_rows(panes, owned):
                yield from finished(workload, answered, [rows], told)
            yield counts_of(FINISHED_SCHEMA, told)

        return each_number(rows_of)


def choose_carrying(
    lake: Lake, workload: Workload, plan: RuntimePlan, owned: Interval, version: int,
    changes: EventChanges,
) -> Carrying | None:  # fmt: skip
    """Return the queries whose panes should be cached, if there are any.

    These are the queries whose windows reach back over more than the slice, and over many events.

    Args:
        lake: The lake.
        workload: The queries.
        plan: The plan of the aggregation.
        owned: The slice.
        version: Version of `events`.
        changes: The changes to events that the ledger records, by which cached panes are reused.
    """
    of_steps = {one.run.name for one in plan.classes if any(q.step_of for q in one.queries)}
    queries = [
        query
        for unit in plan.units
        for query in unit.queries
        if query.window.within > owned.length and _can_be_kept(query)
        # All steps of a query are finished in one task.
        if query.name not in of_steps
    ]
    if not queries:
        return None
    longest = max(query.window.within for query in queries)
    files = files_of(lake.path("events"), version, Interval(owned.start - longest, owned.end))
    before = Interval(owned.start - longest, owned.start)
    if sum(file.bytes_in(before) for file in files) < FEWEST_BYTES:
        return None
    # Also for an hour in which no window ends: a later hour needs its panes.
    hours = tuple(hours_of(reach_of(queries, owned)))
    # The order must not depend on the plan, because the name of the cache depends on it.
    carried = CarriedPanes(tuple(sorted(queries, key=lambda query: query.name)), HOUR)
    kept = kept_panes(lake, carried)
    found = kept.find(lake.root, hours, version, changes)
    parts = [Interval(hour, hour + HOUR) for hour in found]
    events = sum(file.bytes_in(part) for file in files for part in parts)
    if KEPT_BYTE * kept_bytes(chain.from_iterable(found.values())) > events > 0:
        return None
    return Carrying(
        lake.root, lake.cores, workload, plan, carried, kept, owned, version, changes, hours, found,
        files,
    )  # fmt: skip


def kept_panes(lake: Lake, carried: CarriedPanes) -> KeptHours:
    """Return the cache of panes of queries, with rows of `CarriedPanes.pane_rows`."""
    queries = [f"{query.fingerprint} {accumulators_of(query)}" for query in carried.queries]
    return KeptHours.of(lake, [f"panes {_MEANING} {carried.block}", *queries])


def _cuts(size: float) -> int:
    """Return the number of parts of an hour with `size` bytes of events that fit in memory.

    >>> _cuts(0), _cuts(600_000_000)
    (1, 6)
    """
    return next(n for n in range(1, HOUR) if n * MOST_BYTES >= size and HOUR % n == 0)


def _can_be_kept(query: BoundQuery) -> bool:
    pane = gcd(query.window.pane(), HOUR)
    return query.window.within <= MOST_PANES * pane and not carried_refusals(query)
