"""The same slice by one local process and by a Spark standalone cluster on loopback.

A master and its workers of one core each are processes of their own, started as the images start
them (`docker/spark/start`). Both masters aggregate the same lake; what they stage must be equal.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
_START = ROOT / "docker" / "spark" / "start"
_PATIENCE, _GRACE = 120.0, 15.0


@dataclass(frozen=True)
class Slice:
    """What a master made of the slice.

    Attributes:
        master: in words.
        events, rows: of the slice.
        bytes: of the files of events.
        seconds: of the second of two aggregations.
        peak: of the memory of a task's process, in MB.
        digest: of what was staged.
    """

    master: str
    events: int
    rows: int
    bytes: int
    seconds: float
    peak: float
    digest: str


def compare(folder: Path, events: int, *how: int) -> list[Slice]:
    """Aggregate a day of events locally, then on a cluster of one worker and of two.

    `how` are buckets, if queries are to group by sellers; see `benchmarks.scale.slice`.

    Raises:
        AssertionError: the results differ, or a part of the cluster does not start.
    """
    sizes = (events, *how)
    found = [_aggregate("local[2,4]", "local, 2 cores", folder, sizes, {**os.environ})]
    for workers in (1, 2):
        name = f"standalone, {workers} worker{'s' if workers > 1 else ''} of 1 core"
        with _cluster(folder, workers) as (master, env):
            found.append(_aggregate(master, name, folder, sizes, env))
    assert len({each.digest for each in found}) == 1, "the cluster gives other results"
    return found


def _aggregate(
    master: str, name: str, folder: Path, sizes: Sequence[int], env: dict[str, str]
) -> Slice:
    command = [sys.executable, "-m", "benchmarks.scale.slice", master, folder / "home", *sizes]
    done = subprocess.run(
        [*map(str, command)], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return Slice(name, **json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def _cluster(folder: Path, workers: int) -> Iterator[tuple[str, dict[str, str]]]:
    """The master's URL, and the environment of what talks to it."""
    secret = folder / "spark_secret"
    secret.write_text(secrets.token_hex(24))
    ports = [_free_port() for _ in range(2 + workers)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {
        "PATH": path,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(folder / "spark-conf"),
        "SPARK_SECRET_FILE": str(secret),
        "SPARK_MASTER_PORT": str(ports[0]),
        "SPARK_MASTER_WEBUI_PORT": str(ports[1]),
        "SPARK_WORKER_CORES": "1",
        "SPARK_WORKER_MEMORY": "2g",
        "SPARK_EXECUTOR_MEMORY": "1g",
    }
    url = f"spark://127.0.0.1:{ports[0]}"
    with ExitStack() as stack:
        _start(stack, folder, "master", ["master", "127.0.0.1"], env, ports[1])
        for number, port in enumerate(ports[2:], 1):
            own = {
                "SPARK_WORKER_WEBUI_PORT": str(port),
                "SPARK_WORKER_DIR": str(folder / f"worker-{number}"),
            }
            _start(stack, folder, f"worker-{number}", ["worker", url], env | own, port)
        yield url, env


def _start(
    stack: ExitStack, folder: Path, name: str, arguments: list[str], env: dict[str, str], page: int
) -> None:
    """Start a part and wait for its page; it ends with the stack."""
    log = stack.enter_context((folder / f"{name}.log").open("wb"))
    process = subprocess.Popen(
        [_START, *arguments], env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    stack.callback(_end, process)
    began = time.monotonic()
    while not _answers(page):
        assert process.poll() is None, f"{name} has ended: {(folder / f'{name}.log').read_text()}"
        assert time.monotonic() - began < _PATIENCE, f"{name} does not answer"
        time.sleep(0.5)


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/json/", timeout=5) as page:
            return bool(page.status == 200)
    except (URLError, OSError):
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
