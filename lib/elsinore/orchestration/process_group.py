"""Runs a command in a process group of its own, of which nothing is left afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import IO

from elsinore.orchestration import watch_group

#: Seconds that a group has to end by itself, for instance a JVM that removes its scratch files.
GRACE = 4.0

#: Told of each line, without its line end.
OnLine = Callable[[str], None]


class ProcessGroup:
    """One command with all that it starts.

    Whatever happens, the group is gone when `run` returns or raises: it is asked to end, given
    `GRACE` seconds, then killed. Should this process die without a chance to do so, the watchman
    of `watch_group` does it.
    """

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._argv = list(argv)
        self._cwd = cwd
        self._env = dict(env)
        self._process: subprocess.Popen[str] | None = None

    def run(self, *, on_output: OnLine, on_error: OnLine) -> int:
        """Runs the command to its end and returns its exit code; minus n stands for signal n.

        Args:
            on_output: told of each line of standard output, from another thread.
            on_error: the same for standard error.
        """
        process = subprocess.Popen(
            self._argv,
            cwd=self._cwd,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        )
        self._process = process
        watchman = _post_watchman(process.pid)
        readers = [_read(process.stdout, on_output), _read(process.stderr, on_error)]
        try:
            return process.wait()
        finally:
            self.end()
            for reader in readers:
                reader.join(GRACE)
            watchman.kill()
            watchman.communicate()

    def end(self) -> None:
        """Ends the group: at once if it is idle, else by SIGTERM and, after `GRACE`, SIGKILL."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            _signal(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline:
            process.poll()
            if not _signal(process.pid, 0):
                return
            time.sleep(0.05)
        _signal(process.pid, signal.SIGKILL)
        process.wait()


def _post_watchman(group: int) -> subprocess.Popen[bytes]:
    # -I -S: nothing but the standard library, so that it stands on its post within milliseconds.
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(watch_group.__file__), str(group)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def _read(stream: IO[str] | None, on_line: OnLine) -> Thread:
    assert stream is not None, "started with pipes"

    def read() -> None:
        with stream:
            for line in stream:
                on_line(line.rstrip("\n"))

    thread = Thread(target=read, daemon=True)
    thread.start()
    return thread


def _signal(group: int, number: int) -> bool:
    """Whether the signal reached any process of the group; 0 only asks."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True
