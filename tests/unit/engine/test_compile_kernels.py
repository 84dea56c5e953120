"""Set-up compiles all that the executors call: nothing is left for anybody's first run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from elsinore.cli.main import run_command
from elsinore.engine.compile_kernels import compile_kernels, run_steps
from elsinore.engine.linear import sweep_sets
from elsinore.engine.plan import Executor
from elsinore.errors import ElsinoreError
from elsinore.events import EventTable
from elsinore.kernels.compiled import compiled_kernels
from elsinore.library.results import answer
from elsinore.query.bound import Workload
from elsinore.reference.budget import Budget
from tests.draws import draws
from tests.golden_cases import golden_cases
from tests.property.random_cases import random_case
from tests.property.random_workloads import random_workload

ROOT = Path(__file__).parents[3]
STREAMS = "cluster", "linear-road", "ridesharing", "stock"
COMPILED = tuple(executor for executor in Executor if executor is not Executor.TWOSTEP)


def test_no_executor_calls_a_kernel_that_set_up_does_not_compile(tmp_path: Path) -> None:
    """In a process of its own, where no other test has compiled anything."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(tmp_path)],
        check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == {"never": [], "later": []}


def _main(folder: Path) -> None:
    compile_kernels()
    run_steps()
    before = compiled_kernels()
    cases = [(Workload(case.events.schema, (case.query,)), case.events)
             for case in golden_cases("greta")]  # fmt: skip
    sets = [random_workload(f"short:{n}") for n in range(draws(8, 20))]
    sets += [random_workload(f"long:{n}") for n in range(draws(4, 8))]
    cases += [(found.workload, found.events) for found in sets]
    drawn = map(random_case, range(draws(30, 100)))
    cases += [(Workload(case.schema, (case.query,)), case.events) for case in drawn]
    for workload, events in cases:
        for executor in COMPILED:
            _answer(workload, events, executor)
    for stream in STREAMS:
        _run(stream, folder)
    later = {kernel: sorted(types - before[kernel]) for kernel, types in compiled_kernels().items()}
    never = sorted(kernel for kernel, types in before.items() if not types)
    print(json.dumps({"never": never, "later": [*filter(later.get, later)]}))


def _answer(workload: Workload, events: EventTable, executor: Executor) -> None:
    """What an executor must refuse is no matter here."""
    try:
        if executor is Executor.SWEEP:
            sets = [found.queries for found in sweep_sets(workload.queries)]
            for queries in sets:
                swept = Workload(workload.schema, queries)
                answer(swept, events, executor, Budget(1))
        else:
            answer(workload, events, executor, Budget(1))
    except ElsinoreError:
        pass


def _run(stream: str, folder: Path) -> None:
    """Events as they are read from files."""
    events = folder / f"{stream}.jsonl"
    name = stream.replace("-", "_")
    schema, workload = (f"{ROOT}/schemas/{part}" for part in (f"events/{name}.yaml",
                                                             f"workloads/{name}.sase"))  # fmt: skip
    generate = ["generate", stream, "--events", "3000", "--output", str(events)]
    assert run_command(generate) == 0
    for executor in COMPILED:
        run_command(["run", workload, "--schema", schema, "--input", str(events),
                     "--executor", executor, "--output", str(folder / "rows")])  # fmt: skip


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
