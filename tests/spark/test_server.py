"""The server on demand: one for all, of the present code, for its owner alone, gone when idle."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import deltalake
import psutil  # type: ignore[import-untyped]
import pytest
from pyspark.errors import PySparkException

from elsinore.errors import SetupError
from elsinore.settings import Settings
from elsinore.spark.options import session_options
from elsinore.spark.server import Server, running_server, stop_server, with_token
from elsinore.spark.session import connect, open_session
from tests.e2e.support import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
CLIENT = """
import os, sys
from elsinore.settings import Settings
from elsinore.spark.server import running_server
from elsinore.spark.session import open_session
settings = Settings.load()
"""
#: Each row takes a second before it is passed on.
SLOWLY = """
def slowly(batches):
    import time
    for batch in batches:
        time.sleep(batch.num_rows)
        yield batch

with open_session(settings, "a task") as spark:
    rows = spark.range(0, 16, 1, 1).mapInArrow(slowly, "id long")
    print("begun", flush=True)
    rows.write.format("delta").save(sys.argv[1])
"""
#: The keeper, which leads the group, is killed in the middle of a task.
LOSING = """
import os, signal, time
from threading import Timer
from elsinore.errors import LostWorkerError

def slowly(batches):
    time.sleep(30)
    yield from batches

first = running_server(settings).group
try:
    with open_session(settings, "work") as spark:
        Timer(2, os.kill, (first, signal.SIGKILL)).start()
        spark.range(1).mapInArrow(slowly, "id long").collect()
except LostWorkerError as error:
    print(error)
second = running_server(settings).group
with open_session(settings, "work") as spark:
    print(first, second, spark.range(2).count())
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    options = tmp_path_factory.mktemp("options") / "options.conf"
    options.write_text("spark.hadoop.my.secret hidden\nspark.sql.codegen.factoryMode FALLBACK\n")
    home = tmp_path_factory.mktemp("home")
    own = Settings(home=home, spark_master="local[2,4]", spark_options=options)
    yield own
    stop_server(own)


@pytest.fixture(scope="module")
def changed(settings: Settings) -> Settings:
    """What a server of the same home is made of after a change."""
    return settings.model_copy(update={"spark_memory": "1g"})


def client(
    settings: Settings, program: str, *arguments: str, folder: Path = ROOT
) -> subprocess.Popen[str]:
    """Starts a process that works with the server of a home."""
    variables = {
        "ELSINORE_HOME": str(settings.home),
        "ELSINORE_SPARK_MASTER": settings.spark_master,
        "ELSINORE_SPARK_IDLE_MINUTES": str(settings.spark_idle_minutes),
    }
    if settings.spark_options:
        variables["ELSINORE_SPARK_OPTIONS"] = str(settings.spark_options)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", CLIENT + program, *arguments],
        cwd=folder, env=os.environ | variables, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextmanager
def stopped(session: Any) -> Iterator[Any]:
    """A session that is stopped afterwards."""
    try:
        yield session
    finally:
        session.stop()


def is_gone(group: int) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(group, os.WNOHANG)  # of what this process has started somebody must ask
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def test_two_that_start_it_at_once_get_the_same_one(settings: Settings) -> None:
    both = [client(settings, "print(running_server(settings))") for _ in range(2)]
    first, second = (process.communicate()[0] for process in both)
    assert first == second == f"{running_server(settings)}\n"


#: Asks for more memory than a worker may have.
GREEDY = """
from elsinore.errors import OutOfMemoryError

def greedy(batches):
    import numpy as np
    for batch in batches:
        np.ones(3 << 30, np.uint8)
        yield batch

try:
    with open_session(settings) as spark:
        spark.range(1).mapInArrow(greedy, "id long").collect()
except OutOfMemoryError as error:
    print(error.code)
"""


@pytest.mark.long
def test_workers_have_the_memory_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSINORE_MEMORY_LIMIT", "2g")
    own = Settings(home=tmp_path / "home", spark_master="local[1]", spark_idle_minutes=0.1)
    try:
        assert client(own, GREEDY).communicate()[0] == "environment.memory\n"
    finally:
        stop_server(own)


def test_nobody_else_learns_the_token(settings: Settings) -> None:
    server = running_server(settings)
    assert (settings.home / "spark").stat().st_mode & 0o077 == 0
    assert (settings.home / "spark" / "server.json").stat().st_mode & 0o077 == 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text()
        except OSError:
            continue
        assert server.token not in words
        assert "hidden" not in words  # nor an option of the user


def test_only_sessions_of_steps_are_tuned_for_small_jobs(settings: Settings) -> None:
    tuned = session_options(settings)
    with open_session(settings, "one") as step, open_session(settings) as unnamed:
        for session in (step, unnamed):
            assert {name: session.conf.get(name) for name in tuned} == tuned
            assert session.conf.get("spark.hadoop.my.secret") == "hidden"
    with stopped(connect(running_server(settings).url)) as others:
        assert others.conf.get("spark.sql.codegen.wholeStage") == "true"
        assert others.conf.get("spark.sql.codegen.factoryMode") == "FALLBACK"
        assert others.conf.get("spark.sql.shuffle.partitions") == "200"
        assert others.conf.get("spark.databricks.delta.snapshotPartitions", "7") == "7"
        assert others.conf.get("spark.sql.session.timeZone") == "UTC"


def frame(kind: int, rest: bytes) -> bytes:
    """A message of Spark's network protocol: its length, its type, and the rest of it."""
    return struct.pack(">qb", 9 + len(rest), kind) + rest


def answer(port: int, message: bytes) -> str:
    """What a port answers, as far as one read goes; empty if it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), 10) as link:
        link.settimeout(60)
        link.sendall(message)
        return link.recv(65_536).decode("latin-1")


def connections_of(process: psutil.Process) -> list[Any]:
    """The connections of a process; one that has ended has none."""
    try:
        return process.net_connections("inet")
    except psutil.NoSuchProcess:
        return []


def ports_of(server: Server) -> set[int]:
    """The ports on which any process of a server listens; all of them are on the loopback.

    The daemon of Python workers has its own process group.
    """
    keeper = psutil.Process(server.group)
    listening = [
        link.laddr
        for process in (keeper, *keeper.children(recursive=True))
        for link in connections_of(process)
        if link.status == psutil.CONN_LISTEN
    ]
    assert {where.ip.removeprefix("::ffff:") for where in listening} == {"127.0.0.1"}
    return {where.port for where in listening}


def test_every_port_refuses_a_message_without_credentials(settings: Settings) -> None:
    """Connect, and Spark's own protocol of the driver and the block manager.

    Py4J's gateway would read a line of any length before it checks a token: it is closed.
    """
    server = running_server(settings)
    body, refusals = b"hello", {}
    call = frame(3, struct.pack(">qi", 7, len(body)) + body)
    upload = struct.pack(">qi", 8, len(body)) + body + struct.pack(">q", len(body)) + body
    with open_session(settings, "work") as spark:  # starts the daemon of Python workers
        assert spark.range(2).mapInArrow(lambda rows: rows, "id long").count() == 2
    # The server accepts clients before its block manager listens.
    wait_until(lambda: len(ports_of(server)) == 3, "all ports are open, and the gateway is closed")
    for port in ports_of(server):
        if port == server.port:
            with (
                stopped(connect(f"sc://127.0.0.1:{port}")) as stranger,
                pytest.raises(PySparkException, match="UNAUTHENTICATED") as refused,
            ):
                stranger.range(1).collect()
            refusals[port] = "UNAUTHENTICATED" if "UNAUTHENTICATED" in str(refused.value) else ""
        else:
            assert "Unauthenticated call" in answer(port, frame(10, upload))
            assert "Expected SaslMessage" in answer(port, call)
            refusals[port] = "spark"
    assert sorted(refusals.values()) == ["UNAUTHENTICATED", "spark", "spark"]


@pytest.mark.long
def test_its_temporary_files_are_its_own_and_go_when_it_ends(tmp_path: Path) -> None:
    """Nor is anything imported from the working directory of whoever starts it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("secrets", "fcntl", "pyarrow", "pyspark", "elsinore", "socketserver"):
        (elsewhere / f"{name}.py").write_text(
            f"open({str(tmp_path / 'imported')!r}, 'a').write({name!r})\nraise ImportError\n"
        )
    own = Settings(home=tmp_path / "home", spark_master="local[1]")
    program = (
        "with open_session(settings, 'x') as spark:\n"
        "    print(spark.range(5).mapInArrow(lambda rows: rows, 'id long').count())"
    )
    process = client(own, program, folder=elsewhere)
    assert process.communicate()[0] == "5\n"
    scratch = tmp_path / "home" / "spark" / "scratch"
    assert scratch.stat().st_mode & 0o077 == 0
    names = {path.name.partition("-")[0] for path in scratch.iterdir()}
    assert names >= {"artifacts", "blockmgr", "faulthandler", "liblz4", "spark"}
    assert stop_server(own)
    assert not scratch.exists()
    assert not (tmp_path / "imported").exists()
    assert [*elsewhere.glob("*/")] == []


def test_a_cluster_without_a_secret_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    cluster = Settings(home=tmp_path / "home", spark_master="spark://127.0.0.1:7077")
    for text in (None, "spark.authenticate true\n# spark.authenticate.secret x\n"):
        if text is not None:
            (tmp_path / "spark-defaults.conf").write_text(text)
        with pytest.raises(SetupError, match=r"has no spark.authenticate.secret for spark://"):
            running_server(cluster)


@pytest.mark.parametrize("token", [None, "", "another"])
def test_without_the_token_nothing_is_answered(settings: Settings, token: str | None) -> None:
    address = f"sc://127.0.0.1:{running_server(settings).port}"
    shown = address if token is None else with_token(address, token)
    with stopped(connect(shown)) as stranger, pytest.raises(PySparkException):
        stranger.range(1).collect()


def test_a_refused_token_is_a_matter_of_set_up(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("another\n")
    address = f"sc://127.0.0.1:{running_server(settings).port}"
    given = {"spark_master": address, "spark_token_file": tmp_path / "token"}
    with (
        pytest.raises(SetupError, match="refuses access"),
        open_session(settings.model_copy(update=given)) as spark,
    ):
        spark.range(1).collect()


def test_what_a_dead_client_left_running_is_stopped_before_the_next_try(
    settings: Settings, tmp_path: Path
) -> None:
    """Detached operations go on for minutes; this one would commit after sixteen seconds."""
    table = tmp_path / "table"
    process = client(settings, SLOWLY, str(table))
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    wait_until(table.exists, "the table is begun")
    process.kill()
    process.communicate()
    with open_session(settings, "a task") as spark:
        time.sleep(20)
        assert not deltalake.DeltaTable.is_deltatable(str(table))
        assert spark.range(3).count() == 3


def test_a_session_is_of_one_try(settings: Settings) -> None:
    with open_session(settings, "one") as first, open_session(settings, "one") as second:
        assert second.range(2).count() == 2
        with pytest.raises(PySparkException, match="INVALID_HANDLE"):
            first.range(2).count()
    with open_session(settings, "one") as third:
        assert third.range(2).count() == 2


@pytest.mark.parametrize("other", [{"stream": "rides"}, {"workload_file": Path("rides.sase")}])
def test_streams_and_workloads_have_sessions_of_their_own(
    settings: Settings, other: dict[str, Any]
) -> None:
    theirs = settings.model_copy(update=other)
    with open_session(settings, "one") as first, open_session(theirs, "one") as second:
        assert (first.range(2).count(), second.range(3).count()) == (2, 3)


def test_processes_with_and_without_kernels_share_a_server(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing kernels sets the variable."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    without = running_server(settings)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(settings.home))
    assert running_server(settings) == without


def test_a_server_of_other_code_is_replaced(settings: Settings, changed: Settings) -> None:
    old = running_server(settings)
    new = running_server(changed)
    assert (new.port, new.token) != (old.port, old.token)
    assert is_gone(old.group)
    assert running_server(changed) == new


@pytest.mark.long
def test_a_server_that_dies_is_worth_another_try_and_none_outlives_its_keeper_or_its_clients(
    tmp_path: Path,
) -> None:
    brief = Settings(home=tmp_path, spark_master="local[1]", spark_idle_minutes=0.05)
    told = client(brief, LOSING).communicate()[0].splitlines()
    assert "process was lost" in told[0]
    first, second, rows = map(int, told[1].split())
    assert first != second
    assert rows == 2
    wait_until(lambda: is_gone(second), "nobody works with it any more")
    # What warms it up tries again for a while.
    wait_until(lambda: is_gone(first), "its keeper is gone")
    assert not stop_server(brief)


@pytest.mark.long
def test_it_ends_when_its_home_is_taken_away(changed: Settings) -> None:
    server = running_server(changed)
    # What warms it up, or itself, may make other files anew while all of them are deleted.
    (changed.home / "spark" / "server.json").unlink()
    wait_until(lambda: is_gone(server.group), "its home is gone")
