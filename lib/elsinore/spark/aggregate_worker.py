"""Task functions of the aggregation, from Arrow batches to Arrow batches.

This module does not import Spark: the driver creates the functions, and Python workers call them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.executors.aggregates import participation_query
from elsinore.executors.hamlet.observe import Observer
from elsinore.executors.input.in_order import CHUNK_EVENTS, aggregate_in_order
from elsinore.executors.output.finish import Answered, finish_long
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.wire import WIRE_SCHEMA, Place, from_arrow, to_arrow
from elsinore.executors.plan import Request, RuntimePlan
from elsinore.executors.plan.alike import Alike, answered_by
from elsinore.lake.event_files import (
    Bucket,
    EventFile,
    Share,
    attributes_read,
    event_table,
    events_in_order,
    types_read,
)
from elsinore.query.bound import Workload
from elsinore.query.query_keys import QueryKey
from elsinore.results.task_rows import (
    EVENTS,
    FINISHED_SCHEMA,
    ROWS,
    WINDOWS,
    counts_of,
    results_of,
    split,
)
from elsinore.template.measures import measure_queries
from elsinore.template.support import lowered
from elsinore.timeline import Interval

Batches = Iterable[pa.RecordBatch]

Task = Callable[[Batches], Iterator[pa.RecordBatch]]

#: Cost of reading and dropping an event, relative to the cost of reading and aggregating it.
LET_GO = 0.2


@dataclass(frozen=True, slots=True)
class Part:
    """The input of one task.

    Attributes:
        owned: The task computes the windows that end in this interval.
        reached: The time range of these windows.
        files: The files with their events.
        bucket: Only groups of this bucket; None: all groups.
    """

    owned: Interval
    reached: Interval
    files: tuple[EventFile, ...]
    bucket: Bucket | None = None

    @property
    def size(self) -> float:
        """The weighted bytes that the task reads; bytes of other buckets count less."""
        read = sum(file.bytes_read(self.reached) for file in self.files)
        return read * (LET_GO + (1 - LET_GO) * Share(self.files, self.bucket).portion)


def partial_rows(
    schema: StreamSchema, plan: RuntimePlan, owned: Interval | None, batches: Batches,
    told: Counter[str],
) -> Iterator[list[PartialRows]]:  # fmt: skip
    """Aggregate all events of partitions to partial rows.

    Memory holds only the events that open windows need, or all events if a query has sessions. A
    yielded list has all rows of its windows,
    one per query that ran, group and window. The counts of shared work are added to `told`.

    `batches` have the columns `_time`, which ascends, `_type`, and the attributes that the queries
    read. Only the windows that end in `owned` are computed; None: all windows.
    """
    observer = Observer(room=0, details=False)

    def aggregate(table: pa.Table, owned: Interval | None) -> Iterator[list[PartialRows]]:
        request = Request(owned, observe=lambda _: observer)
        yield [*chain.from_iterable(plan.run(event_table(schema, table), request))]

    reach = max(query.window.length for query in plan.queries)
    # A session can begin any time before its end, so its events are not dropped.
    is_session = any(query.window.session is not None for query in plan.queries)
    size = sys.maxsize if is_session else CHUNK_EVENTS
    yield from aggregate_in_order(batches, reach, aggregate, owned=owned, chunk_events=size)
    told.update(observer.counts)


def reading(
    workload: Workload,
    parts: tuple[Part, ...],
    plan: RuntimePlan,
    counted: frozenset[str] = frozenset(),
    *,
    merged: bool = False,
) -> Task:
    """Return a task function that reads the files of parts and yields their rows.

    A part has all events of its windows, or all events of the partitions of its bucket. So a task
    needs no shuffle.

    Args:
        workload: The queries.
        parts: The parts; the task function takes their numbers.
        plan: The plan of the aggregation.
        counted: Event types that another task function counts.
        merged: Yield partial rows, because several buckets can have rows of the same group.
            Otherwise the rows are finished.
    """
    codes = [code for name, code in workload.schema.type_codes.items() if name not in counted]
    fresh = pa.array(codes, pa.int32())
    types, read = types_read(workload, workload.queries), attributes_read(workload.queries)
    places, answered = places_of(workload), answered_by(plan.row_classes)

    def read_part(number: int) -> Iterator[pa.RecordBatch]:
        part, told = parts[number], Counter({EVENTS: 0})
        # Events before `owned` are counted only in the first part, so that none is counted twice.
        since = (part.reached if part.owned.start == parts[0].owned.start else part.owned).start

        def own(batch: pa.RecordBatch) -> pa.Array:
            is_first = pc.greater_equal(batch[TIME_COLUMN], since)
            return pc.and_(is_first, pc.is_in(batch[TYPE_COLUMN], fresh))

        for files in Share(part.files, part.bucket).in_turn():
            events = events_in_order(files, part.reached, workload.schema, types, read, part.bucket)
            seen = counting(events, told, own)
            for rows in partial_rows(workload.schema, plan, part.owned, seen, told):
                if merged:
                    yield from results_of(to_arrow(rows, places))
                else:
                    yield from finished(workload, answered, rows, told)
        yield counts_of(WIRE_SCHEMA if merged else FINISHED_SCHEMA, told)

    return each_number(read_part)


def each_number(do: Callable[[int], Iterable[pa.RecordBatch]]) -> Task:
    """Return a task function that yields the rows of `do` for each number of `spark.range`."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                yield from do(number)

    return task


def counting(
    batches: Batches,
    told: Counter[str],
    which: Callable[[pa.RecordBatch], pa.Array] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield batches unchanged, and count their events, or the events that `which` selects."""
    for batch in batches:
        told[EVENTS] += (pc.sum(which(batch)).as_py() or 0) if which else batch.num_rows
        yield batch


def places_of(workload: Workload) -> dict[QueryKey, Place]:
    """Return the places of partial rows by the key of the query.

    So also of the steps of queries, and of `participation_query` and `measure_queries` of queries.
    """
    queries = lowered(workload).queries
    asking = (participation_query(query) for query in queries if query.participating)
    measuring = (part for query in queries for part in measure_queries(query))
    every = (*queries, *asking, *measuring)
    return {query.key: Place(n) for n, query in enumerate(every)}


def aggregating(
    workload: Workload, plan: RuntimePlan, owned: Interval | None, counted: frozenset[str]
) -> Task:
    """Return a task function that aggregates all events of its partitions to partial rows.

    Args:
        workload: The queries of all plans whose rows are merged.
        plan: The plan of the aggregation.
        owned: Only the windows that end in this interval; None: all.
        counted: Event types that another task function counts.
    """
    schema, places = workload.schema, places_of(workload)
    codes = [code for name, code in schema.type_codes.items() if name not in counted]
    fresh = pa.array(codes, pa.int32())

    def own(batch: pa.RecordBatch) -> pa.Array:
        return pc.is_in(batch[TYPE_COLUMN], fresh)

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        told = Counter({EVENTS: 0})
        for rows in partial_rows(schema, plan, owned, counting(batches, told, own), told):
            yield from results_of(to_arrow(rows, places))
        yield counts_of(WIRE_SCHEMA, told)

    return task


def finishing(workload: Workload, classes: Sequence[Alike]) -> Task:
    """Return a task function that merges partial rows of the same result, and finishes them.

    Args:
        workload: The queries.
        classes: The classes of the queries that ran (`RuntimePlan.row_classes`), of all plans.
    """
    places, answered = places_of(workload), answered_by(classes)
    queries = {places[each.run.key]: each.run for each in classes}

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        rows, counts = split(pa.Table.from_batches(held))
        told = Counter(counts)
        yield from finished(workload, answered, merge(from_arrow(rows, queries)), told)
        yield counts_of(FINISHED_SCHEMA, told)

    return task


def finished(
    workload: Workload, answered: Answered, rows: Sequence[PartialRows], counts: Counter[str]
) -> Iterable[pa.RecordBatch]:
    """Convert all partial rows of results to rows of `FINISHED_SCHEMA`, and count them.

    Args:
        workload: The queries.
        answered: The queries that the rows of each query answer, by name.
        rows: The partial rows, one per query that ran, group and window.
        counts: The counts of the task; the numbers of rows and windows are added.
    """
    long = finish_long(workload, rows, answered)
    run = long["query"].combine_chunks().dictionary_encode()
    names = run.dictionary.to_pylist()
    values = Counter(run.to_pylist())  # HAVING may have dropped rows
    windows = sum(n // len(workload.by_name[name].value_labels) for name, n in values.items())
    counts.update({WINDOWS: windows, ROWS: long.num_rows})
    origins = [workload.origin(name) for name in names]
    of_query = {
        "query": [origin.query for origin in origins],
        "query_fingerprint": [workload.by_name[name].fingerprint for name in names],
        "workload": [origin.workload for origin in origins],
    }
    columns = [
        pa.array(of_query[field.name], field.type).take(run.indices)
        if field.name in of_query
        else long[field.name]
        for field in FINISHED_SCHEMA
    ]
    return results_of(pa.table(columns, FINISHED_SCHEMA))
