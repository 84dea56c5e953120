"""One try of a task: a job in a process group, as the operator starts it, struck or left alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from elsinore.orchestration.job_command import job_command
from elsinore.orchestration.process_group import ProcessGroup
from elsinore.orchestration.retry_rule import Verdict, judge_exit
from elsinore.timeline import Interval
from tests.faults import family
from tests.faults.history import ROOT, Home
from tests.faults.launch import FAULT, MARK, TRACE
from tests.faults.warm import LIMIT, Warm, last_line

#: Files in a home: the point that a job was struck at, and the sign that it may go on.
NOTE, GO_ON = "fault.point", "fault.go_on"


@dataclass(frozen=True)
class Fault:
    """What happens to a job, where.

    Attributes:
        kind: one of `launch.STRIKES`.
        at: at which of the job's points, counted from 1.
        after: seconds after that point; 0: right there.
        bytes: for `disk`, how large a file may get.
    """

    kind: str
    at: int
    after: float = 0.0
    bytes: int = 0


@dataclass(frozen=True)
class Ended:
    """How a try ended.

    Attributes:
        code: exit code; minus n stands for signal n; `None`: its task was killed, with no word.
        said: the last line of standard error.
        point: where the fault struck; empty if the job did not come as far.
        seconds: how long it took.
        left: processes of the job that were still there afterwards.
        figures: the job's figures, if it came to its end.
    """

    code: int | None
    said: str
    point: str
    seconds: float
    left: tuple[int, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """What the operator makes of it; a killed task is tried again by Airflow itself."""
        return Verdict.RETRY if self.code is None else judge_exit(self.code)


@dataclass
class Job:
    """A job over an interval in a home.

    Attributes:
        name: the module in `jobs/`.
        variables: what its environment holds beside the home's.
    """

    name: str
    interval: Interval
    home: Home
    variables: Mapping[str, str] = field(default_factory=dict)

    def argv(self) -> list[str]:
        """The operator's command line, with the launcher in front of the job."""
        python, option, _, *arguments = job_command(self.name, self.interval)
        return [python, option, "tests.faults.launch", self.name, *arguments]

    def run(
        self,
        fault: Fault | None = None,
        *,
        trace: Path | None = None,
        warm: Warm | None = None,
        notes: str = "",
    ) -> Ended:
        """Runs it once, to whatever end.

        Args:
            fault: what happens to it.
            trace: where to write the names of its points, if nothing happens to it.
            warm: a JVM and a process to fork it from, without its start-up.
            notes: tells its files apart from those of another job that runs in this home.
        """
        env = {**self.home.environment, "ELSINORE_RUN_ID": "faults", **self.variables}
        env[MARK] = f"{self.home.path} {time.monotonic_ns()}"
        note, go_on = self.home.path / (NOTE + notes), self.home.path / (GO_ON + notes)
        for path in (note, go_on):
            path.unlink(missing_ok=True)
        if fault is not None:
            env[FAULT] = json.dumps(asdict(fault) | {"note": str(note), "go_on": str(go_on)})
        else:
            env[TRACE] = str(trace or os.devnull)
        began = time.monotonic()
        code: int | None
        printed = ""
        if warm is not None:
            code, said, printed = warm.run(self.argv()[3:], env, self.home.path / f"job{notes}")
        elif fault is not None and fault.kind == "task killed":
            code, said = _with_killed_task(self.argv(), env, note)
        else:
            ending = note if fault is not None and fault.kind == "task ended" else None
            code, said, printed = _in_group(self.argv(), env, ending)
        point = note.read_text(encoding="utf-8") if note.exists() else ""
        left = tuple(family.marked(MARK, env[MARK]))
        figures = json.loads(printed) if code == 0 and printed else {}
        return Ended(code, said, point, time.monotonic() - began, left, figures)


def _in_group(
    argv: Sequence[str], env: Mapping[str, str], end_at: Path | None
) -> tuple[int, str, str]:
    """In this process, as the operator does; ended as on a timeout when `end_at` appears."""
    errors: list[str] = []
    group = ProcessGroup(argv, cwd=ROOT, env=env)
    ended = [False]

    def watch() -> None:
        deadline = time.monotonic() + LIMIT
        while not ended[0]:
            if (end_at is not None and end_at.exists()) or time.monotonic() > deadline:
                group.end()
                return
            time.sleep(0.05)

    Thread(target=watch, daemon=True).start()
    output: list[str] = []
    code = group.run(on_output=output.append, on_error=errors.append)
    ended[0] = True
    return code, last_line(errors), last_line(output)


_RUNNER = """
import json, sys
from pathlib import Path
from elsinore.orchestration.process_group import ProcessGroup
argv, cwd, env = json.load(sys.stdin)
code = ProcessGroup(argv, cwd=Path(cwd), env=env).run(on_output=print, on_error=print)
sys.exit(code if code >= 0 else 128 - code)
"""


def _with_killed_task(
    argv: Sequence[str], env: Mapping[str, str], note: Path
) -> tuple[int | None, str]:
    """In a process of its own, which is killed when `note` appears, as Airflow's tasks may be."""
    task = subprocess.Popen(
        [sys.executable, "-c", _RUNNER],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
        cwd=ROOT, env=dict(env),
    )  # fmt: skip
    assert task.stdin is not None
    json.dump([list(argv), str(ROOT), dict(env)], task.stdin)
    task.stdin.close()
    deadline = time.monotonic() + LIMIT
    while task.poll() is None and not note.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    if task.poll() is not None:
        return task.returncode, ""
    task.send_signal(signal.SIGKILL)
    task.wait()
    # Airflow takes minutes to notice; the watchman is to be done within seconds.
    deadline = time.monotonic() + 10
    while family.marked(MARK, env[MARK]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return None, ""
