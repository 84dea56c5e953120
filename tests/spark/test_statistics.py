"""Very many events are counted in Spark tasks, with the same result as in one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elsinore.lake.cached_hours import drop_cached_hours
from elsinore.lake.plans import load_plan, plan_run
from elsinore.query.load_workload import read_workload
from elsinore.settings import Settings
from elsinore.spark.tasks import in_tasks_of
from elsinore.timeline import Interval
from tests.ingest.landing_zone import departure, hour
from tests.stored_lake import add_records, changes, new_lake, settings_of

pytestmark = pytest.mark.spark

QUERIES = """
QUERY one RETURN COUNT(*) PATTERN SEQ(Departure D, Arrival A, Departure E)
WHERE [tailnum] WITHIN 2 hours;
QUERY three RETURN carrier, COUNT(*), SUM(D.dep_delay) PATTERN SEQ(Departure D+, Arrival A)
WHERE [origin] GROUP-BY carrier WITHIN 50 minutes;
"""


@pytest.mark.parametrize("buckets", ["", "{by: [origin], number: 4}"])
def test_tasks_count_what_the_driver_counts(
    server: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, buckets: str
) -> None:
    lake = replace(new_lake(settings_of(tmp_path, buckets)), cores=2)
    times = ((8, 59), (9, 0), (9, 0), (10, 0), (10, 30), (12, 0))
    add_records(lake, tmp_path, *(departure(n, m, h) for n, (h, m) in enumerate(times)))
    workload, run = read_workload(QUERIES, lake.stream), Interval(hour(10), hour(12))
    tasks = list[int]()

    def counted(least: int, *changed: int) -> str:
        monkeypatch.setattr("elsinore.lake.plans.MANY_BYTES", least)
        recorded = changes(lake.version("events"), *changed)
        with in_tasks_of(server, "test") as in_spark:

            def in_tasks(number: int, do: Callable[[int], Any]) -> list[Any]:
                tasks.append(number)
                return in_spark(number, do)

            plan_run(lake, workload, run, changes=recorded, run="test", in_tasks=in_tasks)
        return load_plan(lake, workload, run).statistics_fingerprint

    def anew(least: int) -> str:
        drop_cached_hours(lake.root)
        return counted(least)

    monkeypatch.setattr("elsinore.lake.plans.FEWEST_BYTES", 0)
    first = anew(10**9)
    assert (anew(1), counted(1), tasks) == (first, first, [4])
    late = departure(20, hour=9), departure(21, hour=9, tailnum="N21", origin="LGA")
    add_records(lake, tmp_path, *late)
    later = counted(1, hour(9))
    assert tasks == [4, 2 if buckets else 1], "a late event costs its hour"
    assert later == counted(1, hour(9)) == anew(10**9) != first
    assert len(tasks) == 2
