"""The acceptance: `python -m tests.property --pairs 20000` prints the table of constructs.

`--workloads 1000` compares as many workloads of each kind instead.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from elsinore.results.row import ResultRow
from tests.property.compare import EveryWay, judge_workload
from tests.property.pairs import run_pairs
from tests.property.random_cases import RandomCase
from tests.property.random_workloads import random_workload
from tests.property.test_workloads import KINDS


def main() -> int:
    """Run the pairs; 0 if all agree and each construct was met often enough."""
    parser = argparse.ArgumentParser(prog="python -m tests.property", description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000, help="how many pairs to compare")
    parser.add_argument("--enough", type=int, default=500, help="pairs with a result per construct")
    parser.add_argument(
        "--reference-only", action="store_true", help="run the reference alone: what is drawn"
    )
    parser.add_argument("--workloads", type=int, help="how many workloads of each kind to compare")
    options = parser.parse_args()
    began = time.monotonic()
    if options.workloads:
        return _compare_workloads(options.workloads)
    everyone = EveryWay()
    tally = run_pairs(options.pairs, _no_judge if options.reference_only else everyone)
    print(tally)
    print(everyone)
    print(f"{time.monotonic() - began:.0f} s")
    lacking = tally.lacking(options.enough)
    if lacking:
        print(f"met in fewer than {options.enough} pairs: {', '.join(lacking)}")
    refused = [] if options.reference_only else tally.refused_too_often()
    if refused:
        print(f"refused too often: {', '.join(refused)}")
    return 1 if lacking or refused else 0


def _compare_workloads(number: int) -> int:
    for kind in KINDS:
        tally: Counter[str] = Counter()
        for n in range(number):
            judge_workload(random_workload(f"{kind}:{n}"), tally)
        print(kind, dict(tally), flush=True)
    return 0


def _no_judge(case: RandomCase, expected: list[ResultRow] | None) -> tuple[str, ...]:
    return ()


if __name__ == "__main__":
    sys.exit(main())
