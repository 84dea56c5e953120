"""One Spark session for the whole test run, and a lake of its own for each test that wants one."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.spark.tables import Lake

NewHome = Callable[[], Settings]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever needs the session starts a JVM, and is marked so."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    home = tmp_path_factory.mktemp("session")
    # It lives for many minutes: what Java compiles well pays, unlike in a job.
    settings = Settings(home=home, spark_master="local[2,4]", spark_java_options="")
    session = open_session(settings, "tests")
    yield session
    session.stop()
    # Its connections say goodbye when the process ends, to streams that pytest has closed by then.
    logging.getLogger("py4j").setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def new_home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> NewHome:
    """Makes settings of a new home with empty tables and an empty landing zone."""
    # Creating tables takes seconds, copying them does not.
    empty = Settings(home=tmp_path_factory.mktemp("empty"), max_bad_share=1.0)
    Lake.open(spark, empty).create_all()

    def make() -> Settings:
        home = tmp_path_factory.mktemp("home")
        settings = Settings(home=home, max_bad_share=1.0)
        settings.landing.mkdir()
        shutil.copytree(empty.lake, settings.lake)
        return settings

    return make


@pytest.fixture
def settings(new_home: NewHome) -> Settings:
    return new_home()


@pytest.fixture
def lake(spark: SparkSession, settings: Settings) -> Lake:
    return Lake.open(spark, settings)
