"""General edge predicates: shared against greta, and dynamic against always and never sharing.

The cases are those of `benchmarks.hamlet`, whose module prints more.
`python -m benchmarks.shared_edges [--json]`.
"""

from __future__ import annotations

from typing import cast

from benchmarks.alone import run_alone
from benchmarks.claim import Benchmark, Measured
from benchmarks.hamlet import bar_cases, measured, sweep_cases

CHECKED = "every row, shared, not shared and dynamic, with greta's"


def shared() -> Measured:
    """Times faster than greta, over the cases of the bar; the first one is the bar's."""
    rows = [_row(measured(case, against_greta=True)) for case in bar_cases()]
    return Measured(float(rows[0]["greta/dynamic"]), CHECKED, tuple(rows), "Of the first case.")


def dynamic() -> Measured:
    """Dynamic over the better of always and never, the worst of burst lengths and query counts."""
    rows = [_row(measured(case, against_greta=False)) for case in sweep_cases()]
    worst = max(rows, key=lambda row: float(row["dynamic/best"]))
    return Measured(
        float(worst["dynamic/best"]), CHECKED, tuple(rows), f"The worst case: {worst['case']}."
    )


def _row(found: dict[str, object]) -> dict[str, float | str]:
    return cast("dict[str, float | str]", found)


SHARED = Benchmark(
    "shared-edges",
    "general edge predicates, 20 queries, bursts of 100: shared against not shared",
    "20 queries SEQ(S, B+) with (B.x + NEXT(B).y) % 10 = 0, four bursts of 100 a window",
    "times faster than greta",
    8.0,
    True,
    shared,
)
DYNAMIC = Benchmark(
    "dynamic",
    "dynamic sharing against the better of always and never",
    "2 to 100 queries, bursts of 1 to 1,000 events, with a general edge predicate and without",
    "times the better of both",
    1.05,
    False,
    dynamic,
)

if __name__ == "__main__":
    run_alone(SHARED, DYNAMIC)
