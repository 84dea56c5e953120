"""Windows that overlap 1,000 times against tumbling ones.

`SEQ(A, B+)`, WITHIN 100,000, an event a tick, one in 2,500 a B: 40 B in a window, so that counts
fit 64 bits, and 100 events a pane.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, counts_of, events_of, medians, one_b_in, stream_of, workload_of

EVENTS, WITHIN, B_EVERY, ROUNDS = 1_000_000, 100_000, 2_500, 3
OVERLAPS = (1, 10, 100, 1_000)
STREAM = stream_of("AB")


@benchmark(
    "overlap",
    "Windows with WITHIN 1,000 times SLIDE cost little more than tumbling windows",
    "SEQ(A, B+), 1,000,000 events, windows of 100,000 with about 40 B; panes of 100 events",
    "times the time of tumbling windows",
    at_most=2.0,
)
def overlapping() -> Measured:
    """Time all overlaps in turns."""
    kinds = one_b_in(B_EVERY, EVENTS)
    events = events_of(STREAM, kinds)
    ways = {}
    for overlap in OVERLAPS:
        text = f"PATTERN SEQ(A, B+) WITHIN {WITHIN} SLIDE {WITHIN // overlap}"
        ways[f"{overlap:,}"] = run = auto(workload_of(STREAM, [text]), events)
        check(run(), kinds, WITHIN // overlap)
    seconds = medians(ways, ROUNDS)
    base = seconds["1"]
    rows: list[dict[str, float | str]] = [
        {"windows overlap": name, "ns per event": s / EVENTS * 1e9, "to tumbling": s / base}
        for name, s in seconds.items()
    ]
    return Measured(
        seconds["1,000"] / base,
        "every window, by its closed form",
        tuple(rows),
        "CPU time of the whole call. 1,000 overlapping windows give one row per 100 events.",
    )


def check(rows: pa.Table, kinds: np.ndarray, slide: int) -> None:
    """An A begins 2^n - 1 trends with the n B that come after it in the window."""
    places = np.flatnonzero(kinds)
    earlier = np.concatenate([[0], np.cumsum(kinds == 0)])
    wanted = {}
    for start in range(-WITHIN // slide * slide, EVENTS, slide):
        low, high = max(start, 0), min(start + WITHIN, EVENTS)
        inside = places[np.searchsorted(places, low) : np.searchsorted(places, high)]
        before = earlier[inside] - earlier[low]  # A of the window before each B
        fresh = np.diff(before, prepend=0)
        count = sum(int(n) * (2 ** int(inside.size - i) - 1) for i, n in enumerate(fresh) if n)
        if count:
            wanted["q0", "[]", start] = count
    assert counts_of(rows) == wanted
