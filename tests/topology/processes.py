"""Processes on the loopback address: started with a log each, waited for, and ended in the end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from psutil import NoSuchProcess, Process  # type: ignore[import-untyped]

_GRACE = 15.0


class Processes(ExitStack):
    """Process groups of a test; leaving the context ends those that run, the last first."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True)
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, argv: Sequence[str | Path], env: Mapping[str, str]) -> None:
        """Starts a process that is to run until the end; its output goes to `<name>.log`."""
        log = self.enter_context((self.logs / f"{name}.log").open("wb"))
        process = subprocess.Popen(
            argv, env=dict(env), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        self._running[name] = process
        self.callback(_end, process)

    def kill_forks(self, name: str) -> int:
        """Kills what children of a process have forked, and gives how many these were."""
        forks = [f for child in Process(self._running[name].pid).children()
                 for f in child.children(recursive=True)]  # fmt: skip
        for fork in forks:
            with suppress(NoSuchProcess):
                fork.kill()
        return len(forks)

    def run(self, name: str, argv: Sequence[str | Path], env: Mapping[str, str]) -> str:
        """Runs a command to its end and returns what it printed."""
        done = subprocess.run(
            argv, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        (self.logs / f"{name}.log").write_text(done.stdout)
        assert done.returncode == 0, f"{name}: {done.stdout[-4000:]}"
        return done.stdout

    def wait(self, what: str, condition: Callable[[], bool], seconds: float) -> float:
        """Waits for a condition and returns the seconds; fails if a process has ended meanwhile."""
        began = time.monotonic()
        while not condition():
            for name, process in self._running.items():
                assert process.poll() is None, f"{name} has ended: see {self.logs / name}.log"
            passed = time.monotonic() - began
            assert passed < seconds, f"not within {seconds:.0f} s: {what}"
            time.sleep(1)
        return time.monotonic() - began


def free_port() -> int:
    """A port of the loopback address that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> Callable[[], bool]:
    """A condition: a page is there."""

    def condition() -> bool:
        try:
            with urlopen(url, timeout=5) as page:
                return bool(page.status == 200)
        except (URLError, OSError):
            return False

    return condition


def listens(port: int) -> Callable[[], bool]:
    """A condition: somebody listens on a port of the loopback address."""

    def condition() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return condition


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
