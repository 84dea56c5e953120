"""The acceptance: `python -m tests.property --pairs 20000` prints the table of constructs."""

from __future__ import annotations

import argparse
import sys
import time

from elsinore.results.row import ResultRow
from tests.property.compare_all import EveryExecutor
from tests.property.pairs import run_pairs
from tests.property.random_cases import RandomCase


def main() -> int:
    """Run the pairs; 0 if all agree and each construct was met often enough."""
    parser = argparse.ArgumentParser(prog="python -m tests.property", description=__doc__)
    parser.add_argument("--pairs", type=int, default=20_000, help="how many pairs to compare")
    parser.add_argument("--enough", type=int, default=500, help="pairs with a result per construct")
    parser.add_argument(
        "--reference-only", action="store_true", help="run the reference alone: what is drawn"
    )
    options = parser.parse_args()
    began = time.monotonic()
    everyone = EveryExecutor()
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


def _no_judge(case: RandomCase, expected: list[ResultRow] | None) -> tuple[str, ...]:
    return ()


if __name__ == "__main__":
    sys.exit(main())
