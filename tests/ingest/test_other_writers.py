"""Tables that others use too: features, columns, maintenance, the change feed, conflicts."""

from __future__ import annotations

from typing import Any

import pytest

from elsinore.errors import DataError
from elsinore.ingest.record_fates import fate_counts
from elsinore.ingest.refresh import refresh
from elsinore.ingest.tables import IngestTables
from elsinore.ingest.write_raw import write_raw
from tests.ingest.landing_zone import (
    NewTables,
    departure,
    fates,
    files_of,
    hour,
    ingest,
    put,
    rows,
)

pytestmark = pytest.mark.spark


def sql(tables: IngestTables, statement: str, table: str) -> Any:
    """Run a statement of somebody else, in which `{}` is a table."""
    return tables.store.spark.sql(statement.format(tables.store.name(table))).collect()


def test_one_correction_is_two_rows_of_the_change_feed(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    put(zone, hour(10), *(departure(n, n % 60) for n in range(1_000)))
    ingest(tables, zone, [hour(10)])
    before = tables.store.version("events")
    put(zone, hour(11), departure(7, 7, dep_delay=99))
    done = ingest(tables, zone, [hour(11)])
    assert (done.events.updated, done.events.changed) == (1, 1)
    feed = tables.store.changes("events", before + 1)
    found = feed.select("event_id", "_change_type", "dep_delay").collect()
    assert sorted(map(tuple, found)) == [
        ("d7", "update_postimage", 99), ("d7", "update_preimage", 5),
    ]  # fmt: skip


@pytest.mark.long
def test_a_column_and_features_of_somebody_else(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    put(zone, hour(10), departure(1), departure(2))
    ingest(tables, zone, [hour(10)])
    for table in ("events", "raw_events"):
        sql(tables, "ALTER TABLE {} ADD COLUMN (note STRING)", table)
        features = "'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true'"
        sql(tables, f"ALTER TABLE {{}} SET TBLPROPERTIES ({features})", table)
    sql(tables, "UPDATE {} SET note = 'mine'", "events")
    put(zone, hour(11), departure(1, dep_delay=6), departure(3))
    ingest(tables, zone, [hour(11)])
    for table in ("events", "raw_events"):
        sql(tables, "OPTIMIZE {}", table)
    put(zone, hour(11), departure(3, dep_delay=7))
    ingest(tables, zone, [hour(11)])
    assert sorted(tables.store.read("events").select("event_id", "dep_delay").collect()) == [
        ("d1", 5), ("d2", 5), ("d3", 7),
    ]  # fmt: skip
    assert [r.note for r in tables.store.read("events").where("event_id = 'd2'").collect()] == [
        "mine"
    ]


@pytest.mark.long
def test_a_table_that_was_restored_or_lost_its_change_feed(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    put(zone, hour(10), departure(1), departure(2))
    ingest(tables, zone, [hour(10)])
    put(zone, hour(11), departure(1, dep_delay=6))
    ingest(tables, zone, [hour(11)])
    assert refresh(tables, run="idle").changed == 0
    # Without a change to raw events, what is missing comes back.
    sql(tables, "RESTORE TABLE {} TO VERSION AS OF 1", "events")
    assert refresh(tables, run="test").updated == 1
    # The files of what was replaced are gone, and so is their change feed.
    put(zone, hour(11), departure(1, dep_delay=7))
    write_raw(tables, files_of(zone, [hour(11)]), [hour(11)], run="test")
    tables.store.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    sql(tables, "VACUUM {} RETAIN 0 HOURS", "raw_events")
    assert refresh(tables, run="test").updated == 1
    expected = [("d1", 7), ("d2", 5)]
    assert rows(tables, "events", "event_id", "dep_delay") == expected


@pytest.mark.long
def test_too_many_bad_records_leave_raw_events_as_they_are(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    put(zone, hour(10), departure(1), "bad", "bad")
    with pytest.raises(DataError, match=r"2 of 3 records are invalid.*2013-01-01T10") as error:
        ingest(tables, zone, [hour(10)], max_error_rate=0.5)
    assert error.value.fields == {"records": 3, "bad": 2}
    assert len(rows(tables, "quarantine", "record")) == 2
    assert rows(tables, "raw_events", "record") == []
    ingest(tables, zone, [hour(10)], max_error_rate=0.7)
    assert fates(tables) == [("2013-01-01T10", 3, 1, 0, 0, 2)]
    # Names in the catalog, and the same statement for readers without Spark.
    listed = tables.store.register(database="others")
    assert listed == ["events", "quarantine", "raw_events"]
    named = tables.store.spark.sql(fate_counts("others.raw_events")).drop("file_day").collect()
    assert [tuple(row) for row in named] == fates(tables)
    duckdb = pytest.importorskip("duckdb").connect()
    duckdb.register("raw_events", tables.store.read("raw_events").toArrow())
    found = duckdb.execute(fate_counts("raw_events")).fetchall()
    assert [row[1:] for row in found] == fates(tables)
