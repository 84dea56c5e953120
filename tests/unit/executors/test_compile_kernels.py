"""Set-up compiles all that the executors call: nothing is left for anybody's first run.

Workloads are the business of `tests/golden` and `tests/property`, which use `compiled_by_set_up`.
"""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from elsinore import executors, numbers
from elsinore.cli.main import run_command
from elsinore.executors.compile_kernels import run_steps
from elsinore.executors.plan import Executor
from elsinore.numbers.compiled import compiled_kernels

ROOT = Path(__file__).parents[3]
STREAMS = "cluster", "linear-road", "ridesharing", "stock"


@pytest.mark.slow
def test_no_executor_calls_a_kernel_that_set_up_does_not_compile(tmp_path: Path) -> None:
    """In a process of its own, where no other test has compiled anything."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(tmp_path)],
        check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == {"never": [], "later": []}


def _main(folder: Path) -> None:
    for package in (numbers, executors):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    run_steps()
    before = compiled_kernels()
    for stream in STREAMS:
        _run(stream, folder)
    later = [kernel for kernel, types in compiled_kernels().items() if types - before[kernel]]
    never = sorted(kernel for kernel, types in before.items() if not types)
    print(json.dumps({"never": never, "later": later}))


def _run(stream: str, folder: Path) -> None:
    """Events as they are read from files; what an executor must refuse is no matter here."""
    events = folder / f"{stream}.jsonl"
    name = stream.replace("-", "_")
    schema, workload = (f"{ROOT}/schemas/{part}" for part in (f"events/{name}.yaml",
                                                             f"workloads/{name}.sase"))  # fmt: skip
    generate = ["generate", stream, "--events", "3000", "--output", str(events)]
    assert run_command(generate) == 0
    for executor in Executor:
        if executor is not Executor.TWOSTEP:
            run_command(["run", workload, "--schema", schema, "--input", str(events),
                         "--executor", executor, "--output", str(folder / "rows")])  # fmt: skip


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
