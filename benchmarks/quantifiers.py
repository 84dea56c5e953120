"""`A{2,}` against `A+`: the time of a quantifier with a few copies.

Each copy is a state of the template, so `A{2,}` has two states. Each count is compared with the
closed form: n events have 2^n - 1 trends of `A+`, of which `A{2,}` lacks the n trends of one event.
"""

from __future__ import annotations

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, counts_of, events_of, medians, stream_of, workload_of

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
