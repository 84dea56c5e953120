"""From a frame at hand to results, against the engine alone over the same events."""

from __future__ import annotations

import time
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.from_events import DAY_OF, KINDS, QUERIES, ZONES, query_text
from benchmarks.streams import Way, medians
from elsinore.executors.plan import Executor, Request
from elsinore.files.read_events import read_events
from elsinore.library.results import Results, answer, process_cores
from elsinore.library.workload import sources_of, workload
from elsinore.results.row import sorted_rows
from elsinore.timeline import DAY

EVENTS, ROUNDS = 10_000_000, 5
_ALONE = "typed events, only the engine"


@benchmark(
    "frames",
    "A run on a DataFrame of 10 million rows takes little more time than the engine",
    "20 queries, SEQ(x, y+) and SEQ(x, y, z) by zone within 10 minutes, over one day in the order"
    " of time, as a table of Polars, DuckDB or Arrow; the slowest of these",
    "times the engine",
    at_most=1.3,
)
def frames() -> Measured:
    """`Workload.run` over each kind of frame, and what it calls over typed events."""
    types = "".join(
        f"  T{n}: {{zone: string, value: double, price: double}}\n" for n in range(KINDS)
    )
    schema = (
        f"stream: bench\ntime: {{field: time, unit: us}}\ntype: {{field: type}}\ntypes:\n{types}"
    )
    queries = workload("\n".join(map(query_text, range(QUERIES))), schema=schema)
    table = _day()
    events, report = read_events(sources_of(table), queries.schema, max_error_rate=0.0)

    def alone() -> Results:
        request = Request(threads=process_cores())
        rows = answer(queries.bound, events, Executor.AUTO, request=request)
        return Results(queries.bound, sorted_rows(rows), report)

    given = {
        "Arrow": table,
        "Polars": pl.from_arrow(table),
        "DuckDB": duckdb.from_arrow(table),
        "pandas, Arrow types": table.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas, strings as objects": table.to_pandas(),
    }
    expected = alone()
    assert sum(map(len, expected.values()))
    for name, frame in given.items():
        assert queries.run(frame) == expected, name
    ways: dict[str, Way] = {name: partial(queries.run, frame) for name, frame in given.items()}
    took = medians({_ALONE: alone} | ways, ROUNDS, time.perf_counter)
    ratios = {name: seconds / took[_ALONE] for name, seconds in took.items()}
    return Measured(
        max(ratio for name, ratio in ratios.items() if "pandas" not in name),
        "every result against the result of the engine over typed events",
        tuple({"from": n, "seconds": took[n], "times the engine": r} for n, r in ratios.items()),
        "pandas first converts its columns to Arrow, which takes most of its time.",
    )


def _day() -> pa.Table:
    dice = np.random.default_rng(1)
    zones, kinds = (pa.array([f"{what}{n}" for n in range(many)])
                    for what, many in (("zone ", ZONES), ("T", KINDS)))  # fmt: skip
    times = np.sort(DAY_OF.start + dice.integers(0, DAY, EVENTS))
    return pa.table(
        {
            "time": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "type": kinds.take(pa.array(dice.integers(0, KINDS, EVENTS))),
            "zone": zones.take(pa.array(dice.integers(0, ZONES, EVENTS))),
            "value": dice.random(EVENTS),
            "price": dice.integers(0, 1000, EVENTS) / 4,  # sums are exact in any order
        }
    )
