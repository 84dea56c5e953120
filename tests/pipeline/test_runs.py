"""Runs one after another: late files, missed, stale and failing hours, and what they publish."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore.errors import DataError, EngineError, LostWorkerError, ValidationError
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.results import provisional_rows, standing
from elsinore.ledger.rows import State, labels
from elsinore.ledger.table import Ledger
from elsinore.orchestration.run_step import Arguments
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.timeline import HOUR, Interval, hours_of
from jobs import (
    aggregate_trends,
    find_plan,
    ingest_events,
    publish_results,
    recompute_hours,
    validate_results,
)
from tests.homes import NewHome
from tests.landing_zone import by_hand, departure, hours, put, rows, run_jobs

QUERIES = """
QUERY legs
RETURN COUNT(*)
PATTERN Departure D+
WITHIN 2 hours SLIDE 1 hour;
"""

Replayed = Callable[..., dict[str, Any]]


@pytest.fixture
def settings(new_spark_home: NewHome, tmp_path: Path) -> Settings:
    """A home whose runs look a day back, and refuse hours of which more than half is bad."""
    workload = tmp_path / "legs.sase"
    workload.write_text(QUERIES, encoding="utf-8")
    return new_spark_home().model_copy(
        update={
            "late_arrival_days": 1, "max_error_rate": 0.5, "workload_file": workload,
            "recompute_hours": 2,
        }
    )  # fmt: skip


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return Lake.open(settings)


@pytest.fixture
def replayed(settings: Settings) -> Replayed:
    """Runs the jobs of a run; returns the figures of the first one."""

    def run(
        first: int, end: int, begin: Any = ingest_events, late_arrival_days: int = 1, **jobs: Any
    ) -> dict[str, Any]:
        day = hours(0, 1).start
        interval = Interval(day + first * HOUR, day + end * HOUR)
        own = settings.model_copy(update={"late_arrival_days": late_arrival_days})
        return run_jobs(own, interval, f"run {first}", first=begin, **jobs)

    return run


def state(settings: Settings) -> Fold:
    """The state of the hours of the workload."""
    return fold(Ledger.open(settings).read(), settings.workload_name)


def provisional(settings: Settings) -> dict[str, list[str]]:
    """By published hour, the hours without a file that its windows reach."""
    now = state(settings)
    waiting = provisional_rows(now)
    found: dict[str, list[str]] = {
        label[-2:]: [] for label in labels(now[State.PUBLISHED].hours).to_pylist()
    }
    inputs = waiting.rows["missing_inputs"].to_pylist()
    for label, missing in zip(labels(waiting.hours).to_pylist(), inputs, strict=True):
        found[label[-2:]] = [hour[-2:] for hour in missing]
    return found


def counts(lake: Lake) -> dict[str, str]:
    """Published counts by hour."""
    found = rows(lake, "results", "window_end_hour", "exact")
    return {label[-2:]: exact for label, exact in found}


def starts(figures: dict[str, Any]) -> list[str]:
    """The first hours of the ranges that a run recomputed."""
    return [part["start"][8:13] for part in figures["recomputed"]]


def raising(error: BaseException) -> Callable[..., None]:
    """Something that fails."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@pytest.mark.long
def test_an_hour_without_its_files_is_provisional_until_they_come(
    lake: Lake, settings: Settings, replayed: Replayed
) -> None:
    put(settings, 9, departure(9, hour=9))
    replayed(9, 10)
    assert provisional(settings) == {"09": []}, "before the first file there was no stream"
    put(settings, 11, departure(11, hour=11))
    replayed(10, 12)
    assert provisional(settings) == {"09": [], "10": ["10"], "11": ["10"]}
    ends = hours(11, 12).end
    assert standing(state(settings)) == {"provisional_hours": 2, "published_until": ends}
    assert counts(lake) == {"09": "1", "10": "1", "11": "1"}
    put(settings, 10, departure(10))
    spoilt = put(settings, 12, departure(12, hour=12)).with_name("events-2013-01-01T08.jsonl.gz")
    spoilt.write_bytes(b"no gzip")
    found = replayed(12, 13)
    assert (found["late_hours"], starts(found)) == (1, ["01T10"])
    assert [label[-2:] for label in found["refused_first"]] == ["08"]
    assert provisional(settings) == {"09": [], "10": [], "11": [], "12": []}
    assert counts(lake) == {"09": "1", "10": "3", "11": "3", "12": "3"}
    # An empty file says that there were no events.
    put(settings, 13)
    found = replayed(13, 14)
    assert found["refused_first"] == {}, "it was reported before"
    assert "2013-01-01T08" in found["refused_hours"]
    assert provisional(settings)["13"] == []


@pytest.mark.long
def test_unrecognized_files_are_reported_once_and_fail_a_run_without_any_other(
    settings: Settings, replayed: Replayed
) -> None:
    for hour in (9, 10):
        put(settings, hour, departure(hour, hour=hour))
    (settings.landing / "clicks.csv").touch()
    assert replayed(9, 10)["unread_first"].startswith(
        "unrecognized files: clicks.csv; raw files are"
    )
    assert replayed(10, 11)["unread_first"] == "", "it was reported before"
    with pytest.raises(
        DataError, match=r"no file of these hours arrived, but unrecognized files: clicks\.csv"
    ):
        replayed(11, 12)


@pytest.mark.long
def test_missed_and_stale_hours_beyond_the_limit_are_left_to_catch_up(
    spark: SparkSession, lake: Lake, settings: Settings, replayed: Replayed
) -> None:
    for hour in range(6, 12):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    found = replayed(11, 12)
    assert (starts(found), found["recomputed_hours"], found["hours_left"]) == (["01T09"], 2, 2)
    (left,) = found["catch_up"]
    assert (left["start"][11:13], left["end"][11:13]) == ("07", "09")
    assert replayed(7, 9, recompute_hours)["catch_up"] == []
    expected = {"06": "1", "07": "3", "08": "3", "09": "3", "10": "3", "11": "3"}
    assert counts(lake) == expected
    # A user deletes an event: only the hours of its windows are stale.
    by_hand(spark, lake, "DELETE FROM {} WHERE event_id = 'd8'", "events")
    found = replayed(12, 13)
    assert (starts(found), found["recomputed_hours"]) == (["01T08"], 2)
    assert counts(lake) == expected | {"08": "1", "09": "1", "12": "1"}


@pytest.mark.long
@pytest.mark.parametrize("is_killed", [False, True])
def test_hours_of_a_stop_that_was_longer_than_runs_look_back_are_published(
    lake: Lake, settings: Settings, replayed: Replayed, monkeypatch: pytest.MonkeyPatch,
    is_killed: bool,
) -> None:  # fmt: skip
    for hour in range(6, 10):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    if is_killed:
        with monkeypatch.context() as patch:
            patch.setattr("elsinore.ingest.ingest_run.refresh", raising(LostWorkerError("killed")))
            with pytest.raises(LostWorkerError):
                replayed(40, 41)
    first = 41 if is_killed else 40
    found = replayed(first, first + 1)
    assert (starts(found), found["hours_left"]) == (["01T09"], 2)
    while replayed(first + 1, first + 2)["recomputed_hours"]:
        pass
    assert counts(lake) == {"06": "1", **dict.fromkeys(("07", "08", "09"), "3"), "10": "1"}
    assert provisional(settings)["10"] == ["10"], "it has no file"


@pytest.mark.long
def test_a_first_hour_that_was_refused_is_published_when_its_file_is_corrected(
    lake: Lake, settings: Settings, replayed: Replayed
) -> None:
    put(settings, 8, "bad")
    with pytest.raises(DataError, match="records are invalid"):
        replayed(8, 9)
    for hour in (8, 9):
        put(settings, hour, departure(hour, hour=hour))
    assert starts(replayed(9, 10)) == ["01T08"]
    assert counts(lake) == {"08": "1", "09": "3"}


@pytest.mark.long
def test_an_hour_whose_run_was_killed_after_ingest_is_computed_by_a_later_run(
    lake: Lake, settings: Settings, replayed: Replayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for hour in (6, 7):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    with monkeypatch.context() as patch:
        patch.setattr(ingest_events, "hours_to_recompute", raising(LostWorkerError("killed")))
        with pytest.raises(LostWorkerError):
            replayed(7, 8)
    assert starts(replayed(60, 61)) == ["01T07"], "and 08, whose windows hold its event"
    assert counts(lake) == {"06": "1", "07": "3", "08": "1"}


@pytest.mark.long
@pytest.mark.parametrize("error", [EngineError("too large"), TimeoutError()])
def test_hours_that_can_be_computed_do_not_wait_for_those_that_cannot(
    lake: Lake, settings: Settings, replayed: Replayed, monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:  # fmt: skip
    staged, bad = aggregate_trends._staged, {*hours_of(hours(7, 9))}

    def failing(arguments: Arguments, *others: Any) -> Any:
        if bad.intersection(hours_of(arguments.interval)):
            raise error
        return staged(arguments, *others)

    monkeypatch.setattr(aggregate_trends, "_staged", failing)

    class Tried:
        """All jobs, each as if it were a task."""

        @staticmethod
        def main(arguments: Arguments, settings: Settings) -> None:
            try:
                for job in (aggregate_trends, validate_results, publish_results):
                    job.main(arguments, settings)
            except (EngineError, TimeoutError):
                return

    for hour in range(6, 11):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    # A run takes two hours: the latest first, and then those that failed longest ago, one by one.
    for hour in range(12, 16):
        replayed(hour, hour + 1, last=[Tried])
    assert counts(lake).keys() == {"06", "09", "10", "11"}, "an hour without events has no rows"
    now = state(settings)
    assert labels(now.failed.last.hours).to_pylist() == ["2013-01-01T07", "2013-01-01T08"]
    bad.clear()
    replayed(16, 17)
    assert counts(lake).keys() == {"06", "07", "08", "09", "10", "11"}


@pytest.mark.long
def test_published_rows_that_were_changed_by_hand_are_computed_again(
    spark: SparkSession, lake: Lake, settings: Settings, replayed: Replayed
) -> None:
    for hour in range(9, 12):
        put(settings, hour, departure(hour, hour=hour))
    replayed(9, 11)
    expected = counts(lake)
    by_hand(spark, lake, "UPDATE {} SET exact = '999' WHERE window_end_hour LIKE '%T10'", "results")
    assert replayed(11, 12)["recomputed_hours"] == 2, "the change concerns a day"
    assert counts(lake) == expected | {"11": "3"}
    assert replayed(12, 13)["recomputed_hours"] == 0


@pytest.mark.long
def test_events_that_come_while_results_are_computed_are_in_the_published_results(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(settings, 9, departure(9, hour=9))
    own = Arguments(hours(9, 10), "run")
    ingest_events.main(own, settings)
    find_plan.main(own, settings)
    aggregate_trends.main(own, settings)
    validate_results.main(own, settings)
    # Another run ingests a correction of the same hour before this one publishes.
    put(settings, 9, departure(10, hour=9, minute=30), name="-late")
    ingest_events.main(Arguments(hours(10, 11), "other"), settings)
    figures = publish_results.main(own, settings)
    assert counts(lake) == {"09": "3"}
    assert figures["changed_hours"] == ["2013-01-01T09"]
    # Nothing changed since: publishing again changes no rows, and names the hours of the run.
    version = lake.version("results")
    again = publish_results.main(own, settings)
    assert (lake.version("results"), again["changed_rows"]) == (version, 0)
    assert again["changed_hours"] == ["2013-01-01T09"], "an attempt can be killed before it ends"


def test_results_that_differ_from_the_reference_are_not_published(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(settings, 9, departure(9, hour=9))
    own = Arguments(hours(9, 10), "run", by_hand=True)
    ingest_events.main(own, settings)
    aggregate_trends.main(own, settings)
    wrong = raising(ValidationError("results differ from the reference"))
    monkeypatch.setattr(validate_results, "require_no_mismatch", wrong)
    with pytest.raises(ValidationError):
        publish_results.main(own, settings)
    assert counts(lake) == {}
    now = state(settings)
    assert now.failed.last.rows["step"].to_pylist() == ["validate"]
    assert not len(now[State.VALIDATED].hours)


def test_queries_that_changed_are_aggregated_again_before_they_are_published(
    lake: Lake, settings: Settings
) -> None:
    for hour in (9, 10):
        put(settings, hour, departure(hour, hour=hour))
    own = Arguments(hours(10, 11), "run", by_hand=True)
    ingest_events.main(Arguments(hours(9, 11), "run"), settings)
    for job in (aggregate_trends, validate_results):
        job.main(own, settings)
    text = QUERIES.replace("2 hours", "1 hour")
    settings.workload_file.write_text(text, encoding="utf-8")
    publish_results.main(own, settings)
    assert counts(lake) == {"10": "1"}


def test_each_step_says_why_it_cannot_begin(settings: Settings) -> None:
    own = Arguments(hours(9, 10), "run", by_hand=True)
    with pytest.raises(DataError, match="the table hours does not exist"):
        aggregate_trends.main(own, settings)
    ingest_events.main(own, settings)
    figures = json.loads(json.dumps(publish_results.main(own, settings)))
    assert figures["rows"] == 0
