"""The table `hours`: appends by several writers, compaction, and reads of a few hours."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from elsinore.errors import DataError, EngineError, SchemaError
from elsinore.ledger.fold import fold
from elsinore.ledger.rows import State, entries, list_files
from elsinore.ledger.table import Ledger, state_of
from elsinore.settings import Settings
from elsinore.store.tables import Column
from elsinore.timeline import DAY, HOUR, Interval
from tests.unit.ledger.ledgers import DECLARATION, SCHEMA, START, at, label, numbers


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    found = Ledger.declared(tmp_path / "hours", DECLARATION)
    found.create()
    return found


def rows(state: State, *hours: int, workload: str = "", **columns: Any) -> pa.Table:
    own = {"stream": "flights", "step": "ingest", "run": "r", "workload": workload}
    return entries(SCHEMA, state, at(*hours), **own, columns=columns)


def test_rows_are_read_as_they_were_appended(ledger: Ledger) -> None:
    files = pa.table({"hour": [label(1), label(1)], "name": ["a", "b"], "size": [1, 2],
                      "modified": [3, 4]})  # fmt: skip
    ingested = rows(
        State.INGESTED, 0, 1, file_count=np.array([0, 2]), files=list_files(at(0, 1), files),
        first_event=[None, START + HOUR], raw_events_version=7,
    )  # fmt: skip
    version = ledger.append([ingested, rows(State.REFRESHED, 1, events_version=3)], run="r")
    found = {(one["state"], one["hour"]): one for one in ledger.read().to_pylist()}
    assert found.keys() == {("ingested", label(0)), ("ingested", label(1)), ("refreshed", label(1))}
    assert {one["version"] for one in found.values()} == {version} == {1}
    one = found["ingested", label(1)]
    assert one["files"] == [
        {"name": "a", "size": 1, "modified": 3}, {"name": "b", "size": 2, "modified": 4}
    ]  # fmt: skip
    assert (one["file_count"], one["raw_events_version"], one["workload"]) == (2, 7, "")
    assert found["ingested", label(0)]["files"] == []
    assert found["refreshed", label(1)]["files"] is None


def test_a_damaged_file_is_named(ledger: Ledger) -> None:
    ledger.append([rows(State.INGESTED, 0)], run="r")
    (file,) = ledger.path.glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-20] + b"x" * 20)
    with pytest.raises(DataError, match="cannot read the table hours: "):
        ledger.state()


def test_nothing_is_committed_without_rows(ledger: Ledger) -> None:
    assert ledger.append([], run="r") == ledger.append([rows(State.INGESTED)], run="r") == 0
    assert ledger.read().num_rows == 0


def test_versions_order_the_rows_of_writers_at_the_same_time(ledger: Ledger) -> None:
    def append(hour: int) -> int:
        own = Ledger(ledger.path, ledger.schema)
        return own.append([rows(State.INGESTED, hour, file_count=hour)], run=str(hour))

    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(append, range(16)))
    found = ledger.read(columns=["version", "hour"]).to_pylist()
    assert sorted((one["hour"], one["version"]) for one in found) == [
        (label(hour), version) for hour, version in enumerate(versions)
    ]
    assert len(set(versions)) == 16
    # Each version is that of the commit, although compactions committed between them.
    log = {one["version"]: one["operationParameters"] for one in DeltaTable(ledger.path).history()}
    assert {log[version]["mode"] for version in versions} == {"Append"}
    assert any(one["mode"] == "Overwrite" for version, one in log.items() if version)
    assert len(DeltaTable(ledger.path).file_uris()) <= 11


def test_only_the_latest_small_files_are_compacted(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elsinore.ledger.table._SMALL", 20_000)
    ledger.append([rows(State.INGESTED, *range(3_000))], run="large")
    (large,) = DeltaTable(ledger.path).file_uris()
    for hour in range(7):
        ledger.append([rows(State.INGESTED, hour)], run="r")
    files = DeltaTable(ledger.path).file_uris()
    assert large in files
    assert len(files) == 2
    assert ledger.read().num_rows == 3_007


def test_a_row_that_was_appended_later_wins_after_compaction(ledger: Ledger) -> None:
    for count in range(9):
        ledger.append([rows(State.INGESTED, 5, file_count=count)], run="r")
    assert fold(ledger.read())[State.INGESTED].longs("file_count").tolist() == [8]


def test_only_the_hours_and_workloads_that_are_asked_for_are_read(ledger: Ledger) -> None:
    ledger.append([rows(State.INGESTED, *range(48))], run="r")
    of_workloads = [rows(State.PUBLISHED, 24, workload=name) for name in ("delays", "others")]
    ledger.append(of_workloads, run="r")
    day = Interval(START + DAY, START + 2 * DAY)
    found = ledger.read(day, workloads=["delays"])
    assert sorted(found["hour"].to_pylist()) == sorted([label(24), *map(label, range(24, 48))])
    assert set(found["workload"].to_pylist()) == {"", "delays"}
    assert ledger.read(columns=["hour"]).column_names == ["hour"]


def test_files_of_other_days_are_not_opened(ledger: Ledger) -> None:
    ledger.append([rows(State.INGESTED, 0)], run="r")
    (first,) = DeltaTable(ledger.path).file_uris()
    ledger.append([rows(State.INGESTED, 24)], run="r")
    Path(first.removeprefix("file://")).unlink()
    day = Interval(START + DAY, START + 2 * DAY)
    assert ledger.read(day)["hour"].to_pylist() == [label(24)]


def test_a_table_of_an_earlier_release_gets_the_new_columns(tmp_path: Path) -> None:
    columns = {name: one for name, one in SCHEMA.columns.items() if name != "checked_rows"}
    earlier = SCHEMA.model_copy(update={"columns": columns})
    Ledger(tmp_path / "hours", earlier).create()
    ledger = Ledger(tmp_path / "hours", SCHEMA)
    ledger.create()
    ledger.append([rows(State.PUBLISHED, 0, workload="delays", checked_rows=3)], run="r")
    assert ledger.read()["checked_rows"].to_pylist() == [3]


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "hours", SCHEMA)
    for act in (ledger.read, lambda: ledger.append([rows(State.INGESTED, 0)], run="r")):
        with pytest.raises(DataError, match="the table hours does not exist"):
            act()


def test_other_jobs_can_read_lists(ledger: Ledger, tmp_path: Path) -> None:
    files = pa.table({"hour": [label(0)], "name": ["a"], "size": [1], "modified": [3]})
    ledger.append([rows(State.INGESTED, 0, files=list_files(at(0), files))], run="r")
    copy = tmp_path / "copy"
    write_deltalake(copy, DeltaTable(ledger.path).to_pyarrow_table())
    assert DeltaTable(copy).to_pyarrow_table()["files"].to_pylist()[0][0]["name"] == "a"


def test_rows_are_refused_that_no_state_has() -> None:
    with pytest.raises(EngineError, match="no column rowz"):
        rows(State.INGESTED, 0, rowz=1)
    with pytest.raises(EngineError, match="ingested hours have no workload"):
        rows(State.INGESTED, 0, workload="delays")
    with pytest.raises(EngineError, match="published hours need a workload"):
        rows(State.PUBLISHED, 0)


def test_files_are_listed_for_their_hours() -> None:
    files = pa.table({"hour": [label(2), label(0), label(2), label(9)], "name": list("abcd"),
                      "size": [1, 2, 3, 4], "modified": [0] * 4})  # fmt: skip
    found = list_files(at(0, 1, 2), files).to_pylist()
    assert [[one["name"] for one in of] for of in found] == [["b"], [], ["a", "c"]]
    assert numbers(at(0, 1, 2)) == [0, 1, 2]


def test_a_list_must_declare_its_items() -> None:
    for given in ({"type": "list"}, {"type": "long", "items": "string"}):
        with pytest.raises(ValueError, match="lists have items"):
            Column.model_validate({"description": "x", **given})
    with pytest.raises(SchemaError, match="cannot read"):
        Ledger.declared(Path("hours"), Path("nowhere.yaml"))


def test_without_a_table_no_hour_has_a_state(tmp_path: Path) -> None:
    ledger = Ledger.declared(tmp_path / "hours", DECLARATION)
    assert len(ledger.state("delays").known) == 0
    ledger.create()
    ledger.append([rows(State.INGESTED, 3)], run="r")
    assert numbers(ledger.state("delays").known) == [3]
    (tmp_path / "w.sase").write_text("")
    settings = Settings(home=tmp_path, workload_file=tmp_path / "w.sase")
    assert len(state_of(settings).known) == 0
