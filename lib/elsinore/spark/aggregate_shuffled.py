"""Aggregation by way of Spark's shuffles: events by key, then partial rows by result."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.engine.auto import Sharing
from elsinore.events import TIME_COLUMN
from elsinore.query.bound import Workload
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.spark.aggregate_branches import Branch, branches
from elsinore.spark.aggregate_counts import carrying
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
    lake: Lake, workload: Workload, owned: Interval, version: int, *, sharing: Sharing, parts: int
) -> DataFrame:
    """The windows that end in `owned`, and counts; see `aggregated`."""
    text = WorkloadText.of(workload)
    partial, counted = [], frozenset[str]()
    for branch in sorted(branches(workload), key=lambda each: -_longest(workload, each)):
        asked = Asked(text, branch.queries, owned, sharing)
        # An event that several branches read counts where the longest windows read it.
        partial.append(_partial(lake, workload, branch, asked, version, parts, counted))
        counted |= branch.types
    together = reduce(DataFrame.unionByName, partial).repartition(parts, *_GROUP)
    return together.mapInArrow(finishing(text), from_arrow_schema(carrying(FINISHED_SCHEMA)))


def _longest(workload: Workload, branch: Branch) -> int:
    return max(workload.by_name[name].window.within for name in branch.queries)


def _partial(
    lake: Lake,
    workload: Workload,
    branch: Branch,
    asked: Asked,
    version: int,
    parts: int,
    counted: frozenset[str],
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
    ordered = _longest(workload, branch) < asked.owned.length
    if ordered:
        columns = columns.sortWithinPartitions(TIME_COLUMN)
    task = aggregating(asked, branch.types - counted, ordered=ordered)
    return columns.mapInArrow(task, from_arrow_schema(carrying(PARTIAL_SCHEMA)))
