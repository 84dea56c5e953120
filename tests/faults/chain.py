"""A run whose jobs are struck again and again; after each, the tables are those of a clean run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.faults.attempt import Ended, Step, attempt
from tests.faults.clean import JOBS, CleanRun, recomputed
from tests.faults.history import Place
from tests.faults.strikes import Fault
from tests.lake_contents import PUBLISHED, contents, differences

#: Kinds of fault and how often they are drawn. A killed server takes the longest to come back.
_KINDS = {"client": 38, "server": 10, "worker": 16, "workers": 6, "daemon": 8, "disk": 22}
#: Those that a job without Spark can meet.
_KINDS_WITHOUT_SPARK = {"client": 60, "disk": 40}
_WITHOUT_SPARK = frozenset({"find_plan", "validate_results", "report_quality"})
#: Of the kills, the share that comes at some time after a point: in the middle of what follows.
_LATER, _LONGEST = 0.4, 1.5
_SIZES = (0, 1, 600, 4_000, 30_000)
#: How many faults a task goes through before it is left alone: as often.
_TRIES = {1: 30, 2: 40, 3: 30}

#: Airflow's tries of a task that nothing strikes any more, and a part of its pause, in seconds.
_LEFT_ALONE, _PAUSE = 3, 1.0


@dataclass(frozen=True)
class Point:
    """One fault and what came of it.

    Attributes:
        step: the task.
        fault: what was to happen.
        ended: how that try ended; nothing happened if it has no `point`.
        wrong: in words, what should not be so; empty if all is well.
    """

    step: Step
    fault: Fault
    ended: Ended
    wrong: tuple[str, ...] = ()

    @property
    def struck(self) -> bool:
        """Whether the job came to its point, and there was something to strike."""
        return bool(self.ended.point and self.ended.hit)

    def __str__(self) -> str:
        where = self.ended.point or "not reached"
        told = "".join(f"\n    WRONG: {line}" for line in self.wrong)
        hit = f"struck {self.ended.hit}"
        return f"{self.step!s:<24}{self.fault}, {where}, {hit}: {self.ended}{told}"


@dataclass
class Chain:
    """A run in a place of its own.

    Attributes:
        run: the clean run that it repeats.
        place: as the clean run found it.
        tell: told of each point as soon as it is over.
        wrong: what differs, in words.
    """

    run: CleanRun
    place: Place
    tell: Callable[[Point], None]
    wrong: list[str] = field(default_factory=list)

    def go(self, faults: Mapping[Step, Sequence[Fault]]) -> bool:
        """Every job of the run with its faults, then without; whether all was well.

        Stops where the tables differ: what follows would differ for the same reason.
        """
        for step in self.run.points:
            self._strike(step, faults.get(step, ()))
            if self.wrong:
                return False
        return True

    def _strike(self, step: Step, faults: Sequence[Fault]) -> None:
        visible = [self._published(), self.run.after[step].get(PUBLISHED, [])]
        ended = Ended(error="not tried")
        for fault in faults:
            ended = attempt(step, self.place, fault)
            wrong = _misjudged(fault, ended)
            if self._published() not in visible:
                wrong.append(f"{PUBLISHED} shows neither what it did nor what it should")
            self.tell(Point(step, fault, ended, tuple(wrong)))
            self.wrong += wrong
            if ended.done:
                break
        if not ended.done:
            ended = left_alone(step, self.place)
        if not ended.done:
            self.wrong.append(f"{step} left alone: {ended}")
            return
        self.wrong += differences(contents(self.place.lake), self.run.after[step])
        # What an ingest returns to the tasks after it, whichever try it is that succeeds.
        expected = [part for part in self.run.points if not part.ingested]
        if step.job == JOBS[0] and recomputed(ended) != expected:
            self.wrong.append(f"recomputed {ended.figures}, not {[str(part) for part in expected]}")

    def _published(self) -> list[str]:
        return contents(self.place.lake, [PUBLISHED]).get(PUBLISHED, [])


def _misjudged(fault: Fault, ended: Ended) -> list[str]:
    if ended.error.startswith("unnamed"):
        return [f"an error that nobody has named: {ended}: {ended.said}"]
    if fault.kind != "disk" and not (ended.done or ended.transient):
        return [f"nobody would try it again: {ended}"]
    return []


def left_alone(step: Step, place: Place) -> Ended:
    """A task that nothing strikes, tried as often as Airflow tries it."""
    for _ in range(_LEFT_ALONE):
        ended = attempt(step, place)
        if not ended.transient:
            break
        time.sleep(_PAUSE)
    return ended


def draw_faults(seed: int, run: CleanRun) -> dict[Step, list[Fault]]:
    """By step, the faults that its tries meet one after another.

    Args:
        seed: the same seed and clean run give the same faults.
        run: the run that the chain repeats.
    """
    draw = Random(seed)
    faults = {}
    for step, points in run.points.items():
        (count,) = draw.choices(list(_TRIES), list(_TRIES.values()))
        if points:
            faults[step] = [_draw(draw, step.job, len(points)) for _ in range(count)]
    return faults


def _draw(draw: Random, job: str, points: int) -> Fault:
    kinds = _KINDS_WITHOUT_SPARK if job in _WITHOUT_SPARK else _KINDS
    (kind,) = draw.choices(list(kinds), list(kinds.values()))
    at = draw.randint(1, points)
    later = draw.random() < _LATER
    after = round(draw.uniform(0.0, _LONGEST), 3)
    size = draw.choice(_SIZES)
    if kind == "disk":
        return Fault(kind, at, bytes=size)
    return Fault(kind, at, after if later and not kind.startswith("work") else 0.0)
