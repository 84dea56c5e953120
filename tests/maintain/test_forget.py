"""`elsinore forget`: no file contains a key, and the tables are those of an ingest without it."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elsinore.maintain.erase_history
import elsinore.maintain.forget
from elsinore.cli.main import run_command
from elsinore.errors import ConflictError, DataError
from elsinore.ingest.refresh import refresh
from elsinore.ledger.results import stale
from elsinore.ledger.rows import State
from elsinore.maintain.find_key import Removed
from elsinore.maintain.forget import forget
from elsinore.maintain.key import Key
from elsinore.maintain.optimize import LEAST_KEPT, maintain
from elsinore.maintain.recorded_files import RecordedFiles
from elsinore.orchestration.run_step import at_work
from elsinore.store.spark_tables import SparkTables
from tests.draws import first
from tests.ingest.landing_zone import START, departure, hour, put
from tests.maintain.homes import QUERIES, Home, holding

pytestmark = pytest.mark.spark

GONE = "N9Ü"
#: Columns that do not depend on when rows were written.
RECORDS = ("file_hour", "file", "record_number", "record")
EVENTS = ("event_id", "event_time", "file_hour", "file", "record_number", "tailnum", "dep_delay")


def write_zone(home: Home) -> None:
    """Hours 10 to 14: events of the key, repeated, corrected, moved, damaged; a file of nothing
    else, a packed one, and an event of another type that has its value in an undeclared field.
    """
    gone: dict[str, Any] = {"tailnum": GONE}
    zone = home.zone
    broken = f"broken {GONE}!"
    put(zone, hour(10), departure(1, 5), departure(2, 20, **gone), departure(3, 40, **gone), broken)
    # d2 comes again, d3 was another plane's; d4 is corrected by the key.
    put(zone, hour(11), departure(2, 20, **gone), departure(3, 40), departure(4, 5, 11))
    bad = departure(5, 1, 12, carrier=[7], **gone)
    put(zone, hour(12), departure(4, 5, 11, **gone), bad)
    of_it = departure(6, 1, 13, id=f"{GONE}-6", **gone)
    put(zone, hour(13), of_it, departure(7, 1, 13, **gone))
    path = put(zone, hour(14), departure(8, 1, 14, **gone), departure(9, 2, 14))
    weather = {"id": "w", "type": "Weather", "time": "2013-01-01T14:00:00Z", "origin": "EWR",
               "precip": 0, "visib": 9, "tailnum": GONE}  # fmt: skip
    with gzip.open(path.with_suffix(".jsonl.gz"), "wt", encoding="utf-8") as packed:
        packed.write(json.dumps(weather) + "\n\n" + json.dumps(departure(10, 3, 14)) + "\n")
    path.unlink()
    put(zone, hour(14), departure(8, 1, 14, **gone), departure(9, 2, 14), name="-b")


def erase(home: Home, run: str = "test") -> tuple[dict[str, Removed], int]:
    key = Key.parse([f"tailnum={GONE}"], home.own.ingest.stream)
    return forget(home.spark, home.settings, key, run=run)


def tables_of(home: Home) -> list[Any]:
    """Rows of tables; an ingest of an emptied file adds a row that the file has no records."""
    records = [home.rows(table, *RECORDS) for table in ("raw_events", "quarantine")]
    found = [[row for row in rows if row[2] > 0] for rows in records]
    return [*found, home.rows("events", *EVENTS)]


def counts(home: Home) -> list[list[int]]:
    ingested = home.state()[State.INGESTED]
    return [ingested.longs(name).tolist() for name in ("records", "bad_records", "bytes")]


def test_no_file_contains_a_key_and_its_hours_are_stale(
    home: Home, new_home: Callable[[], Home], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    clean = new_home()
    write_zone(home)
    home.run(9, until=20)
    for number in (10, 14, 15):
        home.put_results(number, "N1", GONE)
    settings = home.settings
    alerts = [
        json.dumps({"dag": dag, "reason": reason})
        for dag in ("hourly_replay", "rides.hourly_replay")
        for reason in (f"about {GONE}", "another")
    ]
    settings.alerts.write_text("".join(f"{line}\n" for line in [f"a torn {GONE}", *alerts]))
    settings.reports.mkdir()
    (settings.reports / "page.html").write_text(f"<p>{GONE}</p>")
    (home.lake / "validations" / "part-0.parquet#1").write_text(GONE)  # of a killed writer
    cached = home.lake / "kept" / "queries" / "2013-01-01T10.v1.0-1.00000000.parquet"
    cached.parent.mkdir(parents=True)
    cached.write_text(GONE)
    # What was withdrawn before is in older versions and in the log only.
    assert {"lake/raw_events", "lake/results", "lake/validations"} <= holding(home, GONE)
    for name, value in settings.model_dump(mode="json", exclude_none=True).items():
        if name in ("home", "workload_file", "schema_file", "spark_master", "spark_token_file"):
            monkeypatch.setenv(f"ELSINORE_{name.upper()}", str(value))

    assert run_command(["forget", f"tailnum={GONE}", "--dry-run"]) == 0
    would = capsys.readouterr().out
    assert [line.split()[:2] for line in would.splitlines()[1:6]] == [
        ["raw", "files"], ["raw_events", "10"], ["quarantine", "2"], ["events", "6"],
        ["results_staged", "3"],
    ]  # fmt: skip
    assert "lake/kept" in holding(home, GONE)
    assert run_command(["forget", f"tailnum={GONE}"]) == 0
    assert holding(home, GONE) == {"alerts.jsonl"}
    assert settings.alerts.read_text().splitlines() == alerts[1:]
    assert home.rows("results", "group_key") == ['{"tailnum": "N1"}'] * 3
    assert stale(home.state(), 1).tolist() == [hour(10), hour(14), hour(15)]
    assert "published hours now stale          3" in capsys.readouterr().out

    done = home.run(20)
    assert (done.figures["late_hours"], done.figures["changed_rows"]) == (0, 0)
    shutil.copytree(home.zone, clean.zone, dirs_exist_ok=True)
    clean.run(9, until=20)
    assert tables_of(home) == tables_of(clean)
    clean.run(20)
    records, bad, size = map(np.array, counts(home))
    all_records, all_bad, all_size = map(np.array, counts(clean))
    assert (records - bad).tolist() == (all_records - all_bad).tolist()
    assert size.tolist() == all_size.tolist()


@pytest.mark.long
def test_after_an_erasure_refreshes_read_only_what_changed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logs have only the latest versions, whose notes say what is done."""
    put(home.zone, hour(10), departure(1), departure(2, tailnum=GONE))
    home.run(10)
    erase(home)
    put(home.zone, hour(11), departure(3, hour=11))

    def everything(*_: Any) -> Any:
        raise AssertionError("all keys or all hours were read")

    monkeypatch.setattr("elsinore.ingest.refresh._all_keys", everything)
    monkeypatch.setattr("elsinore.ingest.changed_hours._all_hours", everything)
    assert home.run(11).figures["changed_rows"] == 1
    assert home.rows("events", "event_id") == ["d1", "d3"]
    assert len(list((home.lake / "events" / "_delta_log").glob("*.json"))) < 5


@pytest.mark.long
def test_records_whose_raw_files_are_gone_are_erased(home: Home) -> None:
    write_zone(home)
    home.run(9, until=20)
    shutil.rmtree(home.zone / "2013")
    erase(home)
    assert holding(home, GONE) == set()
    assert home.rows("events", "event_id") == ["d1", "d10", "d3", "d4", "d9"]


def killed_at(home: Home, owner: object, point: str) -> None:
    """Erase the key until a point is reached for the first time."""

    def ended(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, point, ended)
        with pytest.raises(KeyboardInterrupt):
            erase(home, "killed")


@pytest.mark.long
@pytest.mark.parametrize(
    ("owner", "point"),
    first([(elsinore.maintain.forget, "_drop_spools"), (RecordedFiles, "end"),
     (elsinore.maintain.forget, "refresh"), (elsinore.maintain.forget, "record_changed_hours"),
     (SparkTables, "vacuum"), (elsinore.maintain.erase_history, "_remove_before")], 1),
)  # fmt: skip
def test_a_killed_erasure_is_completed_by_another(home: Home, owner: object, point: str) -> None:
    archived = put(home.zone, hour(10), departure(1), name="-a")
    put(home.zone, hour(10), departure(2), departure(3, tailnum=GONE), name="-b")
    home.run(10)
    home.put_results(10, "N1", GONE)
    archived.unlink()
    killed_at(home, owner, point)
    # Ingested again, the hour would lose the event of the file that is archived.
    done = home.run(11)
    is_marked = point in ("_drop_spools", "end")
    assert ("an erasure was interrupted" in str(done.refused)) == is_marked
    assert {"d1", "d2"} <= set(home.rows("events", "event_id"))
    erase(home, "again")
    assert holding(home, GONE) == set()
    done = home.run(12)
    assert (done.figures["late_hours"], done.refused) == (0, {})
    assert home.rows("events", "event_id") == ["d1", "d2"]
    assert stale(home.state(), 2).tolist() == [hour(10)]
    files = home.state()[State.INGESTED].rows["files"].to_pylist()[0]
    assert [file["name"][-8:] for file in files] == ["-a.jsonl", "-b.jsonl"]
    assert refresh(home.own.ingest, run="test").changed == 0


@pytest.mark.long
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_raw_file_that_changes_while_it_is_searched_loses_no_record(
    home: Home, is_gone: bool
) -> None:
    path = put(home.zone, hour(10), departure(1), departure(2, tailnum=GONE))
    home.run(10)

    def meanwhile(*_: Any) -> int:
        put(home.zone, hour(10), departure(2, tailnum=GONE), departure(1), departure(3))
        if is_gone:
            path.unlink()
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elsinore.maintain.forget, "_stale_hours", meanwhile)
        with pytest.raises(ConflictError, match="changed while it was searched"):
            erase(home)
    # The next call also finds what a killed `put` left.
    left = home.zone / "_ingest-1" / "1356998400000000"
    left.parent.mkdir()
    unfinished = home.zone / f".{'0' * 32}.part"
    for file in (left, unfinished):
        file.write_bytes(gzip.compress(json.dumps(departure(4, tailnum=GONE)).encode()))
    erase(home)
    assert holding(home, GONE) == set()
    assert not unfinished.exists()
    home.run(11)
    assert home.rows("events", "event_id") == (["d1"] if is_gone else ["d1", "d3"])


@pytest.mark.long
def test_what_a_producer_appends_to_a_rewritten_file_is_not_lost(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(home.zone, hour(10), departure(1), departure(2, tailnum=GONE))
    home.run(10)
    replace: Any = os.replace

    def replaced(part: Any, to: Any, **directories: int) -> None:
        replace(part, to, **directories)
        if to == path.name:
            with path.open("a") as file:
                file.write(json.dumps(departure(3)) + "\n")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replaced)
        with pytest.raises(ConflictError, match="changed while it was searched"):
            erase(home)
    erase(home, "again")
    home.run(11)
    assert home.rows("events", "event_id") == ["d1", "d3"]


@pytest.mark.long
def test_after_the_retention_of_raw_records(home: Home) -> None:
    """Quarantine is kept longer here; the counts of the hour stay."""
    put(home.zone, hour(10), departure(1), f"broken {GONE}", "broken")
    home.run(10)
    before = counts(home)
    home.remove_old(6, events=3, raw_events=5)
    raw = home.zone / "2013/01/01/events-2013-01-01T10.jsonl"
    erase(home)
    assert raw.read_text().splitlines()[1:] == ["", "broken"]
    assert home.rows("quarantine", "record") == ["broken"]
    assert counts(home)[:2] == before[:2]
    removed = home.state()[State.REMOVED]
    assert removed.hours.tolist() == [hour(10)]
    assert removed.order[0] > home.state()[State.INGESTED].order[0]
    assert home.run(11).figures["late_hours"] == 0
    assert home.rows("events", "event_id") == []


@pytest.mark.long
def test_results_of_further_workloads(home: Home) -> None:
    put(home.zone, hour(10), departure(1), departure(2, tailnum=GONE))
    home.run(10)
    folder = home.settings.workload_file.with_suffix("")
    folder.mkdir()
    (folder / "ops.sase").write_text(QUERIES, encoding="utf-8")
    ops = Home(home.spark, home.settings.of_workload("ops"))
    for one in (home, ops):
        one.put_results(10, "N1", GONE)
    tables = ("results", "results_staged", "run_metrics", "validations")
    done = maintain(ops.own, keep_hours=LEAST_KEPT, run="night")
    assert sorted(done) == [f"{table}_removed" for table in tables]
    removed, now_stale = erase(home)
    assert (removed["results"].rows, removed["ops/results"].rows, now_stale) == (1, 1, 2)
    assert ops.rows("results", "group_key") == ['{"tailnum": "N1"}']
    assert holding(home, GONE) == set()


def test_a_raw_file_that_cannot_be_searched(home: Home) -> None:
    put(home.zone, hour(10)).write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"T10.jsonl cannot be searched: .* is UTF-16 text"):
        erase(home)


def test_no_erasure_while_a_step_runs(tmp_path: Path) -> None:
    erasure = at_work(tmp_path, alone=True)
    refused = pytest.raises(ConflictError, match="a run is working")
    with at_work(tmp_path), at_work(tmp_path), refused, erasure:
        pass
    with at_work(tmp_path, alone=True):
        pass


PEOPLE = """
stream: people
time: {field: at, unit: iso}
type: {field: event}
types:
  View: {user: {type: long, field: payload.user.id, nullable: true}, page: {type: string, nullable: true}}
  Restock: {item: {type: long, field: item.id, nullable: true}}
"""  # noqa: E501


def person(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event": kind, "at": "2013-01-01T10:00:00Z", **fields}


@pytest.mark.long
def test_a_key_is_searched_at_the_path_of_its_attribute(home: Home, tmp_path: Path) -> None:
    """Other fields may have the same last name, and the value. These events have no ids."""
    schema, queries = tmp_path / "people.yaml", tmp_path / "people.sase"
    schema.write_text(PEOPLE, encoding="utf-8")
    queries.write_text("QUERY q RETURN COUNT(*) PATTERN View WITHIN 1 hour", encoding="utf-8")
    changed = {"home": tmp_path / "home", "schema_file": schema, "workload_file": queries}
    own = home.settings.model_copy(update=changed)
    own.landing.mkdir(parents=True)
    people = Home(home.spark, own)
    of_key = [
        person("View", payload={"user": {"id": 7}}),
        person("Restock", payload={"user": {"id": 7}}),
        person("Restock", item={"id": 1}, **{"payload.user": {"id": "7"}}),
        person("Restock", payload={"user": {"id": 7.0}}),
    ]
    others = [
        person("Restock", item={"id": 7}, note=":7,"),
        person("View", payload={"user": {"id": 8}}, page="7"),
        person("View", payload={"id": 7, "user": {"name": {"id": 7}}}),
        person("Restock", user={"id": 7}, id=7),
        person("Restock", payload={"user": {"id": 7.5}}),
    ]
    path = put(people.zone, START + 10 * 3_600_000_000, *of_key, *others)
    people.run(10)
    key = Key.parse(["user=7"], people.own.ingest.stream)
    would, _ = forget(home.spark, own, key, run="test", dry_run=True)
    removed, _ = forget(home.spark, own, key, run="test")
    assert [json.loads(line) for line in path.read_text().splitlines()[4:]] == others
    assert {n: one.rows for n, one in removed.items()} == {n: one.rows for n, one in would.items()}
    assert (removed["raw files"].rows, removed["events"].rows) == (4, 4)
    people.run(11)
    assert len(people.rows("events", "record_number")) == len(others)
