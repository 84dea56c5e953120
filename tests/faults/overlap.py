"""Two runs side by side over hours that both have, their order fixed by words and not by sleeps.

In each job one run is held at a point while the other runs a job over the same hours, or the upkeep
of the tables, from beginning to end; then the first goes on. It may lose against what was committed
meanwhile, and is tried again. In the end the tables are those of the same runs one after another.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from tests.faults.attempt import Attempt, Ended, Step, attempt
from tests.faults.chain import Point, left_alone
from tests.faults.clean import JOBS, CleanRun, recomputed
from tests.faults.history import BOTH, SECOND, Place
from tests.faults.strikes import Fault
from tests.lake_contents import Contents, contents, differences

#: What a run says of itself and not of the hours: two runs over one hour differ in it.
_OF_A_RUN = frozenset({"run_metrics", "plans", "validations", "history"})
_OF_A_RUN_TOO = frozenset({"plan_fingerprint", "validated"})

UPKEEP = "maintain_tables"
#: How often the other one does the upkeep instead.
_UPKEEP = 0.2


def overlap(
    seed: int, runs: tuple[CleanRun, CleanRun], place: Place, tell: Callable[[Point], None]
) -> list[str]:
    """The run over the second hour against a backfill of both; what is wrong in the end.

    Args:
        seed: draws the points and who meets whom.
        runs: the clean run over the second hour, and the one over both after it.
        place: as the first of them found it.
        tell: told of each meeting, as a point of the run that was held.
    """
    draw, wrong, more = Random(seed), list[str](), list[Step]()
    one, two = (place.model_copy(update={"run": run}) for run in ("held", "other"))
    for name in JOBS:
        own, both = Step(name, SECOND), Step(name, BOTH)
        other = Step(UPKEEP, SECOND) if name != JOBS[0] and draw.random() < _UPKEEP else both
        fault = Fault(f"beside {other.job}", draw.randint(1, len(runs[0].points[own])))
        held = Attempt(own, one, fault)
        held.reach()
        ran = attempt(other, two)
        ended = held.end()
        tell(Point(own, fault, ended))
        tried: list[tuple[Step, Place, Ended | None]] = [(own, one, ended), (other, two, ran)]
        tried += [(both, two, None)] if other != both else []
        tried += [(part, one, None) for part in more if part.job == name]
        for step, side, last in tried:
            if last is None or last.transient:
                last = left_alone(step, side)
            if not last.done:
                wrong.append(f"{step} of the run {side.run}: {last}")
            if step.job == JOBS[0]:
                more += [part for part in recomputed(last) if part not in more]
        if wrong:
            return wrong
    return differences(_of_hours(contents(place.lake)), _of_hours(runs[1].end))


def _of_hours(found: Contents) -> Contents:
    return {
        table: sorted(_without(row) for row in rows)
        for table, rows in found.items()
        if table not in _OF_A_RUN
    }


def _without(row: str) -> str:
    told = json.loads(row)
    return json.dumps({k: v for k, v in told.items() if k not in _OF_A_RUN_TOO}, sort_keys=True)
