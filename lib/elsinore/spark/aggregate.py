"""Aggregates the trends of one time slice: events in, staged results out, one Spark job."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.engine.auto import NOTHING_SHARED, Shared, Sharing
from elsinore.query.bound import Workload
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.spark.aggregate_branches import Branch, branches
from elsinore.spark.aggregate_events import (
    engine_columns,
    events_between,
    partition_keys,
    reach_of,
)
from elsinore.spark.aggregate_origin import origin
from elsinore.spark.aggregate_worker import FINISHED_SCHEMA, WorkloadText, aggregating, finishing
from elsinore.spark.failures import spark_failures
from elsinore.spark.regions import Hours
from elsinore.spark.tables import Lake
from elsinore.template.support import require_greta
from elsinore.timeline import Interval

STAGED = "trend_aggregates_staged"

#: The step's name in `run_metrics`, and the metric that validation looks for.
STEP = "aggregate"
EVENTS_VERSION = "events_version"

_GROUP = ("query", "group", "window_start", "window_end")


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What one slice came to.

    Attributes:
        events_version: the version of `events` that was read.
        plan_fingerprint: the static plan that it was computed under.
        events: events that its windows can hold, of the types that the queries read.
        windows: results, one for each (query, group, window).
        rows: rows written, one for each of their aggregates.
        sharing: what queries of fixed length shared and what that is predicted to save, in words.
    """

    events_version: int
    plan_fingerprint: str
    events: int
    windows: int
    rows: int
    sharing: str

    def figures(self) -> dict[str, int | str]:
        """As plain values, for metrics; the version is a name, hence text."""
        return {**asdict(self), EVENTS_VERSION: str(self.events_version)}


def aggregate(
    lake: Lake,
    workload: Workload,
    owned: Interval,
    *,
    plan: str,
    sharing: Sharing = NOTHING_SHARED,
    parts: int,
    run: str,
) -> Aggregated:
    """Compute the windows that end in `owned` and make them the staged results of its hours.

    Events are read at the latest version when this begins, and at no other.

    Args:
        lake: the tables.
        workload: the queries.
        owned: the slice, whole hours.
        plan: fingerprint of the static plan.
        sharing: what of it is shared.
        parts: tasks that events and partial results are distributed over.
        run: the run, named in the table's history.

    Raises:
        UnsupportedQueryError: the engine cannot run one of the queries.
        ConflictError, LostWorkerError: worth another try.
    """
    require_greta(workload.queries)
    version = lake.version("events")
    with spark_failures():
        rows = aggregated(lake, workload, owned, version, parts, sharing.shared)
        rows = rows.withColumn("plan_fingerprint", F.lit(plan))
        rows = rows.withColumn("events_version", F.lit(version).cast("long"))
        lake.replace(STAGED, rows, where=Hours(owned), run=origin(run, workload, [plan]))
        windows, written = _count_staged(lake, owned)
        events = _reachable(lake, workload, owned, version).count()
    return Aggregated(
        version,
        plan,
        events,
        windows,
        written,
        sharing.in_words(),
    )


def aggregated(
    lake: Lake,
    workload: Workload,
    owned: Interval,
    version: int,
    parts: int,
    shared: Shared = (),
) -> DataFrame:
    """The rows of `trend_aggregates` for a slice, without the columns of the run."""
    text = WorkloadText.of(workload)
    partial = reduce(
        DataFrame.unionByName,
        (_partial(lake, workload, text, branch, owned, version, parts, shared)
         for branch in branches(workload)),
    )  # fmt: skip
    together = partial.repartition(parts, *_GROUP)
    finished = together.mapInArrow(finishing(text), from_arrow_schema(FINISHED_SCHEMA))
    return finished.withColumns(
        {name: F.timestamp_micros(name) for name in ("window_start", "window_end")}
    )


def _partial(
    lake: Lake,
    workload: Workload,
    text: WorkloadText,
    branch: Branch,
    owned: Interval,
    version: int,
    parts: int,
    shared: Shared,
) -> DataFrame:
    queries = [workload.by_name[name] for name in branch.queries]
    schema = workload.schema
    events = events_between(lake, version, reach_of(queries, owned), branch.types)
    columns = events.select(*engine_columns(schema, branch.attributes))
    if branch.keys:
        columns = columns.repartition(parts, *partition_keys(schema, branch.keys))
    else:
        columns = columns.repartition(1)
    task = aggregating(text, branch.queries, owned, shared)
    return columns.mapInArrow(task, from_arrow_schema(PARTIAL_SCHEMA))


def _reachable(lake: Lake, workload: Workload, owned: Interval, version: int) -> DataFrame:
    types = frozenset().union(*(branch.types for branch in branches(workload)))
    return events_between(lake, version, reach_of(workload.queries, owned), types)


def _count_staged(lake: Lake, owned: Interval) -> tuple[int, int]:
    """Windows and rows, read back from the table: what is not there was not written."""
    staged = lake.read(STAGED).where(Hours(owned).predicate())
    found = staged.agg(
        F.count_distinct("query", "group_key", "window_start").alias("windows"),
        F.count("*").alias("rows"),
    ).first()
    assert found is not None
    return int(found["windows"]), int(found["rows"])
