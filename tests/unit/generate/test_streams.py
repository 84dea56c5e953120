"""Generated streams: what was asked for is what comes out, and nothing else."""

from __future__ import annotations

import dataclasses
import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.files.read_events import read_events
from elsinore.generate import write_events as module
from elsinore.generate.skeleton import Resolution, StreamOptions, walk
from elsinore.generate.streams import (
    MIDDLE_TYPES,
    STREAMS,
    ClusterOptions,
    LinearRoadOptions,
    RidesharingOptions,
    StockOptions,
)
from elsinore.generate.write_events import write_events
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.reference.two_step import two_step
from elsinore.template.support import greta_refusals
from elsinore.timeline import MINUTE, SECOND, format_instant, parse_instant
from tests.property.compare import assert_same_rows, greta

ROOT = Path(__file__).parents[3]
KINDS = list(STREAMS.values())
#: The type of a stream's bursts, and the attributes that say whose they are.
MAIN: dict[type[StreamOptions], tuple[str, tuple[str, ...]]] = {
    RidesharingOptions: ("Travel", ("driver", "rider")),
    StockOptions: ("Stock", ("company",)),
    ClusterOptions: ("Measurement", ("mapper", "job")),
    LinearRoadOptions: ("Position", ("vehicle",)),
}


def names_of(events: EventTable) -> list[str]:
    return [events.schema.types[code].name for code in events.table["_type"].to_pylist()]


def times_of(events: EventTable) -> np.ndarray:
    return np.asarray(events.table["_time"].to_numpy())


def of_type(events: EventTable, name: str) -> list[dict[str, Any]]:
    code = events.schema.type_codes[name]
    return [row for row in events.table.to_pylist() if row["_type"] == code]


def runs(keys: list[Any]) -> Iterator[tuple[Any, int]]:
    for key, members in groupby(keys):
        yield key, len(list(members))


# ---- what all of them promise
@pytest.mark.parametrize("kind", KINDS)
def test_events_are_as_many_as_asked_for_each_of_its_type_and_the_same_again(
    kind: type[StreamOptions],
) -> None:
    for number in (1, 2, 999):
        assert len(kind(events=number).make()) == number
    events = kind(events=3_000, seed=5).make()
    assert events.table.equals(kind(events=3_000, seed=5).make().table)
    assert not events.table.equals(kind(events=3_000, seed=6).make().table)
    for row, name in zip(events.table.to_pylist(), names_of(events), strict=True):
        given = {key for key, value in row.items() if value is not None}
        assert given == {"_time", "_type", *events.schema.by_name[name].by_name}
    # Also at the highest rate, at which several are due in many a microsecond.
    for rate in (1_000.0, 6_000_000.0):
        times = times_of(kind(events=20_000, rate=rate).make())
        assert (np.diff(times) > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_all_bursts_have_the_length_asked_for(kind: type[StreamOptions]) -> None:
    """In the stream and among the events of one key; the last one may be cut off."""
    main, key = MAIN[kind]
    events = kind(events=4_000, burst=7, fixed_bursts=True).make()
    found = names_of(events)
    lengths = [length for name, length in runs(found) if name == main]
    assert len(lengths) > 200
    assert set(lengths[:-1]) == {7}
    owners = [tuple(row[part] for part in key) for row in events.table.to_pylist()]
    for owner in list({owner for owner in owners if None not in owner})[:20]:
        own = [name for name, whose in zip(found, owners, strict=True) if whose == owner]
        lengths = [length for name, length in runs(own) if name == main]
        # An accident has no vehicle: there a burst of a vehicle may follow another.
        assert all(length % 7 == 0 for length in lengths[:-1])
        assert kind is LinearRoadOptions or set(lengths[:-1]) <= {7}


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_of_bursts_are_geometric(kind: type[StreamOptions]) -> None:
    """Mean b, and every length has a share of (1 - 1/b) of the one before: a half for b = 2."""
    main, _ = MAIN[kind]
    events = kind(events=60_000, burst=2).make()
    lengths = np.array([length for name, length in runs(names_of(events)) if name == main])
    assert lengths.mean() == pytest.approx(2, rel=0.03)
    for length in (1, 2, 3):
        assert (lengths == length).mean() == pytest.approx(0.5**length, rel=0.1)


def test_the_rate_is_that_of_a_poisson_process() -> None:
    """600 a minute: 100 ms between events in the mean, and as much standard deviation."""
    times = times_of(StockOptions(events=50_000, rate=600).make())
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(100_000, rel=0.02)
    assert gaps.std() == pytest.approx(100_000, rel=0.03)


def test_the_rate_grows_evenly() -> None:
    """From 1,000 to 3,000 a minute: 20,000 events take 10 minutes, 7,500 of them the first 5."""
    options = LinearRoadOptions(events=20_000, first_rate=1_000, rate=3_000)
    since = times_of(options.make()) - options.start_micros
    assert since[-1] == pytest.approx(10 * MINUTE, rel=0.02)
    assert (since < 5 * MINUTE).sum() == pytest.approx(7_500, rel=0.03)


def test_times_are_cut_to_seconds_on_request() -> None:
    fine = ClusterOptions(events=500, rate=6_000).make()
    coarse = ClusterOptions(events=500, rate=6_000, resolution=Resolution.SECONDS).make()
    assert (times_of(coarse) == times_of(fine) // SECOND * SECOND).all()
    assert len(set(times_of(coarse))) < 20


def test_streams_begin_when_told() -> None:
    start = datetime(2020, 2, 29, 12, tzinfo=UTC)
    (first,) = times_of(StockOptions(events=1, rate=6_000_000, start=start).make())
    assert 0 <= first - parse_instant("2020-02-29T12:00Z") < SECOND
    naive = start.replace(tzinfo=None)
    (again,) = times_of(StockOptions(events=1, rate=6_000_000, start=naive).make())
    assert again == first


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (StockOptions, {"events": 0}),
        (StockOptions, {"rate": 0.0}),
        (StockOptions, {"rate": float("nan")}),
        (StockOptions, {"rate": 6_000_001.0}),
        (StockOptions, {"rate": 10.0, "first_rate": 11.0}),
        (StockOptions, {"burst": 0.9}),
        (StockOptions, {"seed": -1}),
        (StockOptions, {"start": datetime(9999, 12, 31, 23, 59, tzinfo=UTC)}),
        (StockOptions, {"sectors": 0}),
        (StockOptions, {"falling": 1.01}),
        (StockOptions, {"volatility": 0.0}),
        (RidesharingOptions, {"types": 5}),
        (RidesharingOptions, {"types": 21}),
        (RidesharingOptions, {"districts": 0}),
        (RidesharingOptions, {"units": 1.9}),
        (RidesharingOptions, {"slow": -0.1}),
        (ClusterOptions, {"mappers": 10_000, "jobs": 10_000}),
        (ClusterOptions, {"rising": 2.0}),
        (LinearRoadOptions, {"accidents": -0.5}),
    ],
)
def test_what_no_stream_can_have_is_refused(
    kind: type[StreamOptions], wrong: dict[str, Any]
) -> None:
    with pytest.raises(ParameterError):
        kind(**wrong)


# ---- each by itself
def test_twenty_types_of_rides_occur_or_as_many_as_asked_for() -> None:
    assert len(set(names_of(RidesharingOptions(events=20_000).make()))) == 20
    few = set(names_of(RidesharingOptions(events=20_000, types=6).make()))
    assert few == {"Request", "Travel", "Pickup", "Dropoff", "Cancel", MIDDLE_TYPES[0]}


def test_a_ride_begins_with_its_request_and_ends_once_in_one_district() -> None:
    """The events of a driver, cut at requests: whole rides, one rider each."""
    options = RidesharingOptions(events=20_000, drivers=7, riders=1_000, districts=4, units=3)
    events = options.make()
    rides: dict[str, list[list[tuple[str, dict[str, Any]]]]] = {}
    for row, name in zip(events.table.to_pylist(), names_of(events), strict=True):
        of_driver = rides.setdefault(row["driver"], [])
        if name == "Request":
            of_driver.append([])
        of_driver[-1].append((name, row))
    parts = []
    for of_driver in rides.values():
        for ride in of_driver[:-1]:  # the last one may be cut off
            kinds = [name for name, _ in ride]
            assert kinds[-1] in ("Dropoff", "Cancel")
            assert not {"Dropoff", "Cancel", "Request"} & set(kinds[1:-1])
            assert len({row["rider"] for _, row in ride}) == 1
            assert len({row["district"] for _, row in ride} - {None}) <= 1
            parts.append(1 + sum(name != "Travel" for name in kinds[1:]))
    assert len(rides) == 7
    assert np.mean(parts) == pytest.approx(3, rel=0.08)
    assert {len({r["district"] for r in of_type(events, "Travel")})} == {4}


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_shares_of_slow_travel_and_of_pool_riders(share: float) -> None:
    events = RidesharingOptions(events=20_000, slow=share, pool=share).make()
    slow = [row["speed"] < 10 for row in of_type(events, "Travel")]
    pool = [row["kind"] == "Pool" for row in of_type(events, "Request")]
    near = 0.0 if share in (0.0, 1.0) else 0.05
    assert np.mean(slow) == pytest.approx(share, abs=near)
    assert np.mean(pool) == pytest.approx(share, abs=near)


@pytest.mark.parametrize("falling", [0.0, 0.3, 1.0])
def test_shares_of_steps_down(falling: float) -> None:
    """Prices and speeds fall, and loads rise, in the share of steps asked for."""
    cases = [
        (StockOptions(events=20_000, companies=5, sectors=2, falling=falling), "price", 1),
        (LinearRoadOptions(events=20_000, vehicles=5, slowing=falling), "speed", 1),
        (ClusterOptions(events=20_000, mappers=5, jobs=1, rising=falling), "load", -1),
    ]
    for options, attribute, sign in cases:
        main, key = MAIN[type(options)]
        last: dict[Any, float] = {}
        steps = []
        for row in of_type(options.make(), main):
            owner = tuple(row[part] for part in key)
            if owner in last:
                steps.append(sign * (last[owner] - row[attribute]) > 0)
            last[owner] = row[attribute]
        # Past the border it goes on at the other side; and values are rounded.
        assert np.mean(steps) == pytest.approx(falling, abs=0.03)


def test_a_walk_enters_where_it_did_not_leave() -> None:
    dice = np.random.default_rng(1)
    keys = np.array([0, 1] * 500)
    found = walk(dice, keys, 0.0, 1.0, 10.0)
    assert found.min() >= 0
    assert found.max() < 10
    for key in (0, 1):
        steps = np.diff(found[keys == key])
        downs = steps[steps < 0]
        assert len(downs) > 30  # 500 steps of 1 in a range of 10
        assert downs.max() < -2  # through the border, never a step back


def test_loads_are_those_of_the_table() -> None:
    """GRETA Table 2: Poisson with mean 100; CPU and memory uniform from 0 to 1,000."""
    rows = of_type(ClusterOptions(events=30_000).make(), "Measurement")
    loads, cpu = [row["load"] for row in rows], [row["cpu"] for row in rows]
    assert np.mean(loads) == pytest.approx(100, rel=0.01)
    assert np.var(loads) == pytest.approx(100, rel=0.05)
    assert np.mean(cpu) == pytest.approx(500, rel=0.02)
    assert (min(cpu), max(cpu)) == (0, 1_000)
    assert {row["mapper"] for row in rows} == {row["job"] for row in rows} == set(range(10))


def test_vehicles_report_from_where_they_are() -> None:
    """A segment has 5,280 feet, and a vehicle drives on within it; accidents come as asked for."""
    events = LinearRoadOptions(events=20_000, accidents=0.25, segments=9).make()
    last: dict[tuple[int, int], int] = {}
    for row in of_type(events, "Position"):
        assert row["location"] // 5_280 == row["segment"] < 9
        last[row["vehicle"], row["segment"]] = row["location"]
    leads = [name for name in names_of(events) if name != "Position"]
    assert leads.count("Accident") / len(leads) == pytest.approx(0.25, abs=0.03)


# ---- schemas
def test_an_option_of_every_stream_has_its_meaning() -> None:
    for kind in KINDS:
        assert all(item.metadata["help"] for item in dataclasses.fields(kind))


# ---- generated events as files: read back as they were, the same bytes each time
SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet")


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_event_is_accepted_as_it_was(
    name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a file is written in many parts."""
    monkeypatch.setattr(module, "_AT_ONCE", 700)
    stream = STREAMS[name]
    events = stream(events=5_000, seed=3).make()
    path = tmp_path / f"events{suffix}"
    told: list[int] = []
    write_events(events, path, told.append)
    found, report = read_events([path], stream.schema, max_error_rate=0)
    assert found.table.combine_chunks().equals(events.table.combine_chunks())
    assert (report.lines, report.accepted) == (5_000, 5_000)
    assert told == [*range(700, 5_000, 700), 5_000]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_events_give_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    options = STREAMS["stock"](events=2_000, seed=1)
    for name in ("a", "b"):
        write_events(options.make(), tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_line_is_a_record_of_its_type(tmp_path: Path) -> None:
    events = STREAMS["linear-road"](events=300).make()
    write_events(events, tmp_path / "e.jsonl.gz")
    lines = gzip.decompress((tmp_path / "e.jsonl.gz").read_bytes()).decode().splitlines()
    for number, (line, row) in enumerate(zip(lines, events.table.to_pylist(), strict=True)):
        kind = events.schema.types[row["_type"]]
        assert json.loads(line) == {
            "id": number + 1,
            "time": format_instant(row["_time"]),
            "type": kind.name,
            **{name: row[name] for name in kind.by_name},
        }


@pytest.mark.parametrize("name", ["events.csv", "events", ".parquet", "events.gz"])
def test_a_name_that_says_no_format_is_refused(name: str, tmp_path: Path) -> None:
    events = STREAMS["stock"](events=1).make()
    with pytest.raises(ParameterError, match=r"\.jsonl\.gz"):
        write_events(events, tmp_path / name)


def test_what_cannot_be_written_is_the_callers_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    events = STREAMS["stock"](events=1).make()
    with pytest.raises(ParameterError, match="cannot write"):
        write_events(events, tmp_path / "file" / "e.jsonl")


# ---- the workloads of the generated streams: they bind, every query gives rows, and the right ones
WORKLOADS = Path(__file__).parents[3] / "schemas" / "workloads"
#: Where every query has trends, and few enough to enumerate.
SMALL: dict[str, StreamOptions] = {
    "ridesharing": RidesharingOptions(
        seed=6, events=250, rate=200, burst=2, fixed_bursts=True, types=7, drivers=30, riders=60,
        districts=2, units=2.8,
    ),
    "stock": StockOptions(events=160, rate=120, burst=2, companies=40, sectors=3, volatility=0.05),
    "cluster": ClusterOptions(events=400, rate=400, burst=2, mappers=6, jobs=6),
    "linear-road": LinearRoadOptions(
        events=400, rate=100, burst=3, vehicles=20, segments=5, accidents=0.1
    ),
}  # fmt: skip


@cache
def small(name: str) -> tuple[Workload, EventTable]:
    path = WORKLOADS / f"{name.replace('-', '_')}.sase"
    return load_workload(path, STREAMS[name].schema), SMALL[name].make()


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_every_query_gives_the_rows_of_the_reference(name: str) -> None:
    workload, events = small(name)
    assert 5 <= len(workload.queries) <= 10
    for query in workload.queries:
        assert greta_refusals(query) == ()
        rows = greta(query, events)
        assert rows, query.name
        reference = two_step(query, events, budget=300_000)
        assert_same_rows(rows, reference)


def test_the_types_of_rides_are_those_of_the_schema() -> None:
    names = [kind.name for kind in RidesharingOptions.schema.types]
    assert names == ["Request", "Travel", "Pickup", "Dropoff", "Cancel", *MIDDLE_TYPES]
    assert RidesharingOptions().types == len(names)
