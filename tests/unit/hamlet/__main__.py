"""The acceptance: `python -m tests.unit.hamlet --workloads 10000` compares random workloads."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.unit.hamlet.judge_sets import judge_set
from tests.unit.hamlet.random_sets import random_set


def main() -> int:
    """Run the workloads; every fourth has a long stream, which the reference does not see."""
    parser = argparse.ArgumentParser(prog="python -m tests.unit.hamlet", description=__doc__)
    parser.add_argument("--workloads", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first workload")
    options = parser.parse_args()
    tally: Counter[str] = Counter()
    began = time.monotonic()
    for number in range(options.first, options.first + options.workloads):
        long = number % 4 == 0
        judge_set(random_set(f"{'long' if long else 'short'}:{number}"), tally, reference=not long)
    print(dict(tally), f"{time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
