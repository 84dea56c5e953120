"""The first query of a new process; another one has compiled its kernels and bytecode before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.claim import Measured, benchmark

ROUNDS = 5
EXAMPLE = Path(__file__).parents[1] / "docs" / "example"
COMMAND = (
    sys.executable, "-c", "from elsinore.cli import app; app()", "run", str(EXAMPLE / "rides.sase"),
    "--schema", str(EXAMPLE / "rides.yaml"), "--input", str(EXAMPLE / "rides.jsonl"),
)  # fmt: skip


@benchmark(
    "start-up",
    "The first query of a new process returns within seconds",
    "`elsinore run` over the example of the README, with interpreter and imports",
    "s",
    at_most=2.0,
)
def start_up() -> Measured:
    """Elapsed seconds of `elsinore run` over the example of the README."""
    rows = []
    for executor in ("auto", "greta"):
        _timed(executor)  # leaves behind what the others find
        rounds = [_timed(executor) for _ in range(ROUNDS)]
        elapsed, of_processor = (median(found) for found in zip(*rounds, strict=True))
        rows.append({"executor": executor, "seconds": elapsed, "CPU seconds": of_processor})
    return Measured(
        float(rows[0]["seconds"]),
        "the row of every run, computed in docs/internals/architecture.md",
        tuple(rows),
        "Elapsed time of the whole process, and its CPU time.",
    )


def _timed(executor: str) -> tuple[float, float]:
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [*COMMAND, "--executor", executor],
        check=True, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    seconds, after = time.perf_counter() - began, os.times()
    (row,) = map(json.loads, done.stdout.splitlines())
    assert row["values"] == {"COUNT(*)": 11, "AVG(T.speed)": 5.5}
    used = after.children_user + after.children_system
    return seconds, used - before.children_user - before.children_system
