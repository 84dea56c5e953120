"""Landed hours in which each line is right, and which are probably wrong all the same."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from elsinore.lake.land import land
from elsinore.lake.landing_doubts import (
    emptied_fields,
    lost_corrections,
    packed_copies,
    stored_ties,
)
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.report_data import ReportData
from elsinore.query.load_workload import read_workload
from elsinore.settings import Settings
from elsinore.timeline import Interval
from jobs import land_events

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


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    made = Settings(
        home=tmp_path / "home", schema_file=tmp_path / "s.yaml", max_bad_share=1.0, late_days=1
    )
    made.landing.mkdir(parents=True)
    Lake.open(made).create_all()
    return made


def event(number: int, hour: int, kind: str = "Buy", **fields: Any) -> dict[str, Any]:
    at = f"2024-01-01T{hour:02}:00:{number % 60:02}Z"
    return {"id": f"{hour}-{number}", "ts": at, "event": kind, "user": "u", **fields}


def put(settings: Settings, hour: int, *records: Any, name: str = "", ending: str = "") -> Path:
    path = settings.landing / f"2024/01/01/events-2024-01-01T{hour:02}{name}.jsonl{ending}"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if ending else data)
    return path


def hours(first: int, end: int) -> Interval:
    return Interval.parse(f"2024-01-01T{first:02}:00Z", f"2024-01-01T{end:02}:00Z")


def landed(settings: Settings, first: int, end: int) -> Lake:
    lake = Lake.open(settings)
    land(lake, settings, hours(first, end), run="test")
    return lake


def filled(hour: int, number: int, **fields: Any) -> list[dict[str, Any]]:
    return [event(n, hour, **fields) for n in range(number)]


def test_a_field_that_loses_its_values_is_found_in_its_hour(settings: Settings) -> None:
    put(settings, 10, *filled(10, 20, price=1.0))
    put(settings, 11, *filled(11, 20, Price=1.0))
    put(settings, 12, *filled(12, 20, price=1.0))
    lake = landed(settings, 10, 13)
    assert emptied_fields(lake, hours(10, 13)) == {"2024-01-01T11": ["Buy.price"]}
    assert emptied_fields(lake, hours(11, 12)) == {"2024-01-01T11": ["Buy.price"]}
    assert emptied_fields(lake, hours(10, 11)) == emptied_fields(lake, hours(12, 13)) == {}


def test_each_type_counts_separately(settings: Settings) -> None:
    put(settings, 10, *filled(10, 5, price=1.0), *(event(9, 10, "Sell", price=1.0),))
    put(settings, 11, *filled(11, 5, price=1.0), *(event(9, 11, "Sell", prise=1.0),))
    lake = landed(settings, 10, 12)
    assert emptied_fields(lake, hours(10, 12)) == {"2024-01-01T11": ["Sell.price"]}


def test_a_field_that_was_never_filled_and_a_type_without_events_say_nothing(
    settings: Settings,
) -> None:
    put(settings, 10, *filled(10, 9, price=1.0), event(50, 10, "Sell", price=2.0))
    put(settings, 11, *filled(11, 9, price=2.0))
    assert emptied_fields(landed(settings, 10, 12), hours(10, 12)) == {}


@pytest.mark.parametrize(("number", "found"), [(5, False), (100, True)])
def test_a_field_that_is_filled_seldom_may_have_no_value_in_a_few_events(
    settings: Settings, number: int, found: bool
) -> None:
    put(settings, 10, *filled(10, 90), *(event(n, 10, tip=1) for n in range(90, 100)))
    put(settings, 11, *filled(11, number))
    names = {"2024-01-01T11": ["Buy.tip"]} if found else {}
    assert emptied_fields(landed(settings, 10, 12), hours(11, 12)) == names


def test_a_correction_under_a_name_that_sorts_first_is_found(settings: Settings) -> None:
    put(settings, 10, *filled(10, 3, price=1.0), ending=".gz")
    put(settings, 10, *filled(10, 3, price=2.0), name="-late", ending=".gz")
    lake = landed(settings, 10, 11)
    (said,) = lost_corrections(lake, hours(10, 11))
    folder = "2024/01/01/events-2024-01-01T10"
    assert said.startswith(
        f"3 superseded records of {folder}-late.jsonl.gz lost to {folder}.jsonl.gz, which sorts "
        "after it only by the end of its name"
    )
    reasons = lake.rows("quarantine", columns=["reason"])["reason"].to_pylist()
    assert all(reason.endswith("only by the end of its name") for reason in reasons)


@pytest.mark.parametrize(("changed", "found"), [(2_000, 1), (1_000, 0)])
def test_a_correction_in_a_file_that_was_modified_later_is_found(
    settings: Settings, changed: int, found: int
) -> None:
    first = put(settings, 10, *filled(10, 3, price=1.0), name="-a")
    other = put(settings, 10, *filled(10, 3, price=2.0), name="-b")
    os.utime(first, (1_704_200_000 + changed,) * 2)
    os.utime(other, (1_704_200_000 + 1_500,) * 2)
    said = lost_corrections(landed(settings, 10, 11), hours(10, 11))
    assert len(said) == found
    assert all("which was modified earlier" in one for one in said)


def test_the_later_hour_wins_whatever_its_file_is_called(settings: Settings) -> None:
    put(settings, 10, event(1, 10, price=1.0), name="-z")
    put(settings, 11, event(1, 10, price=2.0), name="")
    os.utime(put(settings, 10, event(1, 10, price=1.0), name="-z"), (1_904_200_000,) * 2)
    assert lost_corrections(landed(settings, 10, 12), hours(10, 12)) == []


def test_files_that_differ_by_their_compression_are_found(settings: Settings) -> None:
    put(settings, 10, *filled(10, 3))
    put(settings, 10, *filled(10, 3), ending=".gz")
    put(settings, 11, *filled(11, 3), ending=".gz")
    for name in ("dump-1.csv", "dump-1.csv.gz", "dump-2.csv"):
        text = b"id,ts,event,user\nx,2024-01-01T10:00:00Z,Buy,u\n"
        (settings.landing / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    folder = "2024/01/01/events-2024-01-01T10"
    assert packed_copies(landed(settings, 10, 12), settings, hours(10, 12), 1) == [
        (f"{folder}.jsonl", f"{folder}.jsonl.gz"), ("dump-1.csv", "dump-1.csv.gz"),
    ]  # fmt: skip


def test_events_with_equal_times_are_counted_by_hour(settings: Settings) -> None:
    put(settings, 10, *filled(10, 3), *(event(n, 10) for n in (60, 61, 120)))
    put(settings, 11, event(1, 11), event(61, 11))
    lake = landed(settings, 10, 12)
    text = "QUERY q RETURN COUNT(*) PATTERN Buy+ WHERE [user] WITHIN 1 hour;"
    workload = read_workload(text, lake.stream)
    (one,) = stored_ties(lake.root, workload, hours(10, 12))
    assert (one.queries, one.keys, one.events, one.tied) == (("q",), ("user",), 8, 7)
    assert stored_ties(lake.root, workload, hours(12, 13)) == []


def test_a_field_that_stays_empty_is_one_alert(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "q.sase").write_text("QUERY q RETURN COUNT(*) PATTERN Buy WITHIN 1 hour;")
    settings = settings.model_copy(update={"workload_file": tmp_path / "q.sase"})
    put(settings, 10, *filled(10, 20, price=1.0))
    for hour in (11, 12):
        put(settings, hour, *filled(hour, 20, Price=1.0))

    def first(hour: int) -> dict[str, list[str]]:
        found = land_events.main(Arguments(hours(hour, hour + 1), "test"), settings)
        emptied: dict[str, list[str]] = found["emptied_first"]
        return emptied

    assert first(10) == {}
    assert first(11) == {"2024-01-01T11": ["Buy.price"]}
    assert first(12) == {}, "that was told"
    assert first(11) == {"2024-01-01T11": ["Buy.price"]}, "the same run again"
    report = ReportData(Lake.open(settings).root, hours(12, 13), None, pages=None)
    assert report.emptied == {"2024-01-01T12": ["Buy.price"]}, "each hour is marked"
