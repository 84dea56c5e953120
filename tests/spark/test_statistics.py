"""Statistics and plans of a run: counted from the events, kept once, found again by the run."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore.errors import DataError, PlanError
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.settings import Settings
from elsinore.sharing.find_plan import find_plan, find_plans
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.statistics import Statistics
from elsinore.spark.plans import (
    PROFILE_FINGERPRINT,
    STATISTICS,
    STATISTICS_FINGERPRINT,
    load_plan,
    load_profile,
    plan_run,
    store_statistics,
)
from elsinore.spark.profile import collect_profile
from elsinore.spark.run_metrics import record_metrics, text_metric
from elsinore.spark.statistics import collect_statistics
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval
from tests import profile_case as case
from tests.spark.conftest import NewHome
from tests.spark.landing_zone import departure, hours, land, put, rows

QUERIES = """
QUERY one RETURN COUNT(*) PATTERN SEQ(Departure D, Arrival A, Departure E)
WHERE [tailnum] WITHIN 2 hours;
QUERY two RETURN COUNT(*) PATTERN SEQ(Departure D, Arrival A, Cancellation C)
WHERE [tailnum] WITHIN 1 hour;
"""


def bound(lake: Lake, text: str = QUERIES) -> Workload:
    return bind_workload(parse_workload(text, "test"), lake.stream)


def arrival(number: int, **changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = {
        "id": f"a{number}",
        "type": "Arrival",
        "dep_delay": ...,
        "arr_delay": 3,
        "air_time": 9,
    }
    return departure(number, **(event | changes))


@pytest.fixture(scope="module")
def landed_home(spark: SparkSession, new_home: NewHome) -> Settings:
    """Events at 08:59:59, 09:00, 10:00, 10:30 and 12:00, of aircraft with and without a number."""
    settings = new_home()
    put(settings, 8, departure(1, time="2013-01-01T08:59:59.999999Z", tailnum="N9"))
    put(settings, 9, departure(2, hour=9), departure(3, hour=9, tailnum="N2"))
    put(
        settings,
        10,
        arrival(1, minute=30, arr_delay=None),
        arrival(2, tailnum="n1"),
        departure(4, type="Cancellation", dep_delay=..., tailnum=None),
        {"id": "w", "type": "Weather", "time": "2013-01-01T10:00:00Z", "origin": "JFK",
         "precip": 0.0, "visib": 10.0},
    )  # fmt: skip
    put(settings, 11, departure(6, hour=12, minute=0, tailnum="N8"))
    land(Lake.open(spark, settings), settings, hours(8, 12))
    return settings


@pytest.fixture
def landed(lake: Lake, settings: Settings, landed_home: Settings) -> Lake:
    """A lake that holds these events."""
    shutil.copytree(landed_home.lake, settings.lake, dirs_exist_ok=True)
    return lake


def test_counted_is_what_a_run_reads(landed: Lake) -> None:
    """A run over [11:00, 12:00) with windows of two hours reads from 09:00 to 12:00."""
    counted = collect_statistics(landed, bound(landed), hours(11, 12))
    assert counted == Statistics.counted(
        hours(9, 12),
        {"Departure": 2, "Arrival": 2, "Cancellation": 1},
        # N1, N2 and n1; no number is no value.
        {("tailnum",): 3},
    )


def test_without_events_there_are_statistics_all_the_same(lake: Lake) -> None:
    counted = collect_statistics(lake, bound(lake), hours(11, 12))
    assert counted.by_type == {"Departure": 0, "Arrival": 0, "Cancellation": 0}
    assert counted.by_keys == {}


def collect(lake: Lake, workload: Workload, interval: Interval) -> Statistics:
    statistics = collect_statistics(lake, workload, interval)
    store_statistics(lake, workload, statistics)
    name = {STATISTICS_FINGERPRINT: statistics.fingerprint}
    record_metrics(lake, interval, STATISTICS, name, run="test")
    return statistics


def test_a_plan_is_found_once_and_found_again_by_the_run(landed: Lake) -> None:
    workload, interval = bound(landed), hours(10, 12)
    statistics = collect(landed, workload, interval)
    first = plan_run(landed, workload, interval, run="test")
    assert (first.reused, first.plan.statistics_fingerprint) == (False, statistics.fingerprint)

    collect(landed, workload, interval)
    again = plan_run(landed, workload, interval, run="test")
    assert (again.reused, again.plan) == (True, first.plan)
    # GWMIN's plan was kept at once, the optimal one is the run's.
    greedy, optimal = find_plans(workload, statistics)
    assert first.plan == optimal
    own = workload_fingerprint(workload)
    assert rows(landed, "plans", "kind", "fingerprint", "workload_fingerprint") == sorted(
        [("plan", plan.fingerprint, own) for plan in (greedy, optimal)]
        + [("statistics", statistics.fingerprint, own)]
    )
    reason = text_metric(landed, interval, "plan", "reason")
    assert reason == "no plan was found before"  # again, so that a repeated run leaves the same
    # The run's slices have the run's plan, other hours have none.
    assert load_plan(landed, workload, interval) == first.plan
    assert load_plan(landed, workload, hours(11, 12)) == first.plan
    with pytest.raises(DataError, match="there is no plan for"):
        load_plan(landed, workload, hours(9, 11))


def test_a_plan_of_another_workload_is_refused(landed: Lake) -> None:
    interval = hours(11, 12)
    collect(landed, bound(landed), interval)
    plan_run(landed, bound(landed), interval, run="test")
    with pytest.raises(PlanError):
        load_plan(landed, bound(landed, QUERIES.replace("2 hours", "3 hours")), interval)


def test_each_workload_has_its_own_plan_of_the_same_hours(landed: Lake) -> None:
    """A run over a stretch, after another workload's runs over single hours of it."""
    ours, theirs = bound(landed), bound(landed, QUERIES.replace("2 hours", "3 hours"))
    for interval in (hours(10, 11), hours(11, 12)):
        collect(landed, theirs, interval)
        plan_run(landed, theirs, interval, run="test")
    collect(landed, ours, hours(10, 12))
    plan = plan_run(landed, ours, hours(10, 12), run="test").plan
    assert load_plan(landed, ours, hours(11, 12)) == plan
    assert load_plan(landed, theirs, hours(11, 12)) != plan


def test_a_later_run_over_the_whole_day_does_not_change_what_a_repeated_run_says(
    landed: Lake,
) -> None:
    workload = bound(landed)
    reasons = []
    for interval in (hours(11, 12), hours(10, 13), hours(11, 12)):
        collect(landed, workload, interval)
        plan_run(landed, workload, interval, run="test")
        reasons.append(text_metric(landed, interval, "plan", "reason"))
    assert reasons[0] == reasons[2] == "no plan was found before"


def test_a_plan_needs_statistics(lake: Lake) -> None:
    with pytest.raises(DataError, match="run its step statistics"):
        plan_run(lake, bound(lake), hours(11, 12), run="test")


@pytest.fixture
def flights(lake: Lake, settings: Settings) -> Lake:
    """The morning whose profile is worked out by hand, landed a quarter at a time."""
    absent = {"dep_delay": ..., "air_time": 9}
    lines = [
        departure(
            number, minute, hour, type=kind, carrier=carrier, tailnum=aircraft,
            **(absent | case.delays(kind, delay)),
        )
        for number, (hour, minute, kind, carrier, aircraft, delay) in enumerate(case.FLIGHTS)
    ]  # fmt: skip
    for hour in range(8, 12):
        put(settings, hour, *lines[hour % 4 :: 4])
    land(lake, settings, hours(8, 12))
    return lake


def test_the_profile_is_the_one_worked_out_by_hand(flights: Lake) -> None:
    workload = bound(flights, case.QUERIES)
    assert collect_profile(flights, workload, case.RUN) == case.expected(workload)


def test_a_profile_is_kept_once_and_pinned_to_a_version(flights: Lake, settings: Settings) -> None:
    workload, version = bound(flights, case.QUERIES), flights.version("events")
    statistics = collect(flights, workload, case.RUN)
    before = statistics.fingerprint
    profile = collect_profile(flights, workload, case.RUN, version=version)
    store_statistics(flights, workload, statistics, profile)
    kept, plans = rows(flights, "plans"), flights.version("plans")

    put(settings, 11, departure(99, hour=11), name="-late")
    land(flights, settings, hours(11, 12))
    again = collect_profile(flights, workload, case.RUN, version=version)
    store_statistics(flights, workload, statistics, again)
    assert (again, rows(flights, "plans"), flights.version("plans")) == (profile, kept, plans)
    # The plan's name does not depend on the profile.
    assert [row[:4] for row in kept] == [
        ("profile", profile.fingerprint, workload_fingerprint(workload), before),
        ("statistics", before, workload_fingerprint(workload), before),
    ]
    later = collect_profile(flights, workload, case.RUN)
    assert later.rates[2].events == case.spread(4, 10, 1, 2.5, 4)
    name = {PROFILE_FINGERPRINT: profile.fingerprint}
    record_metrics(flights, case.RUN, STATISTICS, name, run="test")
    assert load_profile(flights, case.RUN) == profile


def test_a_stream_without_events_has_a_profile(lake: Lake) -> None:
    profile = collect_profile(lake, bound(lake, case.QUERIES), case.RUN)
    assert [rate.events for rate in profile.rates] == [case.spread(4, 0, 0, 0, 0)] * 3
    assert (profile.bursts, profile.partitions) == ((), ())


def test_a_plan_of_an_older_build_is_found_anew(landed: Lake) -> None:
    workload, interval = bound(landed), hours(10, 12)
    statistics = collect(landed, workload, interval)
    plan = find_plan(workload, statistics)
    older = json.dumps(json.loads(plan.to_json()) | {"version": 2})
    row = {
        "kind": "plan", "fingerprint": "0" * 64, "body": older, "finder": str(plan.finder),
        "workload_fingerprint": plan.workload_fingerprint,
        "statistics_fingerprint": statistics.fingerprint,
    }  # fmt: skip
    table = landed.frame("plans", [row])
    table.write.format("delta").mode("append").save(str(landed.path("plans")))
    record_metrics(landed, hours(9, 10), "plan", {"plan_fingerprint": "0" * 64}, run="test")
    with pytest.raises(PlanError, match="version 2; this build reads version 3"):
        load_plan(landed, workload, hours(9, 10))
    found = plan_run(landed, workload, interval, run="test")
    assert (found.reused, found.plan.version) == (False, 3)
    assert load_plan(landed, workload, interval) == found.plan


def test_the_plan_of_a_run_holds_its_kleene_sets(landed: Lake) -> None:
    kleene = (
        "QUERY a RETURN COUNT(*) PATTERN SEQ(Departure, Arrival+) WHERE [tailnum] WITHIN 2 hours;"
        "QUERY b RETURN COUNT(*) PATTERN SEQ(Cancellation, Arrival+) WHERE [tailnum]"
        " WITHIN 2 hours;"
    )
    workload, interval = bound(landed, kleene), hours(10, 12)
    collect(landed, workload, interval)
    plan = plan_run(landed, workload, interval, run="test").plan
    (found,) = plan.sets
    assert (found.kleene, found.queries, found.keys) == (("Arrival",), ("a", "b"), ("tailnum",))
    assert load_plan(landed, workload, interval).sets == plan.sets
