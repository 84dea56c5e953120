"""Memory against the size of the input, events coming in the order of time, batch by batch.

Two processes read streams of different length and let go of them; their peaks are compared.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import batch_runner, events_of, peak_megabytes, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.executors.input.in_order import aggregate_in_order
from elsinore.executors.plan import compile_plan
from elsinore.sharing.observe import observe

SIZES = (2_000_000, 16_000_000)
QUERIES, LENGTH, BATCH = 20, 30, 100_000
STREAM = stream_of(["B", *(f"S{n}" for n in range(QUERIES))])
#: A window holds a start of each query and a burst of B.
WITHIN = QUERIES + LENGTH


@benchmark(
    "memory",
    "Memory depends on a pane and the open windows, not on the size of the input",
    "20 queries SEQ(x, B+) over 2 and 16 million events in batches",
    "times the peak with an eighth of the events",
    at_most=1.04,
)
def memory() -> Measured:
    """Peak memory of a process for each size."""
    rows = []
    for size in SIZES:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", str(size)],
            check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1],
        )  # fmt: skip
        rows.append(json.loads(done.stdout))
    low, high = (row["peak MB"] for row in rows)
    return Measured(
        high / low,
        "the number of rows, and each count, by its closed form",
        tuple(rows),
        "Peak resident memory of the whole process, Python and compiled kernels included.",
    )


def aggregate(size: int) -> dict[str, float]:
    """Run one stream through; its rows are checked and let go.

    Each window counts 2^LENGTH - 1 trends for each query.
    """
    queries = [f"PATTERN SEQ(S{n}, B+) WITHIN {WITHIN}" for n in range(QUERIES)]
    workload = workload_of(STREAM, queries)
    plan = compile_plan(workload, observe(workload, _events(0)))

    batches = (
        batch
        for first in range(0, size, BATCH)
        for batch in _events(first).table.combine_chunks().to_batches()
    )
    rows = 0
    for table in aggregate_in_order(batches, WITHIN, batch_runner(plan, STREAM)):
        counts = pc.unique(pc.list_flatten(table.column("counts"))).to_pylist()
        assert counts in ([], [str(2**LENGTH - 1)])
        rows += table.num_rows
    assert rows == size // WITHIN * QUERIES
    return {"events": size, "rows": rows, "peak MB": peak_megabytes()}


def _events(first: int) -> EventTable:
    window = np.concatenate([np.arange(1, QUERIES + 1), np.zeros(LENGTH, int)])
    return events_of(STREAM, np.tile(window, BATCH // WITHIN), first + np.arange(BATCH))


if __name__ == "__main__":
    print(json.dumps(aggregate(int(sys.argv[1]))))
