"""One window of 1,000,000 events under `v < NEXT(v)`: increasing subsequences.

`increasing-wide`: values in random order, counts of about 2,900 bits. `increasing-narrow`: blocks
of 1,000 values in random order, each block below the one before, so that trends stay inside a block
and counts fit 128 bits. Where the full size would take too long, smaller windows are timed, and the
time at the full size follows from their growth; the figure says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial
from math import log2

import numpy as np

from benchmarks.claim import Benchmark, Measured, benchmark
from benchmarks.streams import auto, counts_of, events_of, medians, stream_of, workload_of

EVENTS, BLOCK, ROUNDS = 1_000_000, 1_000, 3
#: Windows that are timed before it is decided whether to time the next size, up to so many seconds.
SIZES, PATIENCE = (10_000, 20_000, 40_000, 100_000, EVENTS), 20.0
STREAM = stream_of("A", "v")

#: So many values.
Values = Callable[[int], np.ndarray]


def wide(size: int) -> np.ndarray:
    """Values in random order."""
    return np.random.default_rng(3).permutation(size)


def narrow(size: int) -> np.ndarray:
    """Blocks of values in random order, each block below the one before."""
    dice = np.random.default_rng(4)
    blocks = [first + dice.permutation(BLOCK) for first in range(0, size, BLOCK)]
    return np.concatenate(blocks[::-1])


def measure(values_of: Values) -> Measured:
    """Time growing windows; each count is compared with that of a Fenwick tree of integers."""
    rows: list[dict[str, float | str]] = []
    for size in SIZES:
        growth = _growth(rows)
        if rows and _extended(rows, size, growth) > PATIENCE:
            break
        rows.append(_timed(values_of(size)))
    last, growth = rows[-1], _growth(rows)
    note = "CPU time of the whole call."
    if last["events"] != EVENTS:
        note += (
            f" Extrapolated from windows of up to {last['events']:,} events, whose time grows with"
            f" the power {growth:.2f} of their size: not measured at the full size."
        )
    return Measured(
        _extended(rows, EVENTS, growth), "every count, by a Fenwick tree", tuple(rows), note
    )


def _timed(values: np.ndarray) -> dict[str, float | str]:
    size = values.size
    text = f"PATTERN A+ WHERE A.v < NEXT(A).v WITHIN {size}"
    run = auto(workload_of(STREAM, [text]), events_of(STREAM, np.zeros(size, int), v=values))
    wanted = increasing_subsequences(values.tolist())
    assert list(counts_of(run()).values()) == [wanted]
    seconds = medians({"auto": run}, ROUNDS)["auto"]
    return {"events": size, "bits": wanted.bit_length(), "seconds": seconds}


def _growth(rows: list[dict[str, float | str]]) -> float:
    """The power of its size with which the time of a window grows, from the last two."""
    if len(rows) < 2:
        return 2.0
    (a, b), (c, d) = [(float(r["events"]), float(r["seconds"])) for r in rows[-2:]]
    return max(log2(d / b) / log2(c / a), 1.0)


def _extended(rows: list[dict[str, float | str]], size: int, growth: float) -> float:
    last = rows[-1]
    return float(last["seconds"]) * (size / float(last["events"])) ** growth


def increasing_subsequences(values: list[int]) -> int:
    """How many there are in a list, none of them empty.

    >>> increasing_subsequences([3, 1, 2, 2])
    6
    """
    ranks = sorted(set(values))
    sums = [0] * (len(ranks) + 1)
    total = 0
    for value in values:
        rank = at = bisect_left(ranks, value)
        ending = 1
        while at:
            ending += sums[at]
            at &= at - 1
        at = rank + 1
        while at < len(sums):
            sums[at] += ending
            at += at & -at
        total += ending
    return total


def _claimed(name: str, claim: str, how: str, target: float, values: Values) -> Benchmark:
    setting = f"A+ WHERE A.v < NEXT(A).v, COUNT(*), one window of 1,000,000 events; {how}"
    return benchmark(name, claim, setting, "s", at_most=target)(partial(measure, values))


NARROW = _claimed(
    "increasing-narrow",
    "Counting increasing sequences of a million events is fast if counts fit 128 bits",
    "trends do not leave blocks of 1,000 events",
    0.2,
    narrow,
)
WIDE = _claimed(
    "increasing-wide",
    "Counting increasing sequences of a million events is fast if counts have 2,900 bits",
    "values in random order",
    3.0,
    wide,
)
