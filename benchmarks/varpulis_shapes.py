"""The shapes of a Rust engine's benchmark of Hamlet, one window after another, with exact counts.

varpulis (`hamlet_zdd_benchmark`) runs queries `SEQ(Si, B+)` over one window: an event of each start
type, then some B, again and again. Its counts wrap at 64 bits. Here each window is repeated to a
million events.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, counts_of, events_of, medians, stream_of, workload_of

EVENTS, ROUNDS = 1_000_000, 5


class Shape(NamedTuple):
    """A window: an event of a start type, then some B, for each type in turn, again and again.

    Attributes:
        theirs: million events a second of varpulis, on one core of such a machine.
        starts_each: events of a start type in one go.
    """

    starts: int
    sequences: int
    kleene: int
    queries: int
    theirs: float
    starts_each: int = 1


SHAPES = (
    Shape(1, 100, 50, 1, 8.1), Shape(1, 10, 20, 1, 8.9), Shape(5, 10, 20, 5, 4.4),
    Shape(10, 10, 20, 10, 3.5), Shape(10, 10, 20, 25, 2.4), Shape(10, 10, 20, 50, 1.55),
    Shape(1, 1, 10, 1, 3.0), Shape(1, 1, 1_000, 1, 11.4), Shape(10, 5, 50, 10, 2.1),
    Shape(1, 10, 50, 1, 11.5, 50), Shape(1, 500, 1, 1, 0.35), Shape(10, 20, 50, 10, 2.4),
    Shape(1, 1_000, 10, 1, 5.4), Shape(1, 10, 1_000, 1, 10.8),
)  # fmt: skip


@benchmark(
    "varpulis-shapes",
    "Every shape of the Varpulis benchmark runs fast on one core",
    "the 14 shapes of Varpulis' benchmark of Hamlet, a million events each, `auto` on one core,"
    " exact counts; the slowest shape",
    "million events/s",
    at_least=60.0,
)
def shapes() -> Measured:
    """Time each shape, and work every count out by adding Python's integers."""
    rows = [_measure(shape) for shape in SHAPES]
    return Measured(
        min(row["million events/s"] for row in rows),
        "every count of every window, by adding integers per event",
        tuple(rows),
        "CPU time of the whole call, from Arrow columns to decimal text. `theirs` was measured for "
        "this comparison, on one core of a similar machine; its counts wrap at 64 bits.",
    )


def _measure(shape: Shape) -> dict[str, Any]:
    kinds = make_window(shape)
    windows = EVENTS // kinds.size
    stream = stream_of([*(f"S{n}" for n in range(shape.starts)), "B"])
    texts = [
        f"PATTERN SEQ(S{n % shape.starts}, B+) WITHIN {kinds.size}" for n in range(shape.queries)
    ]
    run = auto(workload_of(stream, texts), events_of(stream, np.tile(kinds, windows)))
    wanted = [trends(shape, start) for start in range(shape.starts)]
    found = counts_of(run())
    assert len(found) == windows * shape.queries
    assert all(n == wanted[int(query[1:]) % shape.starts] for (query, _, _), n in found.items())
    rate = windows * kinds.size / medians({"auto": run}, ROUNDS)["auto"] / 1e6
    return {
        "start types": shape.starts, "sequences": shape.sequences, "B": shape.kleene,
        "queries": shape.queries, "events per window": kinds.size,
        "bits of the count": max(wanted).bit_length(), "million events/s": rate,
        "theirs": shape.theirs, "ratio": rate / shape.theirs,
    }  # fmt: skip


def make_window(shape: Shape) -> np.ndarray:
    """Types of the events of a window; the last type is B.

    >>> make_window(Shape(2, 1, 3, 2, 1.0)).tolist()
    [0, 2, 2, 2, 1, 2, 2, 2]
    """
    rows = np.full((shape.starts, shape.starts_each + shape.kleene), shape.starts)
    rows[:, : shape.starts_each] = np.arange(shape.starts)[:, None]
    return np.tile(rows.ravel(), shape.sequences)


def trends(shape: Shape, start: int) -> int:
    """Trends of `SEQ(S, B+)` in a window, for a start type.

    >>> trends(Shape(1, 2, 1, 1, 1.0), 0)  # S B S B: b1, b1 b2, b2, and b2 after the second S
    4
    """
    trends = started = 0
    for n in range(shape.sequences * shape.starts):
        started += shape.starts_each if n % shape.starts == start else 0
        for _ in range(shape.kleene):
            trends += trends + started
    return trends
