"""The static plan of large workloads: time, score, bound, and what subsets of queries add.

Patterns of length 10, as in the paper's experiments (section 8.1), of three kinds: over types
drawn evenly and by Zipf's law (items bought together), and as routes through a grid of streets.
Rates are drawn around one event of a type in a window and partition, where many candidates pay and
meet. Every plan is verified against its workload, and the scores are put in order: guaranteed
weight, GWMIN, all subsets, bound. The time limit is 60 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import peak_megabytes, stream_of, workload_of
from elsinore.choices import Optimizer
from elsinore.query.bound import Workload
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.replan import verify
from elsinore.sharing.statistics import Statistics

LENGTH = 10
WINDOW = 1_000
TIME_LIMIT = 60.0

Draw = Callable[[np.random.Generator], list[int]]


def measure(sizes: tuple[int, ...] = (1_000,)) -> Measured:
    """Plan workloads of each kind; scores are shares of the optimal plan's."""
    found = [_planned(kind, draw, size) for size in sizes for kind, draw in KINDS.items()]
    return Measured(
        max(slowest for _, slowest in found),
        "every plan against its workload; the order of scores; bounds",
        tuple(row for row, _ in found),
        "Elapsed time from workload to plan, for the slowest of three kinds of workload.",
    )


def _planned(kind: str, draw: Draw, size: int) -> tuple[dict[str, float | str], float]:
    """The figures of one workload, and how long its optimal plan took, or might take.

    `CPU s` are those of the optimal plan that other processes have no part in.
    """
    workload, statistics = _workload(draw, size), _statistics()
    found: dict[Optimizer, tuple[StaticPlan, float, float]] = {}
    for optimizer in (Optimizer.GWMIN, Optimizer.OPTIMAL):
        began, spent = time.perf_counter(), time.process_time()
        plan = find_plan(workload, statistics, optimizer=optimizer, time_limit=TIME_LIMIT)
        spent = time.process_time() - spent
        found[optimizer] = plan, time.perf_counter() - began, spent
        verify(plan, workload)
    (gwmin, first, _), (optimal, second, processor) = found.values()
    assert optimal.bound is not None
    scores = [gwmin.guaranteed_weight, gwmin.score, optimal.score, optimal.bound]
    assert all(low <= high * (1 + 1e-6) for low, high in pairwise(scores))
    assert optimal.score <= optimal.bound
    row: dict[str, float | str] = {
        "queries": f"{size:,} {kind}", "candidates": len(optimal.candidates),
        "gwmin s": first, "optimal s": second, "CPU s": processor,
        "gwmin": gwmin.score / optimal.score, "gap": optimal.bound / optimal.score - 1,
        "proven": "yes" if optimal.proven else "no", "peak MB": peak_megabytes(),
    }  # fmt: skip
    return row, second if optimal.proven else TIME_LIMIT


TYPES = 100
_SIDE = 10
_STREAM = stream_of([f"T{number}" for number in range(TYPES)])


def _statistics() -> Statistics:
    rng = np.random.default_rng(2)
    rates = {t.name: 10 ** rng.uniform(-0.5, 0.5) for t in _STREAM.types}
    return Statistics.given(WINDOW, rates)


def _workload(draw: Draw, size: int) -> Workload:
    rng = np.random.default_rng(1)
    patterns = (", ".join(f"T{n}" for n in draw(rng)) for _ in range(size))
    return workload_of(_STREAM, [f"PATTERN SEQ({each}) WITHIN {WINDOW}" for each in patterns])


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

STATIC_PLAN = benchmark(
    "static-plan",
    "The optimizer finds a proven optimal static plan for 1,000 queries in seconds",
    "1,000 queries of length 10: even types, types by Zipf's law, and routes",
    "s",
    at_most=10.0,
)(measure)
LARGEST = replace(
    STATIC_PLAN, name="static-plan-largest", measure=partial(measure, (1_000, 10_000))
)
