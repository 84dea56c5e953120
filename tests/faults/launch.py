"""`python -m tests.faults.launch JOB ...`: runs a job, and at one of its points strikes it.

The job is the module that the pipeline runs, with its arguments, in this process. What is to happen
is told by the variable `FAULT`, a JSON object; without it the job's points are written to the file
that the variable `TRACE` names.
"""

from __future__ import annotations

import json
import os
import resource
import runpy
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from tests.faults import family
from tests.faults.crossings import watch

FAULT, TRACE, MARK = "ELSINORE_FAULT", "ELSINORE_FAULT_TRACE", "ELSINORE_FAULT_MARK"
#: The id of a JVM that this job did not start itself.
JVM = "ELSINORE_FAULT_JVM"

#: How long a Python worker is waited for, in seconds.
_LOOK = 20.0

Told = Mapping[str, Any]


def main() -> None:
    """Arms the fault, then becomes the job."""
    # The interpreter has put this program's name where the job expects its own.
    del sys.argv[0]
    watch(_armed() if FAULT in os.environ else _traced(), os.environ["ELSINORE_HOME"])
    # The operator starts `-m jobs.<name>`: the same here, with our argument cut off.
    runpy.run_module(f"jobs.{sys.argv[0]}", run_name="__main__", alter_sys=True)


def _traced() -> Callable[[str], None]:
    names = Path(os.environ[TRACE]).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115

    def tell(point: str) -> None:
        names.write(f"{point}\n")

    return tell


def _armed() -> Callable[[str], None]:
    fault = json.loads(os.environ[FAULT])
    passed = [0]

    def count(point: str) -> None:
        passed[0] += 1
        if passed[0] != fault["at"]:
            return
        Path(fault["note"]).write_text(point, encoding="utf-8")
        if fault["after"]:
            Thread(target=_later, args=(fault,), daemon=True).start()
        else:
            STRIKES[fault["kind"]](fault)

    return count


def _later(fault: Told) -> None:
    time.sleep(fault["after"])
    STRIKES[fault["kind"]](fault)


def _roots() -> list[int]:
    return [os.getpid(), *([int(os.environ[JVM])] if JVM in os.environ else [])]


def _worker(_: Told) -> None:
    """One Python worker, the next that works."""

    def look() -> None:
        end = time.monotonic() + _LOOK
        while time.monotonic() < end:
            if found := family.workers(_roots()):
                family.kill(found[:1])
                return
            time.sleep(0.003)

    Thread(target=look, daemon=True).start()


def _workers(_: Told) -> None:
    """Every Python worker from now on: no try of a task of Spark's can succeed."""

    def look() -> None:
        while True:
            family.kill(family.workers(_roots()))
            time.sleep(0.003)

    Thread(target=look, daemon=True).start()


def _disk(fault: Told) -> None:
    """No file grows beyond a few bytes any more, in any process of the job.

    The system signals it as well, which the JVM and Python ignore; writing then fails (EFBIG) as it
    does on a full disk (ENOSPC).
    """
    for pid in family.descendants(_roots()):
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (fault["bytes"], hard))


def _hold(fault: Told) -> None:
    """Waits here until somebody outside has done what he wants to do meanwhile."""
    while not Path(fault["go_on"]).exists():
        time.sleep(0.02)


#: What happens to the job, by the kind of fault.
STRIKES: Mapping[str, Callable[[Told], None]] = {
    "driver": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "group": lambda _: os.killpg(os.getpgrp(), signal.SIGKILL),
    "jvm": lambda _: family.kill(family.jvms(_roots())),
    "daemon": lambda _: family.kill(family.daemon(_roots())),
    "worker": _worker,
    "workers": _workers,
    "disk": _disk,
    # Somebody outside waits for the note, and ends the task in one way or another.
    "task ended": _hold,
    "task killed": _hold,
    "held": _hold,
}


if __name__ == "__main__":
    main()
