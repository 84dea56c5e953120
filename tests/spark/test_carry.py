"""Kept panes: windows of days made of what hours were found to do, which late events undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore.engine.linear.carried import CarriedPanes
from elsinore.engine.plan import RuntimePlan
from elsinore.errors import ConflictError
from elsinore.events import EventTable
from elsinore.lake.answered import Answered
from elsinore.lake.event_files import Bucket
from elsinore.lake.kept_hours import FOLDER, KeptHours, drop_kept_hours, read_kept
from elsinore.lake.maintain import LEAST_KEPT, maintain
from elsinore.lake.tables import Lake
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.settings import Settings
from elsinore.spark import carry
from elsinore.spark.aggregate import Aggregated, aggregate
from elsinore.timeline import HOUR, Interval
from tests.spark.conftest import NewHome
from tests.spark.results_lake import computed, flights_lake, hours, put_events, staged, workload

pytestmark = pytest.mark.spark

#: The first three can be carried, and the first two are the same but for what they return.
QUERIES = """
QUERY delays
RETURN origin, COUNT(*), AVG(D.dep_delay), MIN(C.distance)
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


@pytest.fixture(autouse=True)
def _few_events_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carry, "FEWEST_BYTES", 0)
    monkeypatch.setattr(carry, "KEPT_BYTE", 0)


@pytest.fixture
def own_lake(new_home: NewHome) -> tuple[Lake, EventTable]:
    return flights_lake(new_home())


def run(
    spark: SparkSession, lake: Lake, owned: Interval, text: str = QUERIES, **how: Any
) -> Aggregated:
    found = [Answered("", lake, workload(lake, text))]
    return aggregate(spark, found, owned, static_plan="p", parts=2, run="test", **how)


def files(lake: Lake) -> list[Path]:
    return sorted(Path(str(lake.root / FOLDER)).rglob("*.parquet"))


def test_an_hour_reads_an_hour(spark: SparkSession, own_lake: tuple[Lake, EventTable]) -> None:
    lake, events = own_lake
    queries = workload(lake, QUERIES)
    done = {hour: run(spark, lake, hours(str(hour), str(hour + 1))) for hour in range(14, 17)}
    whole = hours("14", "17")
    assert staged(lake, whole) == computed(queries, events, whole)
    assert {row["query"] for row in staged(lake, whole)} == set(queries.by_name)
    words = {hour: found.route.split("; ")[1] for hour, found in done.items()}
    assert words == {
        14: "panes of 2 queries cached: 0 hours reused, 9 computed",
        **dict.fromkeys(
            range(15, 17), "panes of 2 queries cached: 8 hours reused, 1 computed"
        ),
    }  # fmt: skip
    # Another plan, which runs them in another order, finds what was kept.
    plan = RuntimePlan.of(queries.queries, sweeps=[("delays", "many")])
    again = run(spark, lake, hours("16", "17"), plan=plan)
    assert again.route.endswith("panes of 2 queries cached: 9 hours reused, 0 computed")
    # Several hours at once, of which some are there.
    later = hours("16", "19")
    run(spark, lake, later)
    assert staged(lake, later) == computed(queries, events, later)


def test_of_a_lake_laid_out_by_buckets(
    spark: SparkSession, laid_home: Callable[[str], Settings]
) -> None:
    lake, events = flights_lake(laid_home("{by: [origin], number: 4}"))
    whole = hours("14", "16")
    for hour in (14, 15):
        run(spark, lake, hours(str(hour), str(hour + 1)))
    assert staged(lake, whole) == computed(workload(lake, QUERIES), events, whole)
    kept = sorted(path.name.split(".")[2] for path in files(lake))
    # Nine hours keep both cores busy; the tenth one was worked out in two shares.
    assert kept == ["0-1"] * 9 + ["0-2", "1-2"]


def test_hours_without_windows_are_worked_out_for_those_that_have_some(
    spark: SparkSession, own_lake: tuple[Lake, EventTable]
) -> None:
    lake, events = own_lake
    text = (
        "QUERY shifts RETURN COUNT(*), AVG(D.dep_delay) PATTERN SEQ(Weather W, Departure D+) "
        "WHERE [origin] AND D.dep_delay > 90 WITHIN 8 hours;"
    )
    first, second = (run(spark, lake, hours(a, b), text) for a, b in (("14", "15"), ("15", "16")))
    assert first.route == "panes of 1 query cached: 0 hours reused, 1 computed"
    assert second.route == "panes of 1 query cached: 1 hour reused, 7 computed"
    owned = hours("14", "16")
    assert staged(lake, owned) == computed(workload(lake, text), events, owned) != []
    assert first.rows == 0 < second.rows == len(staged(lake, owned))


def test_what_is_kept_is_right_at_its_version_and_for_as_long_as_its_hour_stands(
    spark: SparkSession, own_lake: tuple[Lake, EventTable]
) -> None:
    lake, events = own_lake
    owned, version = hours("15", "16"), lake.version("events")
    run(spark, lake, owned)
    queries = workload(lake, QUERIES).queries
    kept = KeptHours(files(lake)[0].parent)
    reached = range(owned.start - 8 * HOUR, owned.end, HOUR)
    assert kept.find(lake.root, reached, version).keys() == set(reached)
    assert kept.find(lake.root, reached, version - 1) == {}
    # Others' rows are nowhere near these.
    for others in queries[:1], queries[1:2]:
        assert not carry.kept_panes(lake, CarriedPanes(others, HOUR)).folder.exists()
    # What is written without a note may have touched all of its day.
    put_events(lake, EventTable(events.schema, events.table.slice(len(events) - 1)))
    there = kept.find(lake.root, reached, lake.version("events"))
    assert there.keys() == {hour for hour in reached if hour < hours("00", "01").start}
    assert kept.find(lake.root, reached, version).keys() == set(reached)
    again = run(spark, lake, owned)
    assert again.route.endswith(f"{len(there)} hours reused, {9 - len(there)} computed")
    # An hour that two runs have worked out has two files, and either will do.
    nothing = PARTIAL_SCHEMA.empty_table()
    kept.write(owned.start, version, None, nothing)
    assert kept.find(lake.root, [owned.start], lake.version("events")).keys() == {owned.start}
    # One of which a bucket is missing has none.
    newer, hour = lake.version("events"), owned.start + 99 * HOUR
    kept.write(hour, newer, Bucket(("origin",), 1, 2), nothing)
    assert kept.find(lake.root, [hour], newer) == {}
    kept.write(hour, newer, Bucket(("origin",), 0, 2), nothing)
    assert len(kept.find(lake.root, [hour], newer)[hour]) == 2


def test_kept_panes_go_when_nobody_needs_them_and_when_they_must(
    spark: SparkSession, own_lake: tuple[Lake, EventTable]
) -> None:
    lake, _ = own_lake
    owned = hours("15", "16")
    run(spark, lake, owned)
    found = files(lake)
    kept = KeptHours(found[0].parent)
    maintain(lake, keep_hours=LEAST_KEPT, run="r")
    assert files(lake) == found, "somebody has just written them"
    kept.drop_before(owned.start)
    last, *_ = left = files(lake)
    assert {path.name[:13] for path in left} == {"2013-02-08T15"}
    assert drop_kept_hours(lake.root, unused_since=last.stat().st_mtime_ns) == 0
    gone = last.with_name("gone.part")
    gone.symlink_to("nowhere")  # listed, and not there when it is looked at
    assert drop_kept_hours(lake.root, unused_since=last.stat().st_mtime_ns) == 0
    gone.unlink()
    assert drop_kept_hours(lake.root) == len(left)
    with pytest.raises(ConflictError, match="removed during the run"):
        read_kept([last], ["0 0 0"])
    assert drop_kept_hours(lake.root) == 0
    run(spark, lake, owned)
    assert files(lake) != [], "and they are worked out again"
