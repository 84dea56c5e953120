"""How the engine scales with events, queries, cores and machines; writes `docs/internals/scale.md`.

1, 10 and 100 million events through 1 to 1,000 queries, by one process and by two side by side, in
streams that are made as they are read; then one day of events by Spark with a local master and with
a standalone cluster on loopback. Every answer is checked.

`python -m benchmarks.scale [--quick] [--page] [--json FILE]`: `--quick` takes a hundredth of the
events and no cluster; `--page` writes table and picture to the docs, without it they are printed;
`--json` keeps the results, `--from FILE` measures nothing and takes them from there. Where the next
point of a row should take longer than `--limit` seconds, it is left out and said so. `--day EVENTS`
prints what Spark makes of a day of so many events, and nothing else; with `--buckets N` of events
that are laid out by so many buckets of their keys, or, for comparison, by none (0).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.results import machine
from benchmarks.scale.cell import Cell, measure
from benchmarks.scale.cluster import Slice, compare
from benchmarks.scale.page import Found, print_tables, slices_table, write_page

EVENTS, QUERIES, CORES = (1_000_000, 10_000_000, 100_000_000), (1, 10, 100, 1_000), (1, 2)
SLICE = 2_000_000
#: Divides the events of a quick run.
QUICK = 100


def measure_grid(*, quick: bool, limit: float) -> list[Cell]:
    """All points that should take less than the limit, the small ones first."""
    found = []
    for queries in QUERIES:
        for cores in CORES:
            last: Cell | None = None
            for events in EVENTS:
                size = events // QUICK if quick else events
                if last is not None and last.seconds * size / last.events > limit:
                    break
                last = measure(size, queries, cores)
                found.append(last)
                print(last, file=sys.stderr)
    return found


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--limit", type=float, default=180.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--from", type=Path, dest="kept")
    parser.add_argument("--day", type=int)
    parser.add_argument("--buckets", type=int, nargs=1, default=())
    asked = parser.parse_args()
    if asked.day is not None:
        with TemporaryDirectory() as folder:
            print("\n".join(slices_table(compare(Path(folder), asked.day, *asked.buckets))))
        return
    if asked.kept is not None:
        kept = json.loads(asked.kept.read_text(encoding="utf-8"))
        found = Found(
            [Cell(**cell) for cell in kept["cells"]],
            [Slice(**part) for part in kept["slices"]],
            kept["machine"],
        )
    else:
        here = f"{machine()}, {os.getloadavg()[1]:.1f} processes busy before"
        cells = measure_grid(quick=asked.quick, limit=asked.limit)
        slices: list[Slice] = []
        if not asked.quick:
            with TemporaryDirectory() as folder:
                slices = compare(Path(folder), SLICE)
        found = Found(cells, slices, here)
    if asked.json is not None:
        asked.json.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    if asked.page:
        write_page(found)
    else:
        print_tables(found)


if __name__ == "__main__":
    main()
