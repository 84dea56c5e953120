"""One try of a task: a job in a process of its own, struck at one of its points or left alone.

Each is forked from a process that has imported everything and has never talked to Spark, for gRPC
does not live on in a fork. It says how it ends through a pipe, which no full disk can stop.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from elsinore.errors import ElsinoreError
from elsinore.orchestration.run_step import Arguments, run_step
from elsinore.timeline import Interval, hour_label
from tests.faults.history import Place
from tests.faults.points import watch
from tests.faults.strikes import KINDS, Fault, Strike, limit_files, server_processes

_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    ["numba", "great_expectations", "jobs.publish_results", "jobs.find_plan", "jobs.ingest_events",
     "jobs.report_quality", "jobs.maintain_tables", "pyspark.sql.connect.session",
     "tests.faults.attempt"]
)  # fmt: skip

#: Seconds; longer than any job of these takes: whatever hangs is killed, and a finding.
_LIMIT = 900.0


@dataclass(frozen=True)
class Step:
    """A task of a run: a job over some hours, which the run has landed or others before it."""

    job: str
    interval: Interval
    ingested: bool = True

    def __str__(self) -> str:
        start, end = (hour_label(border) for border in (self.interval.start, self.interval.end))
        return f"{self.job} {start[-3:]}-{end[-2:]}"


@dataclass(frozen=True)
class Ended:
    """How a try ended.

    Attributes:
        error: class of the error that the job raised; empty if none, `killed` if it was.
        transient: whether Airflow tries it again.
        said: the error's text.
        point: where the fault struck; empty if the job did not come as far.
        hit: how many processes it struck.
        points: names of all points that the job passed, unless it was killed.
        figures: what the job found, if it came to its end.
        seconds: how long it took.
    """

    error: str = ""
    transient: bool = False
    said: str = ""
    point: str = ""
    hit: int = 0
    points: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        """Whether the job came to its end."""
        return not self.error

    def __str__(self) -> str:
        said = f" ({self.said[:110]})" if self.said else ""
        return f"{self.error or 'done'}{said} {self.seconds:.1f} s"


class Attempt:
    """A try that has begun."""

    def __init__(self, step: Step, place: Place, fault: Fault | None = None) -> None:
        self._place, self._fault, self._began = place, fault, time.monotonic()
        self._line, theirs = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(target=_work, args=(theirs, step, place, fault))
        self._process.start()
        theirs.close()
        self._point = ""
        self._ended: Ended | None = None

    def reach(self) -> None:
        """Waits until it is at its point, or has ended."""
        while not self._point and self._ended is None:
            self._hear()

    def end(self) -> Ended:
        """Lets it go on if it is held, and waits until it has ended."""
        if self._point:
            self._line.send("go on")
        while self._ended is None:
            self._hear()
        self._process.join(_LIMIT)
        self._line.close()
        if self._fault is not None and self._fault.kind == "disk":
            for process in server_processes(self._place.home):
                limit_files(process, None)
        return self._ended

    def _hear(self) -> None:
        try:
            told: Any = self._line.recv() if self._line.poll(_LIMIT) else None
        except (EOFError, ConnectionResetError):
            self._process.join()
            said = f"exit code {self._process.exitcode}"
            told = {"error": "killed", "transient": True, "said": said, "hit": 1}
        if told is None:
            self._process.kill()
            told = {"error": "hung", "said": f"for {_LIMIT} s"}
        if isinstance(told, str):
            self._point = told
        else:
            seconds = time.monotonic() - self._began
            self._ended = Ended(**told, point=self._point, seconds=seconds)


def attempt(step: Step, place: Place, fault: Fault | None = None) -> Ended:
    """A try from beginning to end."""
    return Attempt(step, place, fault).end()


def attempt_here(step: Step, place: Place) -> Ended:
    """The same in this process, which takes half the time: what was imported and read is there."""
    begun = time.monotonic()
    told = _try(step, place)
    return Ended(**told, seconds=time.monotonic() - begun)


def _try(step: Step, place: Place) -> dict[str, Any]:
    """A job's figures, or its error."""
    # Sessions are named after the server's home and the run.
    arguments = Arguments(
        step.interval, f"{place.run} in {place.place.name}", ingested=step.ingested
    )
    try:
        return {"figures": run_step(step.job, arguments, place)}
    except ElsinoreError as error:
        return {"error": type(error).__name__, "transient": error.transient, "said": str(error)}
    except Exception as error:  # noqa: BLE001  (it is told to whoever tries)
        return {"error": f"unnamed {type(error).__name__}", "said": str(error)}


def _work(line: Connection, step: Step, place: Place, fault: Fault | None) -> None:
    """What a process of a try does."""
    os.environ["TZ"] = place.zone
    time.tzset()
    points: list[str] = []
    strike = Strike(fault, place.home) if fault else None

    def cross(point: str) -> None:
        points.append(point)
        if strike is None or strike.fault.at not in (len(points), point):
            return
        line.send(point)
        if strike.fault.kind in KINDS:
            strike.begin()
        else:
            line.recv()
            strike.hit.append(os.getpid())

    watch(cross, place.place)
    told = _try(step, place)
    if strike is not None:
        strike.finish()
    line.send(told | {"points": tuple(points), "hit": len(strike.hit) if strike else 0})
