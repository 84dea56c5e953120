"""What a Spark task of the aggregation does, as functions from Arrow batches to Arrow batches.

Nothing here knows Spark: the functions are made on the driver and called in Python workers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.engine.finish import finish_long
from elsinore.engine.hamlet.observe import Observer
from elsinore.engine.in_order import aggregate_in_order
from elsinore.engine.plan import Request, RuntimePlan
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
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
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.results.task_rows import (
    EVENTS,
    FINISHED_SCHEMA,
    ROWS,
    WINDOWS,
    counts_of,
    results_of,
    split,
)
from elsinore.timeline import Interval

Batches = Iterable[pa.RecordBatch]

Task = Callable[[Batches], Iterator[pa.RecordBatch]]

#: What it costs to read an event and to let it go, of what it costs to aggregate it.
LET_GO = 0.2


@dataclass(frozen=True, slots=True)
class Part:
    """What one task computes: the windows that end in `owned`, of what they can hold, and where
    that is; of the groups of a bucket alone, if there is one.
    """

    owned: Interval
    reached: Interval
    files: tuple[EventFile, ...]
    bucket: Bucket | None = None

    @property
    def size(self) -> float:
        """Bytes that the task reads; those of other buckets are let go at once, and count less."""
        read = sum(file.bytes_read(self.reached) for file in self.files)
        return read * (LET_GO + (1 - LET_GO) * Share(self.files, self.bucket).portion)


def partial_rows(
    schema: StreamSchema, plan: RuntimePlan, owned: Interval | None, batches: Batches,
    told: Counter[str],
) -> Iterator[pa.Table]:  # fmt: skip
    """Partial rows from all events of some partitions.

    No more events are held than the live windows need, and a table has all partial rows of the
    windows that it has any of.

    Args:
        schema: of the events.
        plan: by which they are aggregated.
        owned: the windows that end in it are asked for, and no others; None: all.
        batches: `_time`, which never falls, `_type` and the attributes that the queries read.
        told: is given the counts of what queries shared.
    """
    observer = Observer(room=0, details=False)

    def aggregate(table: pa.Table, owned: Interval | None) -> Iterator[pa.Table]:
        parts = [PARTIAL_SCHEMA.empty_table()]
        request = Request(owned, observe=lambda _: observer)
        for found in plan.run(event_table(schema, table), request):
            parts.append(found.cast(PARTIAL_SCHEMA))
        yield pa.concat_tables(parts)

    reach = max(query.window.within for query in plan.queries)
    yield from aggregate_in_order(batches, reach, aggregate, owned=owned)
    told.update(observer.counts)


def reading(
    workload: Workload,
    parts: tuple[Part, ...],
    plan: RuntimePlan,
    counted: frozenset[str] = frozenset(),
    *,
    merged: bool = False,
) -> Task:
    """A task that takes numbers of parts, reads their files and makes their finished rows.

    A part has all events of its windows, or all those of the partitions of its bucket: so a task
    needs no shuffle. Where several buckets have rows of one group, these are to be `merged`: they
    are partial rows. Events of the types `counted` are counted elsewhere.
    """
    codes = [code for name, code in workload.schema.type_codes.items() if name not in counted]
    fresh = pa.array(codes, pa.int32())
    types, read = types_read(workload, workload.queries), attributes_read(workload.queries)

    def read_part(number: int) -> Iterator[pa.RecordBatch]:
        part, told = parts[number], Counter({EVENTS: 0})
        # Of the time before its windows' ends, what no earlier part counts.
        since = (part.reached if part.owned.start == parts[0].owned.start else part.owned).start

        def own(batch: pa.RecordBatch) -> pa.Array:
            is_first = pc.greater_equal(batch[TIME_COLUMN], since)
            return pc.and_(is_first, pc.is_in(batch[TYPE_COLUMN], fresh))

        for files in Share(part.files, part.bucket).in_turn():
            events = events_in_order(files, part.reached, workload.schema, types, read, part.bucket)
            seen = counting(events, told, own)
            for rows in partial_rows(workload.schema, plan, part.owned, seen, told):
                yield from results_of(rows) if merged else finished(workload, rows, told)
        yield counts_of(PARTIAL_SCHEMA if merged else FINISHED_SCHEMA, told)

    return each_number(read_part)


def each_number(do: Callable[[int], Iterable[pa.RecordBatch]]) -> Task:
    """A task that does something for each of the numbers that it is given (`spark.range`)."""

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
    """The batches; counts their events, or some of them."""
    for batch in batches:
        told[EVENTS] += (pc.sum(which(batch)).as_py() or 0) if which else batch.num_rows
        yield batch


def aggregating(
    schema: StreamSchema, plan: RuntimePlan, owned: Interval | None, counted: frozenset[str]
) -> Task:
    """Return a task that makes partial rows from all events of its partitions.

    Args:
        schema: of the events.
        plan: by which they are aggregated.
        owned: only the windows that end in it; None: all.
        counted: types whose events are counted elsewhere.
    """
    codes = [code for name, code in schema.type_codes.items() if name not in counted]
    fresh = pa.array(codes, pa.int32())

    def own(batch: pa.RecordBatch) -> pa.Array:
        return pc.is_in(batch[TYPE_COLUMN], fresh)

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        told = Counter({EVENTS: 0})
        for rows in partial_rows(schema, plan, owned, counting(batches, told, own), told):
            yield from results_of(rows)
        yield counts_of(PARTIAL_SCHEMA, told)

    return task


def finishing(workload: Workload) -> Task:
    """A task that merges the partial rows of its (query, group, window)s and finishes them."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        rows, counts = split(pa.Table.from_batches(held))
        told = Counter(counts)
        yield from finished(workload, rows, told)
        yield counts_of(FINISHED_SCHEMA, told)

    return task


def finished(workload: Workload, rows: pa.Table, told: Counter[str]) -> Iterable[pa.RecordBatch]:
    """All partial rows of some (query, group, window)s as rows of `FINISHED_SCHEMA`, counted."""
    merged = merge_partials(rows)
    long = finish_long(workload, merged)
    told.update({WINDOWS: merged.num_rows, ROWS: long.num_rows})
    names = long["query"].combine_chunks().dictionary_encode()
    fingerprints = [workload.by_name[name].fingerprint for name in names.dictionary.to_pylist()]
    column = pa.array(fingerprints, pa.string()).take(names.indices)
    return results_of(long.append_column(FINISHED_SCHEMA.field("query_fingerprint"), column))
