"""Aggregates the trends of one time slice: events in, staged results out, one Spark job."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.engine.auto import NOTHING_SHARED, Sharing
from elsinore.query.bound import Workload
from elsinore.spark.aggregate_counts import TASK_COUNTS, Counts, add_up_texts
from elsinore.spark.aggregate_direct import aggregate_direct
from elsinore.spark.aggregate_origin import STAGED, origin
from elsinore.spark.aggregate_route import Route, choose_route
from elsinore.spark.aggregate_shuffled import aggregate_shuffled
from elsinore.spark.aggregate_worker import EVENTS, ROWS, WINDOWS
from elsinore.spark.failures import spark_failures
from elsinore.spark.regions import Hours
from elsinore.spark.tables import Lake
from elsinore.template.support import require_greta
from elsinore.timeline import DAY, Interval

__all__ = [
    "EVENTS_VERSION",
    "STAGED",
    "STEP",
    "Aggregated",
    "aggregate",
    "aggregated",
    "split_counts",
]

#: The step's name in `run_metrics`.
STEP = "aggregate"
EVENTS_VERSION = "events_version"


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What one slice came to.

    Attributes:
        events_version: the version of `events` that was read.
        plan_fingerprint: the static plan that it was computed under.
        events: events that were read for its windows, of the types that the queries read.
        windows: results, one for each (query, group, window).
        rows: rows written, one for each of their aggregates.
        route: how tasks came by their events, in words.
        sharing: what queries shared and what that is predicted to save, in words.
        counts: bursts and so on, over all tasks (`engine.hamlet.observe.Observer.counts`).
    """

    events_version: int
    plan_fingerprint: str
    events: int
    windows: int
    rows: int
    route: str
    sharing: str
    counts: Counts = field(default_factory=dict)

    def figures(self) -> dict[str, int | str]:
        """As plain values, for metrics; the version is a name, hence text."""
        return {
            EVENTS_VERSION: str(self.events_version),
            "plan_fingerprint": self.plan_fingerprint,
            "events": self.events,
            "windows": self.windows,
            "rows": self.rows,
            "route": self.route,
            "sharing": self.sharing,
        }


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
        parts: tasks that the work is distributed over, at most.
        run: the run, named in the table's history.

    Raises:
        UnsupportedQueryError: the engine cannot run one of the queries.
        ConflictError, LostWorkerError: worth another try.
    """
    require_greta(workload.queries)
    version = lake.version("events")
    with spark_failures():
        route = choose_route(lake, workload, owned, version, parts)
        kept = aggregated(lake, workload, owned, version, route, sharing=sharing, parts=parts)
        kept.persist()
        try:
            results, counts = split_counts(kept)
            note = origin(run, workload, plan, version, owned)
            rows = _by_day(results, owned, parts)
            with lake.compiled(counts.get(ROWS, 0)):
                lake.replace(STAGED, rows, where=Hours(owned), run=note, recorded=True)
        finally:
            kept.unpersist()
    events, windows, written = (counts.pop(name, 0) for name in (EVENTS, WINDOWS, ROWS))
    return Aggregated(
        version, plan, events, windows, written, route.in_words(), sharing.in_words(), counts
    )


def aggregated(
    lake: Lake,
    workload: Workload,
    owned: Interval,
    version: int,
    route: Route,
    *,
    sharing: Sharing = NOTHING_SHARED,
    parts: int,
) -> DataFrame:
    """The rows of `trend_aggregates` for a slice, and rows of counts; for `split_counts`."""
    if route.direct:
        finished = aggregate_direct(lake, workload, route.parts, sharing=sharing)
    else:
        finished = aggregate_shuffled(lake, workload, owned, version, sharing=sharing, parts=parts)
    return finished.withColumns(
        {name: F.timestamp_micros(name) for name in ("window_start", "window_end")}
    )


def split_counts(rows: DataFrame) -> tuple[DataFrame, Counts]:
    """The rows of `aggregated` without counts, and the counts of all tasks together.

    The rows should be kept (`persist`), or all tasks are done again for the results.
    """
    told = rows.where(F.col(TASK_COUNTS).isNotNull()).select(TASK_COUNTS).collect()
    results = rows.where(F.col(TASK_COUNTS).isNull()).drop(TASK_COUNTS)
    return results, add_up_texts(row[0] for row in told)


def _by_day(rows: DataFrame, owned: Interval, parts: int) -> DataFrame:
    """Distributed over tasks so that each day of the slice becomes about one file."""
    days = (owned.end - 1) // DAY - owned.start // DAY + 1
    if days == 1:
        return rows.coalesce(1)
    return rows.repartition(min(days, parts), F.substring(Hours.column, 1, 10))
