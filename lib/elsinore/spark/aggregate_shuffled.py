"""Aggregation by way of Spark's shuffles: events by key, then partial rows by result."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.engine.auto import Sharing
from elsinore.events.table import TIME_COLUMN
from elsinore.query.bound import Workload
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.spark.aggregate_branches import Branch, branches
from elsinore.spark.aggregate_counts import TaskCounts
from elsinore.spark.aggregate_events import (
    engine_columns,
    events_between,
    partition_keys,
    reach_of,
)
from elsinore.spark.aggregate_worker import (
    FINISHED_SCHEMA,
    Asked,
    WorkloadText,
    aggregating,
    finishing,
)
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval

_GROUP = ("query", "group", "window_start", "window_end")


def aggregate_shuffled(
    lake: Lake,
    workload: Workload,
    owned: Interval,
    version: int,
    *,
    sharing: Sharing,
    parts: int,
    counts: TaskCounts,
) -> DataFrame:
    """The windows that end in `owned`, as rows of `FINISHED_SCHEMA`; see `aggregate`."""
    text = WorkloadText.of(workload)
    partial = []
    for number, branch in enumerate(branches(workload)):
        asked = Asked(text, branch.queries, owned, sharing)
        partial.append(_partial(lake, workload, branch, asked, version, parts, counts, number))
    together = reduce(DataFrame.unionByName, partial).repartition(parts, *_GROUP)
    return together.mapInArrow(finishing(text), from_arrow_schema(FINISHED_SCHEMA))


def _partial(
    lake: Lake,
    workload: Workload,
    branch: Branch,
    asked: Asked,
    version: int,
    parts: int,
    counts: TaskCounts,
    number: int,
) -> DataFrame:
    queries = [workload.by_name[name] for name in branch.queries]
    schema = workload.schema
    events = events_between(lake, version, reach_of(queries, asked.owned), branch.types)
    columns = events.select(*engine_columns(schema, branch.attributes))
    if branch.keys:
        columns = columns.repartition(parts, *partition_keys(schema, branch.keys))
    else:
        columns = columns.repartition(1)
    # In the order of time old events can be let go; worth a sort where there are such.
    ordered = max(query.window.within for query in queries) < asked.owned.length
    if ordered:
        columns = columns.sortWithinPartitions(TIME_COLUMN)

    def tell(found: Mapping[str, int]) -> None:
        context = TaskContext.get()
        assert context is not None
        counts.tell(f"{number}.{context.partitionId()}", found)

    task = aggregating(asked, tell, ordered=ordered)
    return columns.mapInArrow(task, from_arrow_schema(PARTIAL_SCHEMA))
