"""The ingest of a run: late files, refused hours, and what the ledger records of them."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import DataError
from elsinore.ingest.find_files import Found, find_files
from elsinore.ingest.ingest_run import IngestedRun, ingest_run
from elsinore.ingest.tables import IngestTables
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.results import recorded_events_version
from elsinore.ledger.rows import Longs, State
from elsinore.ledger.table import Ledger
from elsinore.orchestration.run_step import Arguments
from elsinore.settings import Settings
from elsinore.store.spark_tables import SparkTables
from elsinore.timeline import HOUR, Interval
from jobs.ingest_events import main as ingest_events
from tests.ingest.landing_zone import START, NewTables, departure, hour, put, rows

pytestmark = pytest.mark.spark


class Home:
    """A home with empty tables, and runs of its hours."""

    def __init__(self, tables: IngestTables, zone: Path, **options: Any) -> None:
        root = Path(tables.store.root)
        self.tables, self.zone = tables, zone
        self.settings = Settings(
            home=root.parent, schema_file=root.parent / "flights.yaml", late_arrival_days=1,
            max_error_rate=0.5, **options,
        )  # fmt: skip
        self.ledger = Ledger.open(self.settings)
        self.ledger.create()

    def run(self, number: int, tables: IngestTables | None = None) -> IngestedRun:
        """Ingest an hour, and what is late before it."""
        own = Interval(hour(number), hour(number + 1))
        return ingest_run(tables or self.tables, self.ledger, self.settings, own, run="r")

    def state(self) -> Fold:
        return fold(self.ledger.read())

    def numbers(self, hours: Longs) -> list[int]:
        return [(one - START) // HOUR for one in hours.tolist()]

    def events(self) -> list[tuple[str, str]]:
        """Ids of events with the hour of their file."""
        found = rows(self.tables, "events", "event_id", "file_hour")
        return [(event, label[-2:]) for event, label in found]


@pytest.fixture
def home(new_tables: NewTables) -> Home:
    return Home(*new_tables())


@pytest.mark.long
def test_late_changed_and_renamed_files(home: Home) -> None:
    first = put(home.zone, hour(9), departure(1, hour=9))
    put(home.zone, hour(10), departure(2), "bad")
    done = home.run(10)
    counts = ("hours", "files", "records", "bad_records", "accepted", "repeated", "late_hours")
    assert [done.figures[name] for name in counts] == [1, 1, 2, 1, 1, 0, 1]
    put(home.zone, hour(10), departure(3, 5), name="-late")
    put(home.zone, hour(8), departure(4, hour=8))
    put(home.zone, hour(11), departure(5, hour=11))
    done = home.run(11)
    assert (done.figures["late_hours"], done.figures["changed_rows"]) == (2, 3)
    assert home.events() == [
        ("d1", "09"), ("d2", "10"), ("d3", "10"), ("d4", "08"), ("d5", "11")
    ]  # fmt: skip
    state = home.state()
    versions = state[State.REFRESHED].longs("events_version").tolist()
    assert home.numbers(state[State.REFRESHED].hours) == [8, 9, 10, 11]
    # 9 o'clock is unchanged since the first run.
    assert versions[1] < versions[0] == versions[2] == versions[3]
    # The same size, another content; a new name; a file that is gone takes nothing away.
    put(home.zone, hour(9), departure(7, hour=9))
    os.utime(first, ns=(0, first.stat().st_mtime_ns + 1))
    old = home.zone / "2013/01/01/events-2013-01-01T08.jsonl"
    old.rename(old.with_name("events-2013-01-01T08-renamed.jsonl"))
    (home.zone / "2013/01/01/events-2013-01-01T10-late.jsonl").unlink()
    assert home.run(12).figures["late_hours"] == 2
    assert home.events() == [
        ("d2", "10"), ("d3", "10"), ("d4", "08"), ("d5", "11"), ("d7", "09")
    ]  # fmt: skip
    done = home.run(13)
    assert (done.figures["late_hours"], done.figures["changed_rows"]) == (0, 0)
    ingested = home.state()[State.INGESTED]
    assert home.numbers(ingested.hours) == [8, 9, 10, 11, 12, 13]
    assert ingested.longs("file_count").tolist() == [1, 1, 2, 1, 0, 0]


@pytest.mark.long
def test_hours_that_cannot_be_ingested_stay_as_they_were(home: Home) -> None:
    folder = put(home.zone, hour(9), departure(1, hour=9)).parent
    home.run(9)
    put(home.zone, hour(9), "bad", "worse", name="-b")
    put(home.zone, hour(10), departure(2), departure(3), "bad")
    (folder / "events-2013-01-01T08.jsonl").symlink_to("/etc/hostname")
    done = home.run(11)
    assert [label[-2:] for label in sorted(done.refused)] == ["08", "09"]
    assert done.refused_first == done.refused
    assert "2 of 3 records are invalid" in done.refused["2013-01-01T09"]
    assert home.events() == [("d1", "09"), ("d2", "10"), ("d3", "10")]
    assert rows(home.tables, "quarantine", "file_hour") == [("2013-01-01T10",)]
    failed = home.state().failed_ingests.last
    assert home.numbers(failed.hours) == [8, 9]
    done = home.run(12)
    assert (sorted(done.refused), done.refused_first) == (
        ["2013-01-01T08", "2013-01-01T09"], {}
    )  # fmt: skip
    (folder / "events-2013-01-01T08.jsonl").unlink()
    put(home.zone, hour(8), departure(8, hour=8))
    put(home.zone, hour(9), departure(9, hour=9), name="-b")
    done = home.run(13)
    assert (done.figures["late_hours"], done.refused) == (2, {})
    assert home.events()[-1] == ("d9", "09")
    assert home.numbers(home.state().failed_ingests.last.hours) == []


@pytest.mark.long
def test_own_hours_fail_the_run(home: Home) -> None:
    put(home.zone, hour(9), departure(1, hour=9))
    put(home.zone, hour(10), "bad", "worse")
    with pytest.raises(DataError, match="2 of 2 records are invalid"):
        home.run(10)
    assert home.numbers(home.state().failed_ingests.last.hours) == [10]
    assert rows(home.tables, "quarantine", "file_hour") == [("2013-01-01T10",)] * 2
    # The next run ingests both, refuses the bad one again, and does not fail.
    done = home.run(11)
    assert (done.figures["late_hours"], [*done.refused]) == (1, ["2013-01-01T10"])
    assert home.events() == [("d1", "09")]


@pytest.mark.long
def test_an_earlier_file_that_goes_before_it_is_read_fails_no_run(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home.zone, hour(8), departure(8, hour=8))
    going = put(home.zone, hour(9), departure(1, hour=9))
    put(home.zone, hour(10), departure(2))

    def find_and_remove(*args: Any, **named: Any) -> Found:
        found = find_files(*args, **named)
        going.unlink()
        return found

    monkeypatch.setattr("elsinore.ingest.ingest_run.find_files", find_and_remove)
    done = home.run(10)
    assert (done.figures["late_hours"], [*done.refused]) == (1, ["2013-01-01T09"])
    assert home.events() == [("d2", "10"), ("d8", "08")]


class Killed(Exception):
    """The process ends here."""


def test_a_killed_run_is_completed_by_the_next(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home.zone, hour(9), departure(1, hour=9))
    put(home.zone, hour(10), departure(2))
    original = Ledger.append

    def at(number: int) -> Callable[..., int]:
        """Return a method of the ledger that ends the process before its commit."""
        calls = iter(range(10))

        def append(self: Ledger, parts: Sequence[pa.Table], *, run: str) -> int:
            if next(calls) == number:
                raise Killed
            return original(self, parts, run=run)

        return append

    for number in (0, 1):  # before the hours are recorded as ingested, and as refreshed
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "append", at(number))
            with pytest.raises(Killed):
                home.run(10 + number)
        assert recorded_events_version(home.state()) == -1
        if not number:  # their producer cleans up
            put(home.zone, hour(10)).unlink()
    assert home.events() == [("d1", "09"), ("d2", "10")]
    assert home.numbers(home.state()[State.INGESTED].hours) == [9, 11]
    done = home.run(12)
    assert (done.figures["late_hours"], done.figures["changed_rows"]) == (1, 2)
    state = home.state()
    assert home.numbers(state[State.REFRESHED].hours) == [9, 10]
    assert state[State.INGESTED].longs("file_count").tolist() == [1, 1, 0, 0]
    # Other jobs change events, too.
    name = home.tables.store.name("events")
    spark = home.tables.store.spark
    spark.sql(f"UPDATE {name} SET dep_delay = 1 WHERE event_id = 'd1'").collect()
    home.run(13)
    changed = home.state()[State.REFRESHED]
    assert changed.rows["changed_rows"].to_pylist() == [1, 1]
    assert changed.longs("events_version")[0] > changed.longs("events_version")[1]


@pytest.mark.long
def test_without_its_change_feed_all_hours_changed(home: Home) -> None:
    put(home.zone, hour(10), departure(1))
    home.run(10)
    put(home.zone, hour(11), departure(2, hour=11))

    class Vacuumed(SparkTables):
        def changes(self, table: str, *versions: Any) -> Any:
            if table == "events":
                path = self.path(table)
                return self.spark.read.table(f"delta.`{path}`").select(
                    F.raise_error(F.lit("FILE_NOT_EXIST")).alias("event_time"),
                    F.lit("insert").alias("_change_type"), F.lit(1).alias("_commit_version"),
                )  # fmt: skip
            return SparkTables.changes(self, table, *versions)

    store = home.tables.store
    tables = replace(home.tables, store=Vacuumed(store.spark, store.root, store.schemas))
    home.run(11, tables)
    changed = home.state()[State.REFRESHED]
    assert home.numbers(changed.hours) == [10, 11]
    assert len(set(changed.longs("events_version").tolist())) == 1


@pytest.mark.long
def test_hours_whose_raw_records_were_removed_are_refused(new_tables: NewTables) -> None:
    home = Home(*new_tables(), retention_days='{"raw_events": 1}')
    put(home.zone, hour(9), departure(1, hour=9))
    home.run(9)
    spark, name = home.tables.store.spark, home.tables.store.name("raw_events")
    spark.sql(f"DELETE FROM {name} WHERE true").collect()
    put(home.zone, hour(9), departure(2, hour=9), name="-b")
    home.settings = home.settings.model_copy(update={"late_arrival_days": 3})
    done = home.run(9 + 30)
    assert "removed after their retention period" in done.refused["2013-01-01T09"]


def test_the_job(new_tables: NewTables, server: Settings) -> None:
    tables, zone = new_tables()
    home = Home(tables, zone)
    shared = {name: getattr(server, name) for name in ("spark_master", "spark_token_file")}
    settings = home.settings.model_copy(update=shared)
    put(zone, hour(9), departure(1, hour=9), departure(1, hour=9))
    with gzip.open(zone / "2013/01/01/events-2013-01-01T09-b.jsonl.gz", "wt") as file:
        file.write(json.dumps(departure(2, hour=9)) + "\n")
    (zone / "notes.txt").write_text("?")
    own = Interval(hour(9), hour(10))
    arguments = Arguments(own, "r", workloads=settings.workloads)
    # PySpark gives a checkpoint to the thread's first session, which here is that of all tests.
    with ThreadPoolExecutor(1) as thread:
        figures = thread.submit(ingest_events, arguments, settings).result()
    counts = ("files", "records", "accepted", "repeated", "silent_hours", "provisional_hours")
    assert [figures[name] for name in counts] == [2, 3, 2, 1, 0, 0]
    assert "notes.txt" in figures["unread_first"]
    assert (figures["recomputed"], figures["hours_left"], figures["refused_first"]) == ([], 0, {})
