"""Files of `events` as Spark leaves them, read directly: the same events as Spark's scan, in order.

The tables are written by refreshes, and changed by the jobs and statements of others.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from elsinore.errors import ElsinoreError, SetupError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.executors.input.ties import Ties
from elsinore.ingest.tables import IngestTables
from elsinore.lake.event_files import Bucket, EventFile, bucket_numbers, events_in_order
from elsinore.lake.stored_events import NotPlainError, files_of
from elsinore.lake.stored_ties import stored_ties
from elsinore.query.load_workload import read_workload
from elsinore.settings import Settings
from elsinore.store.delta_log import BUCKET
from elsinore.store.spark_tables import SparkTables
from elsinore.timeline import DAY, HOUR, Interval
from tests.ingest.landing_zone import START, departure, hour, ingest, put

pytestmark = pytest.mark.spark

#: Attributes of departures: strings, integers and one that no event has.
NAMES = ("arr_delay", "carrier", "dep_delay", "origin")


class Events:
    """The events of a lake, which several hours of files brought."""

    def __init__(self, session: SparkSession, home: Path, buckets: str = "") -> None:
        settings = Settings(home=home)
        text = settings.schema_file.read_text(encoding="utf-8")
        if buckets:
            text = text.replace("\ntypes:", f"\nbuckets: {buckets}\ntypes:")
        (home / "flights.yaml").write_text(text, encoding="utf-8")
        settings = settings.model_copy(update={"schema_file": home / "flights.yaml"})
        settings.landing.mkdir(parents=True)
        self.zone = settings.landing
        self.tables = IngestTables.open(session, settings)
        self.tables.create()
        self.root = Path(self.tables.store.path("events"))
        dice = random.Random(1)
        #: Of two days, in no order of time, and some of other hours than their file's.
        self.records = [
            departure(
                number, dice.randrange(60), hour=dice.randrange(24), dep_delay=dice.randrange(90),
                time=f"2013-01-0{dice.randrange(1, 3)}T{dice.randrange(24):02}:"
                f"{dice.randrange(60):02}:07.{dice.randrange(1000000):06}Z",
                origin=dice.choice(["EWR", "JFK", "LGA"]),
            )
            for number in range(400)
        ]  # fmt: skip
        for number in range(4):
            at = hour(number, day=2)
            put(self.zone, at, *self.records[100 * number : 100 * number + 100])
            ingest(self.tables, self.zone, [at])

    def sql(self, statement: str) -> None:
        """Run a statement of somebody else, in which `{}` is the table."""
        self.tables.store.spark.sql(statement.format(self.tables.store.name("events"))).collect()

    def correct(self, delay: int) -> None:
        """Ingest corrections of some events of all files: a MERGE."""
        at = hour(12, day=2)
        put(self.zone, at, *({**one, "dep_delay": delay} for one in self.records[::7]))
        assert ingest(self.tables, self.zone, [at]).events.updated

    def files(self, interval: Interval | None = None) -> tuple[EventFile, ...]:
        return files_of(self.root, None, interval)

    def direct(self, interval: Interval, bucket: Bucket | None = None) -> list[tuple[Any, ...]]:
        """The events of an interval in order, from their files."""
        schema, files = self.tables.stream, self.files(interval)
        batches = events_in_order(files, interval, schema, {"Departure"}, NAMES, bucket)
        columns = (TIME_COLUMN, TYPE_COLUMN, *NAMES)
        found = [
            tuple(row[name] for name in columns) for batch in batches for row in batch.to_pylist()
        ]
        times = [row[0] for row in found]
        assert times == sorted(times)
        return sorted(found, key=str)

    def scanned(self, interval: Interval) -> list[tuple[Any, ...]]:
        """The same by Spark."""
        rows = self.tables.store.read("events").toArrow()
        times = rows["event_time"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        code = self.tables.stream.type_codes["Departure"]
        columns = [times.to_pylist(), *(rows[name].to_pylist() for name in NAMES)]
        every = [(time, code, *others) for time, *others in zip(*columns, strict=True)]
        return sorted((row for row in every if interval.contains(row[0])), key=str)

    def compare(self) -> None:
        """Compare both for all events, for hours, and for a part of an hour."""
        whole = Interval(START, START + 2 * DAY)
        assert len(self.scanned(whole)) == len(self.records)
        part = Interval(hour(20) + 1, hour(20) + HOUR // 3)
        for interval in (whole, Interval(hour(9), hour(10)), Interval(hour(23), hour(25)), part):
            assert self.direct(interval) == self.scanned(interval)
        for file in self.files():
            times = times_of(file)
            assert file.first <= min(times)
            assert max(times) <= file.last


def times_of(file: EventFile) -> list[int]:
    """The times of a file, in its order."""
    times = pq.read_table(file.path, columns=["event_time"], partitioning=None)["event_time"]
    found: list[int] = times.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    return found


def is_in_order(file: EventFile) -> bool:
    """Return whether the events of a file are stored in the order of time."""
    return times_of(file) == sorted(times_of(file))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory whose name is escaped in URLs."""
    path = tmp_path / "ho me ä"
    path.mkdir()
    return path


@pytest.mark.long
def test_after_refreshes_and_maintenance(ingest_session: SparkSession, home: Path) -> None:
    events = Events(ingest_session, home)
    events.compare()
    assert len(events.files()) == 8, "a file per day of a batch"
    assert all(map(is_in_order, events.files()))
    for file in events.files():
        metadata = pq.ParquetFile(file.path).metadata
        column = next(
            metadata.row_group(0).column(n) for n in range(metadata.num_columns)
            if metadata.row_group(0).column(n).path_in_schema == "event_time"
        )  # fmt: skip
        assert (column.physical_type, column.statistics.has_min_max) == ("INT64", True)
    events.correct(98)
    events.compare()
    events.sql("OPTIMIZE {}")
    assert len(events.files()) == 2, "a file per day"
    events.compare()
    events.sql("ALTER TABLE {} ADD COLUMN (note STRING)")
    events.sql("UPDATE {} SET note = 'mine' WHERE dep_delay > 50")
    events.compare()
    # Row groups as small as those that other writers choose, and without an order.
    events.tables.store.spark.conf.set("parquet.block.size", "1024")
    events.sql("OPTIMIZE {} WHERE event_day = '2013-01-01'")
    events.correct(99)
    events.compare()
    workload = read_workload(
        "QUERY q RETURN COUNT(*) PATTERN Departure+ WHERE [origin] WITHIN 1 hour;",
        events.tables.stream,
    )
    (ties,) = stored_ties(events.root.parent, workload, Interval(START, START + 2 * DAY))
    assert isinstance(ties, Ties)
    assert (ties.queries, ties.keys, ties.events) == (("q",), ("origin",), len(events.records))
    assert stored_ties(events.root.parent, workload, Interval(START - DAY, START)) == []


@pytest.mark.long
def test_a_table_with_buckets(ingest_session: SparkSession, home: Path) -> None:
    events = Events(ingest_session, home, "{by: [origin], number: 4}")
    assert all(map(is_in_order, events.files()))
    events.correct(98)
    events.compare()
    events.sql("OPTIMIZE {}")
    events.compare()
    files = events.files()
    assert {file.bucket for file in files} <= {Bucket(("origin",), n, 4) for n in range(4)}
    whole = Interval(START, START + 2 * DAY)
    for file in files:
        origins = pq.read_table(file.path, columns=["origin"], partitioning=None)
        numbers = bucket_numbers(origins, ["origin"], 4)
        assert file.bucket is not None
        assert set(numbers.tolist()) == {file.bucket.number}
        assert f"{BUCKET}={file.bucket.number}/" in file.path
    parts = [events.direct(whole, Bucket(("origin",), number, 2)) for number in range(2)]
    assert sorted((row for part in parts for row in part), key=str) == events.scanned(whole)


@pytest.mark.long
def test_rows_of_deletion_vectors_are_not_read(ingest_session: SparkSession, home: Path) -> None:
    events = Events(ingest_session, home)
    events.sql("ALTER TABLE {} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    events.sql("DELETE FROM {} WHERE origin = 'JFK'")
    assert any(file.kept is not None for file in events.files())
    whole = Interval(START, START + 2 * DAY)
    left = events.scanned(whole)
    assert 0 < len(left) < len(events.records)
    assert events.direct(whole) == left


def test_a_table_that_only_spark_can_read(ingest_session: SparkSession, home: Path) -> None:
    events = Events(ingest_session, home)
    events.sql("ALTER TABLE {} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    with pytest.raises(ElsinoreError) as refused:
        events.files()
    assert isinstance(refused.value, NotPlainError | SetupError)
    assert "delta" in (refused.value.hint or "")


def test_sessions_write_times_that_have_statistics(ingest_session: SparkSession) -> None:
    tables = SparkTables.open(ingest_session, "/lake", {})
    assert tables.spark.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MICROS"
