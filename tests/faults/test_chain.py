"""A short version of `python -m tests.faults`: one run from nothing, struck in every job."""

from __future__ import annotations

from pathlib import Path

from tests.draws import draws
from tests.faults.chain import Chain, Point
from tests.faults.clean import CleanRun
from tests.faults.strikes import Fault


def test_struck_in_every_job_the_tables_are_those_of_a_clean_run(
    clean: CleanRun, tmp_path: Path
) -> None:
    """Between two writes, in the middle of one, and with all that a job stands on taken away.

    The server that is started again, and all its clients, are in another time zone.
    """

    def last(job: str, point: str) -> int:
        points = clean.points[clean.step(job)]
        return len(points) - points[::-1].index(point)

    def at(job: str, share: float) -> int:
        """The number of a point after a share of the job."""
        return max(1, round(share * len(clean.points[clean.step(job)])))

    ingest, plan, aggregate = "ingest_events", "find_plan", "aggregate_trends"
    validate, publish, report = "validate_results", "publish_results", "report_quality"
    faults = {
        ingest: [
            Fault("client", at(ingest, 0.3)),
            Fault("server", at(ingest, 0.4)),
            Fault("client", at(ingest, 0.15), after=0.2),
            Fault("client", last(ingest, "before write_deltalake hours")),
        ],
        plan: [Fault("client", last(plan, "after write_deltalake plans"))],
        aggregate: [
            Fault("server", at(aggregate, 0.5)),
            Fault("client", last(aggregate, "before write_deltalake hours")),
        ],
        validate: [Fault("client", last(validate, "after write_deltalake validations"))],
        publish: [
            Fault("client", at(publish, 0.5)),
            Fault("client", last(publish, "before write_deltalake hours")),
        ],
        report: [Fault("client", len(clean.points[clean.step(report)]) - 1)],
    }
    faults = {job: of_job[: draws(1, len(of_job))] for job, of_job in faults.items()}
    points: list[Point] = []
    place = clean.place(tmp_path / "place").model_copy(update={"zone": "America/New_York"})
    chain = Chain(clean, place, points.append)
    is_equal = chain.go({clean.step(job): of_job for job, of_job in faults.items()})
    told = [str(point) for point in points]
    assert is_equal, (chain.wrong, told)
    struck = [(point.step.job, point.fault) for point in points if point.struck]
    assert {job for job, _ in struck} == {*faults}, told
    # A try has fewer points than a clean run if others began its work. If it ends before the point
    # of its fault, it is done, and the job meets no further faults.
    for job, drawn in faults.items():
        own = [one for of_job, one in struck if of_job == job]
        assert own == drawn[: len(own)], told
        final = [point for point in points if point.step.job == job][-1]
        assert own == drawn or final.ended.done, told
