"""What `auto` picks, against what is quicker: each set by greta, Hamlet, or swept.

`python -m benchmarks.auto [--json]` runs every case all ways and as `auto` picks, checks that the
rows agree, and prints predictions beside times. `--calibrate` prints the costs for
`engine/hamlet/predicted.json`, fitted to other cases, drawn at random with a fixed seed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from scipy.optimize import least_squares, nnls

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.hamlet import aggregate_set
from elsinore.engine.hamlet.amounts import greta_amounts, hamlet_amounts
from elsinore.engine.hamlet.load import Amounts
from elsinore.engine.hamlet.predict import BOTH, predict_set
from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.plan import RuntimePlan, compile_plan, sample_profiles, sets_of
from elsinore.engine.sweep import aggregate_sweep, sweep_sets
from elsinore.events import EventTable, arrow_schema
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.results.partial import merge_partials
from elsinore.sharing.observe import observe
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
    if "--calibrate" in sys.argv:
        print(json.dumps(calibrated(), indent=2))
        return
    found = [measured(case) for case in CASES]
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    table = Table(*found[0], title=f"auto and sharable sets, best of {ROUNDS} rounds, milliseconds")
    for row in found:
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=180).print(table)


def measured(case: Case) -> dict[str, object]:
    """Times of one case by each executor and as `auto` picks, and what was predicted."""
    workload, events = case.workload(), case.stream()
    (found,) = sets_of(workload).sets
    statistics = observe(workload, events)
    profiles = sample_profiles(workload, events)
    plan = compile_plan(workload, statistics, events)
    names = tuple(query.name for query in found.queries)
    stream = Stream(statistics, profiles)
    together = predict_set(found, stream)
    predicted = {"greta": together.alone, "hamlet": together.together}
    ways: dict[str, Callable[[], Any]] = {
        "greta": partial(_run, RuntimePlan.of(workload.queries), events),
        "hamlet": partial(_run, RuntimePlan.of(workload.queries, sets=(names,)), events),
    }
    if swept := sweep_sets(workload.queries).sets:
        ways["sweep"] = lambda: [aggregate_sweep(swept[0], events)]
    picked = "sweep" if plan.sweeps else "hamlet" if plan.sets else "greta"
    ways |= {
        "auto": partial(_run, plan, events),
        "counting": lambda: observe(workload, events),
        "choosing": lambda: compile_plan(workload, statistics, events),
    }
    executors = [name for name in ("greta", "hamlet", "sweep") if name in ways]
    rows = [_normal(ways[name]()) for name in (*executors, "auto")]
    assert all(other == rows[0] for other in rows), case.name
    times = best(ways)
    fastest = min(times[name] for name in executors)
    return {
        "case": case.name,
        **{name: times[name] / 1e6 if name in times else "" for name in
           ("greta", "hamlet", "sweep", "auto", "counting", "choosing")},
        **{f"{name}, predicted": cost / 1e6 for name, cost in predicted.items()},
        "picks": picked,
        "pick/best": times[picked] / fastest,
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


def calibrated() -> dict[str, dict[str, float]]:
    """Nanoseconds for a unit of each kind of work, as `predicted.json` holds them."""
    lines: list[dict[tuple[str, str], float]] = []
    times: list[float] = []
    for case in random_cases(96):
        workload, events = case.workload(), case.stream()
        (found,) = sets_of(workload).sets
        stream = Stream(observe(workload, events), sample_profiles(workload, events))
        middle = len(found.queries) // 2
        query, template = found.queries[middle], found.merged.templates[middle]
        ways = {
            "greta": partial(aggregate_query, query, events),
            "hamlet": partial(aggregate_set, found, events),
        }
        for run in ways.values():
            run()
        cost = best(ways)
        lines.append(_named("greta", greta_amounts(query, template, stream)))
        lines.append(_named("hamlet", hamlet_amounts(found, stream)))
        times += [cost["greta"], cost["hamlet"]]
        if case.where == LOCAL:  # nothing passes the first query's
            idle = next(query for query in found.queries if query.name == "q0")
            lines.append({("greta", "idle"): 1.0})
            times.append(best({"idle": partial(aggregate_query, idle, events)})["idle"])
        print(json.dumps([case.name, cost]), file=sys.stderr)
    costs: dict[str, dict[str, float]] = {}
    for (executor, kind), cost_of in fitted(lines, times).items():
        costs.setdefault(executor, {})[kind] = cost_of
    return costs


def _named(executor: str, amounts: Amounts) -> dict[tuple[str, str], float]:
    """Kinds by executor; what both do costs the same."""
    return {
        ("both" if kind in BOTH else executor, kind): amount for kind, amount in amounts.items()
    }


def fitted(
    lines: Sequence[Mapping[tuple[str, str], float]],
    times: Sequence[float],
    guesses: Mapping[tuple[str, str], float] | None = None,
) -> dict[tuple[str, str], float]:
    """Costs of none below 0 that predict all times, by least squares of the ratios' logarithms.

    The search begins at the guesses, if there are any, else at least squares of the ratios.
    """
    kinds = list(dict.fromkeys(kind for line in lines for kind in line))
    table = np.array([[line.get(kind, 0.0) for kind in kinds] for line in lines])
    shares = table / np.array(times)[:, None]
    scale = np.maximum(shares.max(axis=0), 1e-30)
    if guesses is None:
        first, _ = nnls(shares / scale, np.ones(len(times)))
    else:
        first = np.array([guesses[kind] for kind in kinds]) * scale
    found = least_squares(
        lambda costs: np.log(np.maximum(shares / scale @ costs, 1e-9)),
        np.maximum(first, 1e-4),
        bounds=(0, np.inf),
    )
    costs = found.x / scale
    ratios = np.percentile(shares @ costs, [0, 10, 50, 90, 100]).round(2)
    print(f"predicted to measured, by percentiles: {ratios}", file=sys.stderr)
    return {kind: float(f"{cost:.3g}") for kind, cost in zip(kinds, costs, strict=True)}


def random_cases(number: int) -> list[Case]:
    """Cases of all kinds, the same ones each time."""
    dice = np.random.default_rng(11)
    found = []
    for each in range(number):
        where = ("", "", "", LOCAL, GENERAL, GENERAL, DIFFERING, COMPARISON)[each % 8]
        queries = int(dice.choice([2, 3, 5, 10, 20, 40]))
        case = Case(
            f"random {each}",
            queries if where != DIFFERING else min(queries, 10),
            int(dice.choice([1, 3, 10, 30, 100])),
            int(dice.choice([1_000, 30_000, 60_000, 200_000])),
            int(dice.choice([20, 60, 200])),
            where,
            int(dice.choice([1, 1, 1, 4, 10])),
            int(dice.choice([1, 1, 1, 30, 1_000])),
            starts=int(dice.choice([-1, -1, 1])),
            returns=str(dice.choice(["COUNT(*)", "COUNT(*)", "COUNT(*), SUM(B.x), MIN(B.y)"])),
        )
        if where in (GENERAL, DIFFERING, COMPARISON):
            case = replace(case, events=min(case.events, 10_000), queries=min(case.queries, 20))
        if where == COMPARISON and case.queries <= 5:
            case = replace(case, window=int(dice.choice([30, 1_000, 4_000])), overlap=1)
        if case.starts == 1:
            case = replace(case, pattern="SEQ(S0, B+)")
        if case.overlap > 1:
            case = replace(case, events=min(case.events, 30_000 // case.overlap))
        if case.partitions > 1:
            case = replace(case, events=max(3_000, min(case.events, 30_000)))
        if case.partitions > 100:
            case = replace(case, events=30_000, burst=min(case.burst, 10))
        found.append(case)
    return found


if __name__ == "__main__":
    main()
