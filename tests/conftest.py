"""Settings shared by all tests, and one Spark server for those that need one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from elsinore.settings import Settings

# Derandomized: the same examples on every machine, so that a failure is everybody's failure.
# `ELSINORE_EXPLORE=1` draws new ones, and their number can be raised.
EXPLORE = os.environ.get("ELSINORE_EXPLORE")
settings.register_profile(
    "committed",
    derandomize=not EXPLORE,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("committed")

# Bare pytest must not make an Airflow home in the user's own.
os.environ.setdefault("AIRFLOW_HOME", str(Path(__file__).parents[1] / ".airflow"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Settings of a home whose server works for all tests, those of other homes too."""
    from elsinore.spark.server import running_server, stop_server

    own = Settings(home=tmp_path_factory.mktemp("server"), spark_master="local[2,4]")
    with pytest.MonkeyPatch.context() as environment:  # workers know functions of tests by name
        environment.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
        started = running_server(own)
    token = own.home / "token"
    token.write_text(started.token)
    address = f"sc://127.0.0.1:{started.port}"
    yield own.model_copy(update={"spark_master": address, "spark_token_file": token})
    stop_server(own)
