"""`python -m tests.fuzz --count 100000`: many mutated workloads, and what came of them."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter

from tests.fuzz.check_text import check_text
from tests.fuzz.mutate import mutated


def main() -> int:
    """Checks the texts of a range of seeds; 1 where any of them breaks a rule."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--count", type=int, default=100_000, help="how many workloads")
    options.add_argument("--first", type=int, default=0, help="the first seed")
    chosen = options.parse_args()
    counts: Counter[str] = Counter()
    slowest = (0.0, chosen.first)
    begin = time.perf_counter()
    for seed in range(chosen.first, chosen.first + chosen.count):
        text, schema = mutated(seed)
        start = time.perf_counter()
        try:
            counts += check_text(text, schema)
        except Exception:  # noqa: BLE001  a crash is what is looked for; it is told and counted
            counts["BROKEN"] += 1
            sys.stdout.write(f"seed {seed}:\n{text!r}\n{traceback.format_exc(limit=-3)}\n")
        slowest = max(slowest, (time.perf_counter() - start, seed))
    for name, count in counts.items():
        sys.stdout.write(f"{count:>10,} {name}\n")
    sys.stdout.write(
        f"{time.perf_counter() - begin:>10.0f} seconds; "
        f"the slowest took {slowest[0]:.2f} s, seed {slowest[1]}\n"
    )
    return 1 if counts["BROKEN"] else 0


if __name__ == "__main__":
    sys.exit(main())
