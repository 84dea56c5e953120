"""A session for all tests, and a lake of its own for each test that wants one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from elsinore.events import EventTable
from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.spark.tables import SparkLake
from tests.spark.results_lake import flights_lake

NewHome = Callable[[], Settings]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs the session starts a JVM, and is marked so."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(server: Settings) -> Iterator[SparkSession]:
    with open_session(server) as session:
        yield session


@pytest.fixture(scope="session")
def new_home(
    spark: SparkSession, server: Settings, tmp_path_factory: pytest.TempPathFactory
) -> NewHome:
    """Makes settings of a new home with empty tables and an empty landing zone."""

    def settings(name: str) -> Settings:
        home = tmp_path_factory.mktemp(name)
        # Tests of landings say which hours land.
        return server.model_copy(update={"home": home, "max_bad_share": 1.0, "late_days": 0})

    # Creating tables takes seconds, copying them does not.
    empty = settings("empty")
    Lake.open(empty).create_all()

    def make() -> Settings:
        new = settings("home")
        new.landing.mkdir()
        shutil.copytree(empty.lake, new.lake)
        return new

    return make


@pytest.fixture(scope="module")
def flights(spark: SparkSession, new_home: NewHome) -> tuple[SparkLake, EventTable]:
    """A lake of flights for the tests of a module, and its events."""
    return flights_lake(spark, new_home())


#: For tests that use `settings`: hours land at once, and once more one after another.
EITHER_WAY = pytest.mark.parametrize("settings", ["at once", "by hours"], indirect=True)


@pytest.fixture
def settings(new_home: NewHome, request: pytest.FixtureRequest) -> Settings:
    most = 1 if getattr(request, "param", "at once") == "by hours" else 128_000_000
    return new_home().model_copy(update={"landing_bytes": most})


@pytest.fixture
def lake(spark: SparkSession, settings: Settings) -> SparkLake:
    return SparkLake.of(Lake.open(settings), spark)
