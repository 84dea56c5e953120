"""`elsinore put`: files of every format into the landing zone, as the pipeline lands them."""

from __future__ import annotations

import gzip
import json
import os
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import elsinore.cli.put
from elsinore.catalog.load_schema import load_schema
from elsinore.cli.main import run_command
from elsinore.files.read_events import read_events
from elsinore.ingest.landing_zone import landing_files
from elsinore.orchestration.run_params import run_interval
from elsinore.timeline import Interval

SCHEMA = """\
stream: shop
time: {field: at.ms, unit: UNIT}
type: {field: event, names: {View: page view}}
id: {field: key}
unknown_types: skip
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
    monkeypatch.setenv("ELSINORE_WORKLOAD_FILE", str(tmp_path / "q.sase"))
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("UNIT", "ms"))
    ask(tmp_path, "1 hour")
    return tmp_path / "home" / "landing"


def ask(folder: Path, *within: str) -> None:
    """Write a workload with a query for each window."""
    text = "QUERY q{} RETURN COUNT(*) PATTERN View V WITHIN {};\n"
    queries = (text.format(number, one) for number, one in enumerate(within))
    (folder / "q.sase").write_text("".join(queries))


def test_the_rows_of_a_delta_table_however_it_is_laid_out(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table"
    for record in RECORDS[:2] * 2:
        row = {**record, "key": f"{record['key']}{len(list(table.glob('*.parquet')))}"}
        write_deltalake(str(table), pa.Table.from_pylist([row]), mode="append")
    DeltaTable(str(table)).delete("key = 'b0'")
    assert run_command(["put", str(table)]) == 0
    assert "3 events of 2 hours" in capsys.readouterr().out
    DeltaTable(str(table)).optimize.compact()
    assert run_command(["put", str(table)]) == 0
    assert "0 new files" in capsys.readouterr().out
    lines = [gzip.decompress(path.read_bytes()).count(b"\n") for path in zone.rglob("*.gz")]
    assert sum(lines) == 3
    assert run_command(["put", *map(str, table.glob("*.parquet"))]) == 2
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
    assert run_command(["put", str(path)]) == 0
    told, error = capsys.readouterr()
    assert f"2 events of 2 hours below {os.path.relpath(zone)}, 2 new files; next:" in told
    assert told.endswith("\nelsinore replay --start 2025-03-03T10:00 --end 2025-03-03T12:00\n")
    assert error == "elsinore: 1 of 3 records left out\n"
    found = landing_files(zone, DAY)
    assert [file.landing for file in found] == ["2025-03-03T10", "2025-03-03T11"]
    schema = load_schema(tmp_path / "s.yaml")
    before, _ = read_events([path], schema, max_error_rate=0)
    after, _ = read_events([zone], schema, max_error_rate=0)
    assert after.table.sort_by("_time") == before.table.sort_by("_time")


def test_lines_of_json_stay_as_they_are(zone: Path, tmp_path: Path) -> None:
    record = RECORDS[0] | {"more": {"of": "it"}}
    (tmp_path / "e.jsonl").write_text(json.dumps(record) + "\n")
    assert run_command(["put", str(tmp_path / "e.jsonl")]) == 0
    [file] = landing_files(zone, DAY)
    assert json.loads(gzip.decompress(Path(file.path).read_bytes())) == record


def test_nothing_is_overwritten_nor_put_twice(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written("csv", tmp_path)
    folder = zone / "2025" / "03" / "03"
    folder.mkdir(parents=True)
    (folder / "events-2025-03-03T10.jsonl").write_text("somebody's\n")
    for _ in range(2):
        assert run_command(["put", str(path)]) == 0
    assert "landing, 0 new files; next:" in capsys.readouterr().out
    path.write_text(path.read_text().replace("v,,", "w,,"))
    assert run_command(["put", str(path)]) == 0
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
    real, path = elsinore.cli.put._move, written("csv", tmp_path)

    def meanwhile(*arguments: Any) -> bool:
        monkeypatch.setattr("elsinore.cli.put._move", real)
        assert run_command(["put", str(written("jsonl", tmp_path))]) == 0
        return real(*arguments)

    monkeypatch.setattr("elsinore.cli.put._move", meanwhile)
    monkeypatch.setattr("elsinore.ingest.collect._WAITING", 0)  # what is read is written at once
    assert run_command(["put", str(path)]) == 0
    found = [gzip.decompress(Path(file.path).read_bytes()) for file in landing_files(zone, DAY)]
    assert sum(text.count(b"\n") for text in found) == 3, "one hour's lines are alike in both"


def test_what_is_put_last_comes_last(zone: Path, tmp_path: Path) -> None:
    """Behind a producer's files, and those that were put under earlier names."""
    path, folder = written("jsonl", tmp_path), zone / "2025" / "03" / "03"
    assert run_command(["put", str(path)]) == 0
    [own] = folder.glob("*T10*")
    own.rename(folder / own.name.replace("~0001", "-0007"))
    for name in ("", ".0", "-x", "_1"):
        (folder / f"events-2025-03-03T10{name}.jsonl").write_text("{}\n")
    assert run_command(["put", str(path)]) == 0
    assert len(landing_files(zone, DAY)) == 6, "it is there already"
    path.write_text(path.read_text().replace('"v"', '"w"'))
    assert run_command(["put", str(path)]) == 0
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
    assert run_command(["put", str(path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "field 'n' is read as text and as a number" in error
    assert "quoted_numbers: true" in error
    assert not zone.exists()
    schema.write_text(f"{schema.read_text()}quoted_numbers: true\n")
    assert run_command(["put", str(path)]) == 0
    events, _ = read_events([zone], load_schema(schema), max_error_rate=0)
    assert events.table["n"].to_pylist() == [7, 7, 8]


@pytest.mark.parametrize(
    ("unit", "text", "error"),
    [
        ("integer", "", "events of the stream shop have no calendar time"),
        ("ms", "", "the files have no events (0 records were read)"),
        ("ms", "nothing\n", "1 of 1 records are invalid"),
    ],
)
def test_what_cannot_land_is_refused(
    unit: str, text: str, error: str, zone: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("UNIT", unit))
    (tmp_path / "e.jsonl").write_text(text)
    assert run_command(["put", str(tmp_path / "e.jsonl")]) in (1, 2)
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
    assert run_command(["put", str(tmp_path / "e.csv")]) == 0
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

    def put_hours(*hours: int) -> str:
        lines = [json.dumps(base | {"key": str(n), "at.ms": TEN + n * hour}) for n in hours]
        path.write_text("".join(f"{line}\n" for line in lines))
        assert run_command(["put", str(path)]) == 0
        return capsys.readouterr().out.splitlines()[0]

    whole = Interval.parse("2025-03-03", "2025-03-12")
    assert put_hours(*times).endswith(
        "3 new files and 2 empty ones for hours without an event; next:"
    )
    found = {
        file.landing[-5:]: gzip.decompress(Path(file.path).read_bytes()).count(b"\n")
        for file in landing_files(zone, whole)
    }
    assert found == {"03T10": 1, "03T11": 0, "03T12": 0, "03T13": 1, "10T14": 1}
    assert put_hours(*times).endswith("0 new files; next:")
    assert put_hours(0, 1, 3).endswith("1 new file; next:"), "beside the empty one"
    assert len(landing_files(zone, whole)) == 6


# ---- the replay that is printed


def put_commands(
    folder: Path, capsys: pytest.CaptureFixture[str], *times: datetime
) -> tuple[list[str], str]:
    """The commands that `put` prints for events of some times, and its standard error."""
    path = folder / "e.jsonl"
    records = (
        RECORDS[0] | {"key": str(n), "at.ms": int(time.timestamp() * 1000)}
        for n, time in enumerate(times)
    )
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    assert run_command(["put", str(path)]) == 0
    told, error = capsys.readouterr()
    return told.splitlines()[1:], error


def replays(*hours: str) -> list[str]:
    """Commands by their first hours and ends, as in `2025-03-03T10 2025-03-03T12`."""
    parts = (part.split() for part in hours)
    return [f"elsinore replay --start {start}:00 --end {end}:00" for start, end in parts]


@pytest.mark.parametrize(
    ("within", "end"),
    [("1 hour", "03T12"), ("2 hours SLIDE 1 hour", "03T13"), ("6 hours", "03T12"),
     ("1 day", "04T00"), ("1 day SLIDE 1 hour", "04T11"), ("90 minutes SLIDE 1 minute", "03T13")],
)  # fmt: skip
def test_it_ends_with_the_last_window_that_holds_an_event(
    within: str, end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(tmp_path, within)
    times = datetime(2025, 3, 3, 10, tzinfo=UTC), datetime(2025, 3, 3, 11, 10, tzinfo=UTC)
    found, error = put_commands(tmp_path, capsys, *times)
    assert (found, error) == (replays(f"2025-03-03T10 2025-03-{end}"), "")


def test_it_covers_all_workloads_of_the_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q").mkdir()
    ask(tmp_path / "q", "1 day")
    (tmp_path / "q" / "q.sase").rename(tmp_path / "q" / "ops.sase")
    time = datetime(2025, 3, 3, 10, tzinfo=UTC)
    assert put_commands(tmp_path, capsys, time)[0] == replays("2025-03-03T10 2025-03-04T00")
    (tmp_path / "q" / "ops.sase").write_text("QUERY x RETURN COUNT(*) PATTERN Boat B WITHIN 1 day;")
    found, error = put_commands(tmp_path, capsys, time)
    assert found == replays("2025-03-03T10 2025-03-03T11")
    assert "cannot read the queries (ops.sase: " in error
    (tmp_path / "q.sase").unlink()
    found, error = put_commands(tmp_path, capsys, time)
    assert found == replays("2025-03-03T10 2025-03-03T11")
    assert "the hours below do not include windows" in error


def test_hours_far_from_all_others_have_a_command_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = [datetime(2025, 6, day, 6, tzinfo=UTC) for day in (3, 10)]
    old = datetime(1975, 1, 1, 0, 0, 36, tzinfo=UTC)
    found, _ = put_commands(tmp_path, capsys, *times, old)
    assert found == replays("1975-01-01T00 1975-01-01T01", "2025-06-03T06 2025-06-10T07")
    months = [datetime(2020, month, 1, tzinfo=UTC) for month in range(1, 13)]
    found, _ = put_commands(tmp_path, capsys, *months, old)
    assert len(found) == 10
    assert found[0] == replays("1975-01-01T00 1975-01-01T01")[0]


def test_what_is_not_over_is_left_to_scheduled_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = datetime.now(UTC)
    ask(tmp_path, "30 days")
    found, error = put_commands(tmp_path, capsys, now - timedelta(hours=3))
    [command] = found
    assert run_interval(*command.split()[3::2])
    assert "scheduled runs publish them, or run this command then: elsinore replay --start" in error
    assert "in the future" not in error
    local = now + timedelta(hours=5, minutes=30)
    found, error = put_commands(tmp_path, capsys, local)
    assert found == []
    assert "1 event in the future, the latest at" in error
    assert "(times without an offset are read as UTC)" in error


def test_commands_name_the_program_as_it_was_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    time = datetime(2025, 3, 3, 10, tzinfo=UTC)
    for called, named in (
        ("/my venv/elsinore", "'/my venv/elsinore'"),
        ("/x/elsinore/__main__.py", f"{sys.executable} -m elsinore"),
    ):
        monkeypatch.setattr(sys, "argv", [called])
        [command] = put_commands(tmp_path, capsys, time)[0]
        assert command.startswith(f"{named} replay --start")
    program = tmp_path / "bin" / "elsinore"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert put_commands(tmp_path, capsys, time)[0][0].startswith(f"{program} replay")
    monkeypatch.setenv("PATH", str(program.parent))
    assert put_commands(tmp_path, capsys, time)[0][0].startswith("elsinore replay")


def test_a_small_file_does_not_make_very_many(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ingest.collect", "cli.put"):
        monkeypatch.setattr(f"elsinore.{module}.MOST_EMPTY", 1_000)
    start = datetime(1975, 1, 1, tzinfo=UTC)
    nights = [start + timedelta(hours=3 * n) for n in range(20)]
    sparse = [start + timedelta(days=10 + 6.9 * n) for n in range(30)]
    _, error = put_commands(tmp_path, capsys, *nights, *sparse)
    files = [path for path in zone.rglob("*") if path.is_file()]
    assert len(files) == 50 + 2 * 19, "the shortest stretches have their empty files"
    assert "hours without events got no empty file (at most 1,000" in error
    monkeypatch.setattr("elsinore.ingest.collect.MOST_HOURS", 49)
    path = tmp_path / "e.jsonl"
    path.write_text(path.read_text().replace('"user-id": "', '"user-id": "x'))
    assert run_command(["put", str(path)]) == 1
    told = capsys.readouterr().err
    assert "in more than 49 hours, and each hour needs a file (split the file, for" in told
    assert [path for path in zone.rglob("*") if path.is_file()] == files


def test_a_new_home_is_closed_to_others(zone: Path, tmp_path: Path) -> None:
    assert run_command(["put", str(written("jsonl", tmp_path))]) == 0
    assert stat.S_IMODE(zone.parent.stat().st_mode) == 0o700
    aside = zone.parent / ".collected"
    assert stat.S_IMODE(aside.stat().st_mode) == 0o700
    assert [*aside.iterdir()] == [], "nothing is left"
    assert sorted(path.name for path in zone.iterdir()) == ["2025"], "and nothing is written there"


def test_a_home_that_others_can_read_is_named(
    zone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = zone.parent
    home.mkdir(mode=0o755)
    monkeypatch.setattr("elsinore.cli.main.is_reachable", lambda path: path == home)
    assert run_command(["put", str(written("jsonl", tmp_path))]) == 0
    said = f"elsinore: every user can read {home}; close it: chmod 700 {home}\n"
    assert capsys.readouterr().err.startswith(said)


def test_a_home_that_others_can_write_to_is_refused(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zone.parent.mkdir()
    zone.parent.chmod(0o1777)
    assert run_command(["put", str(written("jsonl", tmp_path))]) != 0
    said = f"elsinore: every user can write to {zone.parent} (chmod o-w {zone.parent})\n"
    assert capsys.readouterr().err == said
    assert [*zone.parent.iterdir()] == []


@pytest.mark.parametrize("linked", ["2025", "2025/03", "2025/03/03"])
def test_events_go_nowhere_else_by_a_link_of_a_producer(
    zone: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], linked: str
) -> None:
    (private := tmp_path / "private").mkdir()
    (zone / linked).parent.mkdir(parents=True)
    (zone / linked).symlink_to(private)
    assert run_command(["put", str(written("jsonl", tmp_path))]) == 1
    assert "a symbolic link (replace the link by a copy of the file)" in capsys.readouterr().err
    assert [*private.iterdir()] == []


def test_the_owner_of_a_home_may_link_the_landing_zone(zone: Path, tmp_path: Path) -> None:
    """So producers of other users reach it, who cannot enter the home."""
    (outside := tmp_path / "outside").mkdir()
    zone.parent.mkdir()
    zone.symlink_to(outside)
    assert run_command(["put", str(written("jsonl", tmp_path))]) == 0
    assert [file.landing for file in landing_files(zone, DAY)] == ["2025-03-03T10", "2025-03-03T11"]
    assert sorted(path.name for path in outside.iterdir()) == ["2025"]
