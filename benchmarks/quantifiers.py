"""`A{2,}` against `A+`, and `A{1000}` against a loop over counters.

Each copy is a state of the template, so `A{2,}` has two states. Each count is compared with the
closed form: n events have 2^n - 1 trends of `A+`, of which `A{2,}` lacks the n trends of one event.
Of `A{1000}`, they have as many as there are choices of 1,000 events.
"""

from __future__ import annotations

import time
from math import comb

import numpy as np
from numba import njit

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, counts_of, events_of, medians, stream_of, workload_of
from elsinore.query.bound import Workload

EVENTS, WITHIN, ROUNDS = 1_000_000, 40, 9
STREAM = stream_of("AB", "v")

#: Patterns in pairs, with `A+` and with `A{2,}`.
ALONE, BEFORE_B = ("A+", "A{2,}"), ("SEQ(A+, B)", "SEQ(A{2,}, B)")
#: Patterns, and whether types alternate. If they do, no events form a burst.
CASES = {
    "bursts, alone": (ALONE, False),
    "bursts, before B": (BEFORE_B, False),
    "alternating, before B": (BEFORE_B, True),
}


@benchmark(
    "quantifiers",
    "A quantifier costs about as much as a Kleene plus",
    f"A{{2,}} against A+, alone and before a B, COUNT(*), {EVENTS:,} events of two types in random "
    f"order or in turn, windows of {WITHIN}",
    "times A+",
    at_most=1.2,
)
def quantifiers() -> Measured:
    """Time both patterns of each pair in turns; the figure is the larger ratio of medians."""
    rows: list[dict[str, float | str]] = []
    for case, (patterns, is_alternating) in CASES.items():
        drawn = np.random.default_rng(7).integers(0, 2, EVENTS)
        kinds = np.arange(EVENTS) % 2 if is_alternating else drawn
        events = events_of(STREAM, kinds, v=np.zeros(EVENTS, int))
        ways = {
            pattern: auto(workload_of(STREAM, [f"PATTERN {pattern} WITHIN {WITHIN}"]), events)
            for pattern in patterns
        }
        for least, way in enumerate(ways.values(), start=1):
            found = {start: count for (_, _, start), count in counts_of(way()).items()}
            assert found == expected(kinds, least, before_b=patterns is BEFORE_B)
        plus, quantified = medians(ways, ROUNDS).values()
        rows.append({"case": case, "A+ (s)": plus, "A{2,} (s)": quantified,
                     "ratio": quantified / plus})  # fmt: skip
    figure = max(float(row["ratio"]) for row in rows)
    return Measured(figure, "every count, by its closed form", tuple(rows), "CPU time of the call.")


#: The copies of a large quantifier, the events of a window, and the 64-bit limbs of a count.
COPIES, PER_WINDOW, LIMBS = 1_000, 2_000, 32


@benchmark(
    "counters",
    "A large quantifier costs little more than its counters",
    f"A{{{COPIES}}}, COUNT(*), {EVENTS:,} events in windows of {PER_WINDOW:,}, against a compiled "
    f"loop over {COPIES:,} exact counters",
    "times the loop",
    at_most=3.0,
)
def counters() -> Measured:
    """Time the query and the loop once, after a short run of both."""
    began = time.perf_counter()
    workload = workload_of(STREAM, [f"PATTERN A{{{COPIES}}} WITHIN {PER_WINDOW}"])
    compiled = time.perf_counter() - began
    assert compiled < 1, f"compiling took {compiled:.2f} s"
    query, loop = np.inf, np.inf
    for events in (PER_WINDOW, EVENTS):  # the first call compiles the loop
        query, loop = _seconds_of_counters(workload, events)
    row = {"compiling (s)": compiled, "query (s)": query, "loop (s)": loop}
    checked = "every count, by its closed form"
    return Measured(query / loop, checked, (row,), "CPU time of one call.")


def _seconds_of_counters(workload: Workload, events: int) -> tuple[float, float]:
    """Return the CPU seconds of the query and of the loop, with checked counts."""
    total, nothing = comb(PER_WINDOW, COPIES), np.zeros(events, int)
    way = auto(workload, events_of(STREAM, nothing, v=nothing))
    found = np.zeros((events // PER_WINDOW, LIMBS), np.uint64)
    began = time.process_time()
    counts = counts_of(way())
    ended = time.process_time()
    _count(nothing, PER_WINDOW, found)
    loop = time.process_time() - ended
    assert [*counts.values()] == [total] * len(found)
    assert all(int.from_bytes(row.tobytes(), "little") == total for row in found)
    return ended - began, loop


@njit
def _count(kinds: np.ndarray, within: int, found: np.ndarray) -> None:
    """Write the number of choices of `COPIES` events of type 0 of each window, as limbs."""
    counts = np.zeros((COPIES + 1, LIMBS), np.uint64)
    sizes = np.zeros(COPIES + 1, np.int64)
    for window in range(found.shape[0]):
        counts[:] = 0
        sizes[:] = 0
        counts[0, 0] = sizes[0] = 1
        for i in range(window * within, (window + 1) * within):
            if kinds[i] == 0:
                for copy in range(COPIES, 0, -1):
                    sizes[copy] = _add(counts[copy], counts[copy - 1], sizes[copy], sizes[copy - 1])
        found[window] = counts[COPIES]


@njit
def _add(number: np.ndarray, other: np.ndarray, size: int, length: int) -> int:
    """Add the first limbs of a number to those of another; return the limbs that are in use."""
    carry, one = np.uint64(0), np.uint64(1)
    for k in range(max(size, length)):
        total = number[k] + other[k]
        carried = one if total < number[k] else np.uint64(0)
        number[k] = total + carry
        carry = carried + (one if number[k] < total else np.uint64(0))
    if carry:
        number[max(size, length)] = carry
        return max(size, length) + 1
    return max(size, length)


def expected(kinds: np.ndarray, least: int, *, before_b: bool) -> dict[int, int]:
    """Trends per window of at least 1 or 2 events of type 0, alone or before an event of type 1.

    Windows without a trend are left out.

    >>> expected(np.array([0, 0, 1, 0]), 2, before_b=False)
    {0: 4}
    """
    found = {}
    for start in range(0, kinds.size, WITHIN):
        counts, seen = 0, 0
        for kind in kinds[start : start + WITHIN].tolist():
            seen += kind == 0
            if before_b and kind == 1:
                counts += _trends(seen, least)
        total = counts if before_b else _trends(seen, least)
        if total:
            found[start] = total
    return found


def _trends(events: int, least: int) -> int:
    """Return the number of sets of at least 1 or 2 of some events."""
    return 2**events - 1 - (events if least > 1 else 0)
