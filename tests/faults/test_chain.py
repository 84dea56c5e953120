"""A short version of `python -m tests.faults`: one run from nothing, struck in every job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.attempt import Fault
from tests.faults.chain import Chain, Point
from tests.faults.clean import CleanRun
from tests.faults.warm import Warm


def place(run: CleanRun, job: str, point: str) -> int:
    """Which of a job's points has a name, counted from 1; the last of that name."""
    points = run.points[run.step(job)]
    return len(points) - points[::-1].index(point)


def test_struck_in_every_job_the_tables_are_those_of_a_clean_run(
    clean: CleanRun, warm: Warm, tmp_path: Path
) -> None:
    """Between two writes, in the middle of one, and with all that a job stands on taken away."""

    def fault(kind: str, job: str, point: str, after: float = 0.0, size: int = 0) -> Fault:
        return Fault(kind, place(clean, job, point), after, size)

    land, publish = "land_events", "publish_results"
    faults = {
        land: [
            Fault("driver", 3),
            fault("disk", land, "before save quarantine", size=600),
            # The tables are there by now: this is one of the first points after them.
            Fault("driver", 5),
        ],
        "collect_statistics": [Fault("worker", 1)],
        "find_plan": [Fault("driver", len(clean.points[clean.step("find_plan")]) - 1)],
        "aggregate_trends": [
            fault("workers", "aggregate_trends", "before save trend_aggregates_staged"),
            fault("driver", "aggregate_trends", "after save trend_aggregates_staged"),
        ],
        "validate_results": [fault("driver", "validate_results", "after save validations")],
        publish: [
            fault("jvm", publish, "before save trend_aggregates", after=0.2),
            fault("driver", publish, "after save trend_aggregates"),
        ],
        "report_quality": [Fault("driver", len(clean.points[clean.step("report_quality")]) - 1)],
    }
    struck: list[Point] = []
    chain = Chain(clean, clean.home(tmp_path / "home"), struck.append, warm)
    assert chain.go({clean.step(job): drawn for job, drawn in faults.items()}), chain.wrong
    assert [point.step.job for point in struck if point.ended.point] == [
        job for job, drawn in faults.items() for _ in drawn
    ]


@pytest.mark.parametrize("kind", ["group", "task ended", "task killed"])
def test_a_task_that_airflow_ends_or_that_dies_itself_leaves_no_process(
    clean: CleanRun, warm: Warm, tmp_path: Path, kind: str
) -> None:
    """Started as the operator starts it, killed with its commit about to be made."""
    at = place(clean, "land_events", "before save landings")
    struck: list[Point] = []
    chain = Chain(clean, clean.home(tmp_path / "home"), struck.append, warm)
    chain.strike(clean.step("land_events"), [Fault(kind, at)])
    assert chain.wrong == []
    (point,) = struck
    assert point.ended.point == "before save landings"
    assert point.ended.code != 0
