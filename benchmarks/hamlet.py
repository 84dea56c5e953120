"""Hamlet: shared against greta and not shared, over burst lengths and numbers of queries.

Each query is `SEQ(Si, B+)` with a start type of its own. Every answer is checked against greta's.
`python -m benchmarks.hamlet [--sweep] [--json]`; `--calibrate` prints the costs for
`engine/hamlet/costs.json`.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from scipy.optimize import nnls

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.hamlet import aggregate_set
from elsinore.engine.hamlet.decisions import ALWAYS, DYNAMIC, NEVER
from elsinore.engine.hamlet.observe import Observer
from elsinore.events.table import EventTable, arrow_schema
from elsinore.lowering.sharable import SharableSet, sharable_set
from elsinore.query.bind_query import bind_workload
from elsinore.query.parse import parse_workload
from elsinore.timeline import TimeUnit

ROUNDS = 5
MOST_QUERIES = 100
TYPES = ("B", *(f"S{n}" for n in range(MOST_QUERIES)))
SCHEMA = StreamSchema(
    "bench",
    "time",
    TimeUnit.INTEGER,
    "type",
    None,
    tuple(EventType(t, tuple(Attribute(n, AttributeType.LONG) for n in ("x", "y"))) for t in TYPES),
)
#: No single comparison: true for one pair in ten.
GENERAL = "WHERE (B.x + NEXT(B).y) % 10 = 0"


@dataclass(frozen=True)
class Case:
    """`queries` queries over `bursts` bursts of `length` events, `per_window` of them a window.

    A burst follows one event of each start type.
    """

    name: str
    where: str
    queries: int
    length: int
    bursts: int
    per_window: int = 1

    @property
    def events(self) -> int:
        """Events of the stream."""
        return self.bursts * (self.length + self.queries)

    @property
    def within(self) -> int:
        """Length of the tumbling windows."""
        return self.per_window * (self.length + self.queries)


def main() -> None:
    """Run what the command line asks for."""
    if "--calibrate" in sys.argv:
        print(json.dumps(calibrated(), indent=2))
        return
    cases = sweep_cases() if "--sweep" in sys.argv else bar_cases()
    found = [measured(case, against_greta="--sweep" not in sys.argv) for case in cases]
    if "--json" in sys.argv:
        print(json.dumps(found, indent=2))
        return
    table = Table(*found[0], title=f"Hamlet, median of {ROUNDS} rounds, microseconds an event")
    for row in found:
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=160).print(table)


def bar_cases() -> list[Case]:
    """The bar of spec section 8, and collapsed states beside it."""
    return [
        Case("general edge predicate", GENERAL, 20, 100, 100, 4),
        Case("general edge predicate, one burst a window", GENERAL, 20, 100, 200),
        Case("no predicate", "", 20, 40, 2_000),
        Case("no predicate, wide counts", "", 20, 100, 200, 4),
    ]


def sweep_cases() -> list[Case]:
    """Burst lengths 1 to 1,000, 2 to 100 queries, with a general predicate and without."""
    return [
        Case(f"{'edge' if where else 'plain'} k={k} b={b}", where, k, b, max(total // (b + k), 4))
        for where, total in (("", 40_000), (GENERAL, 6_000))
        for k in (2, 20, 100)
        for b in (1, 3, 10, 50, 200, 1_000)
        if where or b <= 50
    ]


def measured(case: Case, *, against_greta: bool) -> dict[str, object]:
    """Medians of one case, its ratios, and what the run decided."""
    found, events = prepared(case)
    expected = normal(pa.concat_tables([aggregate_query(q, events) for q in found.queries]))
    ways: dict[str, Callable[[], pa.Table]] = {
        "always": lambda: aggregate_set(found, events, decisions=ALWAYS),
        "never": lambda: aggregate_set(found, events, decisions=NEVER),
        "dynamic": lambda: aggregate_set(found, events, decisions=DYNAMIC),
    }
    if against_greta:
        ways["greta"] = lambda: pa.concat_tables(
            [aggregate_query(q, events) for q in found.queries]
        )
    for name, run in ways.items():
        assert normal(run()) == expected, f"{case.name}: {name} gives other rows"
    cost = medians(ways, case.events)
    observer = Observer()
    aggregate_set(found, events, observer=observer)
    row: dict[str, object] = {"case": case.name, **cost}
    if against_greta:
        row["greta/always"] = cost["greta"] / cost["always"]
        row["greta/dynamic"] = cost["greta"] / cost["dynamic"]
    row["dynamic/best"] = cost["dynamic"] / min(cost["always"], cost["never"])
    row["bytes/event"] = observer.counts["bytes"] / case.within
    row["shared"] = observer.counts["shared"] / max(observer.counts["bursts"], 1)
    return row


def medians(ways: dict[str, Callable[[], pa.Table]], events: int) -> dict[str, float]:
    """Microseconds an event, the ways run in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, run in ways.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) / events * 1e6 for name, times in seconds.items()}


@cache
def prepared(case: Case) -> tuple[SharableSet, EventTable]:
    """The queries and the events of a case."""
    texts = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(S{n}, B+) {case.where} WITHIN {case.within};"
        for n in range(case.queries)
    )
    found = sharable_set(bind_workload(parse_workload(texts), SCHEMA).queries)
    assert found is not None
    dice = np.random.default_rng(7)
    kinds = np.tile(
        np.concatenate([np.arange(1, case.queries + 1), np.zeros(case.length, int)]), case.bursts
    )
    columns = [np.arange(kinds.size), kinds.astype(np.int32)]
    columns += [dice.integers(0, 1_000, kinds.size) for _ in "xy"]
    arrays = [pa.array(column) for column in columns]
    return found, EventTable(SCHEMA, pa.Table.from_arrays(arrays, schema=arrow_schema(SCHEMA)))


def normal(rows: pa.Table) -> list[tuple[object, ...]]:
    """Rows that compare."""
    return sorted(
        (row["query"], row["window_start"], tuple(row["counts"])) for row in rows.to_pylist()
    )


def calibrated() -> dict[str, float]:
    """Costs in nanoseconds: what not sharing costs more than sharing, fitted over many shapes.

    Every window is one burst of `B+`, which all queries take; what both ways have in common drops
    out. For b events, k queries and l lanes the difference is
    `b k step + b l addition - burst - b coefficient - l product`.
    """
    rows, differences = [], []
    for overlap in (1, 8):
        for queries in (2, 6, 20, 60):
            for length in (1, 2, 3, 4, 7):  # where the decision turns
                if length * overlap > 56:  # counts leave 64 bits
                    continue
                lanes = queries * overlap
                rows.append([length * queries, length * lanes, -1.0, -length, -lanes])
                differences.append(_difference(queries, length, overlap))
    for queries in (2, 20, 60):
        for length in (1, 4):  # and a burst of one event for one query before, for each query
            rows.append(
                [(length + 1) * queries, (length + 1) * queries, -1.0 - queries,
                 -length - queries, -2 * queries]
            )  # fmt: skip
            case = Case("", "", queries, length, 1_000)
            found, events = prepared(case)
            differences.append(_never_over_always(found, events, case.bursts))
    sizes = np.abs(differences) + 200.0  # relative errors count, down to 0.2 microseconds
    fitted, _ = nnls(np.array(rows) / sizes[:, None], np.array(differences) / sizes)
    names = ("step", "addition", "burst", "coefficient", "product")
    return {name: round(float(value), 2) for name, value in zip(names, fitted, strict=True)}


def _difference(queries: int, length: int, overlap: int) -> float:
    """Nanoseconds a burst by which not sharing costs more than sharing."""
    bursts = max(6_000 // length // overlap, 50)
    texts = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN B+ WITHIN {length * overlap} SLIDE {length};"
        for n in range(queries)
    )
    found = sharable_set(bind_workload(parse_workload(texts), SCHEMA).queries)
    assert found is not None
    size = bursts * length
    columns = [np.arange(size), np.zeros(size, np.int32), np.zeros(size, int), np.zeros(size, int)]
    table = pa.Table.from_arrays([pa.array(c) for c in columns], schema=arrow_schema(SCHEMA))
    events = EventTable(SCHEMA, table)
    return _never_over_always(found, events, bursts)


def _never_over_always(found: SharableSet, events: EventTable, bursts: int) -> float:
    ways: dict[str, Callable[[], pa.Table]] = {
        "always": lambda: aggregate_set(found, events, decisions=ALWAYS),
        "never": lambda: aggregate_set(found, events, decisions=NEVER),
    }
    cost = medians(ways, bursts)
    return (cost["never"] - cost["always"]) * 1e3


if __name__ == "__main__":
    main()
