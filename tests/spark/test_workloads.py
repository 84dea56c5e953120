"""Several workloads of a stream in one run: queries together, results apart."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pytest

from elsinore.errors import QueryError, UnsupportedQueryError, ValidationError
from elsinore.lake.answered import answered_by
from elsinore.lake.plans import PLAN
from elsinore.ledger.results import publications, stale
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.validate import VALIDATIONS
from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, STAGED, Lake
from elsinore.timeline import DAY, HOUR, Interval
from jobs import (
    aggregate_trends,
    check_expectations,
    check_published,
    find_plan,
    ingest_events,
    maintain_tables,
    publish_results,
    report_quality,
    validate_results,
)
from tests.homes import NewHome
from tests.lake_contents import contents, differences
from tests.landing_zone import INGESTED, departure, hours, put

pytestmark = pytest.mark.spark

#: Both count chains of departures, and one of their queries has the name of the other's.
CHAINS = """
QUERY chains RETURN {returns} PATTERN Departure D+
WHERE [tailnum] AND D.dep_delay < NEXT(D).dep_delay WITHIN {within};
"""
MAIN = CHAINS.format(returns="COUNT(*)", within="2 hours SLIDE 1 hour") + (
    "QUERY planes RETURN tailnum, SUM(D.dep_delay) PATTERN Departure D+ GROUP-BY D.tailnum "
    "WITHIN 1 hour;"
)
OPS = CHAINS.format(returns="COUNT(D), MAX(D.dep_delay)", within="3 hours SLIDE 1 hour")

OF_WORKLOAD = (RESULTS, VALIDATIONS)


@pytest.fixture
def settings(new_spark_home: NewHome, tmp_path: Path) -> Settings:
    main = tmp_path / "main.sase"
    main.write_text(MAIN)
    main.with_suffix("").mkdir()
    (tmp_path / "main" / "ops.sase").write_text(OPS)
    made = new_spark_home().model_copy(update={"workload_file": main, "late_arrival_days": 1})
    for hour in range(8, 12):
        delays = (5, 9, 2, 7, 11, 3)
        put(made, hour, *(departure(10 * hour + n, 9 * n, hour, tailnum=f"N{n % 2}", dep_delay=d)
                          for n, d in enumerate(delays)))  # fmt: skip
    return made


def run(
    settings: Settings, interval: Interval, name: str, *, workloads: tuple[str, ...] = ()
) -> None:
    """What a run does with the hours that it recomputes; each workload is checked separately."""
    own = Arguments(interval, name, workloads=workloads)
    recomputed = ingest_events.main(own, settings)["recomputed"]
    find_plan.main(own, settings)
    stretches = [Interval.parse(part["start"], part["end"]) for part in recomputed]
    valid = [one.name for one in answered_by(settings, workloads)]
    for part in (own, *(replace(own, interval=one, ingested=False) for one in stretches)):
        aggregate_trends.main(part, settings)
        for workload in valid:
            theirs = settings.of_workload(workload)
            for job in (validate_results, publish_results):
                job.main(part, theirs)
    for workload in valid:
        report_quality.main(own, settings.of_workload(workload))


def published(settings: Settings) -> set[str]:
    """The published hours of a workload."""
    return set(publications(state_of(settings)))


def alone(settings: Settings, new_spark_home: NewHome, workload: str, *runs: Interval) -> Settings:
    """A home with the same raw files and one workload, after some runs."""
    single = {"workload_file": settings.of_workload(workload).queries, "late_arrival_days": 1}
    made = new_spark_home().model_copy(update=single)
    shutil.copytree(settings.landing, made.landing, dirs_exist_ok=True)
    for interval in runs:
        run(made, interval, "alone")
    return made


@pytest.mark.long
def test_each_workload_has_the_tables_of_a_lake_of_its_own(
    settings: Settings, new_spark_home: NewHome
) -> None:
    run(settings, hours(8, 11), "first")
    put(settings, 9, departure(95, 50, 9, tailnum="N1", dep_delay=20), name="-late")
    run(settings, hours(11, 12), "second")
    assert settings.workloads == ("", "ops")
    for workload in settings.workloads:
        own = settings.of_workload(workload)
        clean = alone(settings, new_spark_home, workload, hours(8, 11), hours(11, 12))
        found = contents(own.lake, (*INGESTED, *OF_WORKLOAD))
        assert not differences(found, contents(clean.lake, (*INGESTED, *OF_WORKLOAD)))
        assert found[RESULTS]
        assert found[VALIDATIONS]
        assert not len(stale(state_of(own), answered_by(own)[0].reach))
        page = own.reports / "2013-01-01T11_2013-01-01T12.html"
        assert own.queries.stem in page.read_text()
    # One plan over both: queries of both are candidates of what is shared.
    plans = Lake.open(settings).rows("plans", pc.field("kind") == PLAN)["body"].to_pylist()
    assert any('"ops/chains"' in body and '"chains"' in body for body in plans)
    assert check_published.main(Arguments(hours(8, 12), "look"), settings) == {
        "hours": 8, "published_hours": 8, "other_queries": []
    }  # fmt: skip


@pytest.mark.long
def test_a_workload_by_itself_leaves_the_results_of_others_alone(
    settings: Settings, new_spark_home: NewHome
) -> None:
    run(settings, hours(8, 12), "main alone", workloads=("",))
    main = Lake.open(settings)
    before = {table: main.version(table) for table in (RESULTS, STAGED)}
    assert not (settings.of_workload("ops").lake / RESULTS).exists()
    run(settings, hours(8, 12), "ops alone", workloads=("ops",))
    assert {table: main.version(table) for table in before} == before
    ops = settings.of_workload("ops")
    clean = alone(settings, new_spark_home, "ops", hours(8, 12))
    assert not differences(contents(ops.lake, OF_WORKLOAD), contents(clean.lake, OF_WORKLOAD))


@pytest.mark.long
def test_what_is_wrong_with_one_workload_keeps_no_other_from_being_published(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, ops = Arguments(hours(8, 12), "run"), settings.of_workload("ops")
    ingest_events.main(own, settings)
    find_plan.main(own, settings)
    aggregate_trends.main(own, settings)
    with monkeypatch.context() as patch:
        # The reference finds nothing, so every result of this workload is wrong.
        patch.setattr("elsinore.quality.validate.answer_windows", lambda *_: [])
        with pytest.raises(ValidationError, match="differ from the reference"):
            validate_results.main(own, ops)
        with pytest.raises(ValidationError):
            publish_results.main(own, ops)
    validate_results.main(own, settings)
    assert publish_results.main(own, settings)["rows"] > 0
    assert not published(ops)
    # Nor does one that is no workload.
    ops.queries.write_text("QUERY x RETURN COUNT(*) PATTERN Boat B WITHIN 1 hour;")
    run_of_main = replace(own, workloads=("", "ops"))
    for job in (ingest_events, find_plan, aggregate_trends, validate_results, publish_results):
        job.main(run_of_main, settings)
    with pytest.raises(QueryError, match="Boat"):
        validate_results.main(run_of_main, ops)


@pytest.mark.long
def test_what_the_engine_cannot_run_of_one_workload_keeps_no_other_waiting(
    settings: Settings,
) -> None:
    ops = settings.of_workload("ops")
    ops.queries.write_text(
        "QUERY x RETURN COUNT(a) PATTERN SEQ(Departure a+, Departure b+) WITHIN 1 hour;"
    )
    run(settings, hours(8, 10), "run")
    assert published(settings) == {"2013-01-01T08", "2013-01-01T09"}
    for job in (validate_results, publish_results):
        with pytest.raises(UnsupportedQueryError, match="greta cannot run x"):
            job.main(Arguments(hours(8, 10), "run"), ops)
    ops.queries.write_text(OPS)
    run(settings, hours(10, 11), "next")
    assert len(published(ops)) == 3


@pytest.mark.long
def test_a_workload_runs_by_itself_over_hours_that_it_had_with_others(settings: Settings) -> None:
    run(settings, hours(8, 9), "both")
    run(settings, hours(9, 10), "both")
    for workload in settings.workloads:
        own, theirs = Arguments(hours(8, 10), "backfill"), settings.of_workload(workload)
        own = replace(own, workloads=(workload,))
        find_plan.main(own, theirs)
        for part in own.interval.split(2, grain=HOUR):
            assert aggregate_trends.main(replace(own, interval=part, share=0.5), theirs)["rows"]
    settings.of_workload("ops").queries.unlink()
    put(settings, 8, departure(88, 58, 8, tailnum="N1", dep_delay=20), name="-late")
    run(settings, hours(10, 11), "the other is gone")
    assert not len(stale(state_of(settings), answered_by(settings)[0].reach))


@pytest.mark.long
def test_nothing_is_removed_as_too_old_while_a_workload_is_not_valid(settings: Settings) -> None:
    run(settings, hours(8, 10), "run")
    kept = settings.model_copy(update={"retention_days": {"events": 800}})
    ops, after = settings.of_workload("ops"), hours(0, 1).start + 900 * DAY
    lake, night = Lake.open(settings), Arguments(Interval(after, after + DAY), "night")
    ops.queries.write_text("QUERY")
    maintain_tables.main(night, kept)
    assert lake.rows("events").num_rows == 12
    ops.queries.write_text(OPS)
    maintain_tables.main(night, kept)
    assert lake.rows("events").num_rows == 0


def test_a_new_workload_can_be_judged_before_its_first_run(settings: Settings) -> None:
    run(settings, hours(8, 10), "run", workloads=("",))
    assert check_expectations.main(Arguments(hours(8, 10), "night"), settings.of_workload("ops"))


@pytest.mark.long
def test_a_workload_that_was_not_valid_after_a_stop_has_its_hours_when_it_is_mended(
    settings: Settings,
) -> None:
    run(settings, hours(8, 9), "first")
    ops, after = settings.of_workload("ops"), hours(0, 1).start + 2 * DAY
    ops.queries.write_text("QUERY")
    for number in range(4):
        own = Interval(after + number * HOUR, after + (number + 1) * HOUR)
        run(settings, own, f"{number}")
        ops.queries.write_text(OPS if number else "QUERY")
    every, theirs = map(published, (settings, ops))
    missed = {label for label in every if label < "2013-01-02"}
    assert len(missed) > 3
    assert missed <= theirs
