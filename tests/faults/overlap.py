"""Two runs side by side over hours that both have, their order fixed by locks and not by sleeps.

In each job one run is held at a point while the other runs a job over the same hours, or the upkeep
of the tables, from beginning to end; then the first goes on. It may lose against what was committed
meanwhile, and is tried again. In the end the tables are those of the same runs one after another.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

from elsinore.orchestration.retry_rule import Verdict
from elsinore.timeline import Interval
from tests.faults.attempt import GO_ON, NOTE, Ended, Fault, Job
from tests.faults.clean import AGGREGATE, JOBS, CleanRun, reopened
from tests.faults.family import wait_until
from tests.faults.history import BOTH, SECOND, Home
from tests.faults.warm import Warm
from tests.lake_contents import Contents, contents, differences

#: What a run says of itself and not of the hours: two runs over one hour differ in it.
_OF_A_RUN = frozenset({"run_metrics", "plans", "validations"})
_OF_A_RUN_TOO = frozenset({"plan_fingerprint", "validated"})

UPKEEP = "maintain_tables"


@dataclass(frozen=True)
class Meeting:
    """One job held at a point while another ran.

    Attributes:
        job: the job that was held.
        at: at which of its points, from 1.
        other: the job that ran meanwhile.
        over: its hours.
        held: how the held one ended.
        ran: how the other one ended.
    """

    job: str
    at: int
    other: str
    over: Interval
    held: Ended
    ran: Ended

    def __str__(self) -> str:
        hours = self.over.length // SECOND.length
        return (
            f"{self.job:<19}held {self.held.point or 'not reached'}, {self.other} over {hours} h: "
            f"{self.ran.code} ({self.ran.said[:60]}), then {self.held.code} "
            f"({self.held.said[:110]}) {self.held.seconds:.1f} s"
        )


def overlap(
    seed: int,
    runs: tuple[CleanRun, CleanRun],
    home: Home,
    warm: tuple[Warm, Warm],
    tell: Callable[[Meeting], None],
) -> list[str]:
    """The run over the second hour against a backfill of both; what is wrong in the end.

    Args:
        seed: draws the points and who meets whom.
        runs: the clean run over the second hour, and the one over both after it.
        home: as the first of them found it.
        warm: one for each side.
        tell: told of each meeting.
    """
    draw, wrong, more = Random(seed), list[str](), set[Interval]()
    for name in JOBS:
        at = draw.randint(1, len(runs[0].points[runs[0].step(name)]))
        other = UPKEEP if name != JOBS[0] and draw.random() < 0.2 else name
        over = BOTH if other == name else SECOND
        held, ran = _meet(Job(name, SECOND, home), at, Job(other, over, home), warm)
        tell(Meeting(name, at, other, over, held, ran))
        tried = [(name, SECOND, held, warm[0]), (other, over, ran, warm[1])]
        if other != name:
            tried.append((name, BOTH, Job(name, BOTH, home).run(warm=warm[1]), warm[1]))
        if name == AGGREGATE:
            tried += [
                (AGGREGATE, part, Job(AGGREGATE, part, home).run(warm=warm[0]), warm[0])
                for part in more
            ]
        for job, hours, ended, side in tried:
            if ended.verdict is Verdict.RETRY:
                ended = Job(job, hours, home).run(warm=side)
            if ended.verdict is not Verdict.DONE:
                wrong.append(f"{job} over {hours} ended with {ended.code}: {ended.said}")
            more |= {step.interval for step in reopened(ended)}
        if wrong:
            return wrong
    expected = _of_hours(runs[1].end)
    return differences(_of_hours(contents(home.lake)), expected)


def _meet(held: Job, at: int, other: Job, warm: tuple[Warm, Warm]) -> tuple[Ended, Ended]:
    note, go_on = held.home.path / NOTE, held.home.path / GO_ON
    note.unlink(missing_ok=True)
    with ThreadPoolExecutor(1) as side:
        waiting = side.submit(held.run, Fault("held", at), warm=warm[0])
        wait_until(lambda: note.exists() or waiting.done())
        try:
            ran = other.run(warm=warm[1], notes="other")
        finally:
            Path(go_on).touch()
        return waiting.result(), ran


def _of_hours(found: Contents) -> Contents:
    return {
        table: sorted(_without(row) for row in rows)
        for table, rows in found.items()
        if table not in _OF_A_RUN
    }


def _without(row: str) -> str:
    told = json.loads(row)
    return json.dumps({k: v for k, v in told.items() if k not in _OF_A_RUN_TOO}, sort_keys=True)
