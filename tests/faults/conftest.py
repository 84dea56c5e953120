"""One clean hour, shared by all tests, and a JVM that outlives the jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.clean import CleanRun, run_clean
from tests.faults.history import FIRST, Home
from tests.faults.warm import Warm


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All but the tests of the harness itself start a JVM."""
    for item in items:
        if "clean" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    with Warm(Home(tmp_path_factory.mktemp("warm")).environment) as warm:
        yield warm


@pytest.fixture(scope="session")
def clean(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> CleanRun:
    """The run over the first hour, from an empty home."""
    (run,) = run_clean(tmp_path_factory.mktemp("history"), (FIRST,), warm)
    return run


@pytest.fixture(scope="session")
def finished(clean: CleanRun) -> Path:
    """The home that the clean run left; to be copied, not used."""
    return clean.start.parent / "clean"


@pytest.fixture
def new_home(finished: Path, tmp_path: Path) -> Callable[[], Home]:
    """Makes homes that are as the clean run left them."""
    import shutil

    def make() -> Home:
        path = tmp_path / f"home-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(finished, path)
        return Home(path)

    return make
