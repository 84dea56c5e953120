"""Many groups in a task, groups larger than a batch, one hot group: the rows of one table."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from elsinore.catalog.stream import AttributeType
from elsinore.events import ARROW_TYPES, EventTable
from elsinore.executors.graph import aggregate as engine_aggregate
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.plan import RuntimePlan
from elsinore.query.bound import BoundQuery
from elsinore.spark.aggregate_worker import partial_rows
from elsinore.store.tables import Lake
from elsinore.timeline import HOUR, Interval
from tests.data_tables import create_tables
from tests.homes import NewHome
from tests.results_lake import computed, put_events, workload
from tests.spark.test_aggregate import Ground

pytestmark = pytest.mark.spark

OWNED = Interval.parse("2013-03-01T00:00", "2013-03-01T06:00")
TEXT = """
QUERY pairs RETURN dest, COUNT(*), SUM(D.dep_delay) PATTERN SEQ(Cancellation C, Departure D)
WHERE [flight] AND C.flight % 50 < 5 GROUP-BY C.dest WITHIN 1 hour;
QUERY late RETURN origin, COUNT(*), COUNT(D) PATTERN SEQ(Cancellation C, Departure D+)
WHERE [flight, origin] AND D.dep_delay > 60 GROUP-BY origin WITHIN 30 minutes;
QUERY later RETURN COUNT(*), MIN(DURATION), MAX(LENGTH) PATTERN SEQ(Cancellation C, Departure D+)
WHERE [flight] AND D.dep_delay > 60 AND D.dep_delay < NEXT(D).dep_delay WITHIN 1 hour;
QUERY chains RETURN MAX(LENGTH) AS longest, AVG(DURATION) AS spread, COUNT(*), AVG(LENGTH),
  MAX(LAST(D.dep_delay) - FIRST(D.dep_delay)) AS gained, SUM(TOTAL(D.dep_delay)) AS minutes
PATTERN SEQ(Cancellation C, Departure D+) WHERE [flight] AND D.dep_delay > 60 WITHIN 1 hour;
QUERY flights RETURN COUNT(DISTINCT flight) AS flights, COUNT(EACH D) AS departures, COUNT(*),
  SUM(EACH D.dep_delay) AS minutes, MAX(EACH D.dep_delay) AS latest
PATTERN SEQ(Cancellation C, Departure D+) WHERE [flight] AND D.dep_delay > 60 WITHIN 1 hour;
"""


def stream(lake: Lake, flights: np.ndarray, seed: int = 1) -> EventTable:
    """Departures and cancellations of flights by number, all over the interval."""
    dice, size = np.random.default_rng(seed), flights.size
    codes = lake.stream.type_codes
    kinds = np.array([codes["Departure"], codes["Cancellation"]], np.int32)
    given = {
        "flight": flights,
        "dep_delay": dice.integers(-5, 65, size),
        "origin": np.array(["EWR", "JFK", "LGA"])[dice.integers(0, 3, size)],
        "dest": np.array(["ATL", "BOS"])[dice.integers(0, 2, size)],
    }
    columns = {
        "_time": OWNED.start + dice.integers(0, 6 * HOUR, size),
        "_type": kinds[(dice.random(size) < 0.3).astype(int)],
    }
    for name, kind in lake.stream.attributes.items():
        known = name in given
        columns[name] = pa.array(given[name]) if known else pa.nulls(size, ARROW_TYPES[kind])
    assert lake.stream.attributes["flight"] is AttributeType.LONG
    return EventTable(lake.stream, pa.table(columns))


@pytest.mark.parametrize(
    ("shape", "flights"),
    [
        ("tiny groups", np.repeat(np.arange(6_000), 4)),
        ("one hot group", np.where(np.arange(24_000) % 20, 7, np.arange(24_000) % 500)),
        ("one group", np.zeros(24_000, np.int64)),  # Arrow batches have 10,000 rows at most
    ],
)
def test_any_shape_gives_the_rows_of_one_table_by_time_and_by_key(
    spark: SparkSession, new_home: NewHome, shape: str, flights: np.ndarray
) -> None:
    del shape
    lake = Lake.open(new_home())
    create_tables(lake)
    events = stream(lake, flights)
    put_events(lake, events)
    queries = workload(lake, TEXT)
    expected = computed(queries, events, OWNED)
    assert {row["query"] for row in expected} == {"pairs", "late", "later", "chains", "flights"}
    ground = Ground(spark, lake)
    by_key = ground.cut(queries, OWNED, 2, ("flight",))
    assert by_key.in_words() == "files read directly, in 2 parts, split by key, their rows merged"
    for route in (ground.cut(queries, OWNED, 2), by_key):
        found, _ = ground.by_route(queries, route, 2)
        assert found == expected


def test_a_task_calls_the_executor_once_for_all_of_its_groups(
    new_home: NewHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake.open(new_home())
    plan = RuntimePlan.of(workload(lake, TEXT).queries)
    calls: list[int] = []
    whole = engine_aggregate.aggregate_query

    def counted(
        query: BoundQuery, events: EventColumns, *, owned: Interval | None
    ) -> list[PartialRows]:
        calls.append(len(events.events))
        return whole(query, events, owned=owned)

    monkeypatch.setattr("elsinore.executors.plan.units.aggregate_query", counted)
    for groups in (1, 4_000):
        calls.clear()
        events = stream(lake, np.arange(8_000) % groups).table.sort_by("_time")
        batches = events.combine_chunks().to_batches(max_chunksize=1_000)
        list(partial_rows(lake.stream, plan, OWNED, batches, Counter()))
        assert calls == [8_000, 8_000, 8_000], groups  # the queries with D+
