"""What an event costs the greta executor: each construct against the plain case, in one run.

The plain case is `A+` in tumbling windows whose counts fit 64 bits. Every answer is checked against
its closed form. `python -m benchmarks.greta_cost [--json]`.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.engine.aggregate import aggregate_query
from elsinore.events.table import EventTable, arrow_schema
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery
from elsinore.query.parse import parse_workload
from elsinore.timeline import TimeUnit

ROUNDS = 5
SCHEMA = StreamSchema(
    "bench",
    "time",
    TimeUnit.INTEGER,
    "type",
    None,
    (EventType("A", tuple(Attribute(n, AttributeType.LONG) for n in ("k", "x"))),),
)


@dataclass(frozen=True)
class Case:
    """A query over `events` events at times 0, 1, ...; `x` rises with time, `k` = time mod `keys`.

    A window of n events of one key has 2^n - 1 trends.
    """

    name: str
    query: str
    events: int
    window_events: int
    keys: int = 1


CASES = (
    Case("plain: A+", "PATTERN A+ WITHIN 50", 500_000, 50),
    Case("grouped by 1,000 keys", "PATTERN A+ GROUP-BY k WITHIN 50000", 500_000, 50, 1_000),
    Case("windows overlap 10 times", "PATTERN A+ WITHIN 50 SLIDE 5", 50_000, 50),
    Case("edge predicate", "PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 50", 100_000, 50),
    Case("128 bit", "PATTERN A+ WITHIN 100", 100_000, 100),
    Case("1,000 bit", "PATTERN A+ WITHIN 1000", 100_000, 1_000),
)


def main() -> None:
    """Run all cases in turns, check them, print nanoseconds an event and the ratio to plain."""
    prepared = [(case, _query(case), _events(case)) for case in CASES]
    for case, query, events in prepared:
        _check(case, aggregate_query(query, events))  # compiles, or loads what was compiled
    seconds: dict[str, list[float]] = {case.name: [] for case in CASES}
    for _ in range(ROUNDS):
        for case, query, events in prepared:
            began = time.perf_counter()
            aggregate_query(query, events)
            seconds[case.name].append(time.perf_counter() - began)
    cost = {c.name: statistics.median(seconds[c.name]) / c.events * 1e9 for c in CASES}
    plain = cost[CASES[0].name]
    if "--json" in sys.argv:
        print(json.dumps({n: {"ns_per_event": c, "ratio": c / plain} for n, c in cost.items()}))
        return
    table = Table("case", "ns an event", "to plain", title=f"greta, median of {ROUNDS} rounds")
    for name, value in cost.items():
        table.add_row(name, f"{value:,.0f}", f"{value / plain:.2f}")
    Console().print(table)


def _query(case: Case) -> BoundQuery:
    text = f"QUERY q RETURN COUNT(*) {case.query};"
    return bind_workload(parse_workload(text), SCHEMA).queries[0]


def _events(case: Case) -> EventTable:
    times = np.arange(case.events)
    columns = [times, np.zeros(case.events, np.int32), times % case.keys, times]
    arrays = [pa.array(column) for column in columns]
    return EventTable(SCHEMA, pa.Table.from_arrays(arrays, schema=arrow_schema(SCHEMA)))


def _check(case: Case, rows: pa.Table) -> None:
    expected = str(2**case.window_events - 1)
    inside = [
        r for r in rows.to_pylist() if 0 <= r["window_start"] <= r["window_end"] <= case.events
    ]
    assert inside, case.name
    assert all(row["counts"] == [expected] for row in inside), case.name


if __name__ == "__main__":
    main()
