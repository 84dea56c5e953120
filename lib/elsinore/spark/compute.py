"""Compute the results of a time slice: events of a table in, a DataFrame of finished rows out.

Tasks read the Parquet files of a plain table directly. Spark scans all other tables, such as those
with deletion vectors or renamed columns. The rows are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import SetupError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.executors.output.wire import WIRE_SCHEMA
from elsinore.executors.plan import RuntimePlan
from elsinore.lake.event_files import attributes_read, reach_of, types_read
from elsinore.lake.stored_events import NotPlainError, files_of
from elsinore.ledger.event_changes import EventChanges
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.steps import with_steps
from elsinore.results.task_rows import FINISHED_SCHEMA, Counts, with_counts
from elsinore.spark.aggregate_route import Route, choose_routes
from elsinore.spark.aggregate_worker import Task, reading
from elsinore.spark.pane_tasks import PaneTasks, pane_tasks
from elsinore.spark.partitions import aggregate_partitions, finished_together
from elsinore.spark.tasks import numbered, told
from elsinore.store.regions import day_of
from elsinore.store.tables import Lake
from elsinore.timeline import Interval

#: Returns a table of events at the version that is read, for Spark's own scan.
Scan = Callable[[], DataFrame]


@dataclass(frozen=True)
class Computed:
    """The results of a slice, which Spark computes when they are written or read.

    Attributes:
        frames: Finished rows and rows of counts (`results.task_rows`).
        words: Sentences about how tasks get their events.
        reports: Counts of tasks that are done, which cached panes.
        is_scattered: Tasks make rows of the whole slice, not each of a time range.
    """

    frames: tuple[DataFrame, ...]
    words: tuple[str, ...]
    reports: tuple[Counts, ...] = ()
    is_scattered: bool = False

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return all rows as one DataFrame, in a session."""
        empty = spark.createDataFrame([], from_arrow_schema(with_counts(FINISHED_SCHEMA)))
        return reduce(DataFrame.unionByName, self.frames) if self.frames else empty


def compute(
    spark: SparkSession, lake: Lake, workload: Workload, plan: RuntimePlan, owned: Interval, *,
    version: int, parts: int, scan: Scan | None = None, changes: EventChanges | None = None,
) -> Computed:  # fmt: skip
    """Compute the windows that end in an interval.

    Args:
        spark: The session.
        lake: The lake with the table `events`.
        workload: The queries, which all run together.
        plan: The plan of the aggregation.
        owned: The interval.
        version: Version of `events`.
        parts: Maximum number of tasks.
        scan: How Spark reads `events` if tasks cannot read its files.
        changes: The changes to events that the ledger records; None: no panes are cached.

    Raises:
        NotPlainError, SetupError: tasks cannot read its files, and `scan` is None.
    """
    if scan and (refusal := _refusal(lake, version, reach_of(workload.queries, owned))):
        events = scanned_events(scan(), workload.schema, workload.queries, owned)
        rows = aggregate_partitions(workload, plan, events, parts=parts, owned=owned)
        return Computed((rows,), (f"scanned by Spark: {refusal}",), is_scattered=True)
    return _from_files(spark, lake, workload, plan, owned, version, parts, changes)


def _refusal(lake: Lake, version: int, reach: Interval) -> str:
    """Return why tasks cannot read the files of `events`; empty if they can."""
    try:
        files_of(lake.path("events"), version, reach)
    except NotPlainError as error:
        return error.message
    except SetupError as error:
        if "features" not in error.fields:
            raise
        return error.message
    return ""


def _from_files(
    spark: SparkSession, lake: Lake, workload: Workload, plan: RuntimePlan, owned: Interval,
    version: int, parts: int, changes: EventChanges | None,
) -> Computed:  # fmt: skip
    """Compute the windows by tasks that read files, and from cached panes."""
    cached = changes and pane_tasks(lake, workload, plan, owned, version, changes)
    rest = cached.rest if cached else plan
    frames, words, reports = list[DataFrame](), list[str](), list[Counts]()
    counted, is_scattered = frozenset[str](), cached is not None
    left = {query.name for query in rest.queries} if rest else set()
    # The steps of a query are finished together, so they have one route.
    whole = [one for one in workload.queries if any(q.name in left for q in with_steps([one]))]
    for queries, route in choose_routes(lake, whole, owned, version, parts) if whole else ():
        if route.parts:
            own = plan.of_queries([query.name for query in with_steps(queries)])
            asked = replace(workload, queries=queries)
            frames.append(aggregated(spark, asked, route, plan=own, parts=parts, counted=counted))
            is_scattered = is_scattered or route.parts[0].bucket is not None
        counted |= types_read(workload, queries)
        words.append(route.in_words())
    if cached:
        frames.append(_from_panes(spark, cached, parts, reports))
        words.append(cached.in_words())
    return Computed(tuple(frames), tuple(words), tuple(reports), is_scattered)


def _from_panes(
    spark: SparkSession, cached: PaneTasks, parts: int, reports: list[Counts]
) -> DataFrame:
    """Compute the missing panes of queries, and return the results from all panes."""
    if cached.missing:
        reports += told(spark, len(cached.parts), cached.compute_missing())
    tasks = min(parts, len(cached.panes.queries))
    return numbered(spark, tasks, cached.multiply(tasks), FINISHED_SCHEMA)


def aggregated(
    spark: SparkSession,
    workload: Workload,
    route: Route,
    *,
    plan: RuntimePlan,
    parts: int,
    counted: frozenset[str] = frozenset(),
) -> DataFrame:
    """Return the finished rows of one route, and rows of counts.

    Args:
        spark: The session.
        workload: The queries of the route.
        route: The route.
        plan: The plan of the aggregation.
        parts: Maximum number of tasks that merge rows.
        counted: Event types that another route counts.
    """
    task: Task = reading(workload, route.parts, plan, counted, merged=route.merged)
    if not route.merged:
        return numbered(spark, len(route.parts), task, FINISHED_SCHEMA)
    rows = numbered(spark, len(route.parts), task, WIRE_SCHEMA)
    return finished_together(rows, workload, plan.row_classes, parts)


def scanned_events(
    table: DataFrame, schema: StreamSchema, queries: Sequence[BoundQuery], owned: Interval
) -> DataFrame:
    """Return the events of a table that windows ending in an interval can hold.

    Args:
        table: The table `events`, or one with its columns.
        schema: The schema of the stream.
        queries: The queries.
        owned: The interval.

    Returns:
        `_time`, `_type` and the attributes that the queries read, as `aggregate_partitions` takes
        them.
    """
    reached = reach_of(queries, owned)
    first, last = (F.lit(day_of(at)) for at in (reached.start, reached.end - 1))
    codes = F.create_map([F.lit(each) for pair in schema.type_codes.items() for each in pair])
    columns = [
        F.unix_micros("event_time").alias(TIME_COLUMN),
        codes[F.col("event_type")].cast("int").alias(TYPE_COLUMN),
        *(_attribute(name, schema) for name in attributes_read(queries)),
    ]
    start, end = (F.timestamp_micros(F.lit(at)) for at in (reached.start, reached.end))
    inside = F.col("event_day").between(first, last)
    inside = inside & (F.col("event_time") >= start) & (F.col("event_time") < end)
    return table.where(inside).select(columns)


def _attribute(name: str, schema: StreamSchema) -> Column:
    if schema.attributes[name] is AttributeType.TIMESTAMP:
        return F.unix_micros(name).alias(name)
    return F.col(name)
