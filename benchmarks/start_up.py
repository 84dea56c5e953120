"""Start-up: the help, and the first query of a new process whose kernels are compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.claim import Measured, benchmark
from elsinore import __version__

ROUNDS = 5
EXAMPLE = Path(__file__).parents[1] / "docs" / "example"
START = (sys.executable, "-c", "from elsinore.cli import app; app()")
COMMAND = (
    *START, "run", str(EXAMPLE / "rides.sase"),
    "--schema", str(EXAMPLE / "rides.yaml"), "--input", str(EXAMPLE / "rides.jsonl"),
)  # fmt: skip

#: Arguments and variables of commands that import no engine, and words of their output.
LIGHT: dict[str, tuple[list[str], dict[str, str], str]] = {
    "--help": (["--help"], {}, "Project:"),
    "--version": (["--version"], {}, __version__),
    "run --help": (["run", "--help"], {}, "--executor"),
    "completion": (
        [],
        {
            "_ELSINORE_COMPLETE": "complete_bash",
            "COMP_WORDS": "elsinore run --exec",
            "COMP_CWORD": "2",
        },
        "--executor",
    ),
}


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


@benchmark(
    "help",
    "Help, version and completion of the command line import no engine",
    "`elsinore --help`, `--version` and completion of a command in bash",
    "s",
    at_most=0.3,
)
def show_help() -> Measured:
    """CPU seconds of the slowest of the commands that import no engine."""
    rows: list[dict[str, str | float]] = []
    for name, (arguments, environment, words) in LIGHT.items():
        _processor([*START, *arguments], environment, words)  # compiles bytecode
        used = [_processor([*START, *arguments], environment, words) for _ in range(ROUNDS)]
        rows.append({"command": name, "CPU seconds": median(used)})
    return Measured(
        max(float(row["CPU seconds"]) for row in rows),
        "that the output names a command or the version",
        tuple(rows),
        "CPU time, because other processes do not change it much.",
    )


def _processor(command: Sequence[str], environment: Mapping[str, str], words: str) -> float:
    """Return the CPU seconds of a command, whose output must have some words."""
    before = os.times()
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**_bytecode(), **environment}
    )
    after = os.times()
    assert words in done.stdout
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system


def _bytecode() -> dict[str, str]:
    """Return the environment, in which Python may keep compiled bytecode."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _timed(executor: str) -> tuple[float, float]:
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        [*COMMAND, "--executor", executor],
        check=True, capture_output=True, text=True, env=_bytecode(),
    )  # fmt: skip
    seconds, after = time.perf_counter() - began, os.times()
    (row,) = map(json.loads, done.stdout.splitlines())
    assert row["values"] == {"COUNT(*)": 11, "AVG(T.speed)": 5.5}
    used = after.children_user + after.children_system
    return seconds, used - before.children_user - before.children_system
