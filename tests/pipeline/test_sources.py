"""Streams whose files lie by rules of their own: tables are those of the plain layout."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, Lake
from elsinore.timeline import DAY, HOUR, Interval
from tests.draws import draws, first
from tests.homes import ROOT, NewHome
from tests.lake_contents import contents, differences
from tests.landing_zone import departure, hours, ingest, put, rows, run_hours
from tests.unit.ingest.test_collect import write

#: All files of a test were written then: the end of 1 January 2013, 23:30.
WRITTEN = 1357083000.0

#: A rule, where a file of it lies, and the hour of lines without a time.
LAYOUTS: list[tuple[str, str, int]] = [
    ("{date}/{hour}/*.jsonl.gz", "2013-01-01/{hour:02}/{n}.jsonl.gz", 0),
    ("{year}/{month}/{day}/{hour}-*.jsonl.zst", "2013/01/01/{hour:02}-{n}.jsonl.zst", 0),
    ("dt={date}/h={hour}/?.csv", "dt=2013-01-01/h={hour:02}/{n}.csv", 0),
    ("{date}-*.csv.gz", "2013-01-01-{n}.csv.gz", 0),
    ("{date}/part-*.parquet", "2013-01-01/part-{n}.parquet", 0),
    ("dump-*.parquet", "dump-{n}.parquet", 23),
    ("a/*/*.ndjson", "a/b/{n}.ndjson", 23),
    ("*.csv", "{n}.csv", 23),
]


def random_event(number: int, rng: random.Random) -> dict[str, Any]:
    """A departure that may be another's correction, or its double, or no event at all."""
    minute, hour = rng.randrange(60), rng.randrange(8, 14)
    found = departure(rng.choice([number, rng.randrange(20)]), minute, hour)
    match rng.randrange(12):
        case 0:
            return found | {"origin": "ZZZ"}
        case 1:
            return found | {"dest": None}
        case 2:
            return found | {"time": rng.choice([None, "noon"]), "id": f"n{number}"}
        case 3:
            return found | {"type": "Landing"}
        case 4:
            return found | {"dep_delay": rng.randrange(-5, 5)}
    return found


def hour_of(event: dict[str, Any], untold: int) -> int:
    return int(event["time"][11:13]) if (event["time"] or "noon") != "noon" else untold


def with_rules(settings: Settings, *files: str) -> Settings:
    text = (ROOT / "schemas/events/flights.yaml").read_text(encoding="utf-8")
    schema = settings.home / "flights.yaml"
    schema.write_text(text + f"\nsources: {json.dumps([{'files': file} for file in files])}\n")
    return settings.model_copy(update={"schema_file": schema})


def landed(settings: Settings) -> list[list[Any]]:
    """Events and quarantined records, without those of empty files."""
    lake = Lake.open(settings)
    names = [
        name for name in lake.schema("events").columns if name not in ("file", "record_number")
    ]
    quarantined = rows(lake, "quarantine", "file_hour", "reason_code")
    return [rows(lake, "events", *names), [r for r in quarantined if "empty" not in r[1]]]


@pytest.mark.parametrize("seed", first([2, 6, 0, 1, 3, 4, 5, 7, *range(8, draws(8, 48))], 1))
def test_any_layout_and_format_lands_what_the_plain_one_does(
    new_spark_home: NewHome, seed: int
) -> None:
    """In one ingest of a day, or in ingests of some hours in any order."""
    rng = random.Random(seed)
    rule, name, untold = LAYOUTS[seed % len(LAYOUTS)]
    plain, other = new_spark_home(), with_rules(new_spark_home(), rule)
    for n in range(3):
        events = [random_event(100 * n + at, rng) for at in range(rng.randrange(1, 30))]
        by_hour: dict[int, list[Any]] = {}
        for event in events:
            by_hour.setdefault(hour_of(event, untold), []).append(event)
        for hour, own in by_hour.items():
            put(plain, hour, *own, name=f"-{n}")
            if "{hour" in name:
                write(other.landing / name.format(n=n, hour=hour), own, WRITTEN)
        if "{hour" not in name:
            write(other.landing / name.format(n=n), events, WRITTEN)
    midnight = hours(0, 1).start
    stretches = [Interval(midnight, midnight + DAY)]
    if seed % 4 == 1:
        starts = [midnight + hour * HOUR for hour in rng.sample([0, *range(8, 14), 23], 5)]
        stretches = [Interval(start, start + HOUR) for start in starts]
    for settings in (plain, other):
        for stretch in stretches:
            ingest(settings, stretch)
    assert landed(other) == landed(plain)
    assert landed(plain)[0]


def test_what_rules_are_about_is_collected_for_all_hours_of_a_stop(new_spark_home: NewHome) -> None:
    settings = with_rules(
        new_spark_home().model_copy(update={"late_arrival_days": 1}), "{date}/{hour}/*.csv"
    )
    lake = Lake.open(settings)
    write(settings.landing / "2013-01-01/09/a.csv", [departure(9, 0, 9)], WRITTEN)
    ingest(settings, hours(9, 10))
    late = departure(10, time="2013-01-03T10:00:00Z")
    write(settings.landing / "2013-01-03/10/a.csv", [late], WRITTEN)
    after = hours(0, 1).start + 5 * DAY
    figures = ingest(settings, Interval(after, after + HOUR))
    assert (figures["collected_files"], figures["late_hours"]) == (1, 5 * 24 - 10)
    assert rows(lake, "events", "event_id") == ["d10", "d9"]


@pytest.mark.long
def test_a_late_dump_and_a_corrected_one_land_again(new_spark_home: NewHome) -> None:
    settings = with_rules(
        new_spark_home().model_copy(update={"late_arrival_days": 1}), "dump-*.parquet"
    )
    lake = Lake.open(settings)
    path = settings.landing / "dump-1.parquet"
    write(path, [departure(1, 0, 9), departure(2, 0, 10), departure(3, 0, 11)], WRITTEN)
    figures = ingest(settings, hours(10, 11))
    assert (figures["collected_files"], figures["collected_lines"]) == (1, 3)
    assert (figures["late_hours"], rows(lake, "events", "event_id")) == (1, ["d1", "d2"])
    write(settings.landing / "dump-2.parquet", [departure(4, 1, 10)], WRITTEN)
    write(path, [departure(2, 0, 10), departure(3, 0, 11, dep_delay=9)], WRITTEN + 1)
    assert ingest(settings, hours(11, 12))["late_hours"] == 2, "one lost its event, one got"
    assert rows(lake, "events", "event_id", "dep_delay") == [("d2", 5), ("d3", 9), ("d4", 5)]
    assert ingest(settings, hours(12, 13))["late_hours"] == 0
    (settings.landing / "dump-3.parquet").write_bytes(b"PAR1")
    figures = ingest(settings, hours(12, 13))
    assert "refused_hours" not in figures
    assert json.loads((next((settings.landing / "_collected").glob("dump-3*"))).read_text())[
        "reason"
    ]


# ---- two streams by the jobs
SALES = """\
stream: sales
time: {field: sold.at, unit: ms}
sources: [{files: "dumps/*/sales-*.parquet"}]
types:
  Sale: {shop: string, price: {type: double, field: sold.price}}
"""
RISING = """
QUERY rising RETURN COUNT(*), SUM(S.price) PATTERN Sale S+ WHERE [shop] AND S.price < NEXT(S).price
GROUP-BY S.shop WITHIN 2 hours SLIDE 1 hour;
"""


def sale(hour: int, minute: int) -> dict[str, Any]:
    at = 1357034400_000 + (hour - 10) * 3_600_000 + minute * 60_000  # from 10:00
    return {"shop": "xy"[minute % 2], "sold": {"at": at, "price": float(minute % 7)}}


def flights_of(settings: Settings, hour: int) -> None:
    put(
        settings,
        hour,
        *(departure(100 * hour + n, 2 * n, hour, flight=n % 3 + 1) for n in range(20)),
    )


def dumps_of(settings: Settings, hour: int) -> None:
    """A dump at 10 that goes into the next hour, and one at 11 with events of both."""
    sold = [(10, n) for n in range(12)] + [(11, n) for n in range(6)]
    if hour == 11:
        sold = [(10, n) for n in range(12, 15)] + [(11, n) for n in range(6, 12)]
    path = settings.landing / f"dumps/shop/sales-{hour}.parquet"
    write(path, [sale(*one) for one in sold], WRITTEN)
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def lines_of(settings: Settings, hour: int) -> None:
    """The same in plain files of hours, with the names that sort as those of the dumps do."""
    if hour == 10:
        put(settings, 10, *(sale(10, n) for n in range(12)), name="-1")
        put(settings, 11, *(sale(11, n) for n in range(6)), name="-1")
    else:
        put(settings, 10, *(sale(10, n) for n in range(12, 15)), name="-2")
        put(settings, 11, *(sale(11, n) for n in range(6, 12)), name="-2")


@pytest.mark.long
def test_flights_and_sales_from_dumps_run_side_by_side(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "schemas/events/sales.yaml").write_text(SALES)
    (checkout / "schemas/workloads/sales.sase").write_text(RISING)
    monkeypatch.setenv("ELSINORE_MAX_ERROR_RATE", "0")
    monkeypatch.setenv("ELSINORE_LATE_ARRIVAL_DAYS", "1")

    def run(settings: Settings, fill: Callable[[Settings, int], None], hour: int) -> dict[str, Any]:
        settings.landing.mkdir(parents=True, exist_ok=True)
        fill(settings, hour)
        return run_hours(settings, hour, hour + 1)

    flights, sales = Settings.load(), Settings.load("sales")
    alone = [one.model_copy(update={"home": checkout / f"{one.stream} alone"}) for one in
             (flights, sales)]  # fmt: skip
    for hour in (10, 11):
        run(flights, flights_of, hour)
        told = run(sales, dumps_of, hour)
        run(alone[0], flights_of, hour)
        run(alone[1], lines_of, hour)
        assert told["collected_files"] == 1
    assert told["late_hours"] == 1
    assert not differences(contents(flights.lake, ["events", RESULTS]),
                           contents(alone[0].lake, ["events", RESULTS]))  # fmt: skip
    published = contents(sales.lake, [RESULTS])
    assert not differences(published, contents(alone[1].lake, [RESULTS]))
    assert published[RESULTS]
    assert landed(sales) == landed(alone[1])
