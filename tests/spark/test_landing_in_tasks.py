"""Landings of more lines than a process should hold leave what others leave, whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from elsinore.errors import ConflictError, DataError, LostWorkerError
from elsinore.lake.forget import Key, forget
from elsinore.lake.kept_hours import FOLDER, InTasks, drop_kept_hours, in_turn
from elsinore.lake.land import land
from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from elsinore.spark.tasks import in_tasks_of
from tests.draws import draws
from tests.spark.conftest import NewHome
from tests.spark.landing_zone import contents, departure, hours, put, rows

#: So few bytes that the first of the hours below is landed in tasks, or both of them are.
ONE, BOTH = 2_500, 1_800


def fill(settings: Settings) -> None:
    """Two hours: the second corrects, repeats and adds to the first, and each has what is bad."""
    put(settings, 10, "broken", *(departure(n, n) for n in range(12)), name="-a")
    put(settings, 10, *(departure(n, n + 30) for n in range(20, 26)), departure(3, 3), name="-b")
    put(settings, 11, departure(1, 1, dep_delay=9), departure(2, 2), departure(40, hour=11), "bad")
    put(settings, 11, *(departure(n, n, 11) for n in range(41, 48)), name="-b")


def mend(settings: Settings) -> None:
    """The first hour again: events of it are gone, have come, and one counts as of old again."""
    put(settings, 10, *(departure(n, n) for n in range(0, 12, 2)), departure(50, 50), name="-a")
    put(settings, 11, departure(41, 41, 11, dep_delay=8), departure(40, hour=11))


def few(settings: Settings, most: int = BOTH) -> Settings:
    return settings.model_copy(update={"landing_bytes": most})


@pytest.fixture
def expected(new_home: NewHome) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """What landings in one process leave of the first files, and of the mended ones."""
    settings = new_home()
    lake, found = Lake.open(settings), []
    for change in fill, mend:
        change(settings)
        land(lake, settings, hours(10, 12), run="r")
        found.append(contents(lake))
    return found[0], found[1]


def test_through_spark(
    new_spark_home: NewHome, expected: tuple[dict[str, list[Any]], dict[str, list[Any]]]
) -> None:
    settings = few(new_spark_home(), ONE)
    lake = Lake.open(settings)
    fill(settings)
    with in_tasks_of(settings, "a landing") as in_spark:
        land(lake, settings, hours(10, 12), run="r", in_tasks=in_spark)
        assert contents(lake) == expected[0]
        assert not [*(lake.root / FOLDER).rglob("*.*")]
        files = lake.log("raw_events").files()
        assert any(path.startswith("landed-") for path in files["path"].to_pylist())
        assert None not in files["min.file_hour"].to_pylist()

        def without(number: int, do: Callable[[int], Any]) -> list[Any]:
            for file in settings.landing.rglob("*10-a.jsonl"):
                file.rename(file.with_suffix(".gone"))
            return in_spark(number, do)

        with pytest.raises(DataError, match=r"cannot read .*events-2013-01-01T10-a\.jsonl"):
            land(lake, settings, hours(10, 12), run="r", in_tasks=without)
    assert contents(lake) == expected[0]


def interrupted(at: int, do_first: Callable[[], object]) -> InTasks:
    """One task after another, and before one of them something else."""
    tasks = count()

    def in_tasks(number: int, do: Callable[[int], Any]) -> list[Any]:
        told = []
        for each in range(number):
            if next(tasks) == at:
                do_first()
            told.append(do(each))
        return told

    return in_tasks


def killed() -> None:
    raise LostWorkerError("killed")


def test_killed_in_any_task_and_run_again_it_ends_the_same(
    laid_home: Callable[[str], Settings],
    expected: tuple[dict[str, list[Any]], dict[str, list[Any]]],
) -> None:
    settings = few(laid_home("{by: [origin, flight], number: 3}"), ONE)
    lake, points = Lake.open(settings), 0
    for change in fill, mend:
        change(settings)
        for at in count():
            in_tasks = interrupted(at * draws(23, 1), killed)
            try:
                land(lake, settings, hours(10, 12), run="r", in_tasks=in_tasks)
            except LostWorkerError:
                points += 1
            else:
                break
    assert points > 2
    left = contents(lake)
    at = lake.schema("events").arrow().names.index("event_bucket")
    left["events"] = sorted(row[:at] + row[at + 1 :] for row in left["events"])
    assert left == expected[1]
    # What killed tasks left is in nobody's way, and maintenance removes it.
    drop_kept_hours(lake.root, unused_since=time.time_ns())
    assert not [*(lake.root / FOLDER).rglob("*.*")]
    log = lake.log("events")
    log.vacuum(0, enforce_retention_duration=False, dry_run=False, full=True)
    named = {Path(str(lake.path("events")), path) for path in log.files()["path"].to_pylist()}
    assert {*lake.path("events").rglob("*.parquet")} == named
    assert contents(lake)["events"] != []


def test_without_what_stands_in_between_it_gives_up_and_is_worth_another_try(
    new_home: NewHome, expected: tuple[dict[str, list[Any]], dict[str, list[Any]]]
) -> None:
    settings = few(new_home(), ONE)
    lake = Lake.open(settings)
    fill(settings)
    for at in range(1, 13, draws(6, 1)):
        removed = interrupted(at, lambda: drop_kept_hours(lake.root))
        with pytest.raises(ConflictError, match="intermediate files of the ingest were removed"):
            land(lake, settings, hours(10, 12), run="r", in_tasks=removed)
    land(lake, settings, hours(10, 12), run="r")
    assert contents(lake) == expected[0]


@pytest.mark.parametrize("left", [(), (departure(40, hour=11),)])
def test_a_small_hour_that_decides_on_a_large_one_is_judged_in_tasks(
    new_home: NewHome, left: tuple[Any, ...]
) -> None:
    """It corrected an event; with the next file, or without any, this counts as of old again."""
    found, phases = [], count()

    def counting(number: int, do: Callable[[int], Any]) -> list[Any]:
        next(phases)
        return in_turn(number, do)

    for most in 10**8, 3_000:
        settings = few(new_home(), most)
        lake = Lake.open(settings)
        put(settings, 10, *(departure(n, n) for n in range(20)))
        path = put(settings, 11, departure(1, dep_delay=9))
        land(lake, few(settings, 10**8), hours(10, 12), run="r")
        path.unlink()
        if left:
            put(settings, 11, *left)
        land(lake, settings, hours(11, 12), run="r", in_tasks=counting)
        found.append(contents(lake))
    assert found[0] == found[1]
    assert next(phases) > 3
    assert rows(lake, "landings", "file_hour", "accepted")[0] == ("2013-01-01T10", 20)


@pytest.mark.parametrize("at", range(1, 46, draws(26, 1)))
def test_another_landing_at_any_point_is_never_lost(
    new_home: NewHome, at: int, expected: tuple[dict[str, list[Any]], dict[str, list[Any]]]
) -> None:
    settings = few(new_home())
    lake, beside = Lake.open(settings), few(settings, BOTH if at % 2 else 10**8)
    fill(settings)
    if at > 10:  # so that there are more tasks
        land(lake, settings, hours(10, 12), run="before")
    mend(settings)
    done = []

    def other() -> None:
        done.append(land(lake, beside, hours(10, 12), run="other"))

    land(lake, settings, hours(10, 12), run="r", in_tasks=interrupted(at, other))
    assert contents(lake) == expected[1]
    assert len(done) == 1


#: What tables and landing call columns of their own.
NAMES = ("alike", "bucket", "fate", "held", "file_day", "record", "op", "window_end_day", "reason",
         "reason_code", "was")  # fmt: skip
SCHEMA = f"""
stream: names
time: {{field: time, unit: iso}}
id: {{field: id}}
types: {{A: {{x: double, {", ".join(f"{name}: string" for name in NAMES)}}}}}
"""


@pytest.mark.parametrize("most", [10**8, 1_000])
def test_attributes_of_any_names_land_and_nan_says_the_same_again(
    new_home: NewHome, tmp_path: Path, most: int
) -> None:
    files = {"schema_file": tmp_path / "s.yaml", "workload_file": tmp_path / "w.sase"}
    files["schema_file"].write_text(SCHEMA)
    files["workload_file"].write_text("QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 hour;")
    own = {"home": tmp_path, "landing_bytes": most, **files}
    settings = new_home().model_copy(update=own)
    lake = Lake.open(settings)

    def event(number: int, x: float = float("nan")) -> dict[str, Any]:
        own = {name: f"{name} of {number}" for name in NAMES}
        return own | {"id": f"e{number}", "time": f"2013-01-01T10:{number:02}:00Z", "x": x}

    lines = [event(1), event(1), event(2, 1.5), event(2, 2.5), event(3), "broken"]
    for _ in range(2):
        put(settings, 10, *lines)
        land(lake, settings, hours(10, 11), run="r")
        version = lake.version("events")
    held = rows(lake, "events", "event_id", *NAMES)
    assert held == [(f"e{n}", *(f"{name} of {n}" for name in NAMES)) for n in (1, 2, 3)]
    counts = ("accepted", "duplicates", "quarantined")
    assert rows(lake, "landings", *counts) == [(3, 1, 2)]
    codes = rows(lake, "quarantine", "record_number", "reason_code")
    assert codes == [(3, "superseded"), (6, "bad_json")]
    put(settings, 10, *lines, event(4))
    land(lake, settings, hours(10, 11), run="r")
    assert lake.version("events") == version + 1
    land(lake, settings, hours(10, 11), run="r")
    assert lake.version("events") == version + 1  # nothing has changed
    key = Key.parse(["reason=reason of 1", "x=NaN"], lake.stream)
    removed, _ = forget(settings, key, run="f", dry_run=False)
    assert removed["events"].rows == 1
    assert rows(lake, "events", "event_id") == ["e2", "e3", "e4"]
