"""What `auto` picks, against what is quicker: each set by greta, Hamlet, order trees, or swept.

Every case is run all ways and as `auto` picks. The cases are those that could refute a rule of
`executors.plan`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import (
    Way,
    comparable,
    events_of,
    seconds_in_turns,
    stream_of,
    workload_of,
)
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate_ordered import only_compares, ordered_sets
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import sweep_sets
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.plan import RuntimePlan, compile_plan
from elsinore.query.bound import Workload
from elsinore.sharing.observe import observe
from elsinore.sharing.sharable import sets_of

ROUNDS = 3
#: Events of a window up to which all pairs of them are looked at in reasonable time.
_PAIRS = 2_000
STARTS = 100
STREAM = stream_of(["B", *(f"S{n}" for n in range(STARTS))], "k", "x", "y")
#: No single comparison: true for one pair in ten.
GENERAL = "(B.x + NEXT(B).y) % 10 = 0"
#: Another for each query.
DIFFERING = "(B.x + NEXT(B).y) % 1{n} = 0"
COMPARISON = "B.x < NEXT(B).x"
LOCAL = "B.x < {n}00"


@dataclass(frozen=True)
class Case:
    """Queries over a stream of bursts; `{n}` is a query's number, `{m}` its last digit.

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
        text = (
            f"RETURN {self.returns} PATTERN {self.pattern} {where} WITHIN {within}"
            f" SLIDE {max(within // self.overlap, 1)}"
        )
        numbers = range(self.queries)
        texts = [text.replace("{n}", str(n)).replace("{m}", str(n % 10)) for n in numbers]
        return workload_of(STREAM, texts)

    def stream(self) -> EventTable:
        """The events."""
        starts = self.queries if self.starts < 0 else self.starts
        cycle = np.concatenate([np.arange(1, starts + 1), np.zeros(self.burst, int)])
        each = max(self.events // self.partitions, 1)
        kinds = np.repeat(np.tile(cycle, each // cycle.size + 1)[:each], self.partitions)
        dice = np.random.default_rng(7)
        values = {name: dice.integers(0, 1_000, kinds.size) for name in "xy"}
        return events_of(STREAM, kinds, k=np.tile(np.arange(self.partitions), each), **values)


CASES = (
    Case("plain, bursts of 3, 2 queries", 2, 3, 300_000, 30),
    Case("plain, bursts of 40, 2 queries", 2, 40, 300_000, 60),
    Case("plain, bursts of 3, 20 queries", 20, 3, 200_000, 60),
    Case("plain, bursts of 40, 20 queries", 20, 40, 200_000, 60),
    Case("plain, bursts of 40, 100 queries", 100, 40, 60_000, 140),
    Case("plain, one B+ for 20", 20, 40, 60_000, 50, pattern="B+", starts=0),
    Case("plain, sliding, 20 queries", 20, 10, 60_000, 60, overlap=10),
    Case("plain, wide counts, 20 queries", 20, 100, 30_000, 500),
    Case("plain, local predicates, 10 queries", 10, 20, 60_000, 60, LOCAL),
    Case("plain, 5,000 partitions, 10 queries", 10, 5, 100_000, 1_000, partitions=5_000),
    Case("general, bursts of 3, 2 queries", 2, 3, 8_000, 200, GENERAL),
    Case("general, bursts of 100, 2 queries", 2, 100, 8_000, 400, GENERAL),
    Case("general, bursts of 100, 20 queries", 20, 100, 8_000, 400, GENERAL),
    Case("general, bursts of 3, 20 queries", 20, 3, 8_000, 400, GENERAL),
    Case("general, bursts of 100, 100 queries", 100, 100, 8_000, 400, GENERAL),
    Case("general, sliding, 5 queries", 5, 50, 4_000, 400, GENERAL, overlap=8),
    Case("general, separate predicates, 10 queries", 10, 50, 8_000, 400, DIFFERING),
    Case("general, 5,000 partitions, 10 queries", 10, 5, 100_000, 1_000, GENERAL, partitions=5_000),
    Case("general, 50 partitions, 5 queries", 5, 20, 60_000, 200, GENERAL, partitions=50),
    Case("general, AVG and MAX, 10 queries", 10, 50, 8_000, 300, GENERAL,
         returns="COUNT(*), AVG(B.x), MAX(B.y)"),
    Case("general, very few events", 5, 10, 200, 100, GENERAL),
    Case("comparison, 10 queries", 10, 50, 8_000, 400, COMPARISON),
    Case("comparison, windows of 50, 20 queries", 20, 25, 8_000, 50, COMPARISON),
    Case("comparison, windows of 2,000, 20 queries", 20, 100, 20_000, 2_000, COMPARISON),
    Case("comparison, windows of 10,000, 20 queries", 20, 100, 200_000, 10_000, COMPARISON),
    Case("comparison, windows of 100,000, 5 queries", 5, 100, 200_000, 100_000, COMPARISON),
    Case("comparison, overlap 20, 2 queries", 2, 25, 30_000, 200, COMPARISON, overlap=20),
    Case("comparison, overlap 100, 20 queries", 20, 25, 10_000, 400, COMPARISON, overlap=100),
    Case("comparison, 5,000 partitions, 10 queries", 10, 5, 100_000, 1_000, COMPARISON,
         partitions=5_000),
    Case("comparison, MIN, windows of 50, 5 queries", 5, 25, 8_000, 50, COMPARISON,
         returns="MIN(B.y)"),
    Case("comparison, MIN, windows of 2,000, 5 queries", 5, 25, 20_000, 2_000, COMPARISON,
         returns="MIN(B.y)"),
    Case("comparison, MIN, windows of 600, 20 queries", 20, 25, 20_000, 600, COMPARISON,
         returns="MIN(B.y)"),
    Case("plain, SUM and MAX, 1 query", 1, 20, 300_000, 60, returns="SUM(B.x), MAX(B.y)"),
    Case("plain, SUM and MAX, overlap 10, 1 query", 1, 20, 60_000, 60,
         returns="SUM(B.x), MAX(B.y)", overlap=10),
    Case("plain, SUM and MAX, 10 queries", 10, 20, 60_000, 60, returns="SUM(B.x), MAX(B.y)"),
    Case("plain, overlap 1,000, 2 queries", 2, 20, 3_000, 2_000, overlap=1_000),
    Case("plain, 1,000 queries of 10 kinds", 1_000, 20, 10_000, 60, pattern="SEQ(S0, B+)",
         starts=1, where="B.x < {m}00"),
    Case("plain, 100,000 partitions, 2 queries", 2, 5, 1_000_000, 10, partitions=100_000),
)  # fmt: skip


@benchmark(
    "auto",
    "The automatic choice of the executor is nearly as fast as the best manual choice",
    "38 workloads with general, comparing or no edge predicates (plain); the worst choice",
    "times the time of the fastest",
    at_most=1.15,
)
def picks() -> Measured:
    """The worst pick over all cases."""
    rows = [measured(case) for case in CASES]
    return Measured(
        max(float(row["auto/best"]) for row in rows),
        "the rows of all executors and of auto against each other",
        tuple(rows),
        "CPU time in ms. `counting` and `choosing` are additional, once per run.",
    )


def measured(case: Case) -> dict[str, float | str]:
    """Times of one case by each executor and as `auto` picks."""
    workload, events = case.workload(), case.stream()
    statistics = observe(workload, events)
    plan, greta = compile_plan(workload, statistics), RuntimePlan.of(workload.queries)
    ways: dict[str, Callable[[], list[list[PartialRows]]]] = {"greta": partial(_run, greta, events)}
    sets = sets_of(workload).sets
    if sets and case.window <= _PAIRS:
        hamlet = RuntimePlan.of(workload.queries, sets=sets)
        ways["hamlet"] = partial(_run, hamlet, events)
    if ordered := [part for each in filter(only_compares, sets) for part in ordered_sets(each)]:
        trees = RuntimePlan.of(workload.queries, ordered=ordered)
        ways["order"] = partial(_run, trees, events)
    if swept := sweep_sets(workload.queries):
        ways["sweep"] = lambda: [aggregate_sweep(found, events) for found in swept]
    executors = list(ways)
    ways["auto"] = partial(_run, plan, events)
    rows = [comparable(way()) for way in ways.values()]
    assert all(other == rows[0] for other in rows), case.name
    timed: dict[str, Way] = {
        **ways,
        "counting": lambda: observe(workload, events),
        "choosing": lambda: compile_plan(workload, statistics),
    }
    times = {name: min(spent) for name, spent in seconds_in_turns(timed, ROUNDS).items()}
    fastest = min(times[name] for name in executors)
    return {
        "case": case.name,
        **{name: times[name] * 1e3 if name in times else "" for name in
           ("greta", "hamlet", "order", "sweep", "auto", "counting", "choosing")},
        "picks": "order" if plan.ordered else ", ".join({c.executor: 0 for c in plan.choices}),
        "auto/best": times["auto"] / fastest,
    }  # fmt: skip


def _run(plan: RuntimePlan, events: EventTable) -> list[list[PartialRows]]:
    return list(plan.run(events))
