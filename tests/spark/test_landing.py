"""Landing: every line becomes an event, a duplicate or a quarantined line, on every rerun."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.compute as pc
import pytest

import elsinore.lake.land
import elsinore.lake.land_in_tasks
from elsinore.cli.main import run_command
from elsinore.errors import ConflictError, DataError, LostWorkerError, SetupError
from elsinore.files.decode import decode_lines
from elsinore.files.read_lines import read_lines
from elsinore.generate.flights import generate_flights
from elsinore.lake.delta_log import commits
from elsinore.lake.event_files import bucket_numbers
from elsinore.lake.landing_zone import FORGETTING, UNDER_WAY
from elsinore.lake.maintain import LEAST_KEPT, maintain
from elsinore.lake.regions import Landings
from elsinore.lake.stored_events import files_of
from elsinore.lake.tables import Lake, with_column
from elsinore.orchestration.run_step import at_work
from elsinore.settings import Settings
from tests.draws import draws
from tests.spark.conftest import EITHER_WAY, NewHome, with_schema
from tests.spark.histories import END, FIRST, Step, assert_final, land_step, order
from tests.spark.landing_zone import contents, departure, hours, land, put, rows

Cross = Callable[[int, int], list[dict[str, Any]]]

#: Times of events that land at ten, and whether they are near enough.
TIMES = {
    "2099-01-01T00:00:00Z": False,
    "1970-01-16T17:03:54Z": False,  # seconds that were read as milliseconds
    "2012-01-02T09:59:59.999999Z": False,
    "2012-01-02T10:00:00Z": True,  # 365 days before
    "2013-01-01T11:59:59.999999Z": True,
    "2013-01-01T12:00:00Z": False,
}


def test_events_far_from_their_landing_are_quarantined_also_when_they_are_judged_again(
    lake: Lake, settings: Settings
) -> None:
    put(settings, 10, *(departure(n, time=time) for n, time in enumerate(TIMES)), departure(9))
    far = [
        ("2013-01-01T10", place, "time_far_from_landing", f"{time} {_FAR}")
        for place, (time, near) in enumerate(TIMES.items(), start=1)
        if not near
    ]

    def held() -> list[tuple[Any, ...]]:
        found = rows(lake, "quarantine", "file_hour", "record_number", "reason_code", "reason")
        return [(*row[:3], row[3].replace(".000000Z", "Z")) for row in found]

    land(lake, settings, hours(10, 11))
    assert rows(lake, "events", "event_id") == ["d3", "d4", "d9"]
    assert held() == far
    # From the stored lines, and by the hour that they landed in.
    put(settings, 11, departure(9, dep_delay=6))
    land(lake, settings, hours(11, 12))
    assert rows(lake, "events", "event_id", "dep_delay") == [("d3", 5), ("d4", 5), ("d9", 6)]
    assert held()[:-1] == far
    assert held()[-1][1:3] == (7, "superseded")


_FAR = "is too far from 2013-01-01T10, the hour of its file"


@EITHER_WAY
def test_typed_values_arrive_as_they_were(lake: Lake, settings: Settings) -> None:
    weather = {
        "id": "w", "type": "Weather", "time": "2013-01-01T10:00:00.000001Z", "origin": "JFK",
        "temp": 39.02, "wind_dir": None, "precip": 0.0, "visib": 10, "dewp": -0.0,
    }  # fmt: skip
    put(settings, 10, weather)
    land(lake, settings, hours(10, 11))
    (found,) = lake.rows("events").to_pylist()
    at = datetime(2013, 1, 1, 10, 0, 0, 1, tzinfo=UTC)
    assert found["event_day"] == at.date()
    assert found["event_time"] == at
    assert (found["event_id"], found["event_type"]) == ("w", "Weather")
    assert (found["temp"], found["wind_dir"], found["visib"], found["carrier"]) == (
        39.02, None, 10.0, None
    )  # fmt: skip
    assert (found["file_hour"], found["record_number"]) == ("2013-01-01T10", 1)
    assert found["file"] == "2013/01/01/events-2013-01-01T10.jsonl"


def test_the_same_hours_landed_twice_leave_the_same_tables(lake: Lake, settings: Settings) -> None:
    put(settings, 10, departure(1), departure(1), "nonsense")
    put(settings, 11, departure(1), departure(2, carrier="AA"))
    first = land(lake, settings, hours(10, 13))
    once, version = contents(lake), lake.version("events")
    assert land(lake, settings, hours(10, 13)) == first
    assert contents(lake) == once
    # An hour without files says so.
    names = ("file_hour", "files", "lines", "first_event")
    assert rows(lake, "landings", *names)[2] == ("2013-01-01T12", 0, 0, None)
    # What is as it should be is left alone, so that results of the next step stay the same too.
    assert lake.version("events") == version


#: All hours at once; and in any order and cut, with overlaps and repeats.
ORDERS = [[Step(hours(FIRST, END), frozenset())], *map(order, range(draws(1, 20)))]


@pytest.mark.parametrize("steps", ORDERS)
def test_any_order_of_landings_leaves_the_same_tables(
    lake: Lake, settings: Settings, steps: list[Step]
) -> None:
    for step in steps:
        land_step(lake, settings, step)
    assert_final(lake)


#: Instants of lines that land at 10 to 13: in two days and four hours.
_INSTANTS = ("2012-12-31T23:50", "2013-01-01T00:10", "2013-01-01T08:59", "2013-01-01T09:00")


def _lines(dice: random.Random) -> list[dict[str, Any]]:
    """Lines of few ids."""
    return [
        departure(dice.randrange(3), time=f"{at}:00Z", dep_delay=dice.randrange(2))
        for at in dice.choices(_INSTANTS, k=dice.randrange(1, 5))
    ]


def _judged(final: Mapping[int, list[dict[str, Any]]], cut: int) -> tuple[Any, Any]:
    """By definition: what stays, by id and the first `cut` letters of the time; and accounts."""
    placed = [
        (hour, place, line)
        for hour, lines in sorted(final.items())
        for place, line in enumerate(lines, start=1)
    ]
    winners = {(line["id"], line["time"][:cut]): (hour, place) for hour, place, line in placed}
    said = {(hour, place): line for hour, place, line in placed}
    accounts = {hour: [0, 0, 0] for hour in final}
    for hour, place, line in placed:
        stays = winners[line["id"], line["time"][:cut]]
        fate = 0 if stays == (hour, place) else 1 if said[stays] == line else 2
        accounts[hour][fate] += 1
    held = sorted(
        (line["id"], f"2013-01-01T{hour}", place, line["dep_delay"])
        for hour, place, line in ((*at, said[at]) for at in winners.values())
    )
    return held, [(f"2013-01-01T{hour}", *of) for hour, of in sorted(accounts.items())]


def _of_ids(new_home: NewHome, folder: Path, ids: str) -> Settings:
    """A home that is made for ids of a kind."""
    home = new_home()
    shutil.rmtree(home.home / "lake" / "events")
    return with_schema(home, folder, "{field: id}", ids)


@pytest.mark.parametrize("within", ["day", "hour", None])
@pytest.mark.parametrize("seed", range(draws(3, 100)))
def test_any_order_of_landings_leaves_what_files_say_by_definition(
    new_home: NewHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int,
    within: str | None,
) -> None:  # fmt: skip
    for name in ("_TOGETHER", "_EVENTS", "_GROUP"):  # so that there are several of everything
        monkeypatch.setattr(elsinore.lake.land_in_tasks, name, 2)
    scope = f", unique_within: {within}" if within else ""
    settings = _of_ids(new_home, tmp_path, f"{{field: id{scope}}}")
    lake, dice = Lake.open(settings), random.Random(seed)
    earlier, final = ({hour: _lines(dice) for hour in range(FIRST, END)} for _ in range(2))
    for step in order(seed):
        for hour in range(FIRST, END):
            if step.interval.contains(hours(hour, hour + 1).start):
                put(settings, hour, *(earlier if hour in step.earlier else final)[hour])
        most = dice.choice([500, 1_000, 10**8])  # some in tasks, by buckets of ids
        land(lake, settings.model_copy(update={"landing_bytes": most}), step.interval)
    held, accounts = _judged(final, {"day": 10, "hour": 13, None: 0}[within])
    assert rows(lake, "events", "event_id", "file_hour", "record_number", "dep_delay") == held
    names = ("file_hour", "accepted", "duplicates", "quarantined")
    assert rows(lake, "landings", *names) == accounts


def test_where_ids_are_unique_within_a_day_landings_open_no_file_of_others(
    new_home: NewHome, tmp_path: Path
) -> None:
    def moved_aside(within: str) -> list[Any]:
        """What stays where the files of the day before are no longer there."""
        scope = f"{{field: id{within}}}"
        settings = _of_ids(new_home, tmp_path, scope)
        lake = Lake.open(settings)
        put(settings, 10, *(departure(number, time="2012-12-31T23:50:00Z") for number in (1, 2)))
        land(lake, settings, hours(10, 11))
        for file in files_of(lake.path("events"), None, None):
            Path(file.path).rename(tmp_path / f"aside{within[-3:]}")
        put(settings, 11, departure(1, hour=11), departure(3, hour=11))
        put(settings, 12, departure(3, hour=11, dep_delay=7))
        for hour in 11, 12:
            land(lake, settings, hours(hour, hour + 1))
        is_new = pc.field("event_day") > pc.scalar(date(2012, 12, 31))
        found = lake.rows("events", is_new, columns=["event_id", "dep_delay"])
        return sorted(zip(*found.to_pydict().values(), strict=True))

    assert moved_aside(", unique_within: day") == [("d1", 5), ("d3", 7)]
    with pytest.raises(FileNotFoundError):
        moved_aside("")


def test_ids_are_found_where_another_row_was_deleted_by_hand(
    lake: Lake, settings: Settings
) -> None:
    put(settings, 10, *map(departure, (1, 2, 3)))
    land(lake, settings, hours(10, 11))
    # The texts of those that are left are views in what delta-rs writes of them.
    deltalake.DeltaTable(str(lake.path("events"))).delete("event_id = 'd2'")
    put(settings, 11, departure(1, dep_delay=6), departure(2, dep_delay=6))
    land(lake, settings, hours(11, 12))
    assert rows(lake, "events", "event_id", "file_hour", "dep_delay") == [
        ("d1", "2013-01-01T11", 6), ("d2", "2013-01-01T11", 6), ("d3", "2013-01-01T10", 5),
    ]  # fmt: skip


def test_of_equal_ids_the_last_by_landing_file_and_line_stays(
    lake: Lake, settings: Settings
) -> None:
    put(settings, 10, departure(1), name="-b")
    put(settings, 10, departure(2), departure(1), departure(1, dep_delay=6), name="-a")
    put(settings, 11, departure(1, minute=1), departure(1))

    figures = land(lake, settings, hours(10, 12))

    assert rows(lake, "events", "event_id", "file", "record_number", "dep_delay") == [
        ("d1", "2013/01/01/events-2013-01-01T11.jsonl", 2, 5),
        ("d2", "2013/01/01/events-2013-01-01T10-a.jsonl", 1, 5),
    ]
    # Two differ from the one that stays: one in an attribute, one in time.
    assert rows(lake, "quarantine", "file_hour", "record_number", "reason_code", "reason") == [
        ("2013-01-01T10", 3, "superseded", _CORRECTED),
        ("2013-01-01T11", 1, "superseded", _CORRECTED),
    ]
    assert (figures["lines"], figures["accepted"]) == (6, 2)
    assert (figures["duplicates"], figures["quarantined"]) == (2, 2)
    assert rows(
        lake, "landings", "file_hour", "lines", "accepted", "duplicates", "quarantined"
    ) == [
        ("2013-01-01T10", 4, 1, 2, 1),
        ("2013-01-01T11", 2, 1, 0, 1),
    ]


_CORRECTED = "id 'd1' was corrected by 2013/01/01/events-2013-01-01T11.jsonl:2"


@EITHER_WAY
def test_a_mended_file_replaces_what_it_brought_before(lake: Lake, settings: Settings) -> None:
    put(settings, 10, departure(1), departure(2), "broken")
    put(settings, 11, departure(3))
    land(lake, settings, hours(10, 12))
    put(settings, 10, departure(2, dep_delay=99), departure(4))
    land(lake, settings, hours(10, 11))
    assert rows(lake, "events", "event_id", "dep_delay", "file_hour") == [
        ("d2", 99, "2013-01-01T10"),
        ("d3", 5, "2013-01-01T11"),
        ("d4", 5, "2013-01-01T10"),
    ]
    assert rows(lake, "quarantine") == []
    assert rows(lake, "landings", "file_hour", "accepted") == [
        ("2013-01-01T10", 2),
        ("2013-01-01T11", 1),
    ]


def test_a_landing_that_is_judged_again_keeps_its_damaged_files(
    lake: Lake, settings: Settings
) -> None:
    put(settings, 10).with_name("events-2013-01-01T10-x.jsonl.gz").write_bytes(b"\x1f\x8bno gzip")
    put(settings, 10, departure(1), "broken")
    put(settings, 11, departure(1, dep_delay=6))
    land(lake, settings, hours(10, 11))
    before = rows(lake, "quarantine")
    land(lake, settings, hours(11, 12))
    codes = rows(lake, "quarantine", "file", "record_number", "reason_code")
    plain = "2013/01/01/events-2013-01-01T10.jsonl"
    assert codes == [
        ("2013/01/01/events-2013-01-01T10-x.jsonl.gz", 0, "corrupt_file"),
        (plain, 1, "superseded"),
        (plain, 2, "bad_json"),
    ]
    assert set(before) < set(rows(lake, "quarantine"))
    account = (
        "file_hour",
        "files",
        "lines",
        "accepted",
        "duplicates",
        "quarantined",
        "first_event",
    )
    first, second = rows(lake, "landings", *account)
    assert first == ("2013-01-01T10", 2, 3, 0, 0, 3, None)
    assert second[:-1] == ("2013-01-01T11", 1, 1, 1, 0, 0)


def test_too_much_that_is_bad_stops_before_any_event_lands(lake: Lake, settings: Settings) -> None:
    put(settings, 10, departure(1), "broken", "broken too")
    strict = settings.model_copy(update={"max_bad_share": 0.5})
    with pytest.raises(DataError, match=r"2 of 3 records are invalid.*bad_json.*quarantine"):
        land(lake, strict, hours(10, 11))
    assert rows(lake, "events") == []
    assert rows(lake, "landings") == []
    assert len(rows(lake, "quarantine")) == 2


def test_links_out_of_the_landing_zone_are_refused(lake: Lake, settings: Settings) -> None:
    secret = settings.home / "secret.jsonl"
    secret.write_text(json.dumps(departure(1)))
    put(settings, 10).with_name("events-2013-01-01T10-link.jsonl").symlink_to(secret)
    with pytest.raises(DataError, match="is a symbolic link"):
        land(lake, settings, hours(10, 11))


def replace_step(monkeypatch: pytest.MonkeyPatch, step: str, new: Any) -> None:
    """Puts something in the place of a step of landings, made of the step itself."""
    monkeypatch.setattr(elsinore.lake.land, step, new(getattr(elsinore.lake.land, step)))


def interrupt(monkeypatch: pytest.MonkeyPatch, step: str, other: Callable[[], object]) -> None:
    """Before a landing does a step for the first time, something else happens."""
    done: list[object] = []

    def interrupted(real: Any) -> Any:
        def step(*arguments: Any, **named: Any) -> Any:
            if not done:
                done.append(1)
                other()
            return real(*arguments, **named)

        return step

    replace_step(monkeypatch, step, interrupted)


@pytest.fixture
def killed(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Kills the landing of 11 o'clock at a step of it."""

    def die(_: object) -> None:
        raise LostWorkerError("killed")

    def kill(step: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(elsinore.lake.land._Landing, step, die)
            with pytest.raises(LostWorkerError):
                land(lake, settings, hours(11, 12))

    return kill


def read_by_version(lake: Lake) -> list[list[tuple[str, str]]]:
    """What readers could see of `events`: id and hour of landing, at each version with rows."""
    found = []
    for version in range(1, lake.version("events") + 1):
        table = lake.dataset("events", version).to_table(columns=["event_id", "file_hour"])
        found.append(sorted((row["event_id"], row["file_hour"][-2:]) for row in table.to_pylist()))
    return found


#: After it has been judged what lands; and after that was stored, before `events` changes.
STEPS = ("_too_bad", "change_events")


@pytest.mark.parametrize("step", STEPS)
def test_another_landing_in_between_is_never_overwritten(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Both bring d1, on two days; the other ends after this one has looked."""
    put(settings, 10, departure(1, dep_delay=6))
    put(settings, 11, departure(1, time="2012-12-31T10:00:00Z"))
    interrupt(monkeypatch, step, lambda: land(lake, settings, hours(11, 12)))
    figures = land(lake, settings, hours(10, 11))
    assert (figures["accepted"], figures["quarantined"]) == (0, 1)
    assert read_by_version(lake) == [[("d1", "11")]]
    assert rows(lake, "landings", "file_hour", "accepted") == [
        ("2013-01-01T10", 0),
        ("2013-01-01T11", 1),
    ]


@pytest.fixture
def cross(lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Cross:
    """Lands two hours: both are judged, the second with the first's lines, before either merges."""

    def crossed(first: int, second: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        waiting = [1]

        def first_waits(real: Any) -> Any:
            def step(*arguments: Any, **named: Any) -> None:
                if waiting:
                    waiting.clear()
                    with monkeypatch.context() as patch:
                        patch.setattr(elsinore.lake.land, "change_events", real)
                        merge = partial(real, *arguments, **named)
                        interrupt(patch, "change_events", merge)
                        found.append(land(lake, settings, hours(second, second + 1)))
                    return
                real(*arguments, **named)

            return step

        replace_step(monkeypatch, "change_events", first_waits)
        return [land(lake, settings, hours(first, first + 1)), *found]

    return crossed


@EITHER_WAY
def test_of_two_that_see_each_other_the_second_is_judged_again(
    lake: Lake, settings: Settings, cross: Cross
) -> None:
    put(settings, 10, departure(1, dep_delay=6), departure(2))
    put(settings, 11, departure(1))
    assert [figures["accepted"] for figures in cross(11, 10)] == [1, 1]
    assert read_by_version(lake) == [[("d1", "11")], [("d1", "11"), ("d2", "10")]]
    names = ("file_hour", "lines", "accepted", "quarantined")
    assert rows(lake, "landings", *names) == [
        ("2013-01-01T10", 2, 1, 1),
        ("2013-01-01T11", 1, 1, 0),
    ]


def test_the_note_names_the_times_of_rows_that_came_in_between(
    lake: Lake, settings: Settings, cross: Cross
) -> None:
    put(settings, 9, departure(1, hour=9))
    put(settings, 11, departure(1, 30, hour=11))
    put(settings, 12, departure(1, 50, hour=12))
    land(lake, settings, hours(9, 10))
    cross(11, 12)
    assert read_by_version(lake) == [[("d1", "09")], [("d1", "11")], [("d1", "12")]]
    notes = [commit.note["touched"] for commit in commits(lake.path("events"), after=0)]
    touched = [sorted(hour[-2:] for hour in note) for note in notes]
    assert touched == [["11", "12"], ["09", "11"], ["09"]]


@pytest.mark.parametrize("step", ["_too_bad", "_require_accounted"])
@pytest.mark.parametrize("first", [9, 10])
def test_a_line_that_counts_again_is_not_lost_between_two_landings(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str, first: int
) -> None:
    """One withdraws the event of which the other brings an earlier line, a duplicate until then."""
    put(settings, 9, departure(1))
    put(settings, 10, departure(1), departure(3))
    land(lake, settings, hours(10, 11))
    put(settings, 10, departure(3))
    second = {9: hours(10, 11), 10: hours(9, 10)}[first]
    interrupt(monkeypatch, step, lambda: land(lake, settings, second))
    land(lake, settings, hours(first, first + 1))
    assert rows(lake, "events", "event_id", "file_hour") == [
        ("d1", "2013-01-01T09"),
        ("d3", "2013-01-01T10"),
    ]
    names = ("file_hour", "lines", "accepted", "duplicates")
    assert rows(lake, "landings", *names) == [
        ("2013-01-01T09", 1, 1, 0),
        ("2013-01-01T10", 1, 1, 0),
    ]


@EITHER_WAY
@pytest.mark.parametrize("step", ["_too_bad", "_require_accounted", "change_events"])
def test_of_two_landings_of_an_hour_the_last_to_store_says_which_files_these_are_of(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Its file is changed while one lands it; the other reads what it is then."""
    late = settings.model_copy(update={"late_days": 1})
    put(settings, 10, departure(1), departure(2))

    def other() -> None:
        put(settings, 10, departure(1), departure(2, dep_delay=9))
        assert land(lake, late, hours(12, 13))["late_landings"] == 1

    interrupt(monkeypatch, step, other)
    land(lake, settings, hours(10, 11))
    for read in (5, 9):  # by this one, and by the next that looks for late files
        delays = [json.loads(line)["dep_delay"] for line in rows(lake, "raw_events", "record")]
        assert rows(lake, "events", "dep_delay") == sorted(delays) == [5, read]
        assert land(lake, late, hours(12, 13))["late_landings"] == (read == 5)


def test_a_landing_that_another_overtakes_at_its_very_end_is_judged_again(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other had read an older file, and lands while this one is about to note the new one."""
    late = settings.model_copy(update={"late_days": 1})
    put(settings, 10, departure(1, dep_delay=1))
    older = elsinore.lake.land.find_landing(lake, settings, hours(10, 11))
    read = elsinore.lake.land_in_tasks.file_sources(older.files, lake.stream, 10**8)
    other = elsinore.lake.land._Landing(lake, "other", 1.0, older, read, 10**8)
    other.lines = other.read(older.size)
    put(settings, 10, departure(1, dep_delay=99))
    amend, waiting = Lake.amend, [other.attempt]

    def overtaken(*arguments: Any, **named: Any) -> None:
        if waiting:
            waiting.pop()()
        amend(*arguments, **named)

    monkeypatch.setattr(Lake, "amend", overtaken)
    land(lake, settings, hours(10, 11))
    assert rows(lake, "events", "dep_delay") == [99]
    assert json.loads(rows(lake, "raw_events", "record")[0])["dep_delay"] == 99
    assert land(lake, late, hours(12, 13))["late_landings"] == 0


@pytest.mark.parametrize("before", [(), (departure(3), departure(4))])
def test_what_a_killed_landing_has_not_stored_lands_when_its_file_is_back(
    lake: Lake, settings: Settings, killed: Callable[[str], None], before: tuple[Any, ...]
) -> None:
    late = settings.model_copy(update={"late_days": 1})
    put(settings, 10, departure(1))
    put(settings, 11, *before)
    land(lake, settings, hours(10, 12))
    file = put(settings, 11, departure(2), departure(3, 10))
    killed("_is_stored")
    away = file.rename(settings.home / "away")  # as where a disk is missing after a crash
    land(lake, late, hours(12, 13))
    assert rows(lake, "events", "event_id") == ["d1", "d3", "d4"][: 1 + len(before)]
    away.rename(file)
    assert land(lake, late, hours(13, 14))["late_landings"] == 1
    assert rows(lake, "events", "event_id") == ["d1", "d2", "d3"]
    assert rows(lake, "landings", "file_hour", "files", "lines")[1] == ("2013-01-01T11", 1, 2)
    assert land(lake, late, hours(14, 15))["late_landings"] == 0


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_correction_that_was_never_stored_leaves_no_trace_in_the_account_of_another_hour(
    lake: Lake, settings: Settings, killed: Callable[[str], None], is_gone: bool
) -> None:
    late = settings.model_copy(update={"late_days": 1})
    put(settings, 10, departure(1), departure(2))
    land(lake, settings, hours(10, 11))
    file = put(settings, 11, departure(1, dep_delay=9), departure(3))
    killed("_is_stored")
    file.unlink() if is_gone else put(settings, 11, departure(3))
    land(lake, late, hours(12, 13))
    assert rows(lake, "events", "event_id") == ["d1", "d2", "d3"][: 3 - is_gone]
    names = ("file_hour", "files", "lines", "accepted", "quarantined")
    assert rows(lake, "landings", *names)[:2] == [
        ("2013-01-01T10", 1, 2, 2, 0),
        ("2013-01-01T11", *((0, 0, 0, 0) if is_gone else (1, 1, 1, 0))),
    ]


def test_a_refused_landing_leaves_an_hour_that_had_landed_as_it_was(
    lake: Lake, settings: Settings
) -> None:
    """A file that is back as it was is no late one: nobody would mend what was written."""
    strict = settings.model_copy(update={"max_bad_share": 0.1})
    put(settings, 10, *(departure(n) for n in range(20)), "broken")
    land(lake, strict, hours(10, 11))
    before = contents(lake)
    put(settings, 10, "broken", "broken too")
    put(settings, 11, "broken as well")
    for end, hint in ((11, "ingested events stay"), (12, "read their reasons")):
        with pytest.raises(DataError, match=hint):
            land(lake, strict, hours(10, end))
    quarantined = rows(lake, "quarantine", "file_hour", "record")
    assert quarantined.pop() == ("2013-01-01T11", "broken as well")
    assert quarantined == [("2013-01-01T10", "broken")]
    assert {**contents(lake), "quarantine": []} == {**before, "quarantine": []}


@pytest.mark.parametrize("step", ["_require_accounted", "change_events"])
def test_a_landing_that_was_killed_ends_also_if_its_file_is_gone(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    late = settings.model_copy(update={"late_days": 1})
    put(settings, 10, departure(1), departure(2))
    land(lake, settings, hours(10, 11))
    file = put(settings, 11, departure(1, dep_delay=9), departure(3))

    def killed() -> None:
        raise LostWorkerError("killed")

    interrupt(monkeypatch, step, killed)
    with pytest.raises(LostWorkerError):
        land(lake, settings, hours(11, 12))
    file.unlink()
    for _ in range(2):
        assert land(lake, late, hours(12, 13))["late_landings"] == 0
        found = rows(lake, "events", "event_id", "file_hour", "dep_delay")
        assert [(e, place[-2:], n) for e, place, n in found] == [
            ("d1", "11", 9), ("d2", "10", 5), ("d3", "11", 5),
        ]  # fmt: skip
        names = ("file_hour", "files", "lines", "accepted", "quarantined")
        assert rows(lake, "landings", *names) == [
            ("2013-01-01T10", 1, 2, 1, 1), ("2013-01-01T11", 1, 2, 2, 0),
            ("2013-01-01T12", 0, 0, 0, 0),
        ]  # fmt: skip


@EITHER_WAY
@pytest.mark.parametrize("step", ["_require_accounted", "change_events"])
@pytest.mark.parametrize("is_gone", [False, True])
def test_what_a_line_had_corrected_counts_again_also_if_the_landing_without_it_was_killed(
    lake: Lake,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    is_gone: bool,
) -> None:
    """Its event was deleted by hand: once its line is gone, too, nothing tells of it."""
    late = settings.model_copy(update={"late_days": 1})
    put(settings, 10, departure(1), departure(2))
    put(settings, 11, departure(1, dep_delay=9), departure(3, hour=11))
    land(lake, settings, hours(10, 12))
    deltalake.DeltaTable(str(lake.path("events"))).delete("event_id = 'd1'")
    file = put(settings, 11, departure(3, hour=11))

    def killed() -> None:
        raise LostWorkerError("killed")

    with monkeypatch.context() as patch:
        interrupt(patch, step, killed)
        with pytest.raises(LostWorkerError):
            land(lake, late, hours(12, 13))
    if is_gone:
        file.unlink()
    for _ in range(2):
        land(lake, late, hours(12, 13))
        assert rows(lake, "events", "event_id", "file_hour") == [
            ("d1", "2013-01-01T10"), ("d2", "2013-01-01T10"), ("d3", "2013-01-01T11"),
        ]  # fmt: skip
        assert rows(lake, "quarantine") == []
        assert rows(lake, "landings", "file_hour", "accepted")[:2] == [
            ("2013-01-01T10", 2), ("2013-01-01T11", 1),
        ]  # fmt: skip
    listings = map(json.loads, rows(lake, "landings", "listing"))
    assert not any({UNDER_WAY, FORGETTING} & listing.keys() for listing in listings)


def test_what_a_line_had_corrected_counts_again_also_if_others_land_as_it_goes(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(settings, 10, departure(1))
    put(settings, 11, departure(1, dep_delay=9))
    land(lake, settings, hours(10, 12))
    deltalake.DeltaTable(str(lake.path("events"))).delete("event_id = 'd1'")
    put(settings, 11, departure(3, hour=11))
    put(settings, 12, departure(4, hour=12))
    store = elsinore.lake.land._LinesHere.store_lines

    def stored(own: Any, *arguments: Any) -> None:
        store(own, *arguments)
        monkeypatch.setattr(elsinore.lake.land._LinesHere, "store_lines", store)
        land(lake, settings, hours(12, 13))

    monkeypatch.setattr(elsinore.lake.land._LinesHere, "store_lines", stored)
    land(lake, settings, hours(11, 12))
    assert rows(lake, "events", "event_id") == ["d1", "d3", "d4"]


def test_lines_that_the_night_removes_meanwhile_do_not_come_back(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their correction, which is gone, too, would be undone."""
    keeps = settings.model_copy(update={"keep_days": {"raw_events": 1_000}})
    put(settings, 10, departure(1))
    put(settings, 11, departure(1, dep_delay=9))
    land(lake, settings, hours(10, 12))

    def night() -> None:
        for table, column in (("events", "event_day"), ("raw_events", "file_day")):
            lake.remove_before(table, column, date(2013, 2, 1), note='{"touched": {}}')

    interrupt(monkeypatch, "_too_bad", night)
    with pytest.raises(DataError, match="raw records of 2013-01-01 were removed"):
        land(lake, keeps, hours(10, 11))
    assert rows(lake, "events") == rows(lake, "raw_events") == []


def test_an_hour_whose_files_are_gone_is_emptied_by_whoever_comes_after(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside another landing; and killed before its events went."""
    late = settings.model_copy(update={"late_days": 1, "keep_days": {"raw_events": 1_000}})
    for hour in (10, 11):
        file = put(settings, hour, departure(hour, hour=hour))
        put(settings, 14, departure(hour + 10, hour=14))
        land(lake, late, hours(hour, hour + 1))
        file.unlink()
    with monkeypatch.context() as patch:
        interrupt(patch, "_require_accounted", lambda: land(lake, settings, hours(14, 15)))
        assert land(lake, late, hours(10, 11))["lines"] == 0
    assert rows(lake, "events", "event_id") == ["d11", "d21"]

    def killed() -> None:
        raise LostWorkerError("killed")

    interrupt(monkeypatch, "change_events", killed)
    with pytest.raises(LostWorkerError):
        land(lake, late, hours(11, 12))
    land(lake, late, hours(15, 16))
    assert rows(lake, "events", "event_id") == ["d21"]


def test_files_that_an_earlier_version_stored_as_unusable_stay_so_for_their_reasons(
    lake: Lake, settings: Settings
) -> None:
    put(settings, 10, name="-empty")
    put(settings, 10).with_name("events-2013-01-01T10-x.jsonl.gz").write_bytes(b"no gzip")
    put(settings, 10, departure(1))
    land(lake, settings, hours(10, 11))
    before = rows(lake, "quarantine")
    stored = lake.rows("raw_events")
    line = pc.if_else(pc.equal(stored["record_number"], 0), "", stored["record"])
    emptied = with_column(stored, "record", line)
    lake.stream_rows("raw_events", [emptied], where=Landings(hours(10, 11)), note="")
    put(settings, 11, departure(1, dep_delay=6))
    land(lake, settings, hours(11, 12))
    assert set(before) < set(rows(lake, "quarantine"))


@EITHER_WAY
@pytest.mark.parametrize("files", [("", "-b"), ("-b", "")])
def test_an_hour_is_corrected_while_another_landing_of_it_has_an_empty_file_more_or_less(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch, files: tuple[str, str]
) -> None:
    """That landing was killed before it wrote quarantine."""
    put(settings, 10, departure(1), departure(2))
    before, after = ([departure(3)] * (name == "-b") for name in files)
    put(settings, 10, *before, name="-b")
    land(lake, settings, hours(10, 11))
    put(settings, 10, *after, name="-b")

    def killed() -> None:
        raise LostWorkerError("killed")

    interrupt(monkeypatch, "_require_accounted", killed)
    with pytest.raises(LostWorkerError):
        land(lake, settings, hours(10, 11))
    put(settings, 11, departure(1, dep_delay=9))
    assert land(lake, settings, hours(11, 12))["accepted"] == 1
    land(lake, settings, hours(10, 11))
    assert rows(lake, "events", "event_id") == ["d1", "d2", "d3"][: 2 + len(after)]


def test_an_hour_that_failed_for_a_damaged_file_keeps_no_other_from_landing(
    lake: Lake, settings: Settings
) -> None:
    strict = settings.model_copy(update={"max_bad_share": 0.1, "landing_bytes": 10**8})
    put(settings, 10, departure(1), departure(2))
    land(lake, settings, hours(10, 11))
    damaged = put(settings, 10, name="-c").with_suffix(".jsonl.gz")
    damaged.write_bytes(b"no gzip")
    with pytest.raises(DataError, match="1 of 4 records are invalid"):
        land(lake, strict, hours(10, 11))
    put(settings, 11, departure(1, dep_delay=9))
    assert land(lake, strict, hours(11, 12))["accepted"] == 1
    assert rows(lake, "events", "event_id", "dep_delay") == [("d1", 9), ("d2", 5)]


@pytest.mark.parametrize("most", [10**8, 2_500])
def test_an_hour_that_is_refused_stays_as_it_was_however_the_others_land(
    lake: Lake, settings: Settings, most: int
) -> None:
    put(settings, 10, *(departure(n, n) for n in range(1, 21)))
    land(lake, settings, hours(10, 11))
    put(settings, 10, "bad", departure(60, 50))
    put(settings, 11, departure(1, dep_delay=9), *(departure(n, hour=11) for n in range(40, 46)))
    strict = {"max_bad_share": 0.1, "late_days": 1, "landing_bytes": most}
    figures = land(lake, settings.model_copy(update=strict), hours(11, 12))
    assert list(json.loads(figures["refused_landings"])) == ["2013-01-01T10"]
    assert len(rows(lake, "raw_events")) == 20 + 7
    assert "d60" not in rows(lake, "events", "event_id")
    assert rows(lake, "landings", "file_hour", "lines", "accepted", "quarantined") == [
        ("2013-01-01T10", 20, 19, 1), ("2013-01-01T11", 7, 7, 0),
    ]  # fmt: skip


@EITHER_WAY
@pytest.mark.parametrize("is_late", [False, True])
def test_a_correction_judges_no_other_hour_away_by_a_schema_of_later(
    lake: Lake, settings: Settings, tmp_path: Path, is_late: bool
) -> None:
    strict = settings.model_copy(update={"max_bad_share": 0.1, "late_days": 1})
    put(settings, 10, *(departure(n, dep_delay=n) for n in range(1, 11)))
    land(lake, strict, hours(10, 11))
    other = with_schema(strict, tmp_path, "dep_delay: long", "dep_delay: {type: long, min: 5}")
    before, judging = contents(lake), Lake.open(other)
    put(settings, 11, departure(9, dep_delay=90))
    if is_late:
        put(settings, 12, departure(12, 12))
        figures = land(judging, other, hours(12, 13))
        (told,) = json.loads(figures["refused_landings"]).values()
        assert "4 of 10 records are invalid" in told
        assert len(rows(lake, "events")) == 11
        # Whatever comes late beside that hour lands.
        for hour in (7, 8, 9):
            put(settings, hour, departure(hour + 10, hour=hour, dep_delay=8))
        figures = land(judging, other, hours(13, 14))
        assert [*json.loads(figures["refused_landings"])] == ["2013-01-01T11"]
        assert (figures["late_landings"], len(rows(lake, "events"))) == (3, 14)
    else:
        with pytest.raises(DataError, match=r"of which 4 of 10 .*restore the schema"):
            land(judging, other, hours(11, 12))
        assert contents(lake) == before
    # Whoever takes that on lands the hour anew.
    freely = other.model_copy(update={"max_bad_share": 1.0})
    land(judging, freely, hours(10, 11))
    land(judging, other, hours(11, 13))
    assert rows(lake, "events", "event_id", "dep_delay")[-1] == ("d9", 90)
    accepted = {row[0][-2:]: row[1] for row in rows(lake, "landings", "file_hour", "accepted")}
    assert (accepted["10"], accepted["11"]) == (5, 1)


def test_whoever_lands_beside_many_others_gives_way(
    lake: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(settings, 10, departure(1))
    tries = []

    def taken(*_: Any, **__: Any) -> None:
        tries.append(1)
        raise ConflictError("taken")

    replace_step(monkeypatch, "change_events", lambda _: taken)
    with pytest.raises(ConflictError, match="taken"):
        land(lake, settings, hours(10, 11))
    assert (len(tries), rows(lake, "events")) == (5, [])


@EITHER_WAY
def test_killed_at_any_write_and_run_again_it_ends_the_same(
    lake: Lake, settings: Settings, new_home: NewHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first landing was corrected by the second, whose mended file takes that back."""
    other = Lake.open(new_home())
    clean = Settings(home=Path(str(other.root)).parent, max_bad_share=1.0)
    for zone in (settings, clean):
        put(zone, 10, departure(1), "broken", departure(2))
        put(zone, 11, departure(1, dep_delay=6), departure(2))
    for tables, zone in ((lake, settings), (other, clean)):
        land(tables, zone, hours(10, 12))
        put(zone, 11, departure(3))
    land(other, clean, hours(11, 12))

    def killed(*arguments: Any, **named: Any) -> None:
        raise LostWorkerError("killed")

    def killed_at(table: str, real: Any) -> Any:
        def write(tables: Lake, name: str, *rest: Any, **named: Any) -> None:
            (killed if name == table else real)(tables, name, *rest, **named)

        return write

    writes = ("stream_rows", "record", "name_files")
    for table in ("raw_events", "quarantine", "landings"):
        with monkeypatch.context() as patch:
            for write in writes:
                patch.setattr(Lake, write, killed_at(table, getattr(Lake, write)))
            with pytest.raises(LostWorkerError):
                land(lake, settings, hours(11, 12))
    # Before the commit of `events`, and after it.
    for step in ("change_events", "_totals"):
        with monkeypatch.context() as patch:
            replace_step(patch, step, lambda _: killed)
            with pytest.raises(LostWorkerError):
                land(lake, settings, hours(11, 12))
    land(lake, settings, hours(11, 12))
    for table in ("raw_events", "quarantine", "events", "landings"):
        assert rows(lake, table) == rows(other, table), table
    assert rows(lake, "events", "event_id", "dep_delay") == [("d1", 5), ("d2", 5), ("d3", 5)]
    assert rows(
        lake, "landings", "file_hour", "lines", "accepted", "duplicates", "quarantined"
    ) == [
        ("2013-01-01T10", 3, 2, 0, 1),
        ("2013-01-01T11", 1, 1, 0, 0),
    ]


@EITHER_WAY
def test_real_flights(lake: Lake, settings: Settings) -> None:
    start, end = (datetime(2013, 1, 1, hour, tzinfo=UTC) for hour in (14, 16))
    _, by_type = generate_flights(settings.landing, start=start, end=end)
    figures = land(lake, settings, hours(14, 16))
    assert figures["files"] == 2
    assert figures["accepted"] == figures["lines"] == sum(by_type.values()) > 100
    files = sorted(settings.landing.rglob("*.gz"))
    decoded = [decode_lines(b, lake.stream).events for file in files for b in read_lines(file)]
    expected = sorted(row for part in decoded for row in _comparable(part.to_pylist()))
    assert rows(lake, "events", "event_id", "tailnum", "dep_delay", "temp") == expected
    accounts = rows(lake, "landings", "first_event", "last_event")
    assert all(f.hour == last.hour == h for (f, last), h in zip(accounts, (14, 15), strict=True))


def _comparable(events: list[dict[str, object]]) -> list[tuple[object, ...]]:
    return [(e["event_id"], e["tailnum"], e["dep_delay"], e["temp"]) for e in events]


def test_events_laid_out_by_buckets(laid_home: Callable[[str], Settings]) -> None:
    settings = laid_home("{by: [carrier], number: 5}")
    lake = Lake.open(settings)
    carriers = ["UA", "AA", "DL", None, "B6", "WN"]

    def held() -> dict[str, str | None]:
        """By event its carrier; each lies where its carrier's events do."""
        found = lake.rows("events")
        numbers = bucket_numbers(found, ["carrier"], 5).tolist()
        assert found["event_bucket"].to_pylist() == numbers
        for file in files_of(lake.path("events"), None, None):
            assert file.bucket is not None
            assert f"event_bucket={file.bucket.number}/" in file.path
        return dict(
            zip(*(found[name].to_pylist() for name in ("event_id", "carrier")), strict=True)
        )

    put(settings, 10, *(departure(n, carrier=name or ...) for n, name in enumerate(carriers)))
    put(settings, 11, {"id": "w", "type": "Weather", "time": "2013-01-01T11:00:00Z",
                       "origin": "JFK", "precip": 0.0, "visib": 10})  # fmt: skip
    land(lake, settings, hours(10, 12))
    first = {f"d{n}": name for n, name in enumerate(carriers) if name}
    assert held() == first | {"w": None}
    # A correction gives an event another carrier, and hours that follow bring more.
    put(settings, 12, departure(0, carrier="DL"), departure(8, carrier="UA"))
    put(settings, 13, departure(9, carrier="UA"))
    for hour in 12, 13:
        land(lake, settings, hours(hour, hour + 1))
    expected = first | {"w": None, "d0": "DL", "d8": "UA", "d9": "UA"}
    assert held() == expected
    done = maintain(lake, keep_hours=LEAST_KEPT, run="night")
    assert held() == expected
    assert done["events_live"] < done["events_live_before"]
    # No table is laid out anew in place.
    text = settings.schema_file.read_text(encoding="utf-8")
    for other in ("buckets: {by: [carrier], number: 6}", "buckets: {by: [dest], number: 5}", ""):
        changed = re.sub("buckets: .*", other, text)
        settings.schema_file.write_text(changed, encoding="utf-8")
        with pytest.raises(SetupError, match=r"it has 5 buckets by carrier, but .* decl"):
            Lake.open(settings).create_all()


def test_a_new_type_may_require_what_no_event_of_it_can_lack(
    new_home: NewHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    home = new_home()
    put(home, 10, departure(1))
    land(Lake.open(home), home, hours(10, 11))
    settings = with_schema(home, tmp_path, "\ntypes:\n", "\ntypes:\n  Gift: {worth: long}\n")
    monkeypatch.setattr(Settings, "load", lambda: settings)
    assert run_command(["migrate"]) == 0
    assert capsys.readouterr().out == "the table events got worth (long)\n"
    gift = {"id": "g", "type": "Gift", "time": "2013-01-01T10:00:00Z", "worth": 7}
    put(settings, 10, departure(1), gift)
    land(Lake.open(settings), settings, hours(10, 11))
    assert rows(Lake.open(settings), "events", "event_id", "worth") == [("d1", None), ("g", 7)]


def test_no_column_is_added_while_steps_are_at_work(
    new_home: NewHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    grown = with_schema(new_home(), tmp_path, "\ntypes:\n", "\ntypes:\n  Gift: {worth: long}\n")
    monkeypatch.setattr(Settings, "load", lambda: grown)
    with at_work(grown.local):
        assert run_command(["migrate", "--dry-run"]) == 0
        assert run_command(["migrate"]) == 1
    assert f"a run is working in {grown.local} (pause the DAGs" in capsys.readouterr().err
    assert run_command(["migrate"]) == 0
