"""One undisturbed history: what every table holds after each job, and the points of each job."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from elsinore.timeline import Interval, hour_label
from tests.faults.attempt import Ended, Job
from tests.faults.history import Home, write_landing_zone
from tests.faults.warm import Warm
from tests.lake_contents import Contents, contents

#: The tasks of a run, in the order of the DAG.
JOBS = (
    "land_events",
    "collect_statistics",
    "find_plan",
    "aggregate_trends",
    "validate_results",
    "publish_results",
    "report_quality",
)

#: The one that a run does for each slice of its hours, and for each stretch that it re-opens.
AGGREGATE = "aggregate_trends"


@dataclass(frozen=True)
class Step:
    """A task of a run: a job over some hours."""

    job: str
    interval: Interval

    def __str__(self) -> str:
        start, end = (hour_label(border) for border in (self.interval.start, self.interval.end))
        return f"{self.job} {start[-3:]}-{end[-2:]}"


@dataclass(frozen=True)
class CleanRun:
    """A run without faults.

    Attributes:
        interval: its hours.
        start: a home as it was before the run; to be copied, not used.
        points: by step, in their order, the names of the points that it passed.
        after: by step, what the tables held when it was done.
    """

    interval: Interval
    start: Path
    points: dict[Step, list[str]]
    after: dict[Step, Contents]

    @property
    def end(self) -> Contents:
        """What the tables hold in the end."""
        return list(self.after.values())[-1]

    def step(self, job: str) -> Step:
        """The first step that is a job."""
        return next(step for step in self.points if step.job == job)

    def home(self, path: Path) -> Home:
        """A home of its own that is as the run found it."""
        shutil.copytree(self.start, path)
        return Home(path)


def run_clean(folder: Path, intervals: tuple[Interval, ...], warm: Warm) -> list[CleanRun]:
    """Runs over some intervals, one after another, in one home below `folder`.

    Raises:
        RuntimeError: a job fails although nothing was done to it.
    """
    home = Home(folder / "clean")
    write_landing_zone(home.path / "landing")
    runs = []
    for number, interval in enumerate(intervals):
        start = folder / f"start-{number}"
        shutil.copytree(home.path, start)
        run = CleanRun(interval, start, {}, {})
        steps = [Step(name, interval) for name in JOBS]
        while steps:
            step = steps.pop(0)
            trace = folder / "points"
            trace.write_text("")
            ended = Job(step.job, step.interval, home).run(trace=trace, warm=warm)
            if ended.code != 0:
                raise RuntimeError(f"{step} fails without any fault: {ended.said}")
            run.points[step] = trace.read_text().splitlines()
            run.after[step] = contents(home.lake)
            place = 1 + next((n for n, later in enumerate(steps) if later.job == AGGREGATE), 0)
            steps[place:place] = reopened(ended)
        runs.append(run)
    return runs


def reopened(landed: Ended) -> list[Step]:
    """What a landing adds to a run: the aggregation of published hours that it has re-opened."""
    stretches = landed.figures.get("reopened", [])
    if not isinstance(stretches, list):
        return []
    return [Step(AGGREGATE, Interval.parse(part["start"], part["end"])) for part in stretches]
