"""Settings shared by all tests, and one Spark server for those that need one."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from elsinore.settings import Settings
from tests.draws import LONG

# Derandomized: the same examples on every machine, so that a failure is everybody's failure.
# `ELSINORE_EXPLORE=1` draws new ones, `ELSINORE_LONG=1` more of them (`tests.draws`).
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

# No server lives long enough to win back what the optimising compiler and parallel collectors cost.
# The classes of Spark are not verified again in each server: 3.5 of 27.6 CPU seconds.
# A larger young generation is collected a third as often: 10 of 93 CPU seconds of six ingests.
if not os.environ.get("ELSINORE_TOPOLOGY"):
    os.environ.setdefault(
        "ELSINORE_SPARK_JAVA_OPTIONS",
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
        " -Xmn384m -XX:MetaspaceSize=256m"
        " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote",
    )

#: One process takes all files of each of these: they share what is slow to make or to import.
SHARING = ("tests/e2e", "tests/faults", "tests/dags", "tests/unit/quality")
LONGEST = (*SHARING[:2], "tests/pipeline", "tests/spark", *SHARING[2:])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that take long come first, and those that wait for Spark: others fill in.

    Tests marked `long` run in `make test-long`, by `-m long`, and by their own names. Tests that
    need the server start a JVM, and are marked so.
    """
    is_named = any("::" in name for name in config.args)
    if not (LONG or is_named or "long" in config.option.markexpr):
        left_out = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]

    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)

    @cache
    def place(directory: Path) -> int:
        name = str(directory.relative_to(config.rootpath))
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=lambda item: place(item.path.parent))


class FilesWithExamples:
    """Collect the examples of files that contain some.

    To look for examples, pytest imports a file and inspects all that it defines. Each process of a
    run collects all tests, and without this, each also imports Airflow.
    """

    @staticmethod
    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
        collectors = yield
        if file_path.suffix != ".py" or b">>> " in file_path.read_bytes():
            return collectors
        return [collector for collector in collectors if type(collector) is pytest.Module]


def pytest_configure(config: pytest.Config) -> None:
    """Register the hook for files outside of `tests`, too."""
    config.pluginmanager.register(FilesWithExamples())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Processes take files whole, for tests of a file share lakes, in the order above."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return next((folder for folder in SHARING if file.startswith(folder)), file)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture(scope="module", autouse=True)
def every_session_is_stopped() -> Iterator[None]:
    """No module leaves a session of Spark open: PySpark would use it in place of later ones."""
    yield
    if loaded := sys.modules.get("pyspark.sql.connect.session"):
        left = loaded.SparkSession.getActiveSession()
        if left is not None:
            left.stop()
        assert left is None


@pytest.fixture(scope="module")
def compiled_by_set_up() -> Iterator[None]:
    """The tests of a module call no kernel for types that set-up does not compile it for.

    Raises:
        AssertionError: afterwards, with the kernels.
    """
    from numba import config

    from elsinore.executors.compile_kernels import run_steps
    from elsinore.numbers.compiled import compiled_kernels

    if not config.DISABLE_JIT:
        run_steps()
    before = compiled_kernels()
    yield
    later = {name: types - before.get(name, set()) for name, types in compiled_kernels().items()}
    assert [name for name, types in later.items() if types] == []


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Settings:
    """Settings of a home whose server works for all tests, those of other homes too.

    All processes of a run share it. It ends soon after the last of them.
    """
    from elsinore.spark.server import running_server

    mine = tmp_path_factory.mktemp("server")
    home = mine if worker_id == "master" else tmp_path_factory.getbasetemp().parent / "server"
    # Tests make thousands of tables, of each of which Delta keeps the log for an hour.
    options = mine / "options.conf"
    options.write_text("spark.databricks.delta.delta.log.cacheSize 100\n", encoding="utf-8")
    own = Settings(
        home=home, spark_master="local[2,4]", spark_idle_minutes=0.1, spark_options=options
    )
    started = running_server(own)
    token = mine / "token"
    token.write_text(started.token)
    address = f"sc://127.0.0.1:{started.port}"
    return own.model_copy(update={"home": mine, "spark_master": address, "spark_token_file": token})
