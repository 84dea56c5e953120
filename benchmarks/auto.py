"""What `auto` picks, against what is quicker: each set by greta, Hamlet, or swept.

`python -m benchmarks.auto [--json]` runs every case all ways and as `auto` picks, and checks that
the rows agree. The cases are those that could refute a rule of `engine.plan`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.engine.plan import RuntimePlan, compile_plan
from elsinore.engine.sweep import aggregate_sweep, sweep_sets
from elsinore.events import EventTable, arrow_schema
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.results.partial import merge_partials
from elsinore.sharing.observe import observe
from elsinore.sharing.sharable import sets_of
from elsinore.timeline import TimeUnit

ROUNDS = 3
STARTS = 100
TYPES = ("B", *(f"S{n}" for n in range(STARTS)))
SCHEMA = StreamSchema(
    "bench",
    "time",
    TimeUnit.INTEGER,
    "type",
    None,
    tuple(
        EventType(t, tuple(Attribute(n, AttributeType.LONG) for n in ("k", "x", "y")))
        for t in TYPES
    ),
)
#: No single comparison: true for one pair in ten.
GENERAL = "(B.x + NEXT(B).y) % 10 = 0"
#: Another for each query.
DIFFERING = "(B.x + NEXT(B).y) % 1{n} = 0"
COMPARISON = "B.x < NEXT(B).x"
LOCAL = "B.x < {n}00"


@dataclass(frozen=True)
class Case:
    """Queries over a stream of bursts; `{n}` is a query's number.

    In each partition one event of each start type comes before each burst of B.

    Attributes:
        name: of the case.
        queries: how many.
        burst: events of a burst.
        events: of the stream, about.
        window: events of a partition that a window holds.
        where: predicates.
        overlap: windows that hold an instant.
        partitions: by `k`; the events of all take turns.
        pattern: of each query.
        starts: start types; each its own by default.
        returns: the aggregates.
    """

    name: str
    queries: int
    burst: int
    events: int
    window: int
    where: str = ""
    overlap: int = 1
    partitions: int = 1
    pattern: str = "SEQ(S{n}, B+)"
    starts: int = -1
    returns: str = "COUNT(*)"

    def workload(self) -> Workload:
        """The queries, bound."""
        within = self.window * self.partitions
        keys = "[k]" if self.partitions > 1 else ""
        conditions = " AND ".join(filter(None, (keys, self.where)))
        where = f"WHERE {conditions}" if conditions else ""
        texts = (
            f"QUERY q{n} RETURN {self.returns} PATTERN {self.pattern} {where} WITHIN {within}"
            f" SLIDE {max(within // self.overlap, 1)};".replace("{n}", str(n))
            for n in range(self.queries)
        )
        return bind_workload(parse_workload("".join(texts)), SCHEMA)

    def stream(self) -> EventTable:
        """The events."""
        starts = self.queries if self.starts < 0 else self.starts
        cycle = np.concatenate([np.arange(1, starts + 1), np.zeros(self.burst, int)])
        each = max(self.events // self.partitions, 1)
        kinds = np.repeat(np.tile(cycle, each // cycle.size + 1)[:each], self.partitions)
        dice = np.random.default_rng(7)
        columns = [np.arange(kinds.size), kinds.astype(np.int32)]
        columns += [np.tile(np.arange(self.partitions), each)]
        columns += [dice.integers(0, 1_000, kinds.size) for _ in "xy"]
        arrays = [pa.array(column) for column in columns]
        return EventTable(SCHEMA, pa.Table.from_arrays(arrays, schema=arrow_schema(SCHEMA)))


CASES = (
    Case("collapsed, bursts of 3, 2 queries", 2, 3, 300_000, 30),
    Case("collapsed, bursts of 40, 2 queries", 2, 40, 300_000, 60),
    Case("collapsed, bursts of 3, 20 queries", 20, 3, 200_000, 60),
    Case("collapsed, bursts of 40, 20 queries", 20, 40, 200_000, 60),
    Case("collapsed, bursts of 40, 100 queries", 100, 40, 60_000, 140),
    Case("collapsed, one B+ for 20", 20, 40, 60_000, 50, pattern="B+", starts=0),
    Case("collapsed, sliding, 20 queries", 20, 10, 60_000, 60, overlap=10),
    Case("collapsed, wide counts, 20 queries", 20, 100, 30_000, 500),
    Case("collapsed, local predicates, 10 queries", 10, 20, 60_000, 60, LOCAL),
    Case("collapsed, 5,000 partitions, 10 queries", 10, 5, 100_000, 1_000, partitions=5_000),
    Case("general, bursts of 3, 2 queries", 2, 3, 8_000, 200, GENERAL),
    Case("general, bursts of 100, 2 queries", 2, 100, 8_000, 400, GENERAL),
    Case("general, bursts of 100, 20 queries", 20, 100, 8_000, 400, GENERAL),
    Case("general, bursts of 3, 20 queries", 20, 3, 8_000, 400, GENERAL),
    Case("general, bursts of 100, 100 queries", 100, 100, 8_000, 400, GENERAL),
    Case("general, sliding, 5 queries", 5, 50, 4_000, 400, GENERAL, overlap=8),
    Case("general, each its own, 10 queries", 10, 50, 8_000, 400, DIFFERING),
    Case("general, 5,000 partitions, 10 queries", 10, 5, 100_000, 1_000, GENERAL, partitions=5_000),
    Case("general, 50 partitions, 5 queries", 5, 20, 60_000, 200, GENERAL, partitions=50),
    Case("comparison, 10 queries", 10, 50, 8_000, 400, COMPARISON),
    Case("comparison, windows of 50, 20 queries", 20, 25, 8_000, 50, COMPARISON),
    Case("comparison, windows of 2,000, 20 queries", 20, 100, 20_000, 2_000, COMPARISON),
    Case("comparison, windows of 10,000, 5 queries", 5, 100, 30_000, 10_000, COMPARISON),
    Case("general, AVG and MAX, 10 queries", 10, 50, 8_000, 300, GENERAL,
         returns="COUNT(*), AVG(B.x), MAX(B.y)"),
    Case("general, very few events", 5, 10, 200, 100, GENERAL),
)  # fmt: skip


def main() -> None:
    """Run what the command line asks for."""
    found = [measured(case) for case in CASES]
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    table = Table(*found[0], title=f"auto and sharable sets, best of {ROUNDS} rounds, milliseconds")
    for row in found:
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=180).print(table)


def measured(case: Case) -> dict[str, object]:
    """Times of one case by each executor and as `auto` picks."""
    workload, events = case.workload(), case.stream()
    statistics = observe(workload, events)
    plan, greta = compile_plan(workload, statistics), RuntimePlan.of(workload.queries)
    ways: dict[str, Callable[[], Any]] = {"greta": partial(_run, greta, events)}
    if sets := sets_of(workload).sets:
        hamlet = RuntimePlan.of(workload.queries, sets=sets)
        ways["hamlet"] = partial(_run, hamlet, events)
    if swept := sweep_sets(workload.queries).sets:
        ways["sweep"] = lambda: [aggregate_sweep(swept[0], events)]
    executors = list(ways)
    ways |= {
        "auto": partial(_run, plan, events),
        "counting": lambda: observe(workload, events),
        "choosing": lambda: compile_plan(workload, statistics),
    }
    rows = [_normal(ways[name]()) for name in (*executors, "auto")]
    assert all(other == rows[0] for other in rows), case.name
    times = best(ways)
    fastest = min(times[name] for name in executors)
    return {
        "case": case.name,
        **{name: times[name] / 1e6 if name in times else "" for name in
           ("greta", "hamlet", "sweep", "auto", "counting", "choosing")},
        "picks": ", ".join(dict.fromkeys(choice.executor for choice in plan.choices)),
        "auto/best": times["auto"] / fastest,
    }  # fmt: skip


def _run(plan: RuntimePlan, events: EventTable) -> list[pa.Table]:
    return list(plan.run(events))


def best(ways: Mapping[str, Callable[[], Any]]) -> dict[str, float]:
    """Nanoseconds of the processor, the ways run in turns; so what else runs does not count."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, run in ways.items():
            began = time.process_time_ns()
            run()
            found[name] = min(found[name], time.process_time_ns() - began)
    return found


def _normal(tables: Sequence[pa.Table]) -> list[tuple[object, ...]]:
    rows = merge_partials(pa.concat_tables(tables)).to_pylist()
    return sorted((r["query"], r["group"], r["window_start"], tuple(r["counts"])) for r in rows)


if __name__ == "__main__":
    main()
