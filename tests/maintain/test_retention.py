"""Retention: old rows go, refreshes do not take them for withdrawn, and results stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elsinore.errors import DataError, ParameterError, SchemaError
from elsinore.ingest.changed_hours import changed_hours
from elsinore.ingest.refresh import refresh
from elsinore.ingest.tables import EVENTS_FROM, RAW_FROM
from elsinore.ledger.results import lost, recorded_events_version, stale
from elsinore.ledger.rows import State
from elsinore.maintain.retention import remove_old
from elsinore.maintain.tables import OwnTables
from elsinore.settings import Settings
from elsinore.timeline import DAY, HOUR
from tests.ingest.landing_zone import START, departure, hour, put
from tests.maintain.homes import KEEP, Home

pytestmark = pytest.mark.spark


def event(number: int, day: int, hour: int = 10, **changes: Any) -> dict[str, Any]:
    """An event of a day, counted from 2013-01-01."""
    return departure(number, **changes) | {"time": f"2013-01-{day + 1:02}T{hour:02}:05:00Z"}


def live(home: Home, days: int) -> None:
    """Ingest an hour of each of some days: two events and a bad record."""
    for day in range(days):
        put(home.zone, hour(10, day), event(2 * day, day), event(2 * day + 1, day), "bad")
        home.run(10, day)


def changes(home: Home) -> list[int]:
    """Hours of events that changed after the recorded version."""
    after = recorded_events_version(home.state())
    return changed_hours(home.own.ingest, after).hours.tolist()


@pytest.mark.long
def test_old_rows_go_and_are_not_taken_for_withdrawn(home: Home) -> None:
    live(home, 7)
    home.put_results(10, "N1")
    (home.settings.reports / "2013-01-01").mkdir(parents=True)
    (home.settings.quality / "2013-01-01T10_2013-01-02T10").mkdir(parents=True)
    (home.settings.quality / "docs").mkdir()
    done = home.remove_old(7, **KEEP)
    assert done == {
        "events_expired": 8, "raw_events_expired": 6, "quarantine_expired": 2,
        "results_staged_expired": 1, "validations_expired": 1, "run_metrics_expired": 0,
        "reports_expired": 1, "data_docs_expired": 1,
    }  # fmt: skip
    kept = [f"d{number}" for number in range(8, 14)]
    assert sorted(home.rows("events", "event_id")) == sorted(kept)
    assert len(home.rows("raw_events", "record")) == 15
    assert home.rows("results", "group_key") == ['{"tailnum": "N1"}']
    removed = home.state()[State.REMOVED]
    assert removed.hours.tolist() == [hour(10, day) for day in range(4)]
    assert removed.longs("rows").tolist() == [2] * 4
    # Nothing is stale, for the next runs, and after the change feeds are gone.
    assert refresh(home.own.ingest, run="test").changed == 0
    assert changes(home) == []
    assert stale(home.state(), 2).tolist() == []
    assert lost(home.state(), removed.hours, 0).tolist() == removed.hours.tolist()
    assert home.remove_old(7, **KEEP) == dict.fromkeys(done, 0)
    for table in ("raw_events", "events"):
        home.own.data[table].vacuum(table, 0, {})
    assert refresh(home.own.ingest, run="test").changed == 0
    assert changes(home) == []
    # A record among removed rows of the feeds.
    put(home.zone, hour(10, 7), event(99, 7))
    home.run(10, 7)
    assert sorted(home.rows("events", "event_id")) == sorted([*kept, "d99"])
    assert home.state()[State.REFRESHED].longs("events_version").max() == (
        home.own.ingest.store.version("events")
    )


@pytest.mark.long
def test_a_refresh_of_all_keys_respects_what_was_removed(home: Home) -> None:
    live(home, 5)
    home.remove_old(5, events=3, raw_events=5)
    before = home.rows("events", "event_id", "file_hour")
    assert [label[8:10] for _, label in before] == ["03", "03", "04", "04", "05", "05"]
    store = home.own.ingest.store

    def refresh_all(events_from: str, raw_from: str) -> int:
        store.set_properties("events", {EVENTS_FROM: events_from, RAW_FROM: raw_from}, {})
        return refresh(home.own.ingest, run="test").changed

    # As the retention of raw events does; and the change feed is gone.
    home.sql("DELETE FROM {} WHERE file_day = '2013-01-03'", "raw_events")
    store.vacuum("raw_events", 0, {})
    assert refresh_all("2013-01-03", "2013-01-04") == 0
    assert home.rows("events", "event_id", "file_hour") == before
    # Without borders, two days come back and one goes.
    assert refresh_all("2000-01-01", "2000-01-01") == 6


@pytest.mark.long
def test_later_records_and_replays_of_removed_hours(home: Home) -> None:
    put(home.zone, hour(10), event(1, 0), event(2, 0))
    put(home.zone, hour(10, 3), event(3, 3))
    home.run(10)
    home.run(10, 3)
    home.remove_old(4, events=3, raw_events=5)
    assert home.rows("events", "event_id") == ["d3"]
    # With its files, an hour comes back as long as its raw records are kept.
    home.run(10)
    assert home.rows("events", "event_id") == ["d1", "d2", "d3"]
    assert lost(home.state(), home.state().known, 0).tolist() == []
    home.remove_old(6, events=3, raw_events=5)
    # Of a key with removed records, one that remains wins: here with another time.
    put(home.zone, hour(11, 3), event(1, 3, hour=11))
    home.run(11, 3)
    assert home.rows("events", "event_id", "file_hour")[0] == ("d1", "2013-01-04T11")
    with pytest.raises(DataError, match="raw records of 2013-01-01T10 were removed"):
        ingest_again(home)


def ingest_again(home: Home) -> None:
    settings = home.settings.model_copy(update={"retention_days": {"events": 3, "raw_events": 5}})
    Home(home.spark, settings).run(10, until=11 + 24 * 6)


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
def test_periods_that_runs_could_not_work_with(home: Home, keep: Mapping[str, int]) -> None:
    own = home.own
    stream = replace(own.ingest.stream, retention_days=keep)  # the schema comes before the settings
    own = replace(own, ingest=replace(own.ingest, stream=stream))
    with pytest.raises(ParameterError, match="runs need 3 days of events, and raw_events and"):
        remove_old(own, longest=2 * HOUR, until=START + 31 * DAY, run="night")


def test_an_unknown_name_in_retention_days(home: Home, tmp_path: Path) -> None:
    schema = tmp_path / "flights.yaml"
    text = home.settings.schema_file.read_text(encoding="utf-8")
    schema.write_text(f"{text}\nretention_days: {{event: 3}}\n", encoding="utf-8")
    settings: Settings = home.settings.model_copy(update={"schema_file": schema})
    with pytest.raises(SchemaError, match=r"event has no retention period .*mean events\?"):
        OwnTables.open(home.spark, settings)
