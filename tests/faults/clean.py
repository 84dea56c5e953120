"""One undisturbed history: what every table holds after each job, and the points of each job."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from elsinore.timeline import Interval
from tests.faults.attempt import Ended, Step, attempt
from tests.faults.history import Place, write_landing_zone
from tests.lake_contents import Contents, contents

#: What the tasks of a run call, in the order of the DAG.
JOBS = (
    "ingest_events",
    "find_plan",
    "aggregate_trends",
    "validate_results",
    "publish_results",
    "report_quality",
)

#: What a run does for each slice of its hours, and for each time range that it recomputes.
SLICEWISE = JOBS[2:5]


@dataclass(frozen=True)
class CleanRun:
    """A run without faults.

    Attributes:
        interval: its hours.
        start: the place as it was before the run; to be copied, not used.
        points: by step, in their order, the names of the points that it passed.
        after: by step, what the tables held when it was done.
    """

    interval: Interval
    start: Place
    points: dict[Step, tuple[str, ...]]
    after: dict[Step, Contents]

    @property
    def end(self) -> Contents:
        """What the tables hold in the end."""
        return list(self.after.values())[-1]

    def step(self, job: str) -> Step:
        """The first step that is a job."""
        return next(step for step in self.points if step.job == job)

    def place(self, path: Path) -> Place:
        """A place of its own that is as the run found it."""
        return copied(self.start, path)


def copied(place: Place, path: Path) -> Place:
    """The same files in another place, which must not exist."""
    shutil.copytree(place.place, path)
    return place.model_copy(update={"place": path})


def run_clean(folder: Path, intervals: tuple[Interval, ...]) -> list[CleanRun]:
    """Runs over some intervals, one after another, in `folder / "clean"`.

    The server's home is `folder / "server"`.

    Raises:
        RuntimeError: a job fails although nothing was done to it.
    """
    place = Place(home=folder / "server", place=folder / "clean")
    write_landing_zone(place.landing)
    runs = []
    for number, interval in enumerate(intervals):
        run = CleanRun(interval, copied(place, folder / f"start-{number}"), {}, {})
        steps = [Step(name, interval) for name in JOBS]
        while steps:
            step = steps.pop(0)
            ended = attempt(step, place)
            if not ended.done:
                raise RuntimeError(f"{step} fails without any fault: {ended}")
            run.points[step] = ended.points
            run.after[step] = contents(place.lake)
            if step.job == JOBS[0]:
                steps[-1:-1] = recomputed(ended)  # the report comes last
        runs.append(run)
    return runs


def recomputed(ingested: Ended) -> list[Step]:
    """What an ingest adds to a run: stale hours that it recomputes."""
    parts = [Interval.parse(part["start"], part["end"]) for part in ingested.figures["recomputed"]]
    return [Step(job, part, ingested=False) for part in parts for job in SLICEWISE]
