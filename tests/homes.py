"""Fixtures: a session of Spark, new homes, and lakes. Folders of tests import what they use."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from elsinore.events import EventTable
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.store.tables import Lake
from tests.results_lake import flights_lake

ROOT = Path(__file__).parents[1]

NewHome = Callable[[], Settings]


@pytest.fixture(scope="module")
def spark(server: Settings) -> Iterator[SparkSession]:
    with open_session(server) as session:
        yield session


@pytest.fixture(scope="session")
def new_home(tmp_path_factory: pytest.TempPathFactory) -> NewHome:
    """Makes settings of a new home without tables, and with an empty landing zone."""

    def make() -> Settings:
        # Tests of ingest name the hours.
        home = tmp_path_factory.mktemp("home")
        new = Settings(home=home, max_error_rate=1.0, late_arrival_days=0)
        new.landing.mkdir()
        (new.home / "lake").mkdir()
        return new

    return make


def with_schema(settings: Settings, folder: Path, old: str, new: str) -> Settings:
    """The same with a schema that says something else."""
    schema, text = folder / "schema.yaml", settings.schema_file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    schema.write_text(text.replace(old, new), encoding="utf-8")
    return settings.model_copy(update={"schema_file": schema})


@pytest.fixture
def laid_home(new_home: NewHome, tmp_path: Path) -> Callable[[str], Settings]:
    """Makes such settings of a home whose events are laid out by buckets."""

    def make(buckets: str) -> Settings:
        return with_schema(new_home(), tmp_path, "\ntypes:", f"\nbuckets: {buckets}\ntypes:")

    return make


@pytest.fixture(scope="session")
def new_spark_home(new_home: NewHome, server: Settings) -> NewHome:
    """Makes such settings whose jobs find the server of all tests."""
    shared = {name: getattr(server, name) for name in ("spark_master", "spark_token_file")}
    return lambda: new_home().model_copy(update=shared)


@pytest.fixture
def checkout(server: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of its own, to which schemas can be written; variables name it and the server."""
    for name in ("expectations", "jobs"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    for name, value in {
        "ROOT": tmp_path, "HOME": tmp_path / "var", "SPARK_MASTER": server.spark_master,
        "SPARK_TOKEN_FILE": server.spark_token_file,
    }.items():  # fmt: skip
        monkeypatch.setenv(f"ELSINORE_{name}", str(value))
    return tmp_path


@pytest.fixture(scope="module")
def flights(new_home: NewHome) -> tuple[Lake, EventTable]:
    """A lake of flights for the tests of a module, and its events."""
    return flights_lake(new_home())


@pytest.fixture
def events(flights: tuple[Lake, EventTable]) -> EventTable:
    """The events of `flights`."""
    return flights[1]


@pytest.fixture
def settings(new_home: NewHome) -> Settings:
    return new_home()


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return Lake.open(settings)
