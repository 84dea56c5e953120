"""The ledger of a lake of release 0.2, and `elsinore hours` on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from elsinore.cli.main import run_command
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.from_records import Records, as_appended
from elsinore.ledger.inputs import arrived, late, missing
from elsinore.ledger.results import lost, provisional, published, stale, waiting
from elsinore.ledger.rows import State
from elsinore.ledger.table import Ledger
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.load_workload import read_workload
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.timeline import HOUR
from tests.unit.ledger.ledgers import SCHEMA, START, at, label, numbers
from tests.unit.ledger.test_hours import listing
from tests.written_tables import write_table

QUERY = "QUERY one RETURN COUNT(*) PATTERN Departure D WITHIN 2 hours SLIDE 1 hour;"


def landing(hour: int, files: dict[str, Any] | None = None, **other: Any) -> dict[str, Any]:
    named = {name: one for name, one in (files or {}).items() if name}
    return {
        "landing": label(hour), "files": len(named), "bytes": 10, "lines": 5, "accepted": 4,
        "duplicates": 0, "quarantined": 1, "first_event": START + hour * HOUR,
        "last_event": START + hour * HOUR + 1, "reasons": "{}", "listing": json.dumps(files or {}),
        "kept_from": None, **other,
    }  # fmt: skip


def publication(hour: int, version: int, fingerprint: str, *awaited: int) -> dict[str, Any]:
    ranges = [[label(one), label(one + 1)] for one in awaited]
    return {
        "owned_hour": label(hour), "workload": "flights", "workload_fingerprint": fingerprint,
        "plan_fingerprint": "p", "events_version": version, "run": "r", "digest": "d", "rows": 4,
        "validated": 1, "published_at": START, "published_version": 3, "published_together": 1,
        "awaited": json.dumps(ranges),
    }  # fmt: skip


def touch(lake: Lake, *hours: int) -> None:
    """Commit a version of `events` that changed some hours."""
    found = {label(one): [START + one * HOUR, START + one * HOUR + 1] for one in hours}
    note = CommitProperties(custom_metadata={"userMetadata": json.dumps({"touched": found})})
    log = lake.log("events")
    rows = log.to_pyarrow_table()
    write_deltalake(log, rows, mode="append", commit_properties=note)


def failure(fingerprint: str) -> list[dict[str, Any]]:
    """Return the metrics of a failed aggregation of the first hour, of version 1 of `events`."""
    key = {
        "run_key": f"{label(0)}_{label(1)}", "workload_fingerprint": fingerprint, "step": "failed",
        "detail": None,
    }  # fmt: skip
    metrics = {"events_version": 1.0, "time": 1.8e12}
    return [{**key, "metric": name, "value": value} for name, value in metrics.items()]


#: Columns of timestamps, and of strings without a value in some table.
_TYPES = dict.fromkeys(
    ("first_event", "last_event", "kept_from", "published_at"), pa.timestamp("us", "UTC")
) | {"listing": pa.string(), "detail": pa.string()}


def write(lake: Lake, table: str, rows: list[dict[str, Any]]) -> None:
    """Write a table of release 0.2, which this release does not declare."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    arrays = {name: pa.array(values, _TYPES.get(name)) for name, values in columns.items()}
    write_deltalake(str(lake.root / table), pa.table(arrays))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    home = tmp_path_factory.mktemp("home")
    lake = Lake.open(Settings(home=home))
    (home / "one.sase").write_text(QUERY, encoding="utf-8")
    own = workload_fingerprint(workload_of(lake))
    file = {"a.jsonl": [10, 1]}
    landings = [
        landing(1, file), landing(2, {}), landing(3, {"a.jsonl": [10, 10**19]}),
        landing(4, {"": [0, None], **file}),
        landing(5, {"/": [0, []], **file}), landing(6, file, kept_from=START + 7 * HOUR),
        landing(7, None, listing=None),
    ]  # fmt: skip
    write(lake, "landings", landings)
    versions = {1: 2, 2: 2, 3: 1, 6: 1, 8: 2}
    rows = [publication(hour, version, own) for hour, version in versions.items()]
    rows += [publication(5, 2, own, 4, 5), publication(9, 0, "x" * 64)]
    write(lake, "publications", rows)
    write_table(lake.root, lake.schema("events"), [])
    touch(lake, 0, 3)
    touch(lake, 1, 2, 6, 9)
    touch(lake, 8)
    write(lake, "run_metrics", failure(own))
    return lake


def workload_of(lake: Lake) -> Any:
    return read_workload(QUERY, lake.stream)


def records(lake: Lake) -> Records:
    own = workload_fingerprint(workload_of(lake))
    return Records(lake=lake.root, schema=SCHEMA, stream="flights", workload="one", fingerprint=own)


@pytest.fixture(scope="module")
def found(lake: Lake) -> Fold:
    return fold(as_appended(records(lake).commits(), SCHEMA), "one")


def test_answers_are_those_of_the_release(lake: Lake, found: Fold) -> None:
    own = workload_fingerprint(workload_of(lake))
    assert numbers(lost(found, at(*range(12)), 1)) == [6, 7]
    assert numbers(stale(found, 1, fingerprint=own)) == [3, 6, 8]
    assert numbers(stale(found, 1, fingerprint="x" * 64)) == [9]
    assert numbers(waiting(found)) == [5]
    assert numbers(published(found, own).hours) == [1, 2, 3, 5, 6, 8]
    assert numbers(provisional(found)) == [5]


def test_files_are_those_that_were_ingested(found: Fold) -> None:
    # Hour 4 was interrupted; nobody knows the files of hour 7.
    assert numbers(missing(found, START + 9 * HOUR)) == [4, 8]
    assert numbers(arrived(found)) == [1, 3, 5, 6]
    # The file of hour 3 was modified after 2262, the end of nanoseconds in 64 bits.
    times = {3: 2**63 - 1}
    now = listing(*((hour, "a.jsonl", 10, times.get(hour, 1)) for hour in range(1, 8)))
    assert numbers(late(found, now).hours) == [2, 4]
    assert found[State.INGESTED].rows["bad_records"].to_pylist() == [1] * 6


def test_failures_since_the_publication_are_known(found: Fold) -> None:
    assert numbers(found.failed.last.hours) == [0]
    assert found.failed.last.longs("events_version").tolist() == [1]


def test_the_rows_can_be_appended(lake: Lake, found: Fold, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "hours", SCHEMA)
    ledger.create()
    for rows in records(lake).commits():
        ledger.append([rows], run="migrate")
    again = fold(ledger.read(), "one")
    columns = [name for name in SCHEMA.columns if name not in ("version", "time")]
    for state in State:
        assert again[state].rows.select(columns).equals(found[state].rows.select(columns))


def test_the_command_shows_them(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Path(str(lake.root)).parent
    ledger = Ledger(lake.path("hours"), SCHEMA)
    ledger.create()
    for rows in records(lake).commits():
        ledger.append([rows], run="migrate")
    shutil.rmtree(lake.root / "landings")  # which show that a lake is not migrated
    monkeypatch.setenv("ELSINORE_HOME", str(home))
    monkeypatch.setenv("ELSINORE_WORKLOAD_FILE", str(home / "one.sase"))
    assert run_command(["hours"]) == 0
    text = capsys.readouterr().out
    # Hour 6 is stale, but its events were removed, so it stays as it is published.
    assert "\n2013-02-08  F##s.w#xss              " in text
    assert "\x1b" not in text
    assert run_command(["hours", "--json", "--since", "2013-02-08"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert [one["day"] for one in document["days"]] == ["2013-02-08"]
    assert run_command(["hours", "--since", "2010-01-01"]) == 2
    problem = "--since '2010-01-01' is not one of the 366 days before 2013-02-09"
    assert problem in capsys.readouterr().err
