"""Distribute events over Spark tasks by the keys of queries, and aggregate them in each task.

The events are any DataFrame: this module does not use a lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.executors.output.wire import WIRE_SCHEMA
from elsinore.executors.plan import RuntimePlan
from elsinore.executors.plan.alike import Alike
from elsinore.lake.event_files import attributes_read, reach_of, types_read
from elsinore.query.bound import BoundQuery, Key, Workload, columns_of
from elsinore.query.expressions import COMBINATION, Applied
from elsinore.query.syntax import Semantics
from elsinore.results.task_rows import FINISHED_SCHEMA, with_counts
from elsinore.spark.aggregate_worker import aggregating, finishing
from elsinore.template.support import lowered
from elsinore.timeline import Interval

#: Rows of one query, and of its EACH, DISTINCT and measures, which have other names, meet in one
#: task.
_RESULT = ("group", "window")


def aggregate_partitions(
    workload: Workload, plan: RuntimePlan, events: DataFrame, *, parts: int,
    owned: Interval | None = None,
) -> DataFrame:  # fmt: skip
    """Return the finished rows of a workload, and rows of counts (`results.task_rows`).

    The pipeline and `elsinore.spark.run` share this path: events in, results out.

    Args:
        workload: The queries.
        plan: The plan of the aggregation.
        events: The columns `_time`, `_type` and the attributes that the queries read.
        parts: Maximum number of tasks.
        owned: Only the windows that end in this interval; None: all.
    """
    partial, counted, classes = [], frozenset[str](), list[Alike]()
    # Each type is counted in the branch that reads most of its events.
    longest = sorted(branches(workload), key=lambda one: -max(q.window.length for q in one[1]))
    for keys, queries in longest:
        own = plan.of_queries([query.name for query in queries])
        classes += own.row_classes
        task = aggregating(workload, own, owned, counted)
        ordered = _distributed(events, workload, keys, queries, parts, owned)
        partial.append(ordered.mapInArrow(task, from_arrow_schema(with_counts(WIRE_SCHEMA))))
        counted |= types_read(workload, queries)
    together = reduce(lambda one, other: one.unionByName(other), partial)
    return finished_together(together, workload, classes, parts)


def finished_together(
    together: DataFrame, workload: Workload, classes: Sequence[Alike], parts: int
) -> DataFrame:
    """Merge partial rows of the same result from several tasks, and finish them.

    Args:
        together: Partial rows, and rows of counts.
        workload: The queries.
        classes: The classes of the queries that ran (`RuntimePlan.row_classes`).
        parts: Maximum number of tasks.
    """
    task = finishing(workload, classes)
    rows = together.repartition(parts, *_RESULT)
    return rows.mapInArrow(task, from_arrow_schema(with_counts(FINISHED_SCHEMA)))


def _distributed(
    events: DataFrame, workload: Workload, keys: Sequence[str], queries: Sequence[BoundQuery],
    parts: int, owned: Interval | None,
) -> DataFrame:  # fmt: skip
    """Return the events of a branch, partitioned by its keys.

    They are in the order of time in each task, so that tasks can drop old events.
    """
    schema = workload.schema
    codes = [schema.type_codes[name] for name in sorted(types_read(workload, queries))]
    read = events.where(F.col(TYPE_COLUMN).isin(codes))
    if owned is not None:
        reached = reach_of(queries, owned)
        read = read.where(F.col(TIME_COLUMN) >= F.lit(reached.start))
        read = read.where(F.col(TIME_COLUMN) < F.lit(reached.end))
    read = read.select(TIME_COLUMN, TYPE_COLUMN, *attributes_read(queries))
    by = partition_keys(schema, keys)
    return read.repartition(parts if by else 1, *by).sortWithinPartitions(TIME_COLUMN)


def partition_keys(schema: StreamSchema, attributes: Iterable[str]) -> list[Column]:
    """Return the columns by which Spark partitions events.

    Values that are equal in the engine are equal in these columns: all NULLs, all NaNs whatever
    their bits, and -0.0 and 0.0.
    """
    nan = F.lit(float("nan"))
    return [
        F.when(F.isnan(name), nan).otherwise(F.col(name) + F.lit(0.0))
        if schema.attributes[name] is AttributeType.DOUBLE
        else F.col(name)
        for name in attributes
    ]


def branches(workload: Workload) -> list[tuple[tuple[str, ...], list[BoundQuery]]]:
    """Group queries by the keys that distribute their events over tasks.

    The events of a trend have equal values of all keys. The same is true of events that can exclude
    it. A query without keys is a separate branch, with one task for all its events.

    Returns:
        The keys and the queries of each branch.
    """
    members: dict[tuple[tuple[str, ...], str, bool], list[BoundQuery]] = {}
    for query in lowered(workload).queries:
        keys = common_keys(query)
        # Tasks hold all of their events for sessions, and only open windows for other queries.
        has_sessions = query.window.session is not None
        members.setdefault((keys, "" if keys else query.name, has_sessions), []).append(query)
    return [(keys, queries) for (keys, *_), queries in members.items()]


def common_keys(query: BoundQuery) -> tuple[str, ...]:
    """Return the key attributes that the events of every position have, also of negated ones.

    A key that a position lacks cannot distribute events, because the events of this position are
    needed with every value of the key. Under `contiguous` the result is empty, because events of
    all types matter. All events of a session have equal BY attributes, but other keys can differ.
    """
    if query.semantics is Semantics.CONTIGUOUS:
        return ()
    if query.window.session is not None:
        return tuple(sorted(query.window.session.keys))
    everywhere = {position.index for position in query.positions}
    shared = [key for key in query.keys if key.value is None and key.positions >= everywhere]
    attributes = {key.attribute for key in shared}
    return tuple(sorted(attributes & _splitting(query, shared)))


def _splitting(query: BoundQuery, shared: Iterable[Key]) -> set[str]:
    """Return the keys by which tasks can be split so that the results of tasks add up.

    Each event is in one task, so EACH adds up. COUNT(DISTINCT a) does if no value of `a` is in two
    tasks that have rows of the same group. So tasks are split by grouping keys and by `a` only. For
    the keys of steps, these are all keys that they combine.
    """
    counted = {item.attribute for item in query.aggregates if item.distinct}
    if not counted:
        return {key.attribute for key in shared}
    grouping = {key.attribute for key in shared if key.group_label is not None}
    if len(counted) > 1:
        return grouping
    [attribute] = counted
    if isinstance(attribute, Applied) and attribute.name != COMBINATION:
        return grouping
    return grouping.union(columns_of(attribute))
