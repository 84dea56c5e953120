"""A session of the server of all tests, and lakes with empty tables.

Each test has a session of its own: PySpark binds checkpoints to the session opened last.
"""

from __future__ import annotations

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


@pytest.fixture
def new_tables(ingest_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> NewTables:
    """Makes a lake with empty tables and an empty landing zone; `ids` are its ids; empty: none."""

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
        tables.create()
        return tables, settings.landing

    return make
