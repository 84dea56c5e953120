"""Ingested hours whose records are all valid, and probably wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from elsinore.ingest.doubts import doubts, emptied_fields, lost_corrections
from elsinore.ingest.ingest_run import ingest_run
from elsinore.ingest.tables import IngestTables
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.run_metrics import COPIES, EMPTIED, UNCHECKED
from elsinore.ledger.table import Ledger
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.timeline import HOUR, Interval, hour_label, parse_hour

pytestmark = pytest.mark.spark

SCHEMA = """\
stream: shop
time: {field: ts, unit: iso}
type: {field: event}
id: {field: id}
sources: [{files: "dump-*.csv*", format: csv}]
types:
  Buy: {user: string, price: {type: double, nullable: true}, tip: {type: long, nullable: true}}
  Sell: {user: string, price: {type: double, nullable: true}}
"""


class Home:
    """A home with empty tables of a stream, and runs of its hours."""

    def __init__(self, session: SparkSession, home: Path, schema: str = SCHEMA) -> None:
        (home / "s.yaml").write_text(schema)
        self.settings = Settings(
            home=home, schema_file=home / "s.yaml", max_error_rate=1.0, late_arrival_days=1
        )
        self.settings.landing.mkdir(parents=True)
        self.tables = IngestTables.open(session, self.settings)
        self.tables.create()
        self.ledger = Ledger.open(self.settings)
        self.ledger.create()
        self.lake = Lake.open(self.settings)

    def put(self, hour: int, *records: Any, name: str = "", ending: str = "") -> Path:
        """Write a file of an hour."""
        path = self.settings.landing / f"{name_of(hour)}{name}.jsonl{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(json.dumps(record) + "\n" for record in records).encode()
        path.write_bytes(gzip.compress(data) if ending else data)
        return path

    def ingest(self, first: int, end: int) -> Lake:
        """Ingest hours."""
        ingest_run(self.tables, self.ledger, self.settings, hours(first, end), run="test")
        return self.lake

    def lost(self, first: int, end: int) -> list[str]:
        """Ingest hours, and return the sentences about their corrections."""
        return lost_corrections(self.ingest(first, end), self.state, hours(first, end))

    @property
    def state(self) -> Fold:
        return fold(self.ledger.read())


@pytest.fixture
def home(ingest_session: SparkSession, tmp_path: Path) -> Home:
    return Home(ingest_session, tmp_path)


def label(hour: int) -> str:
    """Return an hour, counted from 2024-01-01T00, as it is stored."""
    return hour_label(parse_hour("2024-01-01T00") + hour * HOUR)


def name_of(hour: int) -> str:
    """Return the beginning of the name of a file."""
    return f"{label(hour)[:10].replace('-', '/')}/events-{label(hour)}"


def event(number: int, hour: int, kind: str = "Buy", **fields: Any) -> dict[str, Any]:
    at = f"{label(hour)}:00:{number % 60:02}Z"
    return {"id": f"{hour}-{number}", "ts": at, "event": kind, "user": "u", **fields}


def hours(first: int, end: int) -> Interval:
    return Interval(*(parse_hour(label(hour)) for hour in (first, end)))


def filled(hour: int, number: int, **fields: Any) -> list[dict[str, Any]]:
    return [event(n, hour, **fields) for n in range(number)]


def test_fields_that_lose_their_values(home: Home) -> None:
    """Each case begins more than a week after the one before."""
    one, other, third, few, many = (240 * case for case in range(5))
    # A producer renames a field, and corrects it.
    home.put(one, *filled(one, 20, price=1.0))
    home.put(one + 1, *filled(one + 1, 20, Price=1.0))
    home.put(one + 2, *filled(one + 2, 20, price=1.0))
    # Each type counts separately.
    home.put(other, *filled(other, 5, price=1.0), event(9, other, "Sell", price=1.0))
    home.put(other + 1, *filled(other + 1, 5, price=1.0), event(9, other + 1, "Sell", prise=1.0))
    # A field that never had a value, and a type without events, are no reason.
    home.put(third, *filled(third, 9, price=1.0), event(50, third, "Sell", price=2.0))
    home.put(third + 1, *filled(third + 1, 9, price=2.0))
    # A field that seldom has a value may have none in a few events.
    for case, number in ((few, 5), (many, 100)):
        home.put(case, *filled(case, 90), *(event(n, case, tip=1) for n in range(90, 100)))
        home.put(case + 1, *filled(case + 1, number))
    lake = home.ingest(one, many + 2)
    found = {
        label(one + 1): ["Buy.price"], label(other + 1): ["Sell.price"],
        label(many + 1): ["Buy.tip"],
    }  # fmt: skip
    assert emptied_fields(lake, hours(one, many + 2)) == found
    assert emptied_fields(lake, hours(one + 1, one + 2)) == {label(one + 1): ["Buy.price"]}
    assert emptied_fields(lake, hours(one, one + 1)) == {}
    assert emptied_fields(lake, hours(one + 2, one + 3)) == {}


def test_corrections_that_lose_to_files_of_their_hour(home: Home) -> None:
    # Without its extension, `...-late` sorts last, and wins.
    home.put(1, *filled(1, 3, price=1.0), ending=".gz")
    home.put(1, *filled(1, 3, price=2.0), name="-late", ending=".gz")
    # If names are equal without their extensions, the longer one wins, whatever it contains.
    home.put(2, *filled(2, 3, price=2.0), event(7, 2, price=1.0))
    home.put(2, *filled(2, 3, price=1.0), event(7, 2, price=1.0), ending=".gz")
    # The time of modification: a second later is later.
    for hour, second in ((3, 2_000), (4, 1_501)):
        first = home.put(hour, *filled(hour, 3, price=1.0), name="-a")
        os.utime(first, (1_704_200_000 + second,) * 2)
        other = home.put(hour, *filled(hour, 3, price=2.0), name="-b")
        os.utime(other, (1_704_200_000 + 1_500,) * 2)
    # If the record of another hour wins, it makes no difference which one of this hour lost.
    os.utime(home.put(5, event(1, 5, price=1.0)), (1_904_200_000,) * 2)
    home.put(5, event(1, 5, price=3.0), name="-z")
    home.put(6, event(1, 5, price=2.0))
    sentences = home.lost(0, 7)
    packed, changed = name_of(2), name_of(3)
    assert [one.partition("; ")[0] for one in sentences] == [
        f"3 superseded records of {packed}.jsonl lost to {packed}.jsonl.gz, which sorts after it "
        "only by the end of its name",
        f"3 superseded records of {changed}-a.jsonl lost to {changed}-b.jsonl, which was modified "
        "earlier",
    ]
    assert lost_corrections(home.lake, home.state, hours(2, 3)) == sentences[:1]
    events = home.tables.store.read("events").where(f"file_hour = '{label(1)}'")
    assert {row.price for row in events.collect()} == {2.0}


@pytest.mark.long
def test_directories_of_one_hour(ingest_session: SparkSession, tmp_path: Path) -> None:
    """`new-2` sorts before `new/`, but people order directories by their names."""
    rule = 'sources: [{files: "*/{date}T{hour}.jsonl"}]'
    home = Home(ingest_session, tmp_path, re.sub("sources: .*", rule, SCHEMA))
    for folder, price in (("new", 1.0), ("new-2", 2.0)):
        path = home.settings.landing / folder / "2024-01-01T10.jsonl"
        path.parent.mkdir()
        records = (json.dumps(one) + "\n" for one in filled(10, 2, price=price))
        path.write_text("".join(records))
    (sentence,) = home.lost(10, 11)
    assert sentence.startswith(
        "2 superseded records of new-2/2024-01-01T10.jsonl lost to new/2024-01-01T10.jsonl, which "
        "sorts after it only"
    )


@pytest.mark.long
def test_versions_of_events_decide_before_names(
    ingest_session: SparkSession, tmp_path: Path
) -> None:
    ids = "id: {field: id, version: v}"
    home = Home(ingest_session, tmp_path, SCHEMA.replace("id: {field: id}", ids))
    records = [event(1, 10, v=1), event(2, 10, v=2), event(3, 10), event(4, 10, v=2)]
    first = home.put(10, *({**one, "price": 1.0} for one in records), name="-a")
    others = [event(1, 10, v=2), event(2, 10, v=2), event(3, 10), event(4, 10, v=1)]
    home.put(10, *({**one, "price": 2.0} for one in others), name="-b")
    os.utime(first, (1_904_200_000,) * 2)
    (sentence,) = home.lost(10, 11)
    assert sentence.startswith("2 superseded records of"), "those of equal versions"


def test_the_metrics_of_a_run(home: Home) -> None:
    home.put(10, *filled(10, 20, price=1.0))
    home.put(11, *filled(11, 20, Price=1.0))
    home.put(11, *filled(11, 20, Price=2.0), ending=".gz")
    home.put(12, *filled(12, 20, price=1.0), ending=".gz")
    os.utime(home.put(11, *filled(11, 20, Price=1.0)), (1_904_200_000,) * 2)
    for name in ("dump-1.csv", "dump-1.csv.gz", "dump-2.csv"):
        text = b"id,ts,event,user\nx,2024-01-01T10:00:00Z,Sell,u\n"
        path = home.settings.landing / name
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    lake = home.ingest(10, 13)
    found = doubts(lake, home.settings, home.state, hours(10, 13))
    assert json.loads(found[EMPTIED]) == {label(11): ["Buy.price"]}
    assert json.loads(found[COPIES]) == [
        [f"{name_of(11)}.jsonl", f"{name_of(11)}.jsonl.gz"], ["dump-1.csv", "dump-1.csv.gz"],
    ]  # fmt: skip
    assert found.keys() == {EMPTIED, COPIES}, "renamed fields are no values"
    # With a feature that nobody knows, the run records what it has not checked.
    events = home.tables.store
    log = Path(events.path("events")) / "_delta_log" / f"{events.version('events') + 1:020}.json"
    features = {"readerFeatures": ["ofTomorrow"], "writerFeatures": ["ofTomorrow"]}
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    log.write_text(json.dumps({"protocol": protocol}), encoding="utf-8")
    found = doubts(lake, home.settings, home.state, hours(10, 13))
    assert found.keys() == {COPIES, UNCHECKED}
    assert "ofTomorrow" in found[UNCHECKED]
