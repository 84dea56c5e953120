"""A step of the pipeline: a module of `jobs/`, called in this process."""

from __future__ import annotations

import fcntl
import gc
import json
import logging
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from elsinore.errors import (
    ConflictError,
    ElsinoreError,
    EngineError,
    LostWorkerError,
    storage_failures,
)
from elsinore.places import make_home
from elsinore.settings import Settings
from elsinore.step_clock import timed_step
from elsinore.timeline import Interval

#: Libraries that steps need and that take long to import.
_LIBRARIES = (
    "deltalake", "lark", "numba", "pydantic_settings", "pyspark.sql.connect.session", "tenacity",
    "great_expectations", "scipy.optimize",
)  # fmt: skip


#: Result of a job: plain data for JSON.
Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a job: whole hours to process, and its run.

    Attributes:
        interval: the hours.
        run: id of the run; the history of tables shows it with each commit.
        page: the run's address in Airflow.
        ingested: whether the run ingested these hours.
        share: share of these hours in the run, between 0 and 1.
        workloads: names of the run's workloads; empty for the workload of the settings.
        by_hand: whether a user selected these hours; if not, hours of a stop before them are
            ingested, too.
    """

    interval: Interval
    run: str
    page: str | None = None
    ingested: bool = True
    share: float = 1.0
    workloads: tuple[str, ...] = ()
    by_hand: bool = False


def run_step(job: str, arguments: Arguments, settings: Settings) -> dict[str, Any]:
    """Calls `main(arguments, settings)` of a module in `jobs/` and returns its figures.

    They are plain data that JSON can hold.

    Raises:
        ElsinoreError: what the job raises.
        SetupError: the disk is full, or cannot be written; an object store refuses; the lake is of
            an earlier release, and must be migrated.
        StoreError: an object store does not answer.
        DataError: it holds what no path can name.
    """
    with storage_failures(), at_work(settings.local), timed_step():
        make_home(settings.home)
        settings.require_current()
        figures = load_job(job, settings).main(arguments, settings)
    return dict(json.loads(json.dumps(figures)))


@contextmanager
def at_work(home: Path, *, alone: bool = False) -> Iterator[None]:
    """Lock a home: shared for steps, or exclusive with `alone`.

    Raises:
        ConflictError: a step is running, and the lock is exclusive.
    """
    make_home(home)
    with (home / "steps.lock").open("a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        except BlockingIOError as error:
            raise ConflictError(
                f"a run is working in {home}",
                hint="pause the DAGs, wait for their runs, and run it again",
            ) from error
        yield


def load_job(job: str, settings: Settings) -> Any:
    """Return a module of `jobs/`, which is in the root and not in the package."""
    if (root := str(settings.root)) not in sys.path:
        sys.path.insert(0, root)
    return import_module(f"jobs.{job}")


def import_libraries() -> None:
    """Imports what steps need and what takes long, 5 s of a processor, for who has the time now."""
    os.environ["GX_ANALYTICS_ENABLED"] = "False"
    # It would log 200 skipped methods in every run.
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    for name in _LIBRARIES:
        import_module(name)


def collect_seldom() -> None:
    """Sets aside what has been imported, and looks for garbage less often than Python does."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    gc.enable()


class StepProcess:
    """A process that has imported what steps need before the first one comes; ends with ours."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        # Forked, so that it has what we have imported, and reads none of it again.
        fork = get_context("fork")
        self._steps, theirs = fork.Pipe()
        self._process = fork.Process(target=_run_steps, args=(theirs, self._steps), daemon=True)
        self._process.start()
        theirs.close()

    def run_step(self, job: str, arguments: Arguments, settings: Settings) -> dict[str, Any]:
        """As the function of this name does.

        Raises:
            ElsinoreError: what the job raises; other errors as an `EngineError`.
            LostWorkerError: the process is gone; the next step has another one.
        """
        outcome: Any = None
        try:
            self._steps.send((job, arguments, settings))
            outcome = self._steps.recv()
        except (EOFError, ConnectionError) as error:
            raise LostWorkerError(f"the process of {job} ended unexpectedly") from error
        finally:
            if outcome is None:  # it is gone, or Airflow does not wait for it any longer
                self._process.kill()
                self._process.join()
                self._start()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def _run_steps(steps: Connection, theirs: Connection) -> None:
    theirs.close()  # or the end of who sends would not be seen
    with suppress(Exception):  # the step itself reports it
        import_libraries()
        settings = Settings.load()
        for job in settings.root.glob("jobs/[a-z]*.py"):
            load_job(job.stem, settings)
    collect_seldom()
    with suppress(EOFError):
        while True:
            step = steps.recv()
            try:
                outcome: object = run_step(*step)
            except Exception as error:  # noqa: BLE001 - sent to who waits for it
                traceback.print_exc()  # into the log: no error takes its trace along
                outcome = error if isinstance(error, ElsinoreError) else EngineError(repr(error))
            steps.send(outcome)
