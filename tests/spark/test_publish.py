"""Publishing shows what was validated, whole, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable

import deltalake
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from elsinore.errors import ValidationError
from elsinore.events.table import EventTable
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.aggregate import STAGED, STEP, aggregate
from elsinore.spark.publish import PUBLISHED, publish
from elsinore.spark.run_metrics import record_metrics
from elsinore.spark.sample import SampleSize
from elsinore.spark.tables import Lake
from elsinore.spark.validate import VALIDATE_STEP, validate
from elsinore.timeline import HOUR, Interval
from tests.spark.results_lake import QUERIES, flights_lake, hours, put_events, staged, workload

pytestmark = pytest.mark.spark

SIZE = SampleSize(windows=12, steps=100_000, seed=0)


@pytest.fixture(scope="module")
def flights(spark: SparkSession, new_home: Callable[[], Settings]) -> tuple[Lake, EventTable]:
    return flights_lake(spark, new_home())


@pytest.fixture
def lake(flights: tuple[Lake, EventTable]) -> Lake:
    return flights[0]


@pytest.fixture
def events(flights: tuple[Lake, EventTable]) -> EventTable:
    return flights[1]


def aggregated(lake: Lake, interval: Interval) -> None:
    done = aggregate(lake, workload(lake, QUERIES), interval, plan="p", parts=2, run="test")
    record_metrics(lake, interval, STEP, done.figures(), run="test")


def validated(lake: Lake, interval: Interval) -> None:
    validation = validate(lake, workload(lake, QUERIES), interval, SIZE, run="test")
    record_metrics(lake, interval, VALIDATE_STEP, validation.figures(), run="test")


def published(lake: Lake, interval: Interval) -> int:
    return publish(lake, workload(lake, QUERIES), interval, run="run 7").rows


def test_validated_results_are_published_in_one_commit_and_again_the_same(lake: Lake) -> None:
    interval = hours("15", "17")
    aggregated(lake, interval)
    validated(lake, interval)
    before = lake.version(PUBLISHED)
    assert published(lake, interval) == len(staged(lake, interval)) > 0
    assert lake.version(PUBLISHED) == before + 1
    first = staged(lake, interval, PUBLISHED)
    assert first == staged(lake, interval)
    published(lake, interval)
    assert staged(lake, interval, PUBLISHED) == first
    (newest,) = deltalake.DeltaTable(str(lake.path(PUBLISHED))).history(1)
    assert json.loads(newest["userMetadata"]) == {
        "run": "run 7",
        "workload": workload_fingerprint(workload(lake, QUERIES)),
        "plans": ["p"],
    }


def test_results_that_are_gone_vanish_and_other_hours_stay(lake: Lake, events: EventTable) -> None:
    interval, first, second = hours("18", "20"), hours("18", "19"), hours("19", "20")
    aggregated(lake, interval)
    validated(lake, interval)
    assert published(lake, interval) > 0
    beside = staged(lake, second, PUBLISHED)
    assert 0 < len(beside) < len(staged(lake, interval, PUBLISHED))
    put_events(lake, events.between(0, first.start - 12 * HOUR), mode="overwrite")
    try:
        aggregated(lake, first)
        validated(lake, first)
    finally:
        put_events(lake, events, mode="overwrite")
    assert published(lake, first) == 0
    assert staged(lake, first, PUBLISHED) == []
    assert staged(lake, second, PUBLISHED) == beside


def test_only_what_was_validated_is_published(lake: Lake) -> None:
    interval = hours("12", "14")
    aggregated(lake, interval)
    with pytest.raises(ValidationError, match="not validated"):
        published(lake, interval)
    validated(lake, interval)
    label = "owned_hour = '2013-02-08T13'"
    lake.delta(STAGED).update(label, {"value": F.col("value") + 1})
    with pytest.raises(ValidationError, match="changed since"):
        published(lake, interval)
    assert staged(lake, interval, PUBLISHED) == []
    # Aggregated again they are what was validated.
    aggregated(lake, interval)
    assert published(lake, interval) > 0
