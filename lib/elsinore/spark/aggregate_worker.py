"""What a Spark task of the aggregation does, as functions from Arrow batches to Arrow batches.

Nothing here knows Spark: the functions are made on the driver and called in Python workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.engine.auto import Shared, aggregate_auto
from elsinore.engine.finish import finish
from elsinore.errors import EngineError
from elsinore.events.table import EventTable, arrow_schema
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_query
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.results.published import LONG_SCHEMA, to_long
from elsinore.timeline import Interval

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

#: What `finishing` makes: the long table of results, and the fingerprint of each row's query.
FINISHED_SCHEMA = LONG_SCHEMA.append(pa.field("query_fingerprint", pa.string(), False))


@dataclass(frozen=True, slots=True)
class WorkloadText:
    """A workload as it travels to workers: texts and fingerprints, which name it to a cache."""

    schema: StreamSchema
    text: str
    fingerprints: tuple[str, ...]

    @classmethod
    def of(cls, workload: Workload) -> WorkloadText:
        """The queries as written, in canonical spelling."""
        text = "".join(print_query(query.source) for query in workload.queries)
        return cls(workload.schema, text, tuple(q.fingerprint for q in workload.queries))

    def bind(self) -> Workload:
        """The workload again; parsed once in each process.

        Raises:
            EngineError: it is not the workload that was sent.
        """
        return _bind(self)


@lru_cache(maxsize=4)
def _bind(sent: WorkloadText) -> Workload:
    workload = bind_workload(parse_workload(sent.text, "<workload>"), sent.schema)
    if tuple(query.fingerprint for query in workload.queries) != sent.fingerprints:
        raise EngineError("a workload changed its meaning on the way to a worker")
    return workload


def aggregating(
    workload: WorkloadText, queries: tuple[str, ...], owned: Interval, shared: Shared
) -> Task:
    """A task that makes partial rows of some queries from all events of its partitions.

    Queries of fixed length run together and share the segments of `shared` that they have.

    It takes batches with `_time`, `_type` and the attributes that the queries read, and holds them
    all: trends need every event of their partition and window. Only windows that end in `owned`
    are computed.
    """

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        bound = workload.bind()
        events = event_table(bound.schema, pa.Table.from_batches(held))
        wanted = [bound.by_name[name] for name in queries]
        for partial in aggregate_auto(wanted, events, shared, owned=owned):
            yield from partial.cast(PARTIAL_SCHEMA).to_batches()

    return task


def finishing(workload: WorkloadText) -> Task:
    """A task that merges the partial rows of its (query, group, window)s and finishes them."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        bound = workload.bind()
        merged = merge_partials(pa.Table.from_batches(held))
        yield from finished(bound, merged).to_batches()

    return task


def finished(workload: Workload, merged: pa.Table) -> pa.Table:
    """Merged partial rows as rows of `FINISHED_SCHEMA`."""
    long = to_long(finish(workload, merged))
    fingerprints = [workload.by_name[name].fingerprint for name in long["query"].to_pylist()]
    return long.append_column(
        FINISHED_SCHEMA.field("query_fingerprint"), pa.array(fingerprints, pa.string())
    )


def event_table(schema: StreamSchema, table: pa.Table) -> EventTable:
    """Events as read from the lake; a column that was not read is NULL throughout."""
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in arrow_schema(schema)
    ]
    return EventTable(schema, pa.table(columns, schema=arrow_schema(schema)))
