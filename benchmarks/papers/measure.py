"""One measurement: a system over a stream, in a process of its own, within budgets.

The process is forked off one that has compiled and loaded everything; it says what CPU time it
took, how far its memory grew, and what the answer was. The kernel of the system ends it at the
limit of CPU time; a system that would hold more memory than its budget ends itself.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import math
import multiprocessing
import resource
import signal
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.papers.online import OPTIMIZERS, Task, Work, beginning, observer_of, prepare
from benchmarks.papers.pointers import BUDGET, OutOfMemoryError
from elsinore.errors import BudgetError
from elsinore.integers import text_of

#: CPU seconds: work that takes less is done again, until so much has been spent.
SHORT, _ENOUGH = 1.0, 0.15
#: Why a system is given up; the last of an optimizer that has too many plans to look at.
TIME, MEMORY, PLANS = "time", "memory", "plans"
#: Megabytes by which a process may grow; a system may hold pointers and trends, each in `BUDGET`.
MEGABYTES = 2 * BUDGET // 2**20


@dataclass
class Found:
    """What was measured of one system at one point.

    Attributes:
        seconds: CPU time of the whole stream, one number a process.
        megabytes: by how much memory grew at its peak, likewise.
        counts: what hamlet says it did; empty for the others.
        answer: a digest of the rows.
        trends: the logarithm to base 10 of how many there are, where rows count them.
    """

    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    answer: str = ""
    trends: float | None = None

    @property
    def time(self) -> float:
        """The median time of a run over the whole stream."""
        return statistics.median(self.seconds)

    @property
    def memory(self) -> float:
        """The median growth in megabytes."""
        return statistics.median(self.megabytes)


def measure(name: str, task: Task, found: Found, limit: int, *, observed: bool) -> str | None:
    """Add one measurement; or say which budget it broke, as `TIME`, of `limit` CPU seconds."""
    work, to_rows = prepare(name, task)
    little: Work = list
    if name not in OPTIMIZERS:
        little, _ = prepare(name, beginning(task))
    observer = observer_of(name, task) if observed else None
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_child, args=(little, work, to_rows, observer, limit, there)
    )
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    process.start()
    there.close()
    try:
        told = here.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return TIME
        raise
    finally:
        process.kill()
        process.join()
    if isinstance(told, str):
        return told
    seconds, megabytes, answer, counts, found.trends = told
    assert found.answer in ("", answer), f"{name} gives other rows than before"
    found.answer = answer
    found.seconds.append(seconds)
    found.megabytes.append(megabytes)
    found.counts |= counts
    return None


def _child(
    little: Work,
    work: Work,
    to_rows: Callable[[list[Any]], list[Any]],
    observer: Callable[[], dict[str, int]] | None,
    limit: int,
    out: Connection,
) -> None:
    gc.disable()
    unlimited = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit + 1, unlimited[1]))
    try:
        little()  # libraries and kernels are mapped anew in this process, and count as its memory
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        before, spent = _memory("VmRSS"), time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (limit + round(spent), unlimited[1]))
        result = work()
    except OutOfMemoryError:
        out.send(MEMORY)
        return
    except BudgetError:
        out.send(PLANS)
        return
    seconds = time.process_time() - spent
    grown = (_memory("VmHWM") - before) / 1024
    resource.setrlimit(resource.RLIMIT_CPU, unlimited)
    if grown > MEGABYTES:
        out.send(MEMORY)
        return
    rows = to_rows(result)
    if seconds < SHORT:  # the first time also takes over pages from the process that was forked
        seconds = _again(work)
    out.send((seconds, grown, fingerprint(rows), observer() if observer else {}, _trends(rows)))


def _trends(rows: list[Any]) -> float | None:
    """log10 of the sum of COUNT(*) over all rows."""
    total = sum(dict(getattr(row, "values", ())).get("COUNT(*)", 0) for row in rows)
    return math.log10(total) if total else None


def _again(work: Work) -> float:
    """Mean seconds of further runs; the clock may tick as rarely as every hundredth."""
    began, runs, spent = time.process_time(), 0, 0.0
    while spent < _ENOUGH:
        work()
        runs, spent = runs + 1, time.process_time() - began
    return spent / runs


def _memory(what: str) -> int:
    """Kilobytes that the system says of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))


def _values(row: Any) -> list[tuple[str, str]]:
    return [(label, text_of(value)) for label, value in row.values]


def fingerprint(rows: list[Any]) -> str:
    """A digest of rows, or of what an optimizer found; "any" where that is not to be compared."""
    if rows == [None]:
        return "any"
    texts = sorted(
        f"{row.query} {row.group!r} {int(row.window_start)} {_values(row)!r}"
        if hasattr(row, "window_start")
        else repr(row)
        for row in rows
    )
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
