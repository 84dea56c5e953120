"""One clean hour and one server, shared by all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from elsinore.spark.server import stop_server
from tests.faults.clean import CleanRun, copied, run_clean
from tests.faults.history import FIRST, Place
from tests.store.serve import s3_server

NewPlace = Callable[[], Place]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever compares with a clean run starts a JVM."""
    for item in items:
        if "clean" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def store() -> Iterator[str]:
    """A bucket of an S3 server."""
    with s3_server() as address:
        yield address


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory, store: str) -> Iterator[CleanRun]:
    """The run over the first hour, from an empty place; Spark's workers know the store, too."""
    (run,) = run_clean(tmp_path_factory.mktemp("history"), (FIRST,))
    yield run
    stop_server(run.start)


@pytest.fixture
def new_place(clean: CleanRun, tmp_path: Path) -> NewPlace:
    """Makes places that are as the clean run left them."""
    finished = clean.start.model_copy(update={"place": clean.start.place.with_name("clean")})
    return lambda: copied(finished, tmp_path / f"place-{len(list(tmp_path.iterdir()))}")
