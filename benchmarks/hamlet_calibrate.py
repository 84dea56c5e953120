"""Measures what Hamlet's kernels pay for the parts of a burst: `executors/hamlet/costs.json`.

Every window is a number of cycles, one event that starts trends and then a burst of B. Each case is
run with all queries sharing by snapshots and with all side by side; the processor time of the
kernels alone is fitted as amounts times costs, what cycles and windows cost in any case beside them
(`Amounts` in brackets are not kept). Relative errors count.
`python -m benchmarks.hamlet_calibrate` prints the costs.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import nnls

from benchmarks.streams import events_of, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.executors.hamlet.aggregate_set import aggregate_set
from elsinore.executors.hamlet.decisions import Decisions
from elsinore.executors.hamlet.kernels.ways import BESIDE, SHARED
from elsinore.executors.hamlet.observe import Observer
from elsinore.sharing.sharable import SharableSet, sharable_set

ROUNDS = 5

STREAM = stream_of(["B", "S0"], "x", "y")

#: A fitted time is trusted down to so many nanoseconds a cycle.
SMALLEST = 50.0

#: Nanoseconds that the kernels should take in a run.
LONG_ENOUGH = 6e6


@dataclass(frozen=True)
class Shape:
    """One case.

    Attributes:
        queries: that all take every event, unless `missed`.
        length: of the bursts.
        cycles: a window.
        runs: queries are of so many runs, by local predicates that are true.
        one_in: of the pairs of B, one is adjacent; 0 for no edge predicate.
        missed: events of each burst that half of the queries do not take.
    """

    queries: int
    length: int
    cycles: int = 1
    runs: int = 1
    one_in: int = 0
    missed: int = 0

    @property
    def windows(self) -> int:
        """How many windows make `LONG_ENOUGH`, beside which a call of the kernels is nothing."""
        cycle = (self.length + 1) * (40.0 + 2.0 * self.queries + 30.0 * self.runs)
        if self.one_in:
            cycle += self.length * (100.0 + 4.0 * self.length)
        return max(int(LONG_ENOUGH / cycle / self.cycles), 5)


#: Amounts by name, of a shape run one way on a rung.
AmountsOf = Callable[[Shape, int, int], dict[str, float]]


def calibrated() -> dict[str, object]:
    """What `costs.json` holds."""
    plain = _fit(_plain_shapes(), _plain_amounts, range(1, 2))
    edges = _fit(_edge_shapes(), _edge_amounts, range(1, 2))
    wide = _fit(_wide_shapes(), _wide_amounts, range(2, 9))
    kept = {name: cost for name, cost in (plain | edges).items() if not name.startswith("(")}
    return {
        "measured": f"python -m benchmarks.hamlet_calibrate, processor time of the kernels, "
        f"least of {ROUNDS} rounds, {platform.machine()}",
        "nanoseconds": kept,
        "wide": {name: cost for name, cost in wide.items() if not name.startswith("(")},
    }


def _plain_shapes() -> Iterable[Shape]:
    for queries in (2, 6, 20, 60):
        for length in (1, 2, 4, 8, 16, 40):
            yield Shape(queries, length, cycles=max(50 // length, 1))
    for queries in (6, 20):
        for length in (1, 4, 16):
            yield Shape(queries, length, cycles=max(50 // length, 1), runs=queries)


def _edge_shapes() -> Iterable[Shape]:
    for queries in (2, 6, 20, 80):
        yield Shape(queries, 200, one_in=10)
        for one_in in (10, 4, 2):
            for length in (4, 20, 60):
                yield Shape(queries, length, one_in=one_in)
    for queries in (4, 20, 80):
        for missed in (1, 3, 6):
            yield Shape(queries, 40, one_in=4, missed=missed)


def _wide_shapes() -> Iterable[Shape]:
    for queries in (2, 10, 40):
        for length in (1, 2, 4, 8, 16):
            for bits in (100, 200, 400):
                yield Shape(queries, length, cycles=bits // length)


def _plain_amounts(shape: Shape, way: int, _: int) -> dict[str, float]:
    k, b = shape.queries, shape.length
    beside = {
        "step": b * shape.runs + 1.0,
        "addition": (b + 1.0) * k,
        "(cycle beside)": 1.0,
    }
    shared = {
        "burst": shape.runs + 1.0,
        "coefficient": b * shape.runs + 1.0,
        "product": 2.0 * k,
        "(cycle shared)": 1.0,
    }
    both = {"(window)": 1.0 / shape.cycles, "(window query)": k / shape.cycles, "(start)": float(k)}
    return both | (shared if way == SHARED else beside)


def _edge_amounts(shape: Shape, way: int, _: int) -> dict[str, float]:
    k, b = shape.queries, shape.length
    pairs = b * (b - 1) / 2.0
    adjacent, snapshots = pairs / shape.one_in, 1.0 + shape.missed
    both = {
        "pair": pairs,
        "(window)": 1.0,
        "(window query)": float(k),
    }
    if way == SHARED:
        return both | {
            "expression": float(b),
            "term": adjacent,
            "value": b * k * snapshots,
            "snapshot": snapshots,
        }
    return both | {
        "arrival": float(b),
        "arrival_lane": float(b * k),
        "hit": adjacent,
        "pair_lane": adjacent * k,
    }


def _wide_amounts(shape: Shape, way: int, limbs: int) -> dict[str, float]:
    amounts = _plain_amounts(shape, way, limbs)
    for name in ("addition", "product"):
        if name in amounts:
            amounts[f"{name}_limb"] = amounts[name] * limbs
    return amounts


def _fit(shapes: Iterable[Shape], amounts_of: AmountsOf, rungs: range) -> dict[str, float]:
    """Nanoseconds by name, none below zero, of runs on some rungs."""
    rows: list[dict[str, float]] = []
    times: list[float] = []
    for shape, way in product(shapes, (SHARED, BESIDE)):
        for rung, seconds in _seconds(shape, way).items():
            if rung in rungs:
                rows.append(amounts_of(shape, way, rung))
                times.append(seconds * 1e9 / shape.windows / shape.cycles)
    names = sorted({name for row in rows for name in row})
    matrix = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    sizes = np.array(times) + SMALLEST
    fitted, _ = nnls(matrix / sizes[:, None], np.array(times) / sizes)
    errors = np.abs(matrix @ fitted - np.array(times)) / sizes
    print(f"# {len(rows)} times, mean error {errors.mean():.0%}, greatest {errors.max():.0%}")
    return {name: round(float(value), 3) for name, value in zip(names, fitted, strict=True)}


def _seconds(shape: Shape, way: int) -> dict[int, float]:
    """The least processor time of the kernels on each rung."""
    found, events = _prepared(shape)
    decisions = Decisions.of(((way,) * shape.queries,))
    least: dict[int, float] = {}
    for _ in range(ROUNDS + 1):
        observer = Observer(room=0)
        aggregate_set(found, events, decisions=decisions, observer=observer)
        for rung, seconds in observer.seconds.items():
            least[rung] = min(seconds, least.get(rung, seconds))
    return least


def _prepared(shape: Shape) -> tuple[SharableSet, EventTable]:
    """Queries and events; `B.x` is 1 for events that half of the queries miss, `B.y` is any."""
    edge = f"(B.time * 7 + B.y + NEXT(B).y) % {shape.one_in} = 0" if shape.one_in else ""
    within = shape.cycles * (shape.length + 1)
    texts = []
    for n in range(shape.queries):
        conditions = [edge] if edge else []
        if shape.runs > 1:
            conditions.append(f"B.x < {n + 2}")
        elif shape.missed and n % 2:
            conditions.append("B.x = 0")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        texts.append(f"PATTERN SEQ(S0, B+) {where} WITHIN {within}")
    found = sharable_set(workload_of(STREAM, texts).queries)
    assert found is not None
    missed = np.zeros(shape.length, np.int64)
    missed[np.linspace(0, shape.length - 1, shape.missed).astype(int)] = 1
    cycles = shape.windows * shape.cycles
    kinds = np.tile(np.concatenate([[1], np.zeros(shape.length, int)]), cycles)
    x = np.tile(np.concatenate([[0], missed]), cycles)
    y = np.random.default_rng(5).integers(0, 1_000, kinds.size)
    return found, events_of(STREAM, kinds, x=x, y=y)


if __name__ == "__main__":
    print(json.dumps(calibrated(), indent=2))
