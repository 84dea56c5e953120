"""The acceptance: `python -m tests.property --pairs 20000` prints the table of constructs.

`--workloads 1000` compares as many workloads of each kind instead; `--kind every` only of one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable

from elsinore.results.row import ResultRow
from tests.property.compare import CONSTRUCT, EveryWay, judge_workload
from tests.property.every_construct import DRAWN
from tests.property.pairs import run_pairs
from tests.property.random_cases import CONSTRUCTS, RandomCase
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
    parser.add_argument("--kind", choices=[*KINDS], action="append", help="only these workloads")
    options = parser.parse_args()
    began = time.monotonic()
    if options.workloads:
        return _compare_workloads(options.workloads, options.kind or KINDS)
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


def _compare_workloads(number: int, kinds: Iterable[str]) -> int:
    """Compare workloads of each kind; 1 if those of `every` lack a construct with a row."""
    lacking: list[str] = []
    for kind in kinds:
        tally: Counter[str] = Counter()
        for n in range(number):
            judge_workload(random_workload(f"{kind}:{n}"), tally)
        met = {name: tally.pop(f"{CONSTRUCT}{name}", 0) for name in CONSTRUCTS}
        print(kind, dict(tally), flush=True)
        print("  queries with rows:", {name: count for name, count in met.items() if count})
        lacking += [name for name in DRAWN if kind == "every" and not met[name]]
    if lacking:
        print(f"no workload of `every` has a row with: {', '.join(lacking)}")
    return 1 if lacking and number >= len(DRAWN) else 0


def _no_judge(case: RandomCase, expected: list[ResultRow] | None) -> tuple[str, ...]:
    return ()


if __name__ == "__main__":
    sys.exit(main())
