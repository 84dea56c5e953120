"""Aggregates the trends of one time slice: events in, staged results out, one Spark job."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.engine.auto import NOTHING_SHARED, Sharing
from elsinore.query.bound import Workload
from elsinore.spark.aggregate_branches import branches
from elsinore.spark.aggregate_counts import Counts, TaskCounts
from elsinore.spark.aggregate_direct import EVENTS, aggregate_direct
from elsinore.spark.aggregate_events import events_between, reach_of
from elsinore.spark.aggregate_origin import STAGED, origin
from elsinore.spark.aggregate_route import Route, choose_route
from elsinore.spark.aggregate_shuffled import aggregate_shuffled
from elsinore.spark.failures import spark_failures
from elsinore.spark.regions import Hours
from elsinore.spark.tables import Lake
from elsinore.template.support import require_greta
from elsinore.timeline import Interval

__all__ = ["EVENTS_VERSION", "STAGED", "STEP", "Aggregated", "aggregate", "aggregated"]

#: The step's name in `run_metrics`.
STEP = "aggregate"
EVENTS_VERSION = "events_version"


@dataclass(frozen=True, slots=True)
class Aggregated:
    """What one slice came to.

    Attributes:
        events_version: the version of `events` that was read.
        plan_fingerprint: the static plan that it was computed under.
        events: events that its windows can hold, of the types that the queries read.
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
    counts = TaskCounts.new(lake.spark)
    with spark_failures():
        route = choose_route(lake, workload, owned, version, parts)
        rows = aggregated(
            lake, workload, owned, version, route, sharing=sharing, parts=parts, counts=counts
        )
        note = origin(run, workload, plan, version, owned)
        lake.replace(STAGED, rows, where=Hours(owned), run=note, recorded=True)
        windows, written = _count_staged(lake, owned)
        told = counts.total()
        events = told.pop(EVENTS, None)
        if events is None:
            events = _reachable(lake, workload, owned, version).count()
    return Aggregated(
        version, plan, events, windows, written, route.in_words(), sharing.in_words(), told
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
    counts: TaskCounts,
) -> DataFrame:
    """The rows of `trend_aggregates` for a slice."""
    if route.direct:
        finished = aggregate_direct(lake, workload, route.parts, sharing=sharing, counts=counts)
    else:
        finished = aggregate_shuffled(
            lake, workload, owned, version, sharing=sharing, parts=parts, counts=counts
        )
    return finished.withColumns(
        {name: F.timestamp_micros(name) for name in ("window_start", "window_end")}
    )


def _reachable(lake: Lake, workload: Workload, owned: Interval, version: int) -> DataFrame:
    types = frozenset().union(*(branch.types for branch in branches(workload)))
    return events_between(lake, version, reach_of(workload.queries, owned), types)


def _count_staged(lake: Lake, owned: Interval) -> tuple[int, int]:
    """Windows and rows, read back from the table: what is not there was not written.

    Without Spark, whose jobs would take longer than all the rest for a small slice.
    """
    window = ["query", "group_key", "window_start"]
    found = lake.rows(STAGED, Hours(owned).expression(), columns=window)
    return found.group_by(window).aggregate([]).num_rows, found.num_rows
