"""Ingest through Spark: tables follow from the files, whatever the order of runs."""

from __future__ import annotations

import pytest

from tests.ingest.landing_zone import NewTables, departure, fates, hour, ingest, put, rows

pytestmark = pytest.mark.spark


def test_three_hours(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    put(zone, hour(10), departure(1, 5), departure(2, 20), "broken")
    put(zone, hour(11), departure(1, 6, dep_delay=9), departure(3, 5, 11))
    done = ingest(tables, zone, [hour(10), hour(11), hour(12)])
    assert (done.events.inserted, done.events.changed) == (3, 3)
    counts = done.hours["2013-01-01T10"]
    assert (counts.files, counts.records, counts.reasons) == (1, 3, {"bad_json": 1})
    assert (counts.first_event, counts.last_event) == (
        hour(10) + 300_000_000,
        hour(10) + 1_200_000_000,
    )
    assert done.hours["2013-01-01T12"].records == 0
    assert rows(tables, "events", "event_id", "file_hour", "record_number", "dep_delay") == [
        ("d1", "2013-01-01T11", 1, 9),
        ("d2", "2013-01-01T10", 2, 5),
        ("d3", "2013-01-01T11", 2, 5),
    ]
    assert rows(tables, "quarantine", "file_hour", "record_number", "reason_code", "record") == [
        ("2013-01-01T10", 3, "bad_json", "broken")
    ]
    assert fates(tables) == [("2013-01-01T10", 3, 1, 0, 1, 1), ("2013-01-01T11", 2, 2, 0, 0, 0)]
