"""Jobs without their start-up: many times as many points for the same time.

Each job is a process of its own, killed as any other; but it is forked with its modules imported,
and the JVM that it talks to outlives it. What a dead driver leaves in that JVM is stopped before
the next job, and Delta's knowledge of tables is dropped; the job then makes a session of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import Any, Self

from tests.faults import family
from tests.faults.history import ROOT
from tests.faults.launch import JVM

#: Seconds; longer than any job of these takes: whatever hangs is killed, and a finding.
LIMIT = 900.0


class Warm:
    """A JVM and a nursery of jobs; a context that ends both."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = {**env, "PYTHONUNBUFFERED": "1"}
        self._keeper: _Talker | None = None
        self._nursery = _Talker("tests.faults.nursery", self._env)
        self._jvm: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._nursery.hear()
        return self

    def __exit__(self, *_: object) -> None:
        for talker in (self._keeper, self._nursery):
            if talker is not None:
                talker.end()

    def run(
        self, arguments: Sequence[str], env: Mapping[str, str], prints: Path
    ) -> tuple[int, str, str]:
        """Runs a job; its exit code (minus n: signal n), the last lines of its errors and output.

        What it prints goes to the files `prints` with `.stdout` and `.stderr`.
        """
        self._require_jvm()
        told = {
            "PYSPARK_GATEWAY_PORT": str(self._jvm["port"]),
            "PYSPARK_GATEWAY_SECRET": self._jvm["secret"],
            JVM: str(self._jvm["jvm"]),
        }
        output, errors = (prints.with_suffix(f".{name}") for name in ("stdout", "stderr"))
        self._nursery.say(
            arguments=list(arguments), env={**env, **told}, cwd=str(ROOT),
            output=str(output), errors=str(errors),
        )  # fmt: skip
        limit = Timer(LIMIT, family.kill, [[self._nursery.hear()["pid"]]])
        limit.start()
        code = int(self._nursery.hear()["code"])
        limit.cancel()
        self._stop_spark()
        texts = (path.read_text(errors="replace").splitlines() for path in (errors, output))
        said, printed = map(last_line, texts)
        return code, said, printed

    def _require_jvm(self) -> None:
        if self._keeper is None:
            self._keeper = _Talker("tests.faults.keeper", self._env)
            self._jvm = self._keeper.hear()

    def _stop_spark(self) -> None:
        assert self._keeper is not None
        pid = self._jvm["jvm"]
        if not _is_running(pid):
            self._keeper.end()
            self._keeper = None
            return
        for member in family.descendants([pid]):
            _, hard = resource.prlimit(member, resource.RLIMIT_FSIZE)
            resource.prlimit(member, resource.RLIMIT_FSIZE, (hard, hard))
        self._keeper.say()
        self._keeper.hear()


def last_line(lines: Sequence[str]) -> str:
    """The last that says anything; empty if there is none."""
    return next((line for line in reversed(lines) if line.strip()), "")


def _is_running(pid: int) -> bool:
    words = family.descendants([pid]).get(pid)
    return bool(words and words[0])


class _Talker:
    """A process that answers lines of JSON by lines of JSON."""

    def __init__(self, module: str, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self._name = module

    def say(self, **what: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"{self._name} has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Ends it with all that it started."""
        family.kill(family.descendants([self._process.pid]))
        self._process.communicate()
