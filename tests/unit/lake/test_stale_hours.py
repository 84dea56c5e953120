"""Which published hours are re-opened by which changes; against a lake written without a JVM."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import DataError
from elsinore.lake.delta_log import commits
from elsinore.lake.landing_zone import held
from elsinore.lake.provenance import STAGED, origin, read_publications
from elsinore.lake.stale_hours import (
    awaited_landings,
    hours_to_reopen,
    owning_hours,
    renew,
    silent_hours,
    stale_hours,
)
from elsinore.lake.tables import Lake, load_tables
from elsinore.query.load_workload import read_workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import HOUR, MINUTE, Interval, hour_label, parse_instant
from elsinore.windows import Window
from tests.draws import draws
from tests.unit.quality.lake import published

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema(ROOT / "schemas/events/flights.yaml")
QUERY = "QUERY {} RETURN COUNT(*) PATTERN Departure D WITHIN {};"
#: Windows of two hours that end on the hour.
LONG = read_workload(QUERY.format("long", "2 hours SLIDE 1 hour"), SCHEMA)
OTHER = read_workload(QUERY.format("other", "1 hour"), SCHEMA)
DAY = "2013-01-01"


def at(text: str) -> int:
    return parse_instant(f"{DAY}T{text}Z")


def labels(hours: Iterable[int]) -> list[str]:
    return [hour_label(hour)[-2:] for hour in sorted(hours)]


def commit(lake: Path, note: Any = None) -> None:
    """One more version of `events`."""
    told = {} if note is None else {"userMetadata": json.dumps(note)}
    properties = CommitProperties(custom_metadata=told)
    row = pa.table({"n": [1]})
    write_deltalake(str(lake / "events"), row, mode="append", commit_properties=properties)


def touch(lake: Path, *times: str) -> None:
    found: dict[str, list[int]] = {}
    for time in sorted(map(at, times)):
        found.setdefault(hour_label(time), [time, time])[1] = time
    commit(lake, {"run": "test", "touched": found})


def publish(
    lake: Path, versions: dict[int, int], workload: Any = LONG, *, published_version: int = 0
) -> None:
    """Hours and the versions of `events` that they were computed from."""
    write_deltalake(str(lake / "landings"), pa.table({"file_hour": ["x"]}), mode="ignore")
    common = {
        "workload_fingerprint": workload_fingerprint(workload), "awaited": "[]",
        "published_together": len(versions), "published_version": published_version,
    }  # fmt: skip
    rows = [
        published(f"{DAY}T{hour:02}") | common
        | {"events_version": version, "digest": f"digest {hour}"}
        for hour, version in versions.items()
    ]  # fmt: skip
    write_deltalake(str(lake / "publications"), pa.Table.from_pylist(rows), mode="append")


@given(
    st.integers(1, 400), st.integers(1, 400), st.integers(-300, 300), st.integers(0, 59),
    st.integers(0, 59),
)  # fmt: skip
def test_two_instants_of_an_hour_own_what_the_windows_that_hold_either_do(
    within: int, slide: int, hour: int, one: int, two: int
) -> None:
    """By the definition of a window, and of the hour that owns it; SLIDE is never the longer."""
    window = Window(within * MINUTE, min(slide, within) * MINUTE)
    first, last = (hour * HOUR + minute * MINUTE for minute in sorted((one, two)))
    numbers = range((first - window.within) // window.slide, last // window.slide + 1)
    bounds = [window.bounds(number) for number in numbers]
    held = [b for b in bounds if b.contains(first) or b.contains(last)]
    expected = {(b.end - 1) // HOUR * HOUR for b in held}
    assert owning_hours([window], first, last) == expected


def test_exactly_the_hours_whose_windows_hold_a_changed_event_are_stale(tmp_path: Path) -> None:
    commit(tmp_path)
    publish(tmp_path, dict.fromkeys(range(7, 20), 0))
    assert not stale_hours(tmp_path, LONG).own
    # 10:30 lies in the windows from 9 to 11 and from 10 to 12.
    touch(tmp_path, "10:30")
    assert labels(stale_hours(tmp_path, LONG).own) == ["10", "11"]
    # On the hour an event is in the windows from 13 to 15 and from 14 to 16.
    touch(tmp_path, "14:00")
    assert labels(stale_hours(tmp_path, LONG).own) == ["10", "11", "14", "15"]
    inside = stale_hours(tmp_path, LONG, Interval(at("11:00"), at("15:00"))).own
    assert labels(inside) == ["11", "14"]


def test_hours_that_were_computed_from_the_change_are_not_stale(tmp_path: Path) -> None:
    commit(tmp_path)
    touch(tmp_path, "10:30")
    publish(tmp_path, {10: 0, 11: 1})
    assert labels(stale_hours(tmp_path, LONG).own) == ["10"]
    touch(tmp_path, "11:30")
    assert labels(stale_hours(tmp_path, LONG).own) == ["10", "11"]


def stage(lake: Path, hours: tuple[int, int], version: int, workload: Any = LONG) -> None:
    """Results of some hours, of a version of `events`."""
    owned = Interval(*(at(f"{hour:02}:00") for hour in hours))
    note = CommitProperties(
        custom_metadata={"userMetadata": origin("test", workload, "p", version, owned)}
    )
    row = pa.table({"n": [1]})
    write_deltalake(str(lake / STAGED), row, mode="append", commit_properties=note)


def reopened(lake: Path, most: int, *, ours: tuple[Any, ...] = (LONG,)) -> tuple[list[str], ...]:
    """The stretches that a run of hour 20 takes on, and what it catches up with."""
    answered = [(lake, workload) for workload in ours]
    own = Interval(at("20:00"), at("21:00"))
    found = hours_to_reopen(answered, own, most=most, next_most=2)
    parts = (found["reopened"], found["catch_up"])
    return tuple([f"{p['start'][11:13]}-{p['end'][11:13]}" for p in part] for part in parts)


def landed(lake: Path, **listings: str) -> None:
    """Accounts of hours, each with a file."""
    rows = [{"file_hour": f"{DAY}T{h[1:]}", "files": 1, "listing": t} for h, t in listings.items()]
    write_deltalake(str(lake / "landings"), pa.Table.from_pylist(rows))


def test_an_hour_whose_landing_is_under_way_or_was_killed_is_waited_for(tmp_path: Path) -> None:
    landed(tmp_path, h01="{}", h08='{"f": [1, 2]}', h09=held('{"f": [1, 2]}'), h10="{}")
    hour, under_way = at("10:00"), Interval(at("09:00"), at("10:00"))
    assert awaited_landings(tmp_path, LONG, [hour]) == {hour: (under_way,)}
    assert silent_hours(tmp_path, at("10:00")) == 1


def fail(lake: Path, *keys: str, version: int = 0, time: float = 0.0) -> None:
    """Hours that could not be aggregated; without any the table of such."""
    own = {"workload_fingerprint": workload_fingerprint(LONG), "step": "failed"}
    told = {"events_version": float(version), "time": time}
    rows = [
        own | {"run_key": f"{DAY}T{key[:2]}_{DAY}T{key[3:]}", "metric": name, "value": value}
        for key in keys
        for name, value in told.items()
    ]
    texts = [(name, pa.string()) for name in ("workload_fingerprint", "step", "run_key", "metric")]
    schema = pa.schema([*texts, ("value", pa.float64())])
    table = pa.Table.from_pylist(rows, schema)
    write_deltalake(str(lake / "run_metrics"), table, mode="append")


def test_hours_that_have_failed_come_last_and_one_by_one(tmp_path: Path) -> None:
    landed(tmp_path, h01="{}")
    fail(tmp_path)
    commit(tmp_path)
    publish(tmp_path, dict.fromkeys(range(3, 20), 0))
    touch(tmp_path, "05:30", "11:30", "15:30")  # each in two windows
    assert reopened(tmp_path, 9) == (["05-07", "11-13", "15-17"], [])
    assert reopened(tmp_path, 2) == (["15-17"], ["05-07"])
    # Hours 15 and 16 were computed anew and were not published: they keep nothing else waiting.
    stage(tmp_path, (15, 17), 1)
    assert reopened(tmp_path, 9) == (["05-07", "11-13", "15-16", "16-17"], [])
    assert reopened(tmp_path, 3) == (["06-07", "11-13"], ["05-06"])
    assert reopened(tmp_path, 4) == (["05-07", "11-13"], ["15-16"])
    # A change since then may have mended them; so may another text of their queries.
    touch(tmp_path, "15:40")
    assert reopened(tmp_path, 9) == (["05-07", "11-13", "15-17"], [])
    stage(tmp_path, (5, 7), 2, OTHER)
    assert reopened(tmp_path, 9) == (["05-07", "11-13", "15-17"], [])
    # Those that could not even be staged; of all the one that has waited longest is the first.
    fail(tmp_path, "11-13", version=2, time=2e15)
    fail(tmp_path, "05-06", version=0)
    assert reopened(tmp_path, 9) == (["05-07", "15-17", "11-12", "12-13"], [])
    stage(tmp_path, (3, 11), 2)
    stage(tmp_path, (15, 20), 2)
    fail(tmp_path, "06-07", version=2, time=3e15)
    assert reopened(tmp_path, 1) == (["05-06"], ["15-16"])
    assert reopened(tmp_path, 4) == (["05-06", "15-16", "16-17", "11-12"], ["12-13"])
    assert reopened(tmp_path, 6)[0][-1] == "06-07"


def test_hours_of_another_workload_are_told_and_left_to_it(tmp_path: Path) -> None:
    commit(tmp_path)
    publish(tmp_path, {10: 0})
    publish(tmp_path, {11: 0, 12: 0}, OTHER)
    touch(tmp_path, "11:59", "11:01")
    found = stale_hours(tmp_path, LONG)
    assert (labels(found.own), found.others) == ([], {at("11:00"), at("12:00")})
    touch(tmp_path, "10:59")
    assert labels(stale_hours(tmp_path, LONG).own) == ["10"]


def test_hours_with_other_rows_than_their_publication_says_are_stale(tmp_path: Path) -> None:
    commit(tmp_path)
    publish(tmp_path, {9: 0, 10: 0})
    digests = [{9: "digest 9", 10: "digest 10"}, {10: "another"}]
    for told in digests:
        rewrite(tmp_path, told)
    assert labels(stale_hours(tmp_path, LONG).own) == ["10"]


def rewrite(lake: Path, digests: dict[int, str]) -> None:
    """The rows of hours of one digest each, by a run that is killed before it says so."""
    told = {f"{DAY}T{hour:02}": digest for hour, digest in digests.items()}
    note = CommitProperties(custom_metadata={"userMetadata": json.dumps({"digests": told})})
    table = str(lake / "results")
    write_deltalake(table, pa.table({"n": [1]}), mode="append", commit_properties=note)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(draws(6, 60)))
def test_what_is_renewed_is_as_stale_as_if_it_were_not(tmp_path: Path, seed: int) -> None:
    draw, plain, renewing = Random(seed), tmp_path / "plain", tmp_path / "renewing"
    both, hours = (plain, renewing), range(7, 13)
    tables = load_tables(ROOT / "schemas/tables", SCHEMA)
    lake = Lake(1, renewing, SCHEMA, {"publications": tables["publications"]} | {
        name: tables[name] for name in ("events", "results")
    })  # fmt: skip
    for one in both:
        commit(one)
        rewrite(one, {})
        publish(one, dict.fromkeys(hours, 0))
        publish(one, {13: 0, 14: 0}, OTHER)
    for _ in range(12):
        match draw.randrange(4):
            case 0:
                time = f"{draw.choice(hours):02}:{draw.randrange(60):02}"
                for one in both:
                    touch(one, time)
            case 1:
                hour, digest = draw.choice(hours), draw.choice(("digest {}", "another of {}"))
                for one in both:
                    rewrite(one, {hour: digest.format(hour)})
            case 2:
                hour, version = draw.choice(hours), lake.version("events") - draw.randrange(2)
                for one in both:
                    rewrite(one, {hour: f"digest {hour}"})
                    DeltaTable(str(one / "publications")).delete(
                        f"window_end_hour = '{DAY}T{hour:02}'"
                    )
                    made = DeltaTable(str(one / "results")).version()
                    publish(one, {hour: max(version, 0)}, published_version=made)
            case _:
                renew(lake, LONG, run="test")
        assert stale_hours(renewing, LONG) == stale_hours(plain, LONG)
    renew(lake, LONG, run="test")
    found = stale_hours(plain, LONG)
    assert stale_hours(renewing, LONG) == found
    left = set(map(hour_label, found.own))
    newest = lake.version("events")
    for label, published_hour in read_publications(renewing).items():
        is_renewed = published_hour.events_version == newest
        assert is_renewed or label in left or label >= f"{DAY}T13"


def test_a_commit_that_does_not_say_what_it_touched_touched_everything(tmp_path: Path) -> None:
    commit(tmp_path)
    publish(tmp_path, {3: 0, 10: 0, 11: 1})
    assert not stale_hours(tmp_path, LONG).own
    commit(tmp_path, {"run": "by hand"})
    assert labels(stale_hours(tmp_path, LONG).own) == ["03", "10"]


def test_without_the_table_of_publications_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="publications"):
        stale_hours(tmp_path, LONG)


def test_notes_are_those_of_their_versions_newest_first(tmp_path: Path) -> None:
    commit(tmp_path)
    commit(tmp_path, {"a": 1})
    commit(tmp_path, "no object")
    found = [(c.version, c.note) for c in commits(tmp_path / "events")]
    assert found == [(2, {}), (1, {"a": 1}), (0, {})]
    assert [c.version for c in commits(tmp_path / "events", after=1)] == [2]
    assert list(commits(tmp_path / "nothing")) == []


def test_a_torn_commit_is_named(tmp_path: Path) -> None:
    commit(tmp_path)
    (tmp_path / "events/_delta_log/00000000000000000001.json").write_text('{"commitInfo": {"op')
    with pytest.raises(DataError, match="events is damaged at version 1"):
        list(commits(tmp_path / "events"))
