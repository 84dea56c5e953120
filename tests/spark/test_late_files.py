"""Files that come after their hour's run, or change after it, land with a later run."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from elsinore.errors import DataError, EngineError, LostWorkerError
from elsinore.lake.land import find_landing
from elsinore.lake.provenance import PUBLISHED, read_publications, standing
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import read_metrics, record_metrics, run_keys
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.report_data import ReportData
from elsinore.settings import Settings
from elsinore.timeline import HOUR, Interval, hour_label, hours_of
from jobs import (
    aggregate_trends,
    find_plan,
    land_events,
    publish_results,
    reopen_hours,
    report_quality,
    validate_results,
)
from tests.spark.conftest import NewHome
from tests.spark.landing_zone import by_hand, departure, hours, land, put, rows, run_jobs


@pytest.fixture
def settings(new_spark_home: NewHome) -> Settings:
    """A home whose landings look a day back, and refuse hours of which more than half is bad."""
    return new_spark_home().model_copy(update={"late_days": 1, "max_bad_share": 0.5})


def landed(lake: Lake) -> list[tuple[str, str]]:
    """Ids of the events with the hour of the file that each is taken from."""
    found = rows(lake, "events", "event_id", "file_hour")
    return [(event, landing[-2:]) for event, landing in found]


def test_a_file_that_came_changed_or_was_renamed_after_its_run_lands_with_the_next(
    lake: Lake, settings: Settings
) -> None:
    first = put(settings, 9, departure(1, hour=9))
    put(settings, 10, departure(2))
    assert land(lake, settings, hours(10, 11))["late_landings"] == 1, "nobody had landed 9 o'clock"
    assert landed(lake) == [("d1", "09"), ("d2", "10")]
    # A second file of an hour, and an hour without any until now.
    put(settings, 10, departure(3, 5), name="-late")
    put(settings, 8, departure(4, hour=8))
    put(settings, 11, departure(5, hour=11))
    figures = land(lake, settings, hours(11, 12))
    assert (figures["late_landings"], figures["lines"]) == (2, 1)
    assert landed(lake) == [("d1", "09"), ("d2", "10"), ("d3", "10"), ("d4", "08"), ("d5", "11")]
    # The same size, another content: the file's time tells.
    put(settings, 9, departure(7, hour=9))
    os.utime(first, ns=(0, first.stat().st_mtime_ns + 1))
    # A new name for the same lines.
    path = settings.landing / "2013/01/01/events-2013-01-01T08.jsonl"
    path.rename(path.with_name("events-2013-01-01T08-renamed.jsonl"))
    # A file that is gone, as where old files are cleaned up, takes nothing away.
    (settings.landing / "2013/01/01/events-2013-01-01T10-late.jsonl").unlink()
    assert land(lake, settings, hours(12, 13))["late_landings"] == 2
    assert landed(lake) == [("d2", "10"), ("d3", "10"), ("d4", "08"), ("d5", "11"), ("d7", "09")]
    assert land(lake, settings, hours(13, 14))["late_landings"] == 0, "nothing is new"
    stored = rows(lake, "raw_events", "file")
    assert sum("renamed" in name for name in stored) == 1
    assert sum(rows(lake, "landings", "lines")) == len(stored) == 5


@pytest.mark.parametrize("step", ["change_events", "amend"])
def test_a_run_that_is_killed_before_its_events_has_landed_nothing(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Neither its own hour nor the late one is known, and the run of another hour brings both."""
    put(settings, 9, departure(1, hour=9))
    put(settings, 10, departure(2))

    killed = raising(LostWorkerError("killed"))
    with monkeypatch.context() as patch:
        if step == "change_events":
            patch.setattr("elsinore.lake.land.change_events", killed)
        else:  # they have come, and nobody has said so
            patch.setattr(Lake, "amend", killed)
        with pytest.raises(LostWorkerError):
            land(lake, settings, hours(10, 11))
    assert landed(lake) == ([] if step == "change_events" else [("d1", "09"), ("d2", "10")])
    assert land(lake, settings, hours(11, 12))["late_landings"] == 2
    assert landed(lake) == [("d1", "09"), ("d2", "10")]
    assert land(lake, settings, hours(12, 13))["late_landings"] == 0
    assert sum(rows(lake, "landings", "accepted")) == 2


def test_what_a_deleted_correction_had_corrected_counts_again(
    spark: SparkSession, lake: Lake, settings: Settings
) -> None:
    """Somebody takes it out of the table by hand, and then out of its file."""
    put(settings, 9, departure(1, hour=9))
    put(settings, 10, departure(2), departure(1, hour=9, dep_delay=99))
    land(lake, settings, hours(9, 11))
    assert landed(lake) == [("d1", "10"), ("d2", "10")]
    by_hand(spark, lake, "DELETE FROM {} WHERE event_id = 'd1'", "events")
    put(settings, 10, departure(2))
    land(lake, settings, hours(11, 12))
    assert landed(lake) == [("d1", "09"), ("d2", "10")]
    assert rows(lake, "landings", "accepted", "lines") == [(0, 0), (1, 1), (1, 1)]


def test_an_hour_that_cannot_land_stays_as_it_was_until_its_files_are_mended(
    lake: Lake, settings: Settings
) -> None:
    folder = put(settings, 9, departure(1, hour=9)).parent
    whole = gzip.compress((json.dumps(departure(2, 1)) + "\n").encode())
    cut = folder / "events-2013-01-01T10.jsonl.gz"
    cut.write_bytes(whole[:-9])
    (folder / "events-2013-01-01T11.jsonl.part").write_text("{half", encoding="utf-8")
    (folder / "events-2013-01-01T08.jsonl").symlink_to("/etc/hostname")
    (folder / "events-2013-01-01T07.jsonl").symlink_to(folder / "events-2013-01-01T07.jsonl")
    os.mkfifo(folder / "events-2013-01-01T06.jsonl")
    for hour in (12, 13):
        put(settings, hour, departure(hour, hour=hour))
        figures = land(lake, settings, hours(hour, hour + 1))
        refused = json.loads(str(figures["refused_landings"]))
        assert [label[-2:] for label in sorted(refused)] == ["06", "07", "08", "10"]
        assert "is a symbolic link" in refused["2013-01-01T08"]
        assert "corrupt_file" in refused["2013-01-01T10"]
    assert landed(lake) == [("d1", "09"), ("d12", "12"), ("d13", "13")]
    cut.write_bytes(whole)
    for label in ("06", "07", "08"):
        (folder / f"events-2013-01-01T{label}.jsonl").unlink()
    done = Path(folder / "events-2013-01-01T11.jsonl.part")
    done.write_text(json.dumps(departure(3, hour=11)) + "\n", encoding="utf-8")
    done.rename(done.with_suffix(""))
    figures = land(lake, settings, hours(14, 15))
    assert "refused_landings" not in figures
    assert [event for event, _ in landed(lake)] == ["d1", "d12", "d13", "d2", "d3"]


@pytest.mark.parametrize("most", [1, 10**8])
def test_a_late_file_that_goes_before_it_is_read_fails_no_run(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    settings = settings.model_copy(update={"landing_bytes": most})
    put(settings, 8, departure(8, hour=8))
    land(lake, settings, hours(8, 9))
    late = [put(settings, hour, departure(hour, hour=hour)) for hour in (9, 10)]
    put(settings, 11, departure(11, hour=11))

    def found(*arguments: Any) -> Any:
        what = find_landing(*arguments)
        late[0].unlink()
        return what

    with monkeypatch.context() as patch:
        patch.setattr("elsinore.lake.land.find_landing", found)
        figures = land(lake, settings, hours(11, 12))
    refused = json.loads(figures["refused_landings"])
    assert "No such file" in refused.pop("2013-01-01T09")
    assert (refused, figures["accepted"], figures["late_landings"]) == ({}, 1, 1)
    assert [event for event, _ in landed(lake)] == ["d10", "d11", "d8"]


def test_without_days_to_look_back_only_its_own_hours_land(lake: Lake, settings: Settings) -> None:
    put(settings, 9, departure(1, hour=9))
    put(settings, 10, departure(2))
    alone = settings.model_copy(update={"late_days": 0})
    assert land(lake, alone, hours(10, 11))["late_landings"] == 0
    assert landed(lake) == [("d2", "10")]


def raising(error: Exception) -> Callable[..., None]:
    """What fails, whatever it is given."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


# ---- through the jobs of a run
QUERIES = """
QUERY legs
RETURN COUNT(*)
PATTERN Departure D+
WITHIN 2 hours SLIDE 1 hour;
"""


@pytest.fixture
def replayed(settings: Settings, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs the jobs of an hour's run, and gives what landing said."""
    workload = tmp_path / "legs.sase"
    workload.write_text(QUERIES, encoding="utf-8")
    home = settings.model_copy(update={"workload_file": workload, "reopen_hours": 2})

    def run(
        first: int, end: int, begin: Any = land_events, late_days: int = 1, **jobs: Any
    ) -> dict[str, Any]:
        day = hours(0, 1).start
        interval = Interval(day + first * HOUR, day + end * HOUR)
        own = home.model_copy(update={"late_days": late_days})
        return run_jobs(own, interval, f"run {first}", first=begin, **jobs)

    return run


def provisional(lake: Lake) -> dict[str, list[str]]:
    """By published hour, the hours that it waits for."""
    return {
        label[-2:]: [hour_label(hour)[-2:] for part in found.awaited for hour in hours_of(part)]
        for label, found in sorted(read_publications(lake.root).items())
    }


def counts(lake: Lake) -> dict[str, str]:
    """Published counts by hour."""
    found = rows(lake, "results", "window_end_hour", "exact")
    return {label[-2:]: exact for label, exact in found}


def test_an_hour_without_its_files_is_provisional_until_they_come(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    put(settings, 9, departure(9, hour=9))
    replayed(9, 10)
    assert provisional(lake) == {"09": []}, "before the first file there was no stream"
    replayed(10, 11)
    put(settings, 11, departure(11, hour=11))
    replayed(11, 12)
    assert provisional(lake) == {"09": [], "10": ["10"], "11": ["10"]}
    ends = hours(11, 12).end
    assert standing(lake.root) == {"provisional_hours": 2, "published_until": ends}
    assert counts(lake) == {"09": "1", "10": "1", "11": "1"}
    put(settings, 10, departure(10))
    put(settings, 12, departure(12, hour=12))
    found = replayed(12, 13)
    assert found["late_landings"] == 1
    assert [part["start"][11:13] for part in found["reopened"]] == ["10"]
    assert provisional(lake) == {"09": [], "10": [], "11": [], "12": []}
    assert counts(lake) == {"09": "1", "10": "3", "11": "3", "12": "3"}
    # An empty file says that there were no events, and is waited for no longer.
    spoilt = put(settings, 14, departure(14, hour=14)).with_name("events-2013-01-01T08.jsonl.gz")
    spoilt.write_bytes(b"no gzip")
    found = replayed(13, 14)
    assert [label[-2:] for label in found["refused_first"]] == ["08"]
    assert provisional(lake)["13"] == ["13"]
    put(settings, 13)
    found = replayed(14, 15)
    assert found["refused_first"] == {}, "that was told"
    assert "2013-01-01T08" in found["refused_landings"]
    assert provisional(lake) | {"13": []} == provisional(lake)


def test_files_that_nothing_reads_are_told_once_and_fail_a_run_without_any_other(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    for hour in (9, 10):
        put(settings, hour, departure(hour, hour=hour))
    (settings.landing / "clicks.csv").touch()
    assert replayed(9, 10)["unread_first"].startswith(
        "unrecognized files: clicks.csv; raw files are"
    )
    assert replayed(10, 11)["unread_first"] == "", "that was told"
    spoilt = put(settings, 12, departure(12, hour=12)).with_name("events-2013-01-01T08.jsonl.gz")
    spoilt.write_bytes(b"no gzip")
    with pytest.raises(
        DataError, match=r"no file of these hours arrived, but unrecognized files: clicks\.csv"
    ):
        replayed(11, 12)
    data = ReportData(lake.root, hours(11, 12), None, pages=None)
    assert (data.unread, data.publishing.missing) == ("clicks.csv", ("2013-01-01T11",))
    found = replayed(12, 13)
    assert list(found["refused_first"]) == ["2013-01-01T08"], "the failed run has not told it"


def test_missed_and_stale_hours_beyond_the_limit_are_left_to_catch_up(
    spark: SparkSession, lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    for hour in range(6, 12):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    found = replayed(95, 96)  # days ahead, by mistake: nothing was scheduled from 7 to 11
    assert [part["start"][11:13] for part in found["reopened"]] == ["11"], "and noon"
    found = replayed(11, 12)
    assert [part["start"][11:13] for part in found["reopened"]] == ["09"]
    assert (found["reopened_hours"], found["hours_left"]) == (2, 2)
    assert sorted(provisional(lake)) == ["06", "09", "10", "11", "12", "23"], "the latest two"
    (left,) = found["catch_up"]
    assert (left["start"][11:13], left["end"][11:13]) == ("07", "09")
    assert replayed(7, 9, reopen_hours)["catch_up"] == []
    expected = {"06": "1", "07": "3", "08": "3", "09": "3", "10": "3", "11": "3"}
    expected["12"] = "1"
    assert counts(lake) == expected
    # By hand: the whole day has changed, as far as its files tell.
    by_hand(spark, lake, "DELETE FROM {} WHERE event_id = 'd8'", "events")
    found = replayed(11, 12, reopen_hours)
    (left,) = found["catch_up"]
    while left:
        start, end = (int(left[name][11:13]) for name in ("start", "end"))
        assert end - start <= 2
        left = next(iter(replayed(start, end, reopen_hours)["catch_up"]), None)
    assert counts(lake) == expected | {"08": "1", "09": "1"}


@pytest.mark.parametrize("is_killed", [False, True])
def test_hours_of_a_stop_that_was_longer_than_runs_look_back_are_landed_and_published(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch, is_killed: bool,
) -> None:  # fmt: skip
    files = [put(settings, hour, departure(hour, hour=hour)) for hour in range(6, 12)]
    replayed(6, 7)
    put(settings, 6, departure(60, hour=6, minute=1), name="-late")
    if is_killed:
        with monkeypatch.context() as patch:
            patch.setattr(Lake, "amend", raising(LostWorkerError("killed")))
            with pytest.raises(LostWorkerError):
                replayed(40, 41)
        files[2].unlink()  # what it brought stays
    first = 41 if is_killed else 40
    found = replayed(first, first + 1)
    assert found["late_landings"] == (5 if is_killed else 34), "all since 6 o'clock"
    assert [part["start"][8:13] for part in found["reopened"]] == ["01T11"], "and noon"
    # Whoever comes next goes on, until nothing is left.
    for hour in range(first + 1, first + 4):
        assert replayed(hour, hour + 1)["reopened_hours"] == (2 if hour < first + 3 else 1)
    wanted = {"06": "3", "07": "7", **dict.fromkeys(("08", "09", "10", "11"), "3"), "12": "1"}
    assert counts(lake) == wanted
    assert provisional(lake)["12"] == ["12"], "it has no file"


def test_missed_hours_are_published_whose_events_came_in_the_file_of_another(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    put(settings, 6, departure(6, hour=6))
    replayed(6, 7)
    put(settings, 12, departure(12, hour=12), departure(8, hour=8), departure(9, hour=9))
    replayed(13, 14)
    while replayed(14, 15)["reopened_hours"]:
        pass
    once = dict.fromkeys(("06", "07", "08", "10", "12", "13"), "1")
    assert counts(lake) == once | {"09": "3"}


def test_hours_of_a_stop_land_whatever_else_has_landed_among_them_and_when_they_are_mended(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    for hour in range(6, 12):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    replayed(10, 11, late_days=0)  # a backfill
    assert replayed(40, 41, by_hand=True)["late_landings"] == 0, "nobody asked for them"
    bad = put(settings, 8, "bad")
    found = replayed(41, 42)
    assert [label[-2:] for label in json.loads(found["refused_landings"])] == ["08"]
    assert [event for event, _ in landed(lake)] == ["d10", "d11", "d6", "d7", "d9"]
    bad.write_text(json.dumps(departure(8, hour=8)) + "\n", encoding="utf-8")
    noted = lake.version("run_metrics")
    assert replayed(42, 43)["late_landings"] == 1
    assert lake.version("run_metrics") == noted, "there was nothing new to note"
    while replayed(43, 44)["reopened_hours"]:
        pass
    ends = {"06": "1", "12": "1"}
    assert counts(lake) == ends | dict.fromkeys(("07", "08", "09", "10", "11"), "3")


def test_a_run_lands_its_own_hours_first_and_others_while_it_has_time(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = settings.model_copy(update={"landing_bytes": 1})  # each hour by itself
    for hour in range(8, 14):
        put(settings, hour, departure(hour, hour=hour))
    land(lake, small, hours(8, 9))
    with monkeypatch.context() as patch:
        patch.setattr("elsinore.lake.land._LATE_SECONDS", 0)
        assert land(lake, small, hours(12, 13))["late_landings"] == 0
    assert [event for event, _ in landed(lake)] == ["d12", "d8"]
    assert land(lake, small, hours(13, 14))["late_landings"] == 3
    assert len(landed(lake)) == 6


def test_an_hour_that_no_run_has_published_is_missed_also_where_queries_have_changed(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    for hour in range(9, 12):
        put(settings, hour, departure(hour, hour=hour))
    replayed(9, 10)
    replayed(10, 11, last=())  # it fails, and the text is changed
    (tmp_path / "legs.sase").write_text(QUERIES.replace("2 hours", "3 hours"), encoding="utf-8")
    assert [part["start"][11:13] for part in replayed(11, 12)["reopened"]] == ["10"]
    assert counts(lake) == {"09": "1", "10": "3", "11": "7"}


def test_hours_that_failed_are_taken_on_however_long_ago_that_was(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    failing = {"last": (report_quality,)}
    for hour in range(8, 12):
        put(settings, hour, departure(hour, hour=hour))
    replayed(8, 9, **failing)  # the very first
    assert [part["start"][11:13] for part in replayed(9, 10)["reopened"]] == ["08"]
    assert sorted(counts(lake)) == ["08", "09"]
    replayed(10, 11, **failing)
    replayed(11, 12, last=())  # a long one, that has not ended yet
    # A landing looks a day back. No run was about noon, whose windows hold events of 11 o'clock.
    found = replayed(60, 61, last=())
    assert [part["start"][8:13] for part in found["reopened"]] == ["01T10", "01T12"]
    replayed(11, 12, **failing)
    assert [part["start"][8:13] for part in replayed(61, 62)["reopened"]] == ["01T11"]
    assert [part["start"][8:13] for part in replayed(62, 63)["reopened"]] == ["01T10"]
    assert {"10", "11"} < counts(lake).keys()


def test_hours_that_can_be_computed_do_not_wait_for_those_that_cannot(
    lake: Lake, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "legs.sase").write_text(QUERIES, encoding="utf-8")
    settings = settings.model_copy(update={"workload_file": tmp_path / "legs.sase"})
    midnight = hours(0, 1).start
    for number in range(21, 29):
        label = hour_label(midnight + number * HOUR)
        path = settings.landing / label[:10].replace("-", "/") / f"events-{label}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        event = departure(number, time=f"{label}:00:00Z")
        path.write_text(json.dumps(event) + "\n", encoding="utf-8")

    def run(number: int) -> dict[str, str]:
        """A run of the hour of this number since midnight; says why hours could not be computed."""
        own = Interval(midnight + number * HOUR, midnight + (number + 1) * HOUR)
        reopened = land_events.main(Arguments(own, "run"), settings)["reopened"]
        find_plan.main(Arguments(own, "run"), settings)
        for file in (lake.path("events") / "event_day=2013-01-01").glob("*.parquet"):
            file.write_bytes(file.read_bytes()[: None if number == 21 else 100])
        failed = dict[str, str]()
        for part in (own, *(Interval.parse(one["start"], one["end"]) for one in reopened)):
            arguments = Arguments(part, "run", landed=part == own)
            try:
                for job in (aggregate_trends, validate_results, publish_results):
                    job.main(arguments, settings)
            except DataError as error:
                failed |= dict.fromkeys(map(hour_label, hours_of(part)), error.message)
        return failed

    assert run(21) == {}
    assert len(run(27)) == 5
    failed = run(28)
    assert sorted(failed) == ["2013-01-01T22", "2013-01-01T23", "2013-01-02T00"]
    assert all("cannot read the event file" in said for said in failed.values())
    assert read_publications(lake.root).keys() == {
        "2013-01-01T21", "2013-01-02T01", "2013-01-02T02", "2013-01-02T03", "2013-01-02T04"
    }  # fmt: skip


@pytest.mark.parametrize("error", [EngineError("too large"), TimeoutError()])
def test_more_hours_that_fail_than_a_run_takes_on_keep_no_other_waiting(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch, error: Exception,
) -> None:  # fmt: skip
    aggregate, bad = aggregate_trends._aggregate, {*hours_of(hours(8, 12))}

    def failing(arguments: Arguments, settings: Settings) -> Any:
        if bad.intersection(hours_of(arguments.interval)):
            raise error
        return aggregate(arguments, settings)

    monkeypatch.setattr(aggregate_trends, "_aggregate", failing)
    jobs = (aggregate_trends, validate_results, publish_results)

    class Tried:
        """All jobs, each as if it were a task."""

        @staticmethod
        def main(arguments: Arguments, settings: Settings) -> None:
            with suppress(EngineError, TimeoutError):
                for job in jobs:
                    job.main(arguments, settings)

    for hour in range(6, 15):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    for hour in range(20, 26):
        left = replayed(hour, hour + 1, last=[Tried])["catch_up"]
        if left:
            start, end = (int(left[0][name][11:13]) for name in ("start", "end"))
            replayed(start, end, reopen_hours, last=[Tried])
    assert counts(lake).keys() >= {"06", "07", "12", "13", "14"}
    bad.clear()
    for hour in range(26, 32):
        replayed(hour, hour + 1)
    assert counts(lake).keys() >= {"06", "07", "08", "09", "10", "11", "12", "13", "14"}


def test_an_hour_whose_run_was_killed_as_soon_as_it_had_landed_is_taken_on(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for hour in (6, 7):
        put(settings, hour, departure(hour, hour=hour))
    replayed(6, 7)
    with monkeypatch.context() as patch:
        patch.setattr(land_events, "hours_to_reopen", raising(LostWorkerError("killed")))
        with pytest.raises(LostWorkerError):
            replayed(7, 8)
    record_metrics(lake, "the night")
    (both,) = replayed(60, 61)["reopened"]
    assert (both["start"][8:13], both["end"][8:13]) == ("01T07", "01T09")
    assert counts(lake) == {"06": "1", "07": "3", "08": "1"}
    for hours_of_it in ("2013-01-01T08_2013-01-03T12", "2013-01-01T09_2013-01-01T10"):
        assert hours_of_it not in run_keys(lake.root)
    assert "2013-01-01T07_2013-01-01T08" in run_keys(lake.root)


def test_a_first_hour_that_was_refused_is_published_once_its_file_is_mended(
    lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    def refused(hour: int) -> list[float]:
        """What is on record of its landing after a file of nothing but faults."""
        put(settings, hour, "bad")
        with pytest.raises(DataError, match="records are invalid"):
            replayed(hour, hour + 1)
        record_metrics(lake, "its report")
        lines = (pc.field("step") == "land") & (pc.field("metric") == "lines")
        found = read_metrics(
            lake.root, lines & (pc.field("run_key") == run_key(hours(hour, hour + 1)))
        )
        return list(found["value"].to_pylist())

    assert refused(8) == []
    for hour in (8, 9):
        put(settings, hour, departure(hour, hour=hour))
    assert [part["start"][11:13] for part in replayed(9, 10)["reopened"]] == ["08"]
    assert counts(lake) == {"08": "1", "09": "3"}
    assert refused(9) == [1], "that of before"


def test_published_rows_that_were_changed_by_hand_are_computed_anew(
    spark: SparkSession, lake: Lake, settings: Settings, replayed: Callable[..., dict[str, Any]]
) -> None:
    for hour in range(9, 12):
        put(settings, hour, departure(hour, hour=hour))
    replayed(9, 11)
    expected = counts(lake)
    by_hand(spark, lake, "UPDATE {} SET exact = '999' WHERE window_end_hour LIKE '%T10'", PUBLISHED)
    assert [one.settled for one in read_publications(lake.root).values()] == [False, False]
    assert replayed(11, 12)["reopened_hours"] == 2
    assert counts(lake) == expected | {"11": "3"}
    assert all(one.settled for one in read_publications(lake.root).values())
