"""Homes of flights for the tests of maintenance, with a session of the server of all tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from elsinore.settings import Settings
from elsinore.spark.session import open_session
from tests.maintain.homes import QUERIES, Home


@pytest.fixture
def session(server: Settings) -> Iterator[SparkSession]:
    with open_session(server) as session:
        yield session


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory for a copy of the first home, whose tables Spark creates in 4 CPU seconds."""
    return tmp_path_factory.mktemp("empty") / "var"


@pytest.fixture
def new_home(
    session: SparkSession,
    server: Settings,
    tmp_path_factory: pytest.TempPathFactory,
    empty_home: Path,
) -> Callable[[], Home]:
    """Makes a home with empty tables, whose events are at most an hour late.

    Only the tables of the first home are created by Spark; other homes have copies.
    """

    def make() -> Home:
        folder: Path = tmp_path_factory.mktemp("home")
        shared = {name: getattr(server, name) for name in ("spark_master", "spark_token_file")}
        settings = Settings(home=folder / "var", late_arrival_days=1, max_error_rate=1.0, **shared)
        text = settings.schema_file.read_text(encoding="utf-8")
        schema, queries = folder / "flights.yaml", folder / "two.sase"
        late = text.replace("unit: iso}", "unit: iso, allowed_lateness: 1 hour}")
        assert late != text
        schema.write_text(late, encoding="utf-8")
        queries.write_text(QUERIES, encoding="utf-8")
        settings = settings.model_copy(update={"schema_file": schema, "workload_file": queries})
        if empty_home.exists():
            shutil.copytree(empty_home, settings.home)
            return Home(session, settings)
        settings.landing.mkdir(parents=True)
        first = Home(session, settings)
        shutil.copytree(settings.home, empty_home)
        return first

    return make


@pytest.fixture
def home(new_home: Callable[[], Home]) -> Home:
    return new_home()
