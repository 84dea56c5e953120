"""A lake of release 0.2 is migrated, replayed and equal to a lake that this release made.

`lake-0.2.tar.xz` has a home whose two workloads ran over six hours of flights with release 0.2
(commit 6e82ee0b): an hour per run, with a duplicate, corrections, rejected records, a late file and
an hour without a file. Modification times of its files are whole seconds, which tar keeps.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

import elsinore
from elsinore.cli.main import run_command
from elsinore.ledger.fold import fold
from elsinore.ledger.results import provisional, stale
from elsinore.ledger.rows import State, labels
from elsinore.ledger.table import Ledger
from elsinore.maintain import migrate
from elsinore.maintain.migrate import migrate_lake
from elsinore.orchestration.run_step import Arguments, at_work
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.timeline import EPOCH, HOUR, Interval, parse_hour
from jobs import (
    aggregate_trends,
    find_plan,
    ingest_events,
    publish_results,
    validate_results,
)
from tests.draws import first
from tests.ingest.landing_zone import put
from tests.lake_contents import contents, differences

pytestmark = pytest.mark.spark

LAKE = Path(__file__).with_name("lake-0.2.tar.xz")
START = parse_hour("2012-12-31T22")
WORKLOADS = ("", "ops")
#: Tables that follow from the files and the queries only.
DATA = ("raw_events", "quarantine", "events", "results")

NewHome = Callable[..., Settings]


@pytest.fixture(scope="module")
def new_home(server: Settings, tmp_path_factory: pytest.TempPathFactory) -> NewHome:
    """Makes a home with the files of the lake, and with its tables of release 0.2 on demand."""

    def make(*, is_old: bool = True) -> Settings:
        top = tmp_path_factory.mktemp("home")
        with tarfile.open(LAKE) as archive:
            archive.extractall(top, filter="data")
        if not is_old:
            for name in ("lake", "workloads"):
                shutil.rmtree(top / "var" / name)
        shared = {name: getattr(server, name) for name in ("spark_master", "spark_token_file")}
        return Settings(
            home=top / "var", workload_file=top / "legs.sase", max_error_rate=0.5,
            late_arrival_days=2, **shared,
        )  # fmt: skip

    return make


@pytest.fixture(scope="module")
def spark(server: Settings) -> Any:
    with open_session(server) as session:
        yield session


@pytest.fixture(scope="module")
def run_here(new_home: NewHome) -> Settings:
    """A home in which this release ran over the same files."""
    settings = new_home(is_old=False)
    run(settings, 0, 6)
    return settings


@pytest.fixture(scope="module")
def moved(new_home: NewHome, spark: SparkSession) -> Settings:
    """A migrated home."""
    settings = new_home()
    migrate_lake(spark, settings)
    return settings


@pytest.fixture
def clean(run_here: Settings, tmp_path: Path) -> Settings:
    return copied(run_here, tmp_path / "clean")


@pytest.fixture
def migrated(moved: Settings, tmp_path: Path) -> Settings:
    return copied(moved, tmp_path / "migrated")


def copied(settings: Settings, to: Path) -> Settings:
    """A home with the same files and tables."""
    shutil.copytree(settings.home, to)
    return settings.model_copy(update={"home": to})


def run(settings: Settings, first: int, end: int) -> dict[str, Any]:
    """Run all jobs over hours since the first, and over the hours that ingest names."""
    own = Interval(START + first * HOUR, START + end * HOUR)
    name, found = f"run {first} to {end}", dict[str, Any]()
    asked = Arguments(own, name, workloads=WORKLOADS)
    found |= ingest_events.main(asked, settings)
    find_plan.main(asked, settings)
    again = [Interval.parse(part["start"], part["end"]) for part in found["recomputed"]]
    found["published"] = {}
    for part in (own, *again):
        aggregate_trends.main(Arguments(part, name, workloads=WORKLOADS), settings)
        for workload in WORKLOADS:
            one = settings.of_workload(workload)
            for job in (validate_results, publish_results):
                figures = job.main(Arguments(part, name), one)
            found["published"][workload, str(part)] = figures["changed_rows"]
    return found


def compared(settings: Settings, expected: Settings, tables: Collection[str] = DATA) -> list[str]:
    """How the tables of two homes differ."""
    found = []
    for workload in WORKLOADS:
        here, there = (
            contents(one.of_workload(workload).lake, tables) for one in (settings, expected)
        )
        found += differences(here, there)
    return found


def rows(settings: Settings, table: str, workload: str = "") -> list[dict[str, Any]]:
    path = settings.of_workload(workload).lake / table
    return list(deltalake.DeltaTable(str(path)).to_pyarrow_table().to_pylist())


def stale_hours(settings: Settings, workload: str = "") -> list[str]:
    own = settings.of_workload(workload).workload_name
    state = fold(Ledger.open(settings).read(), own)
    return list(labels(stale(state, 3 if workload else 2)).to_pylist())


def ledger(settings: Settings) -> list[tuple[Any, ...]]:
    """What the ledger records of ingested and published hours, without versions and samples."""
    names = ("file_count", "bytes", "records", "bad_records", "first_event", "last_event", "files",
             "rows", "missing_inputs", "workload_fingerprint")  # fmt: skip
    found = list[tuple[Any, ...]]()
    for workload in WORKLOADS:
        title = settings.of_workload(workload).workload_name
        state = fold(Ledger.open(settings).read(), title)
        for one in (State.INGESTED, State.PUBLISHED):
            columns = [state[one].rows[name].to_pylist() for name in names]
            hours = labels(state[one].hours).to_pylist()
            found += zip([str(one)] * len(hours), hours, *columns, strict=True)
    return found


def environment(settings: Settings, patch: pytest.MonkeyPatch) -> None:
    for name in ("home", "workload_file", "spark_master", "spark_token_file"):
        patch.setenv(f"ELSINORE_{name.upper()}", str(getattr(settings, name)))


def test_all_rows_are_carried_over_and_only_changed_hours_are_stale(
    migrated: Settings, clean: Settings
) -> None:
    assert compared(migrated, clean, ("raw_events", "quarantine", "events")) == []
    assert [len(rows(migrated, name)) for name in DATA] == [19, 2, 14, 24]
    assert len(rows(migrated, "results", "ops")) == 12
    assert len(rows(migrated, "validations")) == 30
    metrics = {(row["step"], row["metric"]) for row in rows(migrated, "run_metrics")}
    assert ("ingest", "records") in metrics
    assert {step for step, _ in metrics}.isdisjoint({"land", "tried"})
    # Release 0.2 chose another record of d14, because '-' sorts before '.'.
    assert stale_hours(migrated) == stale_hours(migrated, "ops") == ["2013-01-01T03"]
    state = fold(Ledger.open(migrated).read(), "legs")
    waiting = ["2013-01-01T02", "2013-01-01T03"]
    assert labels(provisional(state)).to_pylist() == waiting
    assert not migrated.is_old
    old = migrated.before_migration
    assert {path.name for path in old.iterdir()} == {"lake", "workloads"}


@pytest.mark.long
def test_the_next_run_recomputes_only_what_changed(migrated: Settings, clean: Settings) -> None:
    found = run(migrated, 6, 7)
    assert (found["late_hours"], found["changed_rows"]) == (0, 0)
    assert [part["start"][:13] for part in found["recomputed"]] == ["2013-01-01T03"]
    run(clean, 6, 7)
    assert compared(migrated, clean) == []
    assert stale_hours(migrated) == []


@pytest.mark.long
def test_a_replay_changes_only_what_changed_and_equals_the_library(
    migrated: Settings, clean: Settings, tmp_path: Path
) -> None:
    found = run(migrated, 0, 5)
    # Its own hours have the same rows; another record of d14 changes the hour 03.
    changed = {key: rows for key, rows in found["published"].items() if rows}
    part = str(Interval(START + 5 * HOUR, START + 6 * HOUR))
    assert changed == {("", part): 1}
    run(migrated, 5, 6)
    assert compared(migrated, clean) == []
    assert ledger(migrated) == ledger(clean)
    queries = elsinore.workload(migrated.workload_file, schema=migrated.schema_file)
    # In one file the later record wins. Among several files, the library compares whole names.
    files = sorted(migrated.landing.rglob("*.jsonl"), key=lambda file: file.stem)
    whole = tmp_path / "all.jsonl"
    whole.write_text("".join(file.read_text(encoding="utf-8") for file in files), encoding="utf-8")
    found = queries.run(whole, max_error_rate=0.5).to_arrow()["legs"].to_pylist()
    end = EPOCH + timedelta(microseconds=START + 6 * HOUR)
    names = ("COUNT(*)", "SUM(D.dep_delay)")
    expected = {
        (row["tailnum"], row["window_start"], name): str(row[name])
        for row in found if row["window_end"] <= end for name in names
    }  # fmt: skip
    published = {
        (json.loads(row["group_key"])["tailnum"], row["window_start"], row["aggregate"]):
        row["exact"] for row in rows(migrated, "results")
    }  # fmt: skip
    assert published == expected


@pytest.mark.long
def test_late_files_recompute_the_hours_that_they_reach(
    migrated: Settings, clean: Settings
) -> None:
    for settings in (migrated, clean):
        event = {
            "id": "d99", "type": "Departure", "time": "2012-12-31T23:59:00Z", "tailnum": "N1",
            "carrier": "UA", "flight": 7, "origin": "EWR", "dest": "IAH", "dep_delay": 1,
            "distance": 9,
        }  # fmt: skip
        put(settings.landing, START + HOUR, event, {**event, "id": "d3", "dep_delay": 70},
            name="-z")  # fmt: skip
    found = run(migrated, 6, 7)
    assert found["late_hours"] == 1
    parts = [(part["start"][:13], part["end"][:13]) for part in found["recomputed"]]
    assert parts == [("2012-12-31T22", "2013-01-01T02"), ("2013-01-01T03", "2013-01-01T04")]
    run(clean, 6, 7)
    assert compared(migrated, clean) == []


@pytest.mark.long
@pytest.mark.parametrize("point", first(["_move", "record_changed_hours", "last move"], 1))
def test_a_killed_migration_is_repeated(
    point: str, new_home: NewHome, spark: SparkSession, moved: Settings,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    settings = new_home()
    environment(settings, monkeypatch)
    name = "_move" if point == "last move" else point
    original, left = getattr(migrate, name), [{"_move": 0, "last move": 2}.get(point, 0)]

    def dies(*arguments: Any, **named: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return original(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(migrate, name, dies)
        with pytest.raises(KeyboardInterrupt):
            migrate_lake(spark, settings)
    assert run_command(["hours"]) == 2
    assert "run `elsinore migrate`" in capsys.readouterr().err
    if point == "_move":  # in a process of its own, as a user does
        done = subprocess.run([sys.executable, "-m", "elsinore", "migrate"], check=True,
                              capture_output=True, text=True)  # fmt: skip
        assert "1 event changed, because other records win now" in done.stdout
        assert f"rm -r {settings.before_migration}" in done.stdout
    else:
        migrate_lake(spark, settings)
    assert compared(settings, moved) == []
    assert ledger(settings) == ledger(moved)
    assert stale_hours(settings) == ["2013-01-01T03"]
    assert not settings.is_old


def test_it_waits_for_no_run_and_other_commands_wait_for_it(
    new_home: NewHome, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = new_home()
    environment(settings, monkeypatch)
    with at_work(settings.local):
        assert run_command(["migrate"]) == 1
    assert "a run is working in" in capsys.readouterr().err
    own = ["--start", "2013-01-01T03:00Z", "--end", "2013-01-01T04:00Z"]
    commands = (["hours"], ["sql", "SHOW TABLES"], ["ingest", *own], ["replay", *own],
                ["forget", "tailnum=N1"])  # fmt: skip
    for command in commands:
        assert run_command(command) == 2
        assert "release 0.2 (pause the DAGs and run `elsinore migrate`)" in capsys.readouterr().err
    assert run_command(["migrate", "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert text.endswith(
        "would be migrated: raw_events (19 rows), events (14 rows), trend_aggregates (24 rows)\n"
    )
    assert settings.is_old
    settings.before_migration.mkdir()
    (settings.home / "lake").rename(settings.before_migration / "lake")
    assert run_command(["forget", "tailnum=N1"]) == 2
    assert "can contain the key" in capsys.readouterr().err


@pytest.mark.long
def test_removed_raw_records_and_events_stay_removed(
    new_home: NewHome, spark: SparkSession
) -> None:
    settings = new_home()
    lake: Mapping[str, deltalake.DeltaTable] = {
        name: deltalake.DeltaTable(str(settings.home / "lake" / name))
        for name in ("raw_events", "quarantine", "events", "landings")
    }
    lake["raw_events"].delete("landing_day < '2013-01-01'")
    lake["quarantine"].delete("landing_day < '2013-01-01'")
    migrate_lake(spark, settings)
    assert [len(rows(settings, name)) for name in DATA] == [9, 0, 14, 24]
    assert stale_hours(settings) == ["2013-01-01T03"]
    found = run(settings, 6, 7)
    assert [part["start"][:13] for part in found["recomputed"]] == ["2013-01-01T03"]
    assert len(rows(settings, "events")) == 14
