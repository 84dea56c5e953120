"""`python -m tests.property.segments --workloads 500`: sharon = aseq = two-step, any valid plan."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence

from elsinore.engine.finish import finish
from elsinore.engine.segments import aggregate_segments
from elsinore.errors import BudgetError
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.sharing.candidates import Segment
from tests.property.compare import assert_same_rows
from tests.property.random_workloads import RandomWorkload, random_workload

PLANS = 5
#: Steps that the reference may take for a query.
BUDGET = Budget(60_000)


def segment_rows(
    case: RandomWorkload, shared: Sequence[Sequence[Segment]] | None
) -> list[ResultRow]:
    """The rows of aseq (None) or of sharon under a plan."""
    found = aggregate_segments(case.workload.queries, case.events, shared)
    return finish(case.workload, found)


def judge_workload(case: RandomWorkload, tally: Counter[str]) -> None:
    """Compare aseq and sharon under random valid plans with the reference.

    Raises:
        AssertionError: they differ; the message has queries, events and plan.
    """
    try:
        expected = sorted_rows(
            row
            for query in case.workload.queries
            for row in two_step(query, case.events, budget=BUDGET)
        )
    except BudgetError:
        tally["too large"] += 1
        return
    tally["workloads"] += 1
    tally["with rows"] += bool(expected)
    for shared in (None, *case.plans(PLANS)):
        try:
            assert_same_rows(segment_rows(case, shared), expected)
        except Exception as error:
            texts = "\n".join(query.text for query in case.workload.queries)
            error.add_note(f"workload {case.name}:\n{texts}\n{case.rows}\n{shared}")
            raise
        tally["plans" if shared is not None else "aseq"] += 1
        tally["shared segments"] += len(shared or ())


def main() -> int:
    """Run the workloads and print what was met."""
    parser = argparse.ArgumentParser(prog="python -m tests.property.segments", description=__doc__)
    parser.add_argument("--workloads", type=int, default=500)
    options = parser.parse_args()
    tally: Counter[str] = Counter()
    began, seed = time.monotonic(), 0
    while tally["workloads"] < options.workloads:
        judge_workload(random_workload(seed), tally)
        seed += 1
    print(dict(tally), f"{time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
