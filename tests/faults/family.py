"""The processes of a running job, told apart by what they are."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path


def descendants(roots: Iterable[int]) -> dict[int, list[str]]:
    """Some processes with their children and theirs: id to command line.

    Not the process group: Spark's Python workers are in one of their own.
    """
    parents = {int(path.name): _parent(int(path.name)) for path in Path("/proc").glob("[0-9]*")}
    found = set(roots)
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return {pid: words for pid in found if (words := _words(pid))}


def jvms(roots: Iterable[int]) -> list[int]:
    """The driver's JVM, which is its executor as well where the master is `local`."""
    return [pid for pid, words in descendants(roots).items() if Path(words[0]).name == "java"]


def workers(roots: Iterable[int]) -> list[int]:
    """Spark's Python workers, without the process that forks them."""
    daemons = daemon(roots)
    return [pid for pid in daemons if _parent(pid) in daemons]


def daemon(roots: Iterable[int]) -> list[int]:
    """The process that forks Python workers, and they."""
    return [pid for pid, words in descendants(roots).items() if "pyspark.daemon" in words]


def marked(variable: str, value: str) -> list[int]:
    """The processes whose environment holds a variable with a value, whoever started them."""
    wanted = f"{variable}={value}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            variables = (path / "environ").read_bytes().split(b"\0")
            ended = _state(int(path.name)) == "Z"
        except OSError:
            continue  # ended meanwhile
        if wanted in variables and not ended:
            found.append(int(path.name))
    return sorted(found)


def kill(pids: Iterable[int]) -> None:
    """SIGKILL to each that is still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def wait_until(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    """Looks often, since some points are over within milliseconds.

    Raises:
        TimeoutError: the condition does not come true in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s")
        time.sleep(0.02)


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _parent(pid: int) -> int:
    return int(_status(pid)[1])


def _state(pid: int) -> str:
    return _status(pid)[0]


def _status(pid: int) -> list[str]:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ["Z", "0"]
    return status.rsplit(")", 1)[1].split()
