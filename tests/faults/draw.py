"""Draws what a chain goes through from its seed."""

from __future__ import annotations

from random import Random

from tests.faults.attempt import Fault
from tests.faults.clean import CleanRun, Step

#: Kinds of fault and how often they are drawn. A killed JVM takes the longest to come back.
_KINDS = {"driver": 38, "jvm": 10, "worker": 16, "workers": 6, "daemon": 8, "disk": 22}
#: Of the kills, the share that comes at some time after a point: in the middle of what follows.
_LATER, _LONGEST = 0.4, 1.5
_SIZES = (0, 1, 600, 4_000, 30_000)
#: How many faults a task goes through before it is left alone: as often.
_TRIES = {1: 30, 2: 40, 3: 30}


def draw_faults(seed: int, run: CleanRun, *, most: int = 3) -> dict[Step, list[Fault]]:
    """By step, the faults that its tries meet one after another.

    Args:
        seed: the same seed and clean run give the same faults.
        run: the run that the chain repeats.
        most: so many in one step at most.
    """
    draw = Random(seed)
    faults = {}
    for step, points in run.points.items():
        (count,) = draw.choices(list(_TRIES), list(_TRIES.values()))
        drawn = (_draw(draw, len(points)) for _ in range(min(count, most)))
        faults[step] = list(drawn)[: 1 if step.job == "report_quality" else most]
    return faults


def _draw(draw: Random, points: int) -> Fault:
    (kind,) = draw.choices(list(_KINDS), list(_KINDS.values()))
    at = draw.randint(1, points)
    later = draw.random() < _LATER
    after = round(draw.uniform(0.0, _LONGEST), 3)
    size = draw.choice(_SIZES)
    if kind == "disk":
        return Fault(kind, at, bytes=size)
    return Fault(kind, at, after if later and not kind.startswith("work") else 0.0)
