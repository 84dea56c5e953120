"""One undisturbed replay, shared by all tests that only read what it left."""

from __future__ import annotations

import json

import pytest

from elsinore.settings import Settings
from tests.airflow_home import copy_database
from tests.e2e.support import Home

#: The home, what the replay printed, and every row of every table.
CleanRun = tuple[Home, str, dict[str, list[str]]]


@pytest.fixture(scope="session")
def shared(server: Settings) -> dict[str, str]:
    """Variables that name the Spark server of all homes."""
    return {
        "ELSINORE_SPARK_MASTER": server.spark_master,
        "ELSINORE_SPARK_TOKEN_FILE": str(server.spark_token_file),
    }


@pytest.fixture(scope="session")
def clean(shared: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> CleanRun:
    """A home after one undisturbed replay, what that printed, and all rows.

    Its lineage went into a file.
    """
    folder = tmp_path_factory.mktemp("clean")
    file = {"type": "file", "log_file_path": str(folder / "lineage.jsonl"), "append": True}
    home = Home(folder, {**shared, "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(file)})
    if copy_database(folder / "airflow.db"):
        (folder / "airflow").mkdir()
        (folder / "airflow" / ".prepared").touch()
    output = home.replay()
    return home, output, home.rows()
