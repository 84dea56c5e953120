"""The acceptance: `python -m tests.unit.sweep --workloads 3000` compares random workloads."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.property.random_cases import random_case
from tests.property.random_workloads import random_workload
from tests.unit.hamlet.random_sets import random_set
from tests.unit.sweep.judge_sweep import judge_sweep


def main() -> int:
    """Run as many workloads of each of four kinds."""
    parser = argparse.ArgumentParser(prog="python -m tests.unit.sweep", description=__doc__)
    parser.add_argument("--workloads", type=int, default=3_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first workload")
    options = parser.parse_args()
    began = time.monotonic()
    for kind in ("case", "fixed", "short", "long"):
        tally: Counter[str] = Counter()
        for number in range(options.first, options.first + options.workloads):
            judge_numbered(kind, number, tally)
        print(kind, dict(tally), f"{time.monotonic() - began:.0f} s", flush=True)
    return 0


def judge_numbered(kind: str, number: int, tally: Counter[str]) -> None:
    """Judge a workload of one kind: single queries, fixed lengths, short and long bursts."""
    if kind == "case":
        case = random_case(number)
        judge_sweep([case.query], case.shuffled(), case.events, tally, f"case {number}")
    elif kind == "fixed":
        fixed = random_workload(number)
        judge_sweep(fixed.workload.queries, fixed.events, fixed.events, tally, f"fixed {number}")
    else:
        found = random_set(f"{kind}:{number}")
        judge_sweep(found.workload.queries, found.events, found.events, tally, found.described())


if __name__ == "__main__":
    sys.exit(main())
