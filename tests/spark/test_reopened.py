"""Late, corrected and withdrawn events re-open exactly the hours whose windows they touch."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from elsinore.events import EventTable
from elsinore.lake.answered import Answered
from elsinore.lake.kept_hours import FOLDER
from elsinore.lake.provenance import PUBLISHED, STAGED, read_publications
from elsinore.lake.publish import publish
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import STAGED_VERSION, VALIDATE_STEP, note_metrics, read_metrics
from elsinore.lake.stale_hours import hours_to_reopen, stale_hours
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark import carry
from elsinore.spark.aggregate import aggregate
from elsinore.timeline import Interval, hour_label, hours_of, parse_instant
from jobs import (
    aggregate_trends,
    find_plan,
    land_events,
    publish_results,
    validate_results,
)
from tests.draws import draws
from tests.spark.conftest import NewHome
from tests.spark.histories import END, FIRST, Step, land_step, order, write_files
from tests.spark.landing_zone import departure, hours, land, put, run_jobs
from tests.spark.results_lake import computed, staged, workload

QUERIES = """
QUERY chains
RETURN carrier, COUNT(*), SUM(D.dep_delay)
PATTERN Departure D+
WHERE [tailnum]
GROUP-BY carrier
WITHIN 2 hours SLIDE 30 minutes;

QUERY near
RETURN COUNT(*), MAX(D.dep_delay)
PATTERN Departure D
WITHIN 20 minutes;
"""

#: What the history ends with, worked out by hand (`histories.EVENTS`): minutes of the day, delays.
FINAL_EVENTS = [
    (10 * 60 + 6, 9), (10 * 60 + 20, 5), (12 * 60 + 10, 5), (11 * 60 + 5, 5), (10 * 60 + 50, 7),
    (12 * 60 + 1, 5), (13 * 60 + 30, 5),
]  # fmt: skip
WHOLE = hours(FIRST, END)


#: Orders of a whole history, each through the whole pipeline.
TRIED = draws(1, 10)


@pytest.fixture
def settings(new_spark_home: NewHome, tmp_path: Path) -> Settings:
    """A home whose workload are the two queries."""
    path = tmp_path / "two.sase"
    path.write_text(QUERIES, encoding="utf-8")
    return new_spark_home().model_copy(update={"workload_file": path, "sample_windows": 20})


@pytest.fixture
def queries(lake: Lake, settings: Settings) -> Workload:
    return load_workload(settings.workload_file, lake.stream)


def events_at(lake: Lake, *found: tuple[int, int]) -> EventTable:
    """Departures of one plane, by minute of the day and delay."""
    day = parse_instant("2013-01-01")
    values = {
        "tailnum": "N1", "carrier": "UA", "flight": 7, "origin": "EWR", "dest": "IAH",
        "distance": 1400,
    }  # fmt: skip
    triples = [
        ("Departure", day + minute * 60_000_000, values | {"dep_delay": delay})
        for minute, delay in found
    ]
    return EventTable.of(lake.stream, triples)


def published(
    spark: SparkSession, lake: Lake, queries: Workload, interval: Interval, run: str
) -> tuple[Interval, ...]:
    """Compute and publish an interval with what it re-opened, trusting the engine."""
    found = hours_to_reopen([(lake.root, queries)], interval, most=100)["reopened"]
    reopened = tuple(Interval.parse(part["start"], part["end"]) for part in found)
    for part in (interval, *reopened):
        aggregate(spark, [Answered("", lake, queries)], part, static_plan="p", parts=1, run=run)
        validated = {STAGED_VERSION: str(lake.version(STAGED))}
        note_metrics(lake, queries, part, VALIDATE_STEP, validated)
        publish(lake, queries, part, run=run)
    return reopened


def labels(parts: tuple[Interval, ...]) -> list[str]:
    return [hour_label(hour)[-2:] for part in parts for hour in hours_of(part)]


def runs(lake: Lake) -> dict[str, str]:
    """By hour, the run that published it."""
    return {label[-2:]: found.run for label, found in sorted(read_publications(lake.root).items())}


def test_a_late_event_reopens_the_hours_of_its_windows_in_one_commit(
    spark: SparkSession, lake: Lake, settings: Settings, queries: Workload
) -> None:
    whole = hours(9, 14)
    write_files(settings, Step(WHOLE, frozenset()))
    land(lake, settings, whole)
    assert published(spark, lake, queries, whole, "first") == ()
    # 11:45 lies in windows that end from 12:00 to 13:30.
    put(settings, 13, departure(20, 45, 11), name="-late")
    land(lake, settings, hours(13, 14))
    before = lake.version(PUBLISHED)
    assert labels(published(spark, lake, queries, hours(13, 14), "late")) == ["11", "12"]
    assert lake.version(PUBLISHED) == before + 2, "its own hour, and those that it re-opened"
    assert runs(lake) == {
        "09": "first", "10": "first", "11": "late", "12": "late", "13": "late",
    }  # fmt: skip
    late = events_at(lake, *FINAL_EVENTS, (11 * 60 + 45, 5))
    assert staged(lake, whole, PUBLISHED) == computed(queries, late, whole)
    # A withdrawn event touches the same windows; a corrected one those of both its times, here
    # 10:20 and 12:59.
    put(settings, 13, departure(2, 59, 12), name="-late")
    land(lake, settings, hours(13, 14))
    assert labels(published(spark, lake, queries, hours(13, 14), "mended")) == ["10", "11", "12"]
    assert runs(lake)["09"] == "first"
    mended = [event for event in FINAL_EVENTS if event != (10 * 60 + 20, 5)]
    final = events_at(lake, *mended, (12 * 60 + 59, 5))
    assert staged(lake, whole, PUBLISHED) == computed(queries, final, whole)
    assert not stale_hours(lake.root, queries).own


def test_a_late_event_costs_the_panes_of_its_own_hour(
    spark: SparkSession, lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(carry, "FEWEST_BYTES", 0)
    monkeypatch.setattr(carry, "KEPT_BYTE", 0)
    many = Answered("", lake, workload(lake, QUERIES.replace("2 hours", "5 hours")))
    write_files(settings, Step(WHOLE, frozenset()))
    land(lake, settings, hours(9, 14))

    def route_of(interval: Interval) -> str:
        done = aggregate(spark, [many], interval, static_plan="p", parts=1, run="r")
        return done.route.split("; ")[1]

    assert route_of(hours(13, 14)) == "panes of 1 query cached: 0 hours reused, 6 computed"
    put(settings, 13, departure(20, 45, 11), name="-late")
    land(lake, settings, hours(13, 14))
    # What landed again with it, at 13:30, is what it was.
    assert route_of(hours(13, 14)) == "panes of 1 query cached: 5 hours reused, 1 computed"
    late = events_at(lake, *FINAL_EVENTS, (11 * 60 + 45, 5))
    assert staged(lake, hours(13, 14)) == computed(many.workload, late, hours(13, 14))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(TRIED))
@pytest.mark.parametrize("panes", ["none kept", "kept"])
def test_replaying_in_any_order_publishes_the_same(
    spark: SparkSession, lake: Lake, settings: Settings, queries: Workload, seed: int, panes: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if panes == "kept":
        monkeypatch.setattr(carry, "FEWEST_BYTES", 0)
        monkeypatch.setattr(carry, "KEPT_BYTE", 0)
    for number, step in enumerate(order(seed)):
        land_step(lake, settings, step)
        published(spark, lake, queries, step.interval, f"run {number}")
    expected = computed(queries, events_at(lake, *FINAL_EVENTS), WHOLE)
    assert staged(lake, WHOLE, PUBLISHED) == expected
    assert not stale_hours(lake.root, queries).own
    # An order in which no run is shorter than a window keeps none.
    assert panes == "kept" or not (lake.root / FOLDER).exists()


@pytest.mark.slow
def test_the_jobs_reopen_by_themselves_and_publish_nothing_stale(
    lake: Lake, settings: Settings, queries: Workload
) -> None:
    write_files(settings, Step(WHOLE, frozenset()))

    def up_to_validation(interval: Interval, run: str) -> list[Interval]:
        """Its own hours and those that it has re-opened."""
        jobs = (aggregate_trends, validate_results)
        reopened = run_jobs(settings, interval, run, last=jobs)["reopened"]
        return [interval, *(Interval.parse(part["start"], part["end"]) for part in reopened)]

    (first,) = up_to_validation(hours(10, 13), "first")
    # Before these are published an event of their time lands, which therefore re-opens nothing.
    put(settings, 13, departure(20, 45, 11), name="-late")
    (second,) = up_to_validation(hours(13, 14), "second")
    # So does a run over hours of the first, which it has therefore to validate again.
    aggregate_trends.main(Arguments(hours(12, 13), "beside"), settings)
    before = lake.version(PUBLISHED)
    publish_results.main(Arguments(first, "first"), settings)
    assert lake.version(PUBLISHED) == before + 1, "nothing stale was to be seen"
    publish_results.main(Arguments(second, "second"), settings)
    late = events_at(lake, *FINAL_EVENTS, (11 * 60 + 45, 5))
    assert staged(lake, WHOLE, PUBLISHED) == computed(queries, late, WHOLE)
    assert not stale_hours(lake.root, queries).own
    # Withdrawn again, it re-opens what it touched.
    put(settings, 13, name="-late")
    own, *reopened = up_to_validation(hours(13, 14), "third")
    assert labels(tuple(reopened)) == ["11", "12"]
    for part in (own, *reopened):
        publish_results.main(Arguments(part, "third"), settings)
    final = computed(queries, events_at(lake, *FINAL_EVENTS), WHOLE)
    assert staged(lake, WHOLE, PUBLISHED) == final
    assert runs(lake) == {"10": "first", "11": "third", "12": "third", "13": "third"}
    found = read_publications(lake.root)
    assert all(publication.validated > 0 for publication in found.values())
    assert {publication.workload for publication in found.values()} == {"two"}


@pytest.mark.slow
def test_two_workloads_over_the_same_hours_try_again_and_keep_their_own_records(
    lake: Lake, settings: Settings, queries: Workload, tmp_path: Path
) -> None:
    path = tmp_path / "other.sase"
    path.write_text(QUERIES.replace("2 hours", "1 hour"), encoding="utf-8")
    theirs = settings.model_copy(update={"workload_file": path})
    other = load_workload(path, lake.stream)
    write_files(settings, Step(WHOLE, frozenset()))
    interval = hours(10, 12)
    mine, yours = Arguments(interval, "mine"), Arguments(interval, "yours")
    land_events.main(Arguments(WHOLE, "mine"), settings)
    for job in (find_plan, aggregate_trends, validate_results):
        job.main(mine, settings)
    # The other one stages the same hours before the first has published, and the other way round.
    for job in (find_plan, aggregate_trends):
        job.main(yours, theirs)
    publish_results.main(mine, settings)
    events = events_at(lake, *FINAL_EVENTS)
    assert staged(lake, interval, PUBLISHED) == computed(queries, events, interval)
    validate_results.main(yours, theirs)
    publish_results.main(yours, theirs)
    assert staged(lake, interval, PUBLISHED) == computed(other, events, interval)
    both = {workload_fingerprint(workload) for workload in (queries, other)}
    assert set(lake.rows("validations")["workload_fingerprint"].to_pylist()) == both
    steps = read_metrics(lake.root, pc.field("run_key") == run_key(interval)).to_pylist()
    assert {(row["step"], row["workload_fingerprint"]) for row in steps} == {
        (step, workload)
        for step in ("plan", "aggregate", "validate", "publish")
        for workload in both
    }
    owned = lake.rows("publications", pc.field("workload") == "other")["validated"].to_pylist()
    assert len(owned) == 2
    assert all(owned)
