"""Aggregation without a shuffle: each task reads the files that its windows reach.

A window lies in one part of the slice whatever its keys are, and the part has all of its events: so
a task groups by any key, and finishes its rows itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.engine.auto import Sharing
from elsinore.events import TIME_COLUMN
from elsinore.query.bound import Workload
from elsinore.spark.aggregate_branches import attributes_read, types_read
from elsinore.spark.aggregate_counts import carrying, counts_of
from elsinore.spark.aggregate_parts import Part
from elsinore.spark.aggregate_worker import (
    EVENTS,
    FINISHED_SCHEMA,
    Asked,
    Batches,
    Task,
    WorkloadText,
    finished,
    new_observer,
)
from elsinore.spark.files_in_order import events_in_order
from elsinore.spark.tables import Lake


def aggregate_direct(
    lake: Lake, workload: Workload, parts: Sequence[Part], *, sharing: Sharing
) -> DataFrame:
    """The windows that end in the parts, and counts; see `aggregated`."""
    task = _reading(workload, tuple(parts), sharing)
    numbers = lake.spark.range(0, len(parts), numPartitions=len(parts))
    return numbers.mapInArrow(task, from_arrow_schema(carrying(FINISHED_SCHEMA)))


def _reading(workload: Workload, parts: tuple[Part, ...], sharing: Sharing) -> Task:
    """A task that takes numbers of parts and makes their rows."""
    text = WorkloadText.of(workload)
    queries = tuple(query.name for query in workload.queries)
    types = frozenset().union(*(types_read(workload, query) for query in workload.queries))
    read = sorted(frozenset().union(*(attributes_read(query) for query in workload.queries)))

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch["id"].to_pylist()):
            part, observer, told = parts[number], new_observer(), Counter({EVENTS: 0})
            # Of the time before its windows' ends, what no earlier part counts.
            since = part.owned.start if number else part.reached.start
            events = events_in_order(part.files, part.reached, text.schema, types, read)
            asked = Asked(text, queries, part.owned, sharing)
            counted = _counting(events, since, told)
            for partial in asked.partial_rows(counted, observer, ordered=True):
                yield from finished(text.bind(), partial, told)
            yield counts_of(FINISHED_SCHEMA, {**observer.counts, **told})

    return task


def _counting(batches: Batches, since: int, told: Counter[str]) -> Iterator[pa.RecordBatch]:
    """The batches; counts their events that do not lie before an instant."""
    for batch in batches:
        told[EVENTS] += pc.sum(pc.greater_equal(batch[TIME_COLUMN], since)).as_py() or 0
        yield batch
