"""One point of the grid: a stream of some length through some queries, by one process or several.

The stream is made as it is read, so that no file is needed however long it is. A window of 10,000
events holds 20 starts, then 30 B among 9,950 N. Half of the queries are `SEQ(S, B+)`, half
`SEQ(S, N)`, each with a start type and a threshold of its own; a window that meets the threshold
counts 2**30 - 1 trends or 9,950, every other has no row.
`python -m benchmarks.scale.cell EVENTS QUERIES PART PARTS` prints what one process found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.streams import batch_runner, events_of, peak_megabytes, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.executors.input.in_order import aggregate_in_order
from elsinore.executors.plan import Executor, plan_for
from elsinore.query.bound import Workload

WINDOW, STARTS, BURST, LEVELS = 10_000, 20, 30, 50
#: Windows of a batch.
BATCH = 10

STREAM = stream_of(["B", "N", *(f"S{n}" for n in range(STARTS))], "x")


@dataclass(frozen=True)
class Cell:
    """What was measured.

    Attributes:
        events, queries, cores: the point; every core is a process with its part of the time.
        seconds: of the slower process, from Arrow columns to partial rows.
        processor: seconds of all processes on the processor.
        peak: of the larger process, MB, Python and compiled kernels included.
        rows: results.
    """

    events: int
    queries: int
    cores: int
    seconds: float
    processor: float
    peak: float
    rows: int


def measure(events: int, queries: int, cores: int) -> Cell:
    """Run a stream in so many processes side by side; every count and their number is checked."""
    command = [sys.executable, "-m", "benchmarks.scale.cell", str(events), str(queries)]
    running = [
        subprocess.Popen(
            [*command, str(part), str(cores)],
            stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        )
        for part in range(cores)
    ]  # fmt: skip
    parts = []
    for process in running:
        told, _ = process.communicate()
        assert process.returncode == 0, "an answer was wrong, or there was no memory for it"
        parts.append(json.loads(told))
    rows = sum(part["rows"] for part in parts)
    assert rows == expected_rows(0, events // WINDOW, queries), f"{rows} rows"
    return Cell(
        events, queries, cores,
        max(part["seconds"] for part in parts),
        sum(part["processor"] for part in parts),
        max(part["peak"] for part in parts),
        rows,
    )  # fmt: skip


def expected_rows(first: int, last: int, queries: int) -> int:
    """Rows of some windows: of each query those whose number modulo 50 reaches its threshold."""
    windows = np.arange(first, last) % LEVELS
    reached = np.bincount(windows, minlength=LEVELS)
    return sum(int(reached[_level(query) :].sum()) for query in range(queries))


def workload(queries: int) -> Workload:
    """The queries; those of even number have a Kleene plus."""
    texts = (
        f"PATTERN SEQ(S{query % STARTS} a, {'N' if query % 2 else 'B+'})"
        f" WHERE a.x >= {_level(query)} WITHIN {WINDOW}"
        for query in range(queries)
    )
    return workload_of(STREAM, list(texts))


def _level(query: int) -> int:
    return query // STARTS % LEVELS


def _events(first: int, windows: int) -> EventTable:
    """Some windows; the starts carry the number of their window modulo 50."""
    kinds = np.ones(WINDOW, np.int32)
    kinds[:STARTS] = 2 + np.arange(STARTS)
    kinds[STARTS + np.arange(BURST) * ((WINDOW - STARTS) // BURST)] = 0
    values = np.repeat(np.arange(first, first + windows) % LEVELS, WINDOW)
    times = first * WINDOW + np.arange(windows * WINDOW)
    return events_of(STREAM, np.tile(kinds, windows), times, x=values)


def run_part(events: int, queries: int, part: int, parts: int) -> dict[str, float]:
    """What one process does: the windows of its part of the time."""
    bound = workload(queries)
    sample = _events(0, BATCH)
    rows_of = batch_runner(plan_for(Executor.AUTO, bound, sample), STREAM)
    making = [0.0, 0.0]

    def batches(low: int, high: int) -> Iterator[pa.RecordBatch]:
        for first in range(low, high, BATCH):
            began = time.perf_counter(), time.process_time()
            made = _events(first, min(BATCH, high - first)).table.combine_chunks().to_batches()
            making[0] += time.perf_counter() - began[0]
            making[1] += time.process_time() - began[1]
            yield from made

    for _ in aggregate_in_order(batches(0, BATCH), WINDOW, rows_of):
        pass  # kernels are compiled or loaded, and are not timed
    windows = events // WINDOW
    low, high = windows * part // parts, windows * (part + 1) // parts
    making[:] = [0.0, 0.0]
    rows, began = 0, (time.perf_counter(), time.process_time())
    for table in aggregate_in_order(batches(low, high), WINDOW, rows_of):
        _check(table)
        rows += table.num_rows
    took = time.perf_counter() - began[0], time.process_time() - began[1]
    assert rows == expected_rows(low, high, queries)
    return {
        "seconds": took[0] - making[0],
        "processor": took[1] - making[1],
        "peak": peak_megabytes(),
        "rows": rows,
    }


def _check(table: pa.Table) -> None:
    """Each count of a table, by the kind of its query."""
    found = pa.table(
        {"query": table["query"], "count": table["counts"].combine_chunks().flatten()}
    ).group_by(["query", "count"]).aggregate([])  # fmt: skip
    for row in found.to_pylist():
        fixed = int(row["query"][1:]) % 2
        assert int(row["count"]) == (WINDOW - STARTS - BURST if fixed else 2**BURST - 1), row


if __name__ == "__main__":
    print(json.dumps(run_part(*map(int, sys.argv[1:5]))))
