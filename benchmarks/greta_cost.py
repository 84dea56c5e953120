"""What an event costs the greta executor: each construct against the plain case, in one run.

The plain case is `A+` in tumbling windows of 50 events, whose counts fit 64 bits. Every answer is
checked against its closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import events_of, medians, stream_of, text_rows, workload_of
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query

ROUNDS = 5
TYPES = "ABNM"
STREAM = stream_of(TYPES, "k", "x")
#: Trends of `A+` over 50 events.
FIFTY = 2**50 - 1
#: 50 events of a window in which B can only follow those A that come after the NOT's match.
BARRED_ONCE = "A" * 24 + "N" + "A" * 24 + "B"
BARRED_BY_TWO = "A" * 24 + "N" + "A" * 5 + "M" + "A" * 18 + "B"


@dataclass(frozen=True)
class Case:
    """A query over `events` events; `x` rises with time, `k` = event number mod `keys`.

    `types` are repeated; the times of events are `spacing` apart. Each window that lies inside of
    the stream counts `trends`.
    """

    name: str
    query: str
    trends: int
    types: str = "A"
    events: int = 500_000
    keys: int = 1
    spacing: int = 1


CASES = (
    Case("plain: A+", "PATTERN A+ WITHIN 50", FIFTY),
    Case("grouped by 1,000 keys", "PATTERN A+ GROUP-BY k WITHIN 50000", FIFTY, keys=1_000),
    Case("NOT of one event", "PATTERN SEQ(A+, NOT N, B) WITHIN 50", 2**48 - 2**24, BARRED_ONCE),
    Case("NOT of two events", "PATTERN SEQ(A+, NOT SEQ(N, M), B) WITHIN 50", 2**47 - 2**24,
         BARRED_BY_TWO),
    Case("leading NOT", "PATTERN SEQ(NOT N, A+) WITHIN 50", 2**49 - 2**25,
         "A" * 24 + "N" + "A" * 25),
    Case("OR: (A OR B)+", "PATTERN (A OR B)+ WITHIN 50", FIFTY, "AB"),
    Case("options: SEQ(A*, B?)", "PATTERN SEQ(A*, B?) WITHIN 50", FIFTY, "A" * 49 + "B"),
    Case("ambiguous", "PATTERN SEQ(A a+, A b+) WITHIN 50", FIFTY - 50),
    *(
        Case(name, f"PATTERN A+ WITHIN 50 SEMANTICS {name}", 50 * 51 // 2)
        for name in ("skip-till-next-match", "contiguous")
    ),
    Case("edge predicate", "PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 50", FIFTY, events=100_000),
    *(
        Case(
            f"windows overlap {overlap:,} times",
            f"PATTERN A+ WITHIN 1000 SLIDE {1000 // overlap}",
            FIFTY,
            events=500_000 // overlap + 1_000,
            spacing=20,
        )
        for overlap in (1, 10, 100, 1_000)
    ),
    *(
        Case(f"{bits:,} bit", f"PATTERN A+ WITHIN {size}", 2**size - 1, events=100_000)
        for bits, size in ((128, 100), (256, 250), (1_024, 1_000), (4_096, 4_000))
    ),
)  # fmt: skip


@benchmark(
    "greta-cost",
    "Cost per event of the executor greta, by construct",
    "one query each, 100,000 to 500,000 events",
    "ns per event",
)
def cost_by_construct() -> Measured:
    """Run all cases in turns, check them: nanoseconds an event, and the ratio to plain."""
    queries = workload_of(STREAM, [case.query for case in CASES]).queries
    prepared = [(c, query, _events(c)) for c, query in zip(CASES, queries, strict=True)]
    for case, query, events in prepared:
        # Kernels are compiled, or loaded, here.
        _check(case, text_rows(aggregate_query(query, events)))
    ways = {case.name: partial(aggregate_query, query, events) for case, query, events in prepared}
    seconds = medians(ways, ROUNDS)
    cost = {case.name: seconds[case.name] / case.events * 1e9 for case in CASES}
    plain = cost[CASES[0].name]
    return Measured(
        plain,
        "every complete window, by its closed form",
        tuple({"case": n, "ns per event": c, "to plain": c / plain} for n, c in cost.items()),
        "CPU time of the whole call. The measured value is the plain case.",
    )


def _events(case: Case) -> EventTable:
    number = np.arange(case.events)
    kinds = np.array([TYPES.index(kind) for kind in case.types])[number % len(case.types)]
    return events_of(STREAM, kinds, number * case.spacing, k=number % case.keys, x=number)


def _check(case: Case, rows: pa.Table) -> None:
    last = case.events * case.spacing
    inside = [r for r in rows.to_pylist() if 0 <= r["window_start"] <= r["window_end"] <= last]
    assert inside, case.name
    assert all(row["counts"] == [str(case.trends)] for row in inside), case.name
