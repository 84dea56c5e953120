"""The static plan of large workloads: time, score, bound, and what subsets of queries add.

Patterns of length 10, as in the paper's experiments (section 8.1), of three kinds: over types
drawn evenly and by Zipf's law (items bought together), and as routes through a grid of streets.
Rates are drawn around one event of a type in a window and partition, where many candidates pay and
meet. Every plan is verified against its workload, and the scores are put in order: guaranteed
weight, GWMIN, all subsets, bound. The time limit is 60 s.
`python -m benchmarks.static_plan [--json] [--largest]`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.alone import run_alone
from benchmarks.claim import Benchmark, Measured
from elsinore.catalog.stream import EventType, StreamSchema
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import Finder, StaticPlan
from elsinore.sharing.replan import verify
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import TimeUnit

LENGTH = 10
WINDOW = 1_000
TIME_LIMIT = 60.0

Draw = Callable[[np.random.Generator], list[int]]


@dataclass(frozen=True)
class Row:
    """Figures of one workload; seconds are those of the whole way from workload to plan.

    `processor_seconds` are those of the optimal plan that other processes have no part in.
    """

    kind: str
    queries: int
    candidates: int
    gwmin_seconds: float
    optimal_seconds: float
    processor_seconds: float
    gwmin: float
    optimal: float
    gap: float
    proven: bool
    megabytes: float


def measure(sizes: tuple[int, ...] = (1_000,)) -> Measured:
    """Plan workloads of each kind; scores are shares of the optimal plan's."""
    found = [_measure(kind, draw, size) for size in sizes for kind, draw in KINDS.items()]
    rows: tuple[dict[str, float | str], ...] = tuple(
        {
            "queries": f"{row.queries:,} {row.kind}", "candidates": row.candidates,
            "gwmin s": row.gwmin_seconds,
            "optimal s": row.optimal_seconds, "CPU s": row.processor_seconds,
            "gwmin": row.gwmin / row.optimal,
            "gap": row.gap, "proven": "yes" if row.proven else "no", "peak MB": row.megabytes,
        }
        for row in found
    )  # fmt: skip
    slowest = max(row.optimal_seconds if row.proven else TIME_LIMIT for row in found)
    return Measured(
        slowest,
        "every plan against its workload, scores in order, bounds",
        rows,
        "Elapsed time from workload to plan, the slowest of three kinds of workload.",
    )


def _measure(kind: str, draw: Draw, size: int) -> Row:
    workload, statistics = _workload(draw, size), _statistics()
    found: dict[Finder, tuple[StaticPlan, float, float]] = {}
    for finder in (Finder.GWMIN, Finder.OPTIMAL):
        began, spent = time.perf_counter(), time.process_time()
        plan = find_plan(workload, statistics, finder=finder, time_limit=TIME_LIMIT)
        spent = time.process_time() - spent
        found[finder] = plan, time.perf_counter() - began, spent
        verify(plan, workload)
    (gwmin, first, _), (optimal, second, processor) = found.values()
    assert optimal.bound is not None
    scores = [gwmin.guaranteed_weight, gwmin.score, optimal.score, optimal.bound]
    assert all(low <= high * (1 + 1e-6) for low, high in pairwise(scores))
    assert optimal.score <= optimal.bound
    return Row(
        kind, size, len(optimal.candidates), first, second, processor, gwmin.score,
        optimal.score, optimal.bound / optimal.score - 1, optimal.proven,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    )  # fmt: skip


TYPES = 100
_SIDE = 10
_SCHEMA = StreamSchema(
    "bench", "time", TimeUnit.INTEGER, "type", None,
    tuple(EventType(f"T{number}", ()) for number in range(TYPES)),
)  # fmt: skip


def _statistics() -> Statistics:
    rng = np.random.default_rng(2)
    rates = {t.name: 10 ** rng.uniform(-0.5, 0.5) for t in _SCHEMA.types}
    return Statistics.given(WINDOW, rates)


def _workload(draw: Draw, size: int) -> Workload:
    rng = np.random.default_rng(1)
    patterns = (", ".join(f"T{n}" for n in draw(rng)) for _ in range(size))
    text = "\n".join(
        f"QUERY q{number} RETURN COUNT(*) PATTERN SEQ({pattern}) WITHIN {WINDOW};"
        for number, pattern in enumerate(patterns)
    )
    return bind_workload(parse_workload(text), _SCHEMA)


def _even(rng: np.random.Generator) -> list[int]:
    return rng.permutation(TYPES // 2)[:LENGTH].tolist()


def _zipf(rng: np.random.Generator) -> list[int]:
    weights = 1 / np.arange(1, TYPES // 2 + 1)
    drawn = rng.choice(TYPES // 2, LENGTH, replace=False, p=weights / weights.sum())
    return drawn.tolist()


def _route(rng: np.random.Generator) -> list[int]:
    """A walk over crossings that meets none twice."""
    while True:
        route = [int(rng.integers(TYPES))]
        while len(route) < LENGTH:
            x, y = divmod(route[-1], _SIDE)
            steps = ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
            free = [
                n
                for a, b in steps
                if 0 <= a < _SIDE and 0 <= b < _SIDE and (n := a * _SIDE + b) not in route
            ]
            if not free:
                break
            route.append(free[rng.integers(len(free))])
        if len(route) == LENGTH:
            return route


KINDS: dict[str, Draw] = {"even": _even, "zipf": _zipf, "routes": _route}

BENCHMARK = Benchmark(
    "static-plan",
    "a static plan, proven optimal, for 1,000 queries",
    "1,000 queries of length 10 over even types, over types by Zipf's law, and of routes",
    "s",
    10.0,
    False,
    measure,
)

if __name__ == "__main__":
    largest = partial(measure, (1_000, 10_000))
    run_alone(replace(BENCHMARK, measure=largest) if "--largest" in sys.argv else BENCHMARK)
