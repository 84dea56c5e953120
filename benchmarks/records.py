"""Records without a bar: what the engine chooses by itself, against the better choice.

`python -m benchmarks.records [--json]`; `benchmarks.auto`, `.hamlet` and `.order` tell more.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import auto, hamlet, order
from benchmarks.alone import run_alone
from benchmarks.claim import Benchmark, Measured


def measure_auto() -> Measured:
    """The worst pick over all cases."""
    rows = [_figures(auto.measured(case)) for case in auto.CASES]
    return Measured(
        max(float(row["auto/best"]) for row in rows),
        "the rows of all ways and of auto with each other",
        tuple(rows),
        "Milliseconds of the processor; `counting` and `choosing` come on top, once for a run.",
    )


def measure_hamlet() -> Measured:
    """The case in which deciding burst by burst costs most."""
    rows = [_figures(hamlet.measured(case, against_greta=True)) for case in hamlet.bar_cases()]
    return Measured(
        max(float(row["dynamic/best"]) for row in rows),
        "all rows with greta's",
        tuple(rows),
        "Microseconds of the processor an event; the ratio is of the kernels alone.",
    )


def measure_order() -> Measured:
    """The random permutation, whose count has 2,851 bits."""
    rows = order.one_window()
    seconds = {str(row["case"]): float(row["cpu_seconds"]) for row in rows}
    return Measured(
        seconds["permutation: the query"] / seconds[f"permutation: bare tree, {order.WORDS} words"],
        "the count by the bare tree, and a smaller one by Python's integers",
        tuple(rows),
    )


def _figures(row: Mapping[str, object]) -> dict[str, float | str]:
    return {name: v if isinstance(v, float) else str(v) for name, v in row.items()}


AUTO = Benchmark(
    "auto",
    "what auto picks for a workload, against the quickest executor",
    "38 workloads, general, comparing and without edge predicates, run all ways; the worst pick",
    "of the time of the quickest",
    1.15,
    False,
    measure_auto,
)
HAMLET = Benchmark(
    "hamlet",
    "Hamlet's decisions burst by burst, against the better of always and never sharing",
    "sets of 5 to 50 queries over bursts; the worst case",
    "of the time of the better",
    None,
    False,
    measure_hamlet,
)
ORDER = Benchmark(
    "order",
    "a comparison by order, against a bare tree of as many words",
    "A+ under A.v < NEXT(A).v over one window of a million events in random order",
    "of the time of the bare tree",
    None,
    False,
    measure_order,
)

if __name__ == "__main__":
    run_alone(AUTO, HAMLET, ORDER)
