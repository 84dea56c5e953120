"""`elsinore replay --dry-run`: the hours that a replay would compute, from files and the ledger."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from elsinore import replay
from elsinore.cli.main import run_command
from elsinore.ingest.find_files import listing
from elsinore.ingest.landing_zone import landing_files
from elsinore.lake.answered import answered_by
from elsinore.ledger.rows import State
from elsinore.ledger.to_compute import Planned, Why
from elsinore.planned_hours import PlannedReplay, planned_replay
from elsinore.settings import Settings
from elsinore.timeline import HOUR, Interval
from tests.unit.ingest.test_find_files import put
from tests.unit.ledger.ledgers import START, failed, label, numbers, published, refreshed, row
from tests.written_tables import write_hours

#: The windows that end in an hour contain events of this hour and of the one before.
QUERY = "QUERY q RETURN COUNT(*) PATTERN A WITHIN 90 minutes SLIDE 30 minutes;"
SCHEMA = "stream: shop\ntime: {field: t, unit: iso}\ntypes: {A: {}}\n"
NUMBERS = range(6, 12)
OWN = Interval(START + 6 * HOUR, START + 12 * HOUR)
UNCHANGED = "requested; its inputs are unchanged"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, text in (("SCHEMA", SCHEMA), ("WORKLOAD", QUERY)):
        file = tmp_path / f"shop.{name.lower()}"
        file.write_text(text)
        monkeypatch.setenv(f"ELSINORE_{name}_FILE", str(file))
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "home"))
    settings = Settings.load()
    settings.landing.mkdir(parents=True)
    return settings


def publish(settings: Settings) -> None:
    """Write files of hours 0 to 9 except 4, and the ledger of runs that published these hours.

    Hour 6 was published for other queries. Hour 11 failed.
    """
    zone, (one,) = settings.landing, answered_by(settings)
    rows = []
    for hour in range(10):
        if hour != 4:
            put(zone, hour)
        own = Interval(START + hour * HOUR, START + (hour + 1) * HOUR)
        files = listing(landing_files(zone, own)).drop_columns("hour").to_pylist()
        rows.append(row(State.INGESTED, hour, file_count=len(files), files=files))
    known = {"workload_fingerprint": one.fingerprint}
    done = [
        published(hour, 7, *([4] if hour in (4, 5) else []), workload=one.title,
                  **known | ({"workload_fingerprint": "old"} if hour == 6 else {}))
        for hour in range(10)
    ]  # fmt: skip
    write_hours(
        settings.lake, rows, [refreshed(hour, 3) for hour in range(10)], done,
        [failed(11, workload=one.title)],
    )  # fmt: skip


def hours(planned: list[Planned]) -> dict[int, str]:
    """Return the reasons by the numbers of hours."""
    return dict(zip(numbers(np.array([one.hour for one in planned], np.int64)),
                    [one.text for one in planned], strict=True))  # fmt: skip


def plan(settings: Settings) -> PlannedReplay:
    return planned_replay(settings, OWN)


def test_a_new_stream_has_only_new_hours(settings: Settings) -> None:
    put(settings.landing, 6)
    found = plan(settings)
    assert hours(found.own) == dict.fromkeys(NUMBERS, "not published yet")
    assert (found.others, numbers(found.changed), found.left, found.lost) == ([], [6], 0, 0)


def test_files_and_the_ledger_decide_why_hours_are_computed(settings: Settings) -> None:
    publish(settings)
    found = plan(settings)
    never = dict.fromkeys((10, 11), "not published yet")
    never[11] += "; failed once, last in test: it broke"
    queries = "published for other queries of the workload"
    assert hours(found.own) == {6: queries, **dict.fromkeys((7, 8, 9), UNCHANGED), **never}
    assert (found.others, numbers(found.changed)) == ([], [])
    for hour, name in ((1, "-late"), (4, ""), (10, "")):
        put(settings.landing, hour, name)
    put(settings.landing, 7, size=11)
    found = plan(settings)
    assert numbers(found.changed) == [1, 4, 7, 10]
    changed = f"events of {label(7)} changed"
    assert hours(found.own) == {6: queries, 7: changed, 8: changed, 9: UNCHANGED, **never}
    late, came = f"events of {label(1)} changed", f"files arrived for {label(4)}"
    assert hours(found.others) == {1: late, 2: late, 4: came, 5: came}
    # Two of four hours are left to later runs: the earliest ones.
    few = planned_replay(settings.model_copy(update={"recompute_hours": 2}), OWN)
    assert (list(hours(few.others)), few.left) == ([4, 5], 2)


def test_a_replay_withdraws_the_events_of_a_removed_file(settings: Settings) -> None:
    publish(settings)
    put(settings.landing, 8).unlink()
    put(settings.landing, 2).unlink()  # only a replay of its hour withdraws its events
    found = plan(settings)
    changed = f"events of {label(8)} changed"
    assert (hours(found.own)[8], hours(found.own)[9]) == (changed, changed)
    assert (numbers(found.changed), found.others) == ([8], [])


def test_files_that_are_collected_first_are_named(settings: Settings) -> None:
    put(settings.landing, 6)
    (settings.landing / "shop.csv").write_text("t\n")
    rule = "sources: [{files: '*.csv'}]\n"
    settings.schema_file.write_text(SCHEMA.replace("types", f"{rule}types"))
    found = plan(settings)
    assert (found.collected, numbers(found.changed)) == (["shop.csv"], [6])


def test_files_that_the_replay_creates_count(settings: Settings) -> None:
    settings.landing.rmdir()
    found = planned_replay(settings, OWN, made=[START + 7 * HOUR])
    assert (list(hours(found.own)), numbers(found.changed)) == (list(NUMBERS), [7])


def test_a_provisional_hour_waits_for_its_input(settings: Settings) -> None:
    publish(settings)
    found = planned_replay(settings, Interval(START + 5 * HOUR, START + 6 * HOUR))
    (one,) = found.own
    assert (one.why, one.text) == (
        Why.PROVISIONAL, f"provisional; no file arrived for {label(4)}"
    )  # fmt: skip


def test_the_command_lists_hours_and_changes_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(settings)
    put(settings.landing, 1, "-late")
    monkeypatch.delattr(replay, "run_dag")
    monkeypatch.delattr(replay, "server_url")
    before = sorted(settings.home.rglob("*"))
    start, end = (label(hour) + ":00" for hour in (7, 11))
    assert run_command(["replay", "--start", start, "--end", end, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "would compute 4 hours of 2013-02-08 07:00 UTC to 2013-02-08 11:00 UTC",
        f"  {label(7)} to {label(9)} (3 hours): {UNCHANGED}",
        f"  {label(10)}: not published yet",
        "would also recompute 2 hours",
        f"  {label(1)} to {label(2)} (2 hours): events of {label(1)} changed",
        f"files are new, changed or removed in {label(1)}",
        "in total 6 hours",
    ]
    assert sorted(settings.home.rglob("*")) == before
    assert run_command(["replay", "--start", "2014-01-01", "--end", "2014-01-02", "--dry-run"]) == 1
    assert "no raw file of these hours" in capsys.readouterr().err
