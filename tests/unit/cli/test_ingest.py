"""`elsinore ingest`: files of every format into the landing zone, as the pipeline lands them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import elsinore.cli.ingest
from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import run_command
from elsinore.files.read_events import read_events
from elsinore.lake.landing_zone import landing_files
from elsinore.timeline import Interval

SCHEMA = """\
stream: shop
time: {field: at.ms, unit: UNIT}
type: {field: event, names: {View: page view}}
id: {field: key}
other_types: ignore
types: {View: {user: {type: string, field: user-id}, x: {type: double, nullable: true}, seen: timestamp}}
"""  # noqa: E501
TEN = 1_740_996_000_000  # 2025-03-03T10:00
RECORDS = [
    {"key": "b", "at.ms": TEN + 3_600_000, "event": "page view", "user-id": "ü", "x": 1.5,
     "seen": "2025-03-03"},
    {"key": "a", "at.ms": TEN + 3_599_999, "event": "page view", "user-id": "v", "x": None,
     "seen": "2025-03-03T10:00:00.5Z"},
    {"key": "c", "at.ms": TEN, "event": "login", "user-id": None, "x": None, "seen": None},
]  # fmt: skip
DAY = Interval.parse("2025-03-03", "2025-03-04")


@pytest.fixture(autouse=True)
def zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ELSINORE_SCHEMA_FILE", str(tmp_path / "s.yaml"))
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("UNIT", "ms"))
    return tmp_path / "home" / "landing"


def test_the_rows_of_a_delta_table_however_it_is_laid_out(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table"
    for record in RECORDS[:2] * 2:
        row = {**record, "key": f"{record['key']}{len(list(table.glob('*.parquet')))}"}
        write_deltalake(str(table), pa.Table.from_pylist([row]), mode="append")
    DeltaTable(str(table)).delete("key = 'b0'")
    assert run_command(["ingest", str(table)]) == 0
    assert "3 events of 2 hours" in capsys.readouterr().out
    DeltaTable(str(table)).optimize.compact()
    assert run_command(["ingest", str(table)]) == 0
    assert "0 new files" in capsys.readouterr().out
    lines = [gzip.decompress(path.read_bytes()).count(b"\n") for path in zone.rglob("*.gz")]
    assert sum(lines) == 3
    assert run_command(["ingest", *map(str, table.glob("*.parquet"))]) == 2
    assert "is a part of the Delta table" in capsys.readouterr().err


def written(form: str, folder: Path) -> Path:
    path = folder / f"e.{form}"
    frame = pd.DataFrame(RECORDS)
    match form:
        case "csv":
            frame.to_csv(path, index=False)
        case "parquet":
            frame.to_parquet(path)
        case _:
            path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_the_pipeline_finds_the_events_of_each_hour(
    form: str, zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(form, tmp_path)
    assert run_command(["ingest", str(path)]) == 0
    told, error = capsys.readouterr()
    assert f"2 events of 2 hours below {os.path.relpath(zone)}, 2 new files; next:" in told
    assert told.endswith("\nelsinore replay --start 2025-03-03T10:00 --end 2025-03-03T12:00\n")
    assert error == "elsinore: 1 of 3 lines left out\n"
    found = landing_files(zone, DAY)
    assert [file.landing for file in found] == ["2025-03-03T10", "2025-03-03T11"]
    schema = load_schema(tmp_path / "s.yaml")
    before, _ = read_events([path], schema, max_bad_share=0)
    after, _ = read_events([zone], schema, max_bad_share=0)
    assert after.table.sort_by("_time") == before.table.sort_by("_time")


def test_lines_of_json_stay_as_they_are(zone: Path, tmp_path: Path) -> None:
    record = RECORDS[0] | {"more": {"of": "it"}}
    (tmp_path / "e.jsonl").write_text(json.dumps(record) + "\n")
    assert run_command(["ingest", str(tmp_path / "e.jsonl")]) == 0
    [file] = landing_files(zone, DAY)
    assert json.loads(gzip.decompress(Path(file.path).read_bytes())) == record


def test_nothing_is_overwritten_nor_ingested_twice(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written("csv", tmp_path)
    folder = zone / "2025" / "03" / "03"
    folder.mkdir(parents=True)
    (folder / "events-2025-03-03T10.jsonl").write_text("somebody's\n")
    for _ in range(2):
        assert run_command(["ingest", str(path)]) == 0
    assert "landing, 0 new files; next:" in capsys.readouterr().out
    path.write_text(path.read_text().replace("v,,", "w,,"))
    assert run_command(["ingest", str(path)]) == 0
    names = [file.name.rpartition("/")[2][:25] for file in landing_files(zone, DAY)]
    assert names == [
        "events-2025-03-03T10.json", "events-2025-03-03T10~0001", "events-2025-03-03T10~0002",
        "events-2025-03-03T11~0001",
    ]  # fmt: skip
    assert (folder / "events-2025-03-03T10.jsonl").read_text() == "somebody's\n"


def test_two_at_once_lose_no_line_whatever_their_processes_are_called(
    zone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers over one volume count their processes each for itself."""
    real, path = elsinore.cli.ingest._move, written("csv", tmp_path)

    def meanwhile(*arguments: Any) -> bool:
        monkeypatch.setattr("elsinore.cli.ingest._move", real)
        assert run_command(["ingest", str(written("jsonl", tmp_path))]) == 0
        return real(*arguments)

    monkeypatch.setattr("elsinore.cli.ingest._move", meanwhile)
    monkeypatch.setattr("elsinore.lake.collect._WAITING", 0)  # what is read is written at once
    assert run_command(["ingest", str(path)]) == 0
    found = [gzip.decompress(Path(file.path).read_bytes()) for file in landing_files(zone, DAY)]
    assert sum(text.count(b"\n") for text in found) == 3, "one hour's lines are alike in both"


def test_what_is_ingested_last_comes_last(zone: Path, tmp_path: Path) -> None:
    """Behind a producer's files, and those that were ingested under names of before."""
    path, folder = written("jsonl", tmp_path), zone / "2025" / "03" / "03"
    assert run_command(["ingest", str(path)]) == 0
    [own] = folder.glob("*T10*")
    own.rename(folder / own.name.replace("~0001", "-0007"))
    for name in ("", ".0", "-x", "_1"):
        (folder / f"events-2025-03-03T10{name}.jsonl").write_text("{}\n")
    assert run_command(["ingest", str(path)]) == 0
    assert len(landing_files(zone, DAY)) == 6, "it is there already"
    path.write_text(path.read_text().replace('"v"', '"w"'))
    assert run_command(["ingest", str(path)]) == 0
    names = [file.name for file in landing_files(zone, DAY) if "T10" in file.name]
    assert "T10~0008-" in max(names, key=str.encode)
    assert len(names) == 6


def test_a_field_of_csv_that_is_a_text_and_a_number_is_refused(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "s.yaml"
    head = "stream: s\ntime: {field: at, unit: iso}\nid: {field: n}\n"
    schema.write_text(f"{head}types: {{A: {{n: long}}}}\n")
    path = tmp_path / "e.csv"
    path.write_text("at,n\n2025-03-03,007\n2025-03-03,7\n2025-03-03,8.0\n")
    assert run_command(["ingest", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "field 'n' is read as text and as a number" in error
    assert "quoted_numbers: true" in error
    assert not zone.exists()
    schema.write_text(f"{schema.read_text()}quoted_numbers: true\n")
    assert run_command(["ingest", str(path)]) == 0
    events, _ = read_events([zone], load_schema(schema), max_bad_share=0)
    assert events.table["n"].to_pylist() == [7, 7, 8]


@pytest.mark.parametrize(
    ("unit", "text", "error"),
    [
        ("integer", "", "events of the stream shop have no calendar time"),
        ("ms", "", "there is no event in these files (0 lines were read)"),
        ("ms", "nothing\n", "1 of 1 lines are bad"),
    ],
)
def test_what_cannot_land_is_refused(
    unit: str, text: str, error: str, zone: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("UNIT", unit))
    (tmp_path / "e.jsonl").write_text(text)
    assert run_command(["ingest", str(tmp_path / "e.jsonl")]) in (1, 2)
    assert error in capsys.readouterr().err
    assert not zone.exists()


@pytest.mark.parametrize(
    ("unit", "time"),
    [("s", 1740996000.25), ("s", 1740996000), ("us", 1740996000000001), ("ms", 1740996000000.5),
     ("iso", "2025-03-03T10:00:00.123456Z")],
)  # fmt: skip
def test_times_are_written_in_the_schemas_unit(
    unit: str, time: object, zone: Path, tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("UNIT", unit))
    pd.DataFrame([RECORDS[0] | {"at.ms": time}]).to_csv(tmp_path / "e.csv", index=False)
    assert run_command(["ingest", str(tmp_path / "e.csv")]) == 0
    [file] = landing_files(zone, DAY)
    line = json.loads(gzip.decompress(Path(file.path).read_bytes()))
    assert (line["at.ms"], line["event"], line["user-id"]) == (time, "page view", "ü")


def test_an_hour_between_without_an_event_has_an_empty_file(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hour = 3_600_000
    path = tmp_path / "e.jsonl"
    base = RECORDS[0]
    times = [0, 3, 3 + 7 * 24 + 1]  # a night, and longer than a week

    def ingest(*hours: int) -> str:
        lines = [json.dumps(base | {"key": str(n), "at.ms": TEN + n * hour}) for n in hours]
        path.write_text("".join(f"{line}\n" for line in lines))
        assert run_command(["ingest", str(path)]) == 0
        return capsys.readouterr().out.splitlines()[0]

    whole = Interval.parse("2025-03-03", "2025-03-12")
    assert ingest(*times).endswith("3 new files and 2 empty ones for hours without an event; next:")
    found = {
        file.landing[-5:]: gzip.decompress(Path(file.path).read_bytes()).count(b"\n")
        for file in landing_files(zone, whole)
    }
    assert found == {"03T10": 1, "03T11": 0, "03T12": 0, "03T13": 1, "10T14": 1}
    assert ingest(*times).endswith("0 new files; next:")
    assert ingest(0, 1, 3).endswith("1 new file; next:"), "beside the empty one"
    assert len(landing_files(zone, whole)) == 6
