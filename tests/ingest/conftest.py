"""A session of the server of all tests, and lakes with empty tables.

Each test has a session of its own: PySpark binds checkpoints to the session opened last.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from elsinore.ingest.tables import IngestTables
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from tests.ingest.landing_zone import NewTables


@pytest.fixture
def ingest_session(server: Settings) -> Iterator[SparkSession]:
    with open_session(server) as session:
        yield session


@pytest.fixture(scope="session")
def empty_lakes() -> dict[str, Path]:
    """Lakes with empty tables that Spark has created, by their ids: 2 CPU seconds each."""
    return {}


@pytest.fixture
def new_tables(
    ingest_session: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    empty_lakes: dict[str, Path],
) -> NewTables:
    """Makes a lake with empty tables and an empty landing zone; `ids` are its ids; empty: none.

    Only the first lake with some ids is created by Spark; the others are copies of its tables.
    """

    def make(ids: str = "{field: id}") -> tuple[IngestTables, Path]:
        home = tmp_path_factory.mktemp("home")
        settings = Settings(home=home)
        text = settings.schema_file.read_text(encoding="utf-8")
        schema = home / "flights.yaml"
        text = text.replace("id: {field: id}\n", f"id: {ids}\n" if ids else "")
        schema.write_text(text, encoding="utf-8")
        settings = settings.model_copy(update={"schema_file": schema})
        settings.landing.mkdir(parents=True)
        tables = IngestTables.open(ingest_session, settings)
        if ids in empty_lakes:
            shutil.copytree(empty_lakes[ids], settings.stream_lake)
        else:
            tables.create()
            empty_lakes[ids] = tmp_path_factory.mktemp("empty") / "lake"
            shutil.copytree(settings.stream_lake, empty_lakes[ids])
        return tables, settings.landing

    return make
