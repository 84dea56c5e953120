"""One measurement of the Hamlet paper's experiments: an executor over a stream, in its own process.

The process is forked off one that has compiled and loaded everything; it says what CPU time it
took, how far its memory grew, and what the answer was.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import multiprocessing
import resource
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.engine.hamlet.decisions import ALWAYS, DYNAMIC, Decisions
from elsinore.engine.hamlet.observe import Observer
from elsinore.engine.linear import aggregate_segments
from elsinore.engine.linear.segments import shared_segments
from elsinore.engine.plan import AloneUnit, HamletUnit, Request, RuntimePlan
from elsinore.events import EventTable
from elsinore.query.bound import Workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.results.row import ResultRow
from elsinore.sharing.candidates import Segment
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.observe import observe
from elsinore.sharing.plan import Finder
from elsinore.sharing.sharable import sharable_sets

#: CPU seconds: work that takes less is done again, until so much has been spent.
_SHORT, _ENOUGH = 0.3, 0.2
#: Events that a process runs over before it is watched.
_FIRST = 100
_HAMLET = {"hamlet": DYNAMIC, "hamlet-static": ALWAYS}
EXECUTORS = ("hamlet", "hamlet-static", "greta", "sharon", "twostep")

#: What gives unfinished rows, table by table, or finished ones.
Work = Callable[[], list[Any]]
#: What an executor does before it is timed, and then.
Prepared = tuple[Work, Callable[[list[Any]], list[ResultRow]]]


@dataclass(frozen=True)
class Task:
    """A workload over a stream; `flat` is the workload flattened, and made only for sharon."""

    workload: Workload
    events: EventTable
    flat: Callable[[], Workload] | None = None


@dataclass
class Found:
    """What was measured of one executor at one point.

    Attributes:
        seconds: CPU time of the whole stream, one number a process.
        megabytes: by how much memory grew at its peak, likewise.
        counts: what hamlet says it did; empty for the others.
    """

    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    answer: str = ""


def prepare(name: str, task: Task) -> Prepared:
    """The work of an executor. A static plan is found beforehand, as it is at compile time."""
    queries, events = task.workload.queries, task.events
    if name == "greta":
        return lambda: [aggregate_query(q, events) for q in queries], _finisher(task.workload)
    if name in _HAMLET:
        decisions = _HAMLET[name]
        return (
            lambda: list(_plan(task, decisions).run(events)),
            _finisher(task.workload),
        )
    if name == "twostep":
        budget = Budget(10**12)  # the time limit stops it
        return lambda: [r for q in queries for r in two_step(q, events, budget=budget)], list
    assert task.flat is not None
    flat = task.flat()
    plan = find_plan(flat, observe(flat, events), finder=Finder.GWMIN)
    segments: list[list[Segment]] = shared_segments(plan)
    rows = _finisher(flat)
    return (
        lambda: [aggregate_segments(flat.queries, events, segments)],
        lambda tables: _added_up(rows(tables)),
    )


def _finisher(workload: Workload) -> Callable[[list[Any]], list[ResultRow]]:
    return lambda tables: finish(
        workload, pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *tables])
    )


def _added_up(rows: list[ResultRow]) -> list[ResultRow]:
    """Rows of flattened queries (`<query>_<length>`, COUNT(*) alone) as those of the queries."""
    counts: Counter[ResultRow] = Counter()
    for row in rows:
        name = row.query.rpartition("_")[0]
        ((label, count),) = row.values
        assert isinstance(count, int)
        counts[ResultRow(name, row.group, row.window_start, row.window_end, ((label, None),))] += (
            count
        )
    return [
        ResultRow(r.query, r.group, r.window_start, r.window_end, ((r.values[0][0], count),))
        for r, count in counts.items()
    ]


def measure(name: str, task: Task, found: Found, limit: int, *, observed: bool) -> bool:
    """Add one measurement, made in a process of its own; False after `limit` seconds of CPU."""
    work, to_rows = prepare(name, task)
    first = EventTable(task.events.schema, task.events.table.slice(0, _FIRST))
    little, _ = prepare(name, replace(task, events=first))
    observer = _observer(name, task) if observed else None
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
        seconds, megabytes, answer, counts = here.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return False
        raise
    finally:
        process.kill()
        process.join()
    assert found.answer in ("", answer), f"{name} gives other rows than before"
    found.answer = answer
    found.seconds.append(seconds)
    found.megabytes.append(megabytes)
    found.counts |= counts
    return True


def _child(
    little: Work,
    work: Work,
    to_rows: Callable[[list[Any]], list[ResultRow]],
    observer: Callable[[], dict[str, int]] | None,
    limit: int,
    out: Connection,
) -> None:
    gc.disable()
    little()  # libraries and kernels are mapped anew in this process, and count as its memory
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    before = _memory("VmRSS")
    unlimited = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, unlimited[1]))
    began = time.process_time()
    result = work()
    times = [time.process_time() - began]
    grown = _memory("VmHWM") - before
    resource.setrlimit(resource.RLIMIT_CPU, unlimited)
    rows = to_rows(result)
    while times[0] < _SHORT and sum(times[1:]) < _ENOUGH:
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    # The first time also takes over pages of memory from the process that this one was forked off.
    seconds = statistics.median(times[1:] or times)
    out.send((seconds, grown / 1024, _fingerprint(rows), observer() if observer else {}))


def _memory(what: str) -> int:
    """Kilobytes that the system says of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))


def _fingerprint(rows: list[ResultRow]) -> str:
    texts = sorted(repr((row.query, row.group, int(row.window_start), row.values)) for row in rows)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _plan(task: Task, decisions: Decisions) -> RuntimePlan:
    queries = task.workload.queries
    sharing = sharable_sets(queries)
    sets = [HamletUnit.of(found, decisions) for found in sharing.sets]
    beside = [AloneUnit((query,)) for query, _ in sharing.beside]
    return RuntimePlan(queries, (), (*sets, *beside), ())


def _observer(name: str, task: Task) -> Callable[[], dict[str, int]] | None:
    if name not in _HAMLET:
        return None
    return lambda: _counts(task, _HAMLET[name])


def _counts(task: Task, decisions: Decisions) -> dict[str, int]:
    observers: list[Observer] = []

    def watch(_: object) -> Observer:
        observers.append(Observer(room=0))
        return observers[-1]

    sets = _plan(task, decisions).run(task.events, Request(observe=watch))
    assert sum(table.num_rows for table in sets)
    totals: Counter[str] = Counter()
    for watched in observers:
        totals.update(watched.counts)
    return dict(totals)
