"""Lakes of flights whose tables Spark has written, for the tests of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from elsinore.publish.tables import STAGED, ResultTables
from elsinore.query.bound import Workload
from elsinore.settings import Settings
from elsinore.spark.aggregate_hours import Aggregated, Asked, EventsTable, aggregate_hours
from elsinore.spark.session import open_session
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from tests.homes import new_home, new_spark_home, spark
from tests.results_lake import event_rows, flight_events, sorted_results, workload

__all__ = ["new_home", "new_spark_home", "spark"]


@dataclass(frozen=True)
class Ground:
    """The tables of a lake of flights."""

    settings: Settings
    events: EventsTable
    results: ResultTables

    @property
    def spark(self) -> SparkSession:
        return self.results.store.spark

    def sql(self, statement: str, table: str = "events") -> Any:
        """Run a statement of somebody else, in which `{}` is a table."""
        store = self.events.store if table == "events" else self.results.store
        return self.spark.sql(statement.replace("{}", store.name(table))).collect()

    def workload(self, text: str) -> Workload:
        return workload(self.events.lake, text)

    def aggregate(self, text: str, owned: Interval, *others: Asked) -> Aggregated:
        asked = [Asked(self.workload(text), self.results), *others]
        return aggregate_hours(self.events, asked, owned, static_plan="p", parts=2, run="test")


@pytest.fixture(scope="module")
def results_session(server: Settings) -> Iterator[SparkSession]:
    with open_session(server) as session:
        yield session


@pytest.fixture(scope="module")
def new_ground(
    results_session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], Ground]:
    """Makes a lake with the events of `flight_events`, and empty tables of results."""

    def make() -> Ground:
        settings = Settings(home=tmp_path_factory.mktemp("home"))
        events = EventsTable.open(results_session, settings)
        results = ResultTables.open(results_session, settings)
        events.store.create("events")
        results.create()
        events.store.append("events", results_session.createDataFrame(rows_of_events(settings)), {})
        return Ground(settings, events, results)

    return make


@pytest.fixture(scope="module")
def ground(new_ground: Callable[[], Ground]) -> Ground:
    return new_ground()


def rows_of_events(settings: Settings) -> pa.Table:
    """The events of `flight_events` as rows of the table `events`."""
    return event_rows(Lake.open(settings), flight_events())


def staged_rows(tables: ResultTables, table: str = STAGED) -> list[dict[str, Any]]:
    """The rows of a table of results, in the shape of `results_lake.computed`."""
    found = tables.store.read(table).toArrow()
    for name in ("window_start", "window_end"):
        at = found.column_names.index(name)
        micros = found[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        found = found.set_column(at, name, micros)
    hour = found["window_end_hour"]
    days = [f"{day:%Y-%m-%d}" for day in found["window_end_day"].to_pylist()]
    assert days == [label[:10] for label in hour.to_pylist()]
    found = found.drop_columns(["window_end_day", "query_fingerprint"])
    return sorted_results(found.to_pylist())
