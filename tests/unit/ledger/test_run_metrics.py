"""Figures of steps: noted in files, and recorded in the table together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deltalake
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable

from elsinore.errors import DataError, SetupError
from elsinore.ledger.run_metrics import note_metrics, read_metrics, record_metrics
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.timeline import Interval

NINE, TEN = (
    Interval.parse(f"2013-01-01T{h:02}:00Z", f"2013-01-01T{h + 1:02}:00Z") for h in (9, 10)
)
BOTH = Interval(NINE.start, TEN.end)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake.open(Settings(home=tmp_path))
    lake.create_records()
    return lake


def test_records_of_several_writers_are_there_once_although_all_compact(lake: Lake) -> None:
    def record(number: int) -> None:
        key = {"run_key": str(number), "workload_fingerprint": "f", "step": "s", "metric": "m"}
        row = {**key, "value": float(number), "detail": None}
        lake.record("run_metrics", [row], where=[[("run_key", "=", str(number))]], run="r")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record, range(16)))
    assert recorded(lake) == list(range(16))
    assert len(DeltaTable(lake.path("run_metrics")).file_uris()) < 12


def told(lake: Lake) -> list[tuple[str, str, float]]:
    rows = sorted(read_metrics(lake.root).to_pylist(), key=str)
    return [(row["run_key"][8:13], row["step"], row["value"]) for row in rows]


def recorded(lake: Lake) -> list[float]:
    return sorted(lake.rows("run_metrics")["value"].to_pylist())


def test_figures_are_read_before_and_after_they_are_recorded(lake: Lake) -> None:
    note_metrics(lake, "", NINE, "ingest", {"records": 1})
    note_metrics(lake, "", NINE, "plan", {"plans": 2})
    note_metrics(lake, "", TEN, "ingest", {"records": 3})
    every = [("01T09", "ingest", 1), ("01T09", "plan", 2), ("01T10", "ingest", 3)]
    assert (told(lake), recorded(lake)) == (every, [])
    record_metrics(lake, "r", NINE)
    assert (told(lake), recorded(lake)) == (every, [1, 2])
    assert deltalake.DeltaTable(str(lake.path("run_metrics"))).history(1)[0]["run"] == "r"
    record_metrics(lake, "r")
    assert (told(lake), recorded(lake)) == (every, [1, 2, 3])
    assert lake.version("run_metrics") == 2
    record_metrics(lake, "r")
    assert lake.version("run_metrics") == 2, "there was nothing to record"


def test_a_step_that_is_run_again_has_its_last_figures_alone(lake: Lake) -> None:
    note_metrics(lake, "", NINE, "ingest", {"records": 1, "files": 1})
    note_metrics(lake, "0" * 64, NINE, "ingest", {"records": 5})
    record_metrics(lake, "r", BOTH)
    note_metrics(lake, "", NINE, "ingest", {"records": 2})
    again = [("01T09", "ingest", 2), ("01T09", "ingest", 5)]
    assert sorted(told(lake)) == again
    where = pc.field("metric") == "files"
    assert read_metrics(lake.root, where).num_rows == 0
    record_metrics(lake, "r", BOTH)
    assert sorted(told(lake)) == again
    assert recorded(lake) == [2, 5]


def test_figures_stay_noted_while_they_cannot_be_recorded(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_metrics(lake, "", NINE, "ingest", {"records": 1})

    def full(*_: object, **__: object) -> None:
        raise SetupError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "record", full)
        with pytest.raises(SetupError):
            record_metrics(lake, "r")
    assert told(lake) == [("01T09", "ingest", 1)]
    record_metrics(lake, "r")
    assert recorded(lake) == [1]


def test_a_step_that_is_run_again_while_figures_are_recorded_keeps_its_own(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    note_metrics(lake, "", NINE, "ingest", {"records": 1})
    real = Lake.record

    def meanwhile(*arguments: object, **named: object) -> None:
        real(*arguments, **named)  # type: ignore[arg-type]
        note_metrics(lake, "", NINE, "ingest", {"records": 2})

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "record", meanwhile)
        record_metrics(lake, "r")
    assert (told(lake), recorded(lake)) == ([("01T09", "ingest", 2)], [1])


def test_figures_that_another_report_records_meanwhile_are_no_fault(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two reports side by side, of an hour and of hours around it, have figures in common."""
    note_metrics(lake, "", NINE, "ingest", {"records": 1})
    real = Lake.record

    def meanwhile(*arguments: object, **named: object) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Lake, "record", real)
            record_metrics(lake, "other", BOTH)
        real(*arguments, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "record", meanwhile)
        record_metrics(lake, "r", NINE)
    assert (told(lake), recorded(lake)) == ([("01T09", "ingest", 1)], [1])


def test_a_damaged_note_is_named(lake: Lake) -> None:
    note_metrics(lake, "", NINE, "ingest", {"records": 1})
    (note,) = lake.path("run_metrics").rglob("*ingest*.json")
    note.write_text(note.read_text("utf-8")[:-9], "utf-8")
    with pytest.raises(DataError, match=rf"{note.name} is damaged: .* \(run `rm "):
        read_metrics(lake.root)
