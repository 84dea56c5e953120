"""One undisturbed replay, shared by all tests that only read what it left, and one Spark server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from elsinore.settings import Settings
from elsinore.spark.server import running_server, stop_server
from tests.e2e.support import Home

#: The home, what the replay printed, and every row of every table.
CleanRun = tuple[Home, str, dict[str, list[str]]]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Variables that name a Spark server for all homes but those that are to lose theirs."""
    own = Settings(home=tmp_path_factory.mktemp("server"))
    started = running_server(own)
    token = own.home / "token"
    token.write_text(started.token)
    yield {
        "ELSINORE_SPARK_MASTER": f"sc://127.0.0.1:{started.port}",
        "ELSINORE_SPARK_TOKEN_FILE": str(token),
    }
    stop_server(own)


@pytest.fixture(scope="session")
def clean(shared: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> CleanRun:
    """A home after one undisturbed replay, what that printed, and all rows."""
    home = Home(tmp_path_factory.mktemp("clean"), shared)
    output = home.replay()
    return home, output, home.rows()
