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

from tests.faults.chain import Chain, Point
from tests.faults.clean import run_clean
from tests.faults.draw import draw_faults
from tests.faults.history import BOTH, FIRST, SECOND, Home
from tests.faults.overlap import Meeting, overlap
from tests.faults.warm import Warm

#: Every so many seeds, two runs side by side.
_SIDE_BY_SIDE = 8


def main() -> int:
    """Tries the points of a range of seeds; 1 where any of them ends in other tables."""
    options = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    options.add_argument("--points", type=int, default=200, help="stop after so many (200)")
    options.add_argument("--first", type=int, default=0, help="the first seed (0)")
    options.add_argument("--seed", type=int, help="this seed only, whole")
    options.add_argument("--cold", action="store_true", help="start each job as the operator does")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="elsinore-faults-") as name:
        env = Home(Path(name)).environment
        with Warm(env) as one, Warm(env) as other:
            trial = Trial(Path(name), one, other, cold=chosen.cold)
            seed = chosen.first if chosen.seed is None else chosen.seed
            while trial.counts.total() < chosen.points:
                trial.go(seed)
                if chosen.seed is not None:
                    break
                seed += 1
    trial.summarise()
    return 1 if trial.failed else 0


class Trial:
    """Clean runs, and what became of the seeds that were tried against them.

    Attributes:
        counts: faults that took place, by job and kind.
        failed: seeds that ended otherwise than they should.
    """

    def __init__(self, folder: Path, one: Warm, other: Warm, *, cold: bool) -> None:
        self._began = time.monotonic()
        self._folder, self._one, self._other = folder, one, other
        self._cold = cold
        self._runs = run_clean(folder, (FIRST, SECOND, BOTH), one)
        _say(f"clean runs: {time.monotonic() - self._began:.0f} s")
        self.counts: Counter[tuple[str, str]] = Counter()
        self.failed: list[int] = []

    def go(self, seed: int) -> None:
        """Tries a seed, and says what happened at each point."""
        path = self._folder / f"seed-{seed}"
        side_by_side = seed % _SIDE_BY_SIDE == _SIDE_BY_SIDE - 1
        wrong = self._overlap(seed, path) if side_by_side else self._chain(seed, path)
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

    def _chain(self, seed: int, path: Path) -> list[str]:
        run = self._runs[seed % len(self._runs)]

        def tell(point: Point) -> None:
            _say(f"seed {seed}: {point}")
            if point.ended.point:
                self.counts[point.step.job, point.fault.kind] += 1

        chain = Chain(run, run.home(path), tell, None if self._cold else self._one)
        chain.go(draw_faults(seed, run))
        return chain.wrong

    def _overlap(self, seed: int, path: Path) -> list[str]:
        _, second, both = self._runs

        def tell(meeting: Meeting) -> None:
            _say(f"seed {seed}: {meeting}")
            if meeting.held.point:
                self.counts[meeting.job, f"beside {meeting.other}"] += 1

        sides = (self._one, self._other)
        return overlap(seed, (second, both), second.home(path), sides, tell)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
