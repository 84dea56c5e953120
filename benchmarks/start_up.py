"""The first query of a new process, its kernels compiled before by another one.

`python -m benchmarks.start_up [--json]`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.alone import run_alone
from benchmarks.claim import Benchmark, Measured

ROUNDS = 5
EXAMPLE = Path(__file__).parents[1] / "docs" / "example"
COMMAND = (
    sys.executable, "-c", "from elsinore.cli import app; app()", "run", str(EXAMPLE / "rides.sase"),
    "--schema", str(EXAMPLE / "rides.yaml"), "--input", str(EXAMPLE / "rides.jsonl"),
)  # fmt: skip


def measure() -> Measured:
    """Elapsed seconds of `elsinore run` over the example of the README."""
    seconds = {
        executor: median(_timed(executor) for _ in range(ROUNDS)) for executor in ("auto", "greta")
    }
    return Measured(
        seconds["auto"],
        "the row of every run, worked out in docs/architecture.md",
        tuple({"executor": name, "seconds": found} for name, found in seconds.items()),
        "Elapsed time of the whole process.",
    )


def _timed(executor: str) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, "--executor", executor], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - began
    (row,) = map(json.loads, done.stdout.splitlines())
    assert row["values"] == {"COUNT(*)": 11, "AVG(T.speed)": 5.5}
    return seconds


BENCHMARK = Benchmark(
    "start-up",
    "the first query of a new process",
    "`elsinore run` over the README's example, interpreter and imports included",
    "s",
    2.0,
    False,
    measure,
)

if __name__ == "__main__":
    run_alone(BENCHMARK)
