"""`python -m tests.faults --points 200`: kills, full disks and lost workers all over the pipeline.

One seed is one run of the pipeline, which is struck in every job, mostly several times, and tried
again as Airflow tries again. After each job the tables must be those of a clean run. Some runs have
another one beside them instead, over hours that both have.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from elsinore.spark.server import stop_server
from tests.faults.chain import Chain, Point, draw_faults
from tests.faults.clean import run_clean
from tests.faults.history import BOTH, FIRST, SECOND, Place
from tests.faults.overlap import overlap

#: Every so many seeds, two runs side by side.
_SIDE_BY_SIDE = 8


def main() -> int:
    """Tries the points of a range of seeds; 1 where any of them ends in other tables."""
    options = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    options.add_argument("--points", type=int, default=200, help="stop after so many (200)")
    options.add_argument("--first", type=int, default=0, help="the first seed (0)")
    options.add_argument("--seed", type=int, help="this seed only, whole")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="elsinore-faults-") as name:
        try:
            trial = Trial(Path(name))
            seed = chosen.first if chosen.seed is None else chosen.seed
            trial.go(seed)
            while chosen.seed is None and trial.counts.total() < chosen.points:
                seed += 1
                trial.go(seed)
            trial.summarise()
        finally:
            stop_server(Place(home=Path(name, "server"), place=Path(name)))
    return 1 if trial.failed else 0


class Trial:
    """Clean runs, and what became of the seeds that were tried against them.

    Attributes:
        counts: faults that took place, by job and kind.
        failed: seeds that ended otherwise than they should.
    """

    def __init__(self, folder: Path) -> None:
        self._began, self._folder = time.monotonic(), folder
        self._runs = run_clean(folder, (FIRST, SECOND, BOTH))
        _say(f"clean runs: {time.monotonic() - self._began:.0f} s")
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failed: list[int] = []

    def go(self, seed: int) -> None:
        """Tries a seed, and says what happened at each point."""
        path = self._folder / f"seed-{seed}"

        def tell(point: Point) -> None:
            _say(f"seed {seed}: {point}")
            if point.struck:
                self.counts[point.step.job, point.fault.kind] += 1

        if seed % _SIDE_BY_SIDE == _SIDE_BY_SIDE - 1:
            _, second, both = self._runs
            wrong = overlap(seed, (second, both), second.place(path), tell)
        else:
            run = self._runs[seed % len(self._runs)]
            chain = Chain(run, run.place(path), tell)
            chain.go(draw_faults(seed, run))
            wrong = chain.wrong
        for line in wrong:
            _say(f"seed {seed}: WRONG: {line}")
        _say(f"seed {seed}: {'NOT EQUAL' if wrong else 'equal'}, {self.counts.total()} points")
        if wrong:
            self.failed.append(seed)
        else:
            shutil.rmtree(path)

    def summarise(self) -> None:
        """Says how many points there were, of which kind, and whether all was well."""
        for (job, kind), count in sorted(self.counts.items()):
            _say(f"{count:>6} {job:<20}{kind}")
        seconds = time.monotonic() - self._began
        told = f"WRONG: seeds {self.failed}" if self.failed else "the tables of a clean run always"
        _say(f"{self.counts.total():>6} points in {seconds:.0f} s; {told}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
