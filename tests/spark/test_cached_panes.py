"""Cached panes: windows of days from what earlier runs computed of hours; late events undo it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore.events import EventTable
from elsinore.executors.linear.cached_panes import CachedPanes, cache_refusals
from elsinore.executors.plan import RuntimePlan
from elsinore.lake.cached_hours import FOLDER
from elsinore.ledger.event_changes import EventChanges
from elsinore.query.bound import BoundQuery
from elsinore.query.steps import with_steps
from elsinore.results.task_rows import Counts
from elsinore.settings import Settings
from elsinore.spark import pane_tasks
from elsinore.spark.compute import compute
from elsinore.spark.tasks import split_rows
from elsinore.store.tables import Lake
from elsinore.timeline import HOUR, Interval
from tests.results_lake import (
    computed,
    flight_events,
    hours,
    sorted_results,
    workload,
)
from tests.stored_lake import add_events, changes, new_lake, settings_of

pytestmark = pytest.mark.spark

#: Panes of the first three can be cached, and the first two differ only in what they return.
QUERIES = """
QUERY delays
RETURN origin, COUNT(*), AVG(D.dep_delay), VARIANCE(D.dep_delay), MIN(C.distance)
PATTERN SEQ(Departure D+, Cancellation C)
WHERE [origin] AND D.dep_delay > 60
GROUP-BY origin
WITHIN 9 hours SLIDE 1 hour;

QUERY many
RETURN origin, COUNT(*), COUNT(D)
PATTERN SEQ(Departure D+, Cancellation C)
WHERE [origin] AND D.dep_delay > 60
GROUP-BY origin
WITHIN 9 hours SLIDE 1 hour;

QUERY storms
RETURN COUNT(*), MIN(W.visib), SUM(D.dep_delay)
PATTERN SEQ(Weather W, Departure D, Cancellation C)
WHERE [origin] AND W.visib < 3
WITHIN 5 hours SLIDE 20 minutes;

QUERY chains
RETURN carrier, COUNT(*)
PATTERN Departure D+
WHERE [tailnum] AND D.dep_delay < NEXT(D).dep_delay
GROUP-BY carrier
WITHIN 6 hours SLIDE 1 hour;

QUERY near
RETURN COUNT(*)
PATTERN SEQ(Weather W, Cancellation C)
WITHIN 1 hour;
"""


#: Rows of results, and the words of the route.
Done = tuple[list[dict[str, object]], str]


@pytest.fixture(autouse=True)
def _few_events_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pane_tasks, "CACHED_BYTE", 0)


def plan_of(queries: Sequence[BoundQuery], owned: Interval, **sharing: Any) -> RuntimePlan:
    """A plan that caches the panes of all queries that allow it and reach back over the slice."""
    able = [query.name for query in queries if query.window.within > owned.length]
    return RuntimePlan.of(queries, cached=able, **sharing)


def flights_lake(settings: Settings) -> tuple[Lake, EventTable]:
    """A lake with flights, and the same events in memory."""
    lake, events = new_lake(settings), flight_events()
    add_events(lake, events)
    return lake, events


@pytest.fixture
def own_lake(tmp_path: Path) -> tuple[Lake, EventTable]:
    return flights_lake(settings_of(tmp_path))


def run(
    spark: SparkSession, lake: Lake, owned: Interval, text: str = QUERIES, *,
    plan: RuntimePlan | None = None, recorded: EventChanges | None = None,
) -> Done:  # fmt: skip
    """Compute an interval, with a ledger that records all versions unless another is given."""
    asked, version = workload(lake, text), lake.version("events")
    done = compute(
        spark, lake, asked, plan or plan_of(asked.queries, owned), owned, version=version, parts=2,
        changes=recorded or changes(version),
    )  # fmt: skip
    reports = list[Counts]()
    parts = [part for frame in done.frames for part in split_rows(frame, reports)]
    rows = [
        row
        for part in parts
        for row in part.drop_columns(["query_fingerprint", "workload"]).to_pylist()
    ]
    return sorted_results(rows), "; ".join(done.words)


def files(lake: Lake) -> list[Path]:
    return sorted(Path(str(lake.root / FOLDER)).rglob("*.parquet"))


def test_an_hour_reads_an_hour(spark: SparkSession, own_lake: tuple[Lake, EventTable]) -> None:
    lake, events = own_lake
    queries = workload(lake, QUERIES)
    done = [run(spark, lake, hours(str(hour), str(hour + 1))) for hour in range(14, 17)]
    rows = sorted_results([row for of_hour, _ in done for row in of_hour])
    assert rows == computed(queries, events, hours("14", "17"))
    assert {row["query"] for row in rows} == set(queries.by_name)
    assert [words.split("; ")[1] for _, words in done] == [
        "panes of 2 queries cached: 0 hours reused, 9 computed",
        *["panes of 2 queries cached: 8 hours reused, 1 computed"] * 2,
    ]
    # Another plan of the other queries finds the same files.
    owned = hours("16", "17")
    plan = plan_of(queries.queries, owned, sweeps=[("near",)])
    _, words = run(spark, lake, owned, plan=plan)
    assert words.endswith("panes of 2 queries cached: 9 hours reused, 0 computed")
    # Several hours at once, some of which are cached.
    later = hours("16", "19")
    assert run(spark, lake, later)[0] == computed(queries, events, later)


#: Queries of long windows that read all events of a window, and one that uses cached panes.
WHOLE = """
QUERY delays
RETURN origin, COUNT(*), MAX(D.dep_delay)
PATTERN SEQ(Departure D+, Cancellation C)
WHERE [origin] AND D.dep_delay > 90
GROUP-BY origin
WITHIN 9 hours SLIDE 1 hour;

QUERY lengths
RETURN origin, COUNT(*), AVG(LENGTH), MAX(DURATION), MAX(TOTAL(D.dep_delay)), STDDEV(LENGTH)
PATTERN SEQ(Departure D+, Cancellation C)
WHERE [origin] AND D.dep_delay > 60
GROUP-BY origin
WITHIN 9 hours SLIDE 1 hour;

QUERY flights
RETURN COUNT(*), COUNT(EACH D), COUNT(DISTINCT D.carrier), MEDIAN(EACH D.dep_delay)
PATTERN SEQ(Departure D+, Cancellation C)
WHERE [origin] AND D.dep_delay > 60
WITHIN 9 hours SLIDE 1 hour;

QUERY funnel
RETURN STEPS
PATTERN SEQ(Weather W, Departure D, Cancellation C)
WHERE [origin] AND W.visib < 3 AND D.dep_delay > 60
WITHIN 5 hours SLIDE 1 hour;
"""


def test_values_of_whole_windows_do_not_use_panes(
    spark: SparkSession, own_lake: tuple[Lake, EventTable]
) -> None:
    """EACH, measures and steps are computed from events, next to a query with cached panes."""
    lake, events = own_lake
    asked = workload(lake, WHOLE)
    queries = [*with_steps(asked.queries)]
    assert [query.name for query in queries if not cache_refusals(query)] == ["delays"]
    slices = [hours(str(hour), str(hour + 1)) for hour in (14, 15)]
    done = [run(spark, lake, owned, WHOLE, plan=plan_of(queries, owned)) for owned in slices]
    rows = sorted_results([row for of_hour, _ in done for row in of_hour])
    assert rows == computed(asked, events, hours("14", "16"))
    assert {row["query"] for row in rows} == set(asked.by_name)
    assert [words.split("; ")[-1] for _, words in done] == [
        "panes of 1 query cached: 0 hours reused, 9 computed",
        "panes of 1 query cached: 8 hours reused, 1 computed",
    ]


def test_a_lake_laid_out_by_buckets(spark: SparkSession, tmp_path: Path) -> None:
    lake, events = flights_lake(settings_of(tmp_path, "{by: [origin], number: 4}"))
    for hour in (14, 15):
        owned = hours(str(hour), str(hour + 1))
        expected = computed(workload(lake, QUERIES), events, owned)
        assert run(spark, lake, owned)[0] == expected
    cached = sorted(path.name.split(".")[2] for path in files(lake))
    # Nine hours keep both cores busy; the tenth one was computed in two shares.
    assert cached == ["0-1"] * 9 + ["0-2", "1-2"]


def test_hours_without_windows_are_computed_for_those_that_have_some(
    spark: SparkSession, own_lake: tuple[Lake, EventTable]
) -> None:
    lake, events = own_lake
    text = (
        "QUERY shifts RETURN COUNT(*), AVG(D.dep_delay) PATTERN SEQ(Weather W, Departure D+) "
        "WHERE [origin] AND D.dep_delay > 90 WITHIN 8 hours;"
    )
    first, second = (run(spark, lake, hours(a, b), text) for a, b in (("14", "15"), ("15", "16")))
    assert first == ([], "panes of 1 query cached: 0 hours reused, 1 computed")
    assert second[1] == "panes of 1 query cached: 1 hour reused, 7 computed"
    assert second[0] == computed(workload(lake, text), events, hours("14", "16")) != []


def test_late_events_cost_their_hours(
    spark: SparkSession, own_lake: tuple[Lake, EventTable]
) -> None:
    lake, events = own_lake
    owned, before = hours("15", "16"), lake.version("events")
    run(spark, lake, owned)
    # Other queries have other files.
    for others in workload(lake, QUERIES).queries[:1], workload(lake, QUERIES).queries[1:2]:
        assert not pane_tasks.cache_of(lake, CachedPanes(others, HOUR)).folder.exists()
    # The last event is of 2013-02-08T20; the windows reach back to 07.
    add_events(lake, EventTable(events.schema, events.table.slice(len(events) - 1)))

    def words(recorded: EventChanges) -> str:
        _, route = run(spark, lake, owned, recorded=recorded)
        return route.rpartition("cached: ")[2]

    version = lake.version("events")
    assert words(changes(version, owned.start - 2 * HOUR)) == "8 hours reused, 1 computed"
    # The ledger does not record the commit yet: all hours of its day may have changed.
    for path in files(lake):
        if f".v{version}." in path.name:
            path.unlink()
    assert words(changes(before)) == "0 hours reused, 9 computed"
    assert words(changes(before)) == "9 hours reused, 0 computed", "those of this version"
    # Without a ledger, panes are not cached.
    asked = workload(lake, QUERIES)
    plan = plan_of(asked.queries, owned)
    done = compute(spark, lake, asked, plan, owned, version=version, parts=2)
    assert not any("cached" in route for route in done.words)
