"""Retention: after the period every table and folder stays as large as it is; results stay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pytest

import elsinore.lake.maintain
from elsinore.errors import DataError, ParameterError, SchemaError
from elsinore.lake.maintain import remove_old
from elsinore.lake.provenance import PUBLISHED, STAGED, read_publications
from elsinore.lake.stale_hours import renew, stale_hours
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.timeline import DAY, Interval, parse_instant
from jobs import judge_quality, maintain_tables, report_night, report_quality
from tests.draws import draws
from tests.spark.conftest import NewHome
from tests.spark.landing_zone import departure, land, rows, run_jobs

QUERY = """
QUERY chains
RETURN carrier, COUNT(*)
PATTERN Departure D+
WHERE [tailnum]
GROUP-BY carrier
WITHIN 2 hours SLIDE 1 hour;
"""
#: Landing looks back a day for files, in which events are an hour late at most.
KEEP = {
    "events": 3, "raw_events": 5, "quarantine": 5, "results_staged": 2, "validations": 2,
    "run_metrics": 3, "reports": 2, "data_docs": 2,
}  # fmt: skip
FIRST = date(2013, 1, 1)


@pytest.fixture
def settings(new_spark_home: NewHome, tmp_path: Path) -> Settings:
    queries, schema = tmp_path / "one.sase", tmp_path / "flights.yaml"
    queries.write_text(QUERY, encoding="utf-8")
    home = new_spark_home()
    text = home.schema_file.read_text(encoding="utf-8")
    own = {name: KEEP[name] for name in ("events", "reports")}  # the schema wins
    text = text.replace("unit: iso}", "unit: iso, late: 1 hour}") + f"\nkeep_days: {own}\n"
    schema.write_text(text.replace("'", ""), encoding="utf-8")
    keep = KEEP | dict.fromkeys(own, 300)
    changed = {"workload_file": queries, "schema_file": schema, "late_days": 1, "keep_days": keep}
    return home.model_copy(update=changed)


def live_through(settings: Settings, number: int) -> dict[str, Any]:
    """A day of which one hour has a file, and its night; gives what maintenance says."""
    day = FIRST + timedelta(days=number)
    path = settings.landing / f"{day:%Y/%m/%d}/events-{day}T10.jsonl"
    path.parent.mkdir(parents=True)
    events = [departure(n) | {"id": f"{number}.{n}", "time": f"{day}T10:0{n}:00Z"} for n in (1, 2)]
    path.write_text("".join(f"{json.dumps(e)}\n" for e in events) + "broken\n", encoding="utf-8")
    start = parse_instant(str(day))
    whole = Interval(start, start + DAY)
    figures = run_jobs(settings, whole, f"day {number}")
    assert (figures["reopened_hours"], figures["late_landings"]) == (0, 0)
    report_quality.main(Arguments(whole, "run"), settings)
    night = Arguments(whole, "night")
    judge_quality.main(night, settings)
    report_night.main(night, settings)
    return dict(maintain_tables.main(night, settings))


def sizes(settings: Settings) -> dict[str, tuple[int, int]]:
    """Of what is not kept for ever, rows and files of the latest version, or pages."""
    lake = Lake.open(settings)
    found = {}
    for name in KEEP.keys() - {"reports", "data_docs"}:
        found[name] = lake.dataset(name).count_rows(), len(lake.log(name).file_uris())
    for folder in (settings.reports, settings.quality):
        found[folder.name] = 0, len(list(folder.glob("*")))
    return found


@pytest.mark.slow
@pytest.mark.timeout(3 * 3600)  # a year of days takes half an hour
def test_sizes_are_flat_after_the_period_and_nothing_is_reopened(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = draws(8, 365)
    seen: list[dict[str, tuple[int, int]]] = []
    said: list[dict[str, Any]] = []
    for number in range(days):
        if number == KEEP[STAGED] + 2:
            assert said[-1][f"{STAGED}_expired"] == 0, "somebody may be about to publish them"
            monkeypatch.setattr(elsinore.lake.maintain, "_WAITING", 0)  # here a day takes seconds
        said.append(live_through(settings, number))
        seen.append(sizes(settings))
    assert seen[-1] == seen[-2] == seen[max(KEEP.values()) + 1]
    assert all(said[-1][f"{name}_expired"] > 0 for name in KEEP), said[-1]
    lake = Lake.open(settings)
    held = lake.dataset("events").to_table(columns=["event_day"])["event_day"].to_pylist()
    assert min(held) == FIRST + timedelta(days=days - KEEP["events"])
    # Results stay, and are neither stale nor provisional for it.
    workload = load_workload(settings.workload_file, lake.stream)
    assert not stale_hours(lake.root, workload).own
    published = read_publications(lake.root)
    assert min(published) == f"{FIRST}T00"
    assert all(one.settled for one in published.values())
    # The night has said of all of them that they are of today's events.
    assert {one.events_version for one in published.values()} == {lake.version("events")}
    assert lake.dataset("results").count_rows() >= days
    # Their raw files are still there, and are not landed once more.
    first = parse_instant(str(FIRST))
    with pytest.raises(DataError, match="raw records of 2013-01-01T10 were removed"):
        land(lake, settings, Interval(first, first + DAY))


def test_hours_whose_windows_held_removed_events_are_not_computed_from_the_rest(
    settings: Settings, lake: Lake
) -> None:
    def put_one(number: int, time: str, name: str = "") -> None:
        event = departure(number) | {"time": f"2013-01-0{time}:30:00Z"}
        path = settings.landing / f"2013/01/0{time[0]}/events-2013-01-0{time}{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(event), encoding="utf-8")

    def run(first: str, end: str) -> Any:
        interval = Interval.parse(f"2013-01-0{first}:00Z", f"2013-01-0{end}:00Z")
        return run_jobs(settings, interval, f"{first} {end}")["reopened"]

    def published() -> dict[str, str]:
        return dict(rows(lake, PUBLISHED, "window_end_hour", "exact"))

    put_one(1, "1T23")
    put_one(2, "2T00")
    run("1T23", "2T01")
    assert published() == (before := {"2013-01-01T23": "1", "2013-01-02T00": "3"})
    put_one(3, "2T00", "-late")
    workload = load_workload(settings.workload_file, lake.stream)
    night = parse_instant("2013-01-05")
    for expired in (1, 0):
        gone = remove_old(lake, settings, workload.longest_window, night, run="n")
        assert gone["events_expired"] == expired
    assert run("2T01", "2T02") == [], "the event of 23:30 is not there any more"
    assert published() == before | {"2013-01-02T01": "2"}
    with pytest.raises(DataError, match="windows of 2013-01-02T00 were removed"):
        run("2T00", "2T01")
    # What somebody changes by hand is not right for it, and told until it is mended.
    deltalake.DeltaTable(lake.path(PUBLISHED)).delete("window_end_hour = '2013-01-02T00'")
    run("2T02", "2T03")
    renew(lake, workload, run="n")
    told = read_publications(lake.root)
    assert [label for label, one in told.items() if not one.settled] == ["2013-01-02T00"]
    run("1T23", "2T01")  # the event comes back with its hour
    assert published() == before | {"2013-01-02T00": "5", "2013-01-02T01": "2"}


@pytest.mark.parametrize(
    "keep",
    [
        {"events": 2},
        {"raw_events": 30},
        {"events": 9, "raw_events": 10},
        {"events": 9, "raw_events": 11, "quarantine": 10},
        {"quarantine": 10},
    ],
)
def test_less_than_landing_looks_back_to_is_refused(
    settings: Settings, keep: Mapping[str, int]
) -> None:
    lake = Lake.open(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    lake = replace(lake, stream=replace(lake.stream, keep_days=keep))
    short = settings.model_copy(update={"keep_days": {}})
    with pytest.raises(ParameterError, match="runs need 3 days of events, and raw_events and"):
        remove_old(lake, short, workload.longest_window, parse_instant("2013-02-01"), run="night")


def test_what_is_kept_must_be_there(settings: Settings) -> None:
    text = settings.schema_file.read_text(encoding="utf-8").replace("{events: 3", "{event: 3")
    settings.schema_file.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=r"event has no retention period .*mean events\?"):
        Lake.open(settings)
