"""Source files of every format and layout, collected into the files of their hours."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from elsinore.catalog.load_schema import read_schema
from elsinore.catalog.source_rule import format_of
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.files.as_lines import as_lines
from elsinore.files.decode import decode_lines
from elsinore.files.read_csv import read_csv
from elsinore.files.read_parquet import read_parquet
from elsinore.ingest import collect as module
from elsinore.ingest.collect import Collected, collect, uncollected
from elsinore.ingest.landing_zone import (
    all_files,
    describe,
    find_sources,
    landing_files,
    readable_files,
    scan_files,
    unread_files,
)
from elsinore.timeline import Interval

SCHEMA = """\
stream: s
time: {field: at, unit: UNIT}
type: {field: kind}
id: {field: id}
sources: [{files: "FILES"}]
types:
  A: {n: long, x: {type: double, nullable: true}, ok: {type: boolean, nullable: true}}
  B: {n: long, seen: {type: timestamp, nullable: true}}
"""
DAY = Interval.parse("2013-01-02T10:00Z", "2013-01-02T11:00Z")
#: When files were written, unless a test says otherwise: nothing tells a later time.
WRITTEN = 1357171200  # 2013-01-03T00:00Z
LAST = "2013-01-03T00"


def schema_of(files: str, unit: str = "iso") -> StreamSchema:
    return read_schema(SCHEMA.replace("FILES", files).replace("UNIT", unit))


def event(number: int, hour: int, day: int = 2, **changes: Any) -> dict[str, Any]:
    at = f"2013-01-{day:02}T{hour:02}:30:00Z"
    return {"id": f"e{number}", "at": at, "kind": "A", "n": number} | changes


def write(path: Path, records: list[Any], written: float = WRITTEN) -> Path:
    """Write records by the format that the name says, packed as it says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if ".parquet" in path.name:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(records), sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
    elif ".csv" in path.name:
        names = list(dict.fromkeys(name for record in records for name in record))
        rows = [names, *(map(record.get, names) for record in records)]
        data = "".join(
            ",".join("" if value is None else str(value) for value in row) + "\n" for row in rows
        ).encode()
    else:
        texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
        data = "".join(f"{text}\n" for text in texts).encode()
    packing = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with pa.output_stream(path, compression=packing) as out:
        out.write(data)
    os.utime(path, (written, written))
    return path


def run(zone: Path, stream: StreamSchema, days: int = 7) -> Collected:
    zone.mkdir(exist_ok=True)
    return collect(zone, stream, DAY, days)


def hours(zone: Path) -> dict[str, list[str]]:
    """By hour the ids of its events, or the lines that are none; hours with empty files too."""
    found: dict[str, list[str]] = {}
    for path in sorted(zone.glob("2*/*/*/events-*")):
        own = found.setdefault(path.name[7:20], [])
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            with_id = line.startswith("{")
            own.append(json.loads(line)["id"] if with_id else line)
    return found


def notes(zone: Path) -> list[dict[str, Any]]:
    """What is known of each file; all lines that were read went into the files of hours."""
    found = [json.loads(path.read_bytes()) for path in sorted(zone.glob("_collected/*.json"))]
    assert all(note["lines"] == sum(note["hours"].values()) or note["reason"] for note in found)
    assert not (zone.with_name(f".{zone.name}.collected") / "spool").exists(), "nothing is left"
    assert sum(map(len, hours(zone).values())) == sum(sum(n["hours"].values()) for n in found)
    return found


@pytest.mark.parametrize(
    "name",
    ["e.jsonl", "e.jsonl.gz", "e.jsonl.zst", "e.ndjson", "e.csv", "e.csv.gz", "e.csv.zst",
     "e.parquet", "e.parquet.gz"],
)  # fmt: skip
@pytest.mark.parametrize("absolute", [True, False])
def test_events_tell_their_hour_where_the_path_does_not(
    tmp_path: Path, name: str, absolute: bool
) -> None:
    zone = tmp_path / "landing"
    folder = tmp_path / "dumps" if absolute else zone
    zone.mkdir()
    stream = schema_of(f"{folder}/{name}" if absolute else name)
    write(folder / name, [event(1, 10), event(2, 12), event(3, 10), event(4, 9, n=-7)])
    found = run(zone, stream)
    told = {"files": 1, "lines": 4, "untimed": 0, "old_hours": 0}
    assert (found.figures, found.refused) == ({f"collected_{n}": c for n, c in told.items()}, {})
    assert hours(zone) == {
        "2013-01-02T09": ["e4"], "2013-01-02T10": ["e1", "e3"], "2013-01-02T11": [],
        "2013-01-02T12": ["e2"],
    }  # fmt: skip
    [note] = notes(zone)
    assert (note["lines"], note["untimed"], note["reason"]) == (4, 0, None)
    by_hour = {f"2013-01-02T{hour:02}": n for hour, n in [(9, 1), (10, 2), (11, 0), (12, 1)]}
    assert note["hours"] == by_hour
    assert unread_files(zone, DAY, stream.sources) == []
    assert run(zone, stream).figures["collected_files"] == 0, "it is known"


def test_a_path_that_tells_an_hour_has_the_last_word(tmp_path: Path) -> None:
    stream = schema_of("dt={date}/{hour}-*.csv")
    write(tmp_path / "dt=2013-01-02/10-a.csv", [event(1, 3), event(2, 23, 1), {"id": "e3"}])
    write(tmp_path / "dt=2013-01-02/11-a.csv", [event(4, 11)])
    write(tmp_path / "dt=2013-01-02/24-a.csv", [event(5, 11)])
    run(tmp_path, stream)
    assert hours(tmp_path) == {"2013-01-02T10": ["e1", "e2", "e3"], "2013-01-02T11": ["e4"]}
    assert unread_files(tmp_path, DAY, stream.sources) == ["dt=2013-01-02/24-a.csv"]


def test_lines_of_json_of_an_hour_land_where_they_lie(tmp_path: Path) -> None:
    stream = schema_of('{date}/{hour}/*", format: "jsonl')
    for name in ("a", "b.gz", "c.zst", "d.part", ".e"):
        write(tmp_path / "2013-01-02" / "10" / name, [event(1, 10)])
    write(tmp_path / "2013-01-02" / "11" / "f", [event(1, 10)])
    write(tmp_path / "2013-01-02" / "12.jsonl", [event(1, 10)])
    assert run(tmp_path, stream).figures["collected_files"] == 1
    names = [file.name[:30] for file in landing_files(tmp_path, DAY, stream.sources)]
    wanted = ["2013-01-02/10/a", "2013-01-02/10/b.gz", "2013/01/02/events-2013-01-02T1"]
    assert names == wanted
    assert len(all_files(tmp_path, stream.sources)) == 4
    assert unread_files(tmp_path, DAY, stream.sources) == []


def test_where_lines_lie_without_a_time(tmp_path: Path) -> None:
    """In the hour that the file was written, or the first one of its date."""
    strange = [
        event(1, 10), "no json", json.dumps({"id": "e2", "kind": "A", "n": 1}),
        event(3, 10, at="noon"), event(4, 10, at="2099-01-01T00:00:00Z"),
    ]  # fmt: skip
    write(tmp_path / "x.jsonl", strange)
    found = run(tmp_path, schema_of("x.jsonl"))
    assert (found.figures["collected_lines"], found.figures["collected_untimed"]) == (5, 4)
    assert hours(tmp_path) == {"2013-01-02T10": ["e1"], LAST: ["no json", "e2", "e3", "e4"]}
    other = tmp_path / "other"
    write(other / "2013-01-02.jsonl", [*strange, event(5, 10, at="2011-12-31T00:00:00Z")])
    run(other, schema_of("{date}.jsonl"))
    found_there = hours(other)
    assert found_there.pop("2013-01-02T00") == ["no json", "e2", "e3", "e4", "e5"]
    assert found_there == {"2013-01-02T10": ["e1"]}


def test_a_schema_with_another_time_puts_lines_into_other_hours(tmp_path: Path) -> None:
    eleven = 1357124400  # 2013-01-02T11:00Z
    write(tmp_path / "x.jsonl", [event(1, 0, at=eleven), event(2, 0, at=eleven + 3600)])
    run(tmp_path, schema_of("x.jsonl"))
    assert hours(tmp_path) == {LAST: ["e1", "e2"]}
    for collected in (1, 0):
        mended = run(tmp_path, schema_of("x.jsonl", "s"))
        assert mended.figures["collected_files"] == collected
        assert hours(tmp_path) == {"2013-01-02T11": ["e1"], "2013-01-02T12": ["e2"], LAST: []}


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.jsonl.gz", "x.csv.zst", "x.jsonl.zst"])
def test_a_damaged_file_is_unusable_as_a_whole_until_it_is_mended(
    tmp_path: Path, name: str
) -> None:
    stream = schema_of(name)
    path = write(tmp_path / name, [event(1, 10), event(2, 12)])
    path.write_bytes(b"id,no\n" if name == "x.csv" else path.read_bytes()[:-9])
    os.utime(path, (WRITTEN, WRITTEN))
    run(tmp_path, stream)
    [file] = all_files(tmp_path)
    assert file.landing == LAST
    [row] = pa.Table.from_batches(scan_files([file], stream)).to_pylist()
    assert row["record_number"] == 0
    assert row["_record"].endswith(f"\\{row['_reason_code']}: {row['_reason']}")
    assert row["_reason_code"] == ("bad_header" if name == "x.csv" else "corrupt_file")
    assert row["_reason"].startswith(name)
    assert row["_reason"] == notes(tmp_path)[0]["reason"]
    write(path, [event(1, 10), event(2, 11)], WRITTEN + 1)
    run(tmp_path, stream)
    assert hours(tmp_path) == {"2013-01-02T10": ["e1"], "2013-01-02T11": ["e2"], LAST: []}
    assert notes(tmp_path)[0]["reason"] is None


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.jsonl.gz"])
def test_what_was_collected_stays_while_its_file_is_written_anew(tmp_path: Path, name: str) -> None:
    stream = schema_of(name)
    path = write(tmp_path / name, [event(1, 10), event(2, 12)])
    run(tmp_path, stream)
    before = hours(tmp_path)
    write(path, [event(1, 10), event(3, 12)], WRITTEN + 1)
    whole = path.read_bytes()
    path.write_bytes(b"id,no\n" if name == "x.csv" else whole[:-9])
    for _ in range(2):
        found = run(tmp_path, stream)
        assert "the events that were collected from it before stay" in found.refused[name]
        assert (hours(tmp_path), found.figures["collected_files"]) == (before, 0)
    path.write_bytes(whole)
    assert run(tmp_path, stream).refused == {}
    assert hours(tmp_path) == {**before, "2013-01-02T12": ["e3"]}


def test_other_content_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    stream = schema_of("x.parquet")
    path = write(tmp_path / "x.parquet", [event(1, 8), event(2, 9), event(3, 10)])
    run(tmp_path, stream)
    before = {file.landing: file for file in all_files(tmp_path)}
    write(path, [event(2, 9), event(4, 10), event(5, 11)], WRITTEN + 1)
    found = run(tmp_path, stream)
    assert found.figures["collected_files"] == 1
    expected = {"08": [], "09": ["e2"], "10": ["e4"], "11": ["e5"]}
    assert hours(tmp_path) == {f"2013-01-02T{hour}": ids for hour, ids in expected.items()}
    after = {file.landing: file for file in all_files(tmp_path)}
    changed = {label[-2:] for label, file in after.items() if before.get(label) != file}
    assert changed == {"08", "10", "11"}, "what is the same is not landed again"
    path.unlink()
    assert run(tmp_path, stream).figures["collected_files"] == 0
    assert {file.landing: file for file in all_files(tmp_path)} == after, "what it brought stays"


def test_hours_that_no_landing_looks_at_any_longer_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [event(1, 9, 1), event(2, 11, 1), event(3, 10)])
    assert run(tmp_path, schema_of("x.csv"), days=1).figures["collected_old_hours"] == 1


def test_the_files_of_one_source_and_of_one_run_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = schema_of("*.csv")
    far = [event(n, 0, at=f"2012-{1 + n // 4:02}-{1 + n % 4 * 7:02}T00:00:00Z") for n in range(48)]
    monkeypatch.setattr(module, "MOST_EMPTY", 3_000)
    write(tmp_path / "a.csv", far)
    run(tmp_path, stream)
    assert len(hours(tmp_path)) == 48, "stretches of six days are too many"
    monkeypatch.setattr(module, "MOST_HOURS", 47)
    write(tmp_path / "b.csv", [event(60, 9)])
    write(tmp_path / "c.csv", far, WRITTEN + 1)
    write(tmp_path / "d.csv", [event(61, 8)])
    found = run(tmp_path, stream)
    assert found.figures["collected_files"] == 2
    assert list(found.refused) == ["c.csv"]
    assert "the events are in more than 47 hours" in found.refused["c.csv"]
    assert len(hours(tmp_path)) == 50
    monkeypatch.setattr(module, "MOST_HOURS", 0)
    for name in ("b.csv", "d.csv"):
        write(tmp_path / name, [], WRITTEN + 2)
    found = run(tmp_path, stream)
    assert found.refused["d.csv"].endswith(
        "files of hours, the limit of a run (run it again to ingest the rest)"
    )
    assert list(found.refused) == ["c.csv", "d.csv"]
    assert found.figures["collected_files"] == 1
    assert not (tmp_path / "_collected" / "spool").exists()


def test_dated_folders_are_looked_into_as_far_as_landings_look_back(tmp_path: Path) -> None:
    stream = schema_of("{date}/x.csv")
    for day in (1, 2, 3, 4):
        write(tmp_path / f"2013-01-{day:02}/x.csv", [event(day, 12, day)])
    for day in (30, 31):
        write(tmp_path / f"2012-12-{day}/x.csv", [event(day, 12, at=f"2012-12-{day}")])
    run(tmp_path, stream, days=1)
    assert [note["told"][-5:] for note in notes(tmp_path)] == ["12-31", "01-01", "01-02", "01-03"]


def test_names_that_are_left_alone(tmp_path: Path) -> None:
    rules = "*.jsonl', format: jsonl}, {files: '*.tmp', format: csv}, {files: '*/*/*/*.jsonl"
    stream = read_schema(SCHEMA.replace('"FILES"', f"'{rules}'").replace("UNIT", "iso"))
    for name in (".x.jsonl", "_x.jsonl", "y.tmp", "2013/01/02/events-2013-01-02T10.jsonl"):
        write(tmp_path / name, [event(1, 10)])
    (tmp_path / "x.jsonl").mkdir()
    write(tmp_path / "x.csv", [])
    assert run(tmp_path, stream).figures["collected_files"] == 0
    assert unread_files(tmp_path, DAY, stream.sources) == ["x.csv"]
    assert len(all_files(tmp_path, stream.sources)) == 1
    # Nor is what a landing reads, however a rule spells its path.
    absolute = schema_of(f"{tmp_path}/{{year}}/{{month}}/{{day}}/*.jsonl")
    assert run(tmp_path, absolute).figures["collected_files"] == 0


def test_what_cannot_be_read_is_told_and_keeps_nobody_up(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "a.csv", [event(1, 10)])
    zone = tmp_path / "landing"
    write(zone / "b.csv", [event(2, 10)])
    (zone / "a.csv").symlink_to(tmp_path / "elsewhere" / "a.csv")
    found = run(zone, schema_of("*.csv"))
    assert found.figures["collected_files"] == 1
    assert list(found.refused) == ["a.csv"]
    assert "is a symbolic link" in found.refused["a.csv"]
    with pytest.raises(DataError, match=r"the directory .*/gone of a rule in sources is missing"):
        run(zone, schema_of(f"{tmp_path}/gone/*.csv"))


PLANTED = [
    "_collected/.lock", "_collected/spool", "_collected/NOTE.json.part", "_collected/NOTE.json",
    "_collected", "2013/01/02",
]  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("to_file", [True, False])
def test_links_of_a_producer_redirect_nothing(tmp_path: Path, name: str, to_file: bool) -> None:
    """Whatever can be computed of the names that a collection uses, it writes no other file."""
    (private := tmp_path / "private").mkdir(mode=0o700)
    (victim := private / "victim").write_text("precious")
    zone, stream = tmp_path / "zone", schema_of("x.csv")
    write(zone / "x.csv", [event(1, 10)])
    link = zone / name.replace("NOTE", module._file_name("x.csv"))
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(victim if to_file else private)
    found = run(zone, stream)
    assert found.figures["collected_files"] == (not found.refused)
    refused = " ".join(found.refused.values())
    assert "a symbolic link" in refused or not refused
    assert victim.read_text() == "precious"
    assert os.listdir(private) == ["victim"]


@pytest.mark.parametrize("files", ["*/*/*.csv", "/ZONE/*/*/*.csv", "{date}/*/*/*.csv"])
def test_links_of_a_producer_multiply_no_path(tmp_path: Path, files: str) -> None:
    """Each of them would lead to all others: n links to n ** 2 paths of two levels."""
    top = tmp_path / ("2013-01-02" if "date" in files else "")
    write(top / "a/b/x.csv", [event(1, 10)])
    links = [top / f"{number:02}" for number in range(20)]
    for number, link in enumerate(links):
        link.symlink_to("." if number else tmp_path.parent)
    (top / ".hidden").symlink_to(".")
    (top / "a/missing").symlink_to("nowhere")
    found = run(tmp_path, schema_of(files.replace("/ZONE", str(tmp_path))))
    assert found.figures["collected_files"] == 1
    assert [Path(name).name for name in found.refused] == [link.name for link in links]
    assert all("is a symbolic link" in why for why in found.refused.values())


def test_links_to_hours_are_refused_by_hour_and_others_are_shown(tmp_path: Path) -> None:
    write(tmp_path / "2013-01-02/09/x.jsonl", [event(1, 9)])
    (tmp_path / "2013-01-02/10").symlink_to("09")
    hourly = schema_of("{date}/{hour}/*.jsonl")
    whole_day = Interval.parse("2013-01-02T00:00Z", "2013-01-03T00:00Z")
    [file], faults = readable_files(tmp_path, whole_day, hourly.sources)
    assert file.landing == "2013-01-02T09"
    assert list(faults) == ["2013-01-02T10"]
    assert "is a symbolic link" in faults["2013-01-02T10"]
    (tmp_path / "a").symlink_to(".")
    by_team = schema_of("*/{date}/{hour}/*.jsonl").sources
    assert readable_files(tmp_path, DAY, by_team) == ([], {})
    assert "a" in unread_files(tmp_path, DAY, by_team)
    (tmp_path / "2013").symlink_to("2013-01-02")
    with pytest.raises(DataError, match="2013 is a symbolic link"):
        all_files(tmp_path)


@pytest.mark.parametrize("text", ["[]", "{", '{"digests": {"x": ""}}', '{"digests": 7}', "\udce9"])
def test_a_note_that_a_producer_wrote_is_refused_by_name(tmp_path: Path, text: str) -> None:
    write(tmp_path / "x.csv", [event(1, 10)])
    (note := tmp_path / "_collected" / f"{module._file_name('x.csv')}.json").parent.mkdir()
    note.write_text(text, errors="surrogateescape")
    (why,) = run(tmp_path, schema_of("x.csv")).refused.values()
    assert why.startswith(f"the note {note} is damaged: ")
    note.unlink()
    os.mkfifo(note)
    (why,) = run(tmp_path, schema_of("x.csv")).refused.values()
    assert "not a regular file" in why
    note.unlink()
    assert run(tmp_path, schema_of("x.csv")).figures["collected_files"] == 1


def test_a_source_that_is_swapped_after_it_was_listed_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = tmp_path / "zone"
    write(tmp_path / "private.csv", [event(42, 10)])
    write(zone / "x.csv", [event(1, 10)])

    def then_swap(*arguments: Any) -> Any:
        file = describe(*arguments)
        (zone / "x.csv").unlink()
        (zone / "x.csv").symlink_to(tmp_path / "private.csv")
        return file

    monkeypatch.setattr("elsinore.ingest.collect.describe", then_swap)
    (why,) = run(zone, schema_of("x.csv")).refused.values()
    assert "a symbolic link" in why
    assert hours(zone) == {}


class Killed(BaseException):
    """As a process that is killed, it is no `Exception`."""


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Ends before the given renaming of files, of those that are made from now on."""
    steps: list[int] = []
    replace: Any = os.replace

    def or_die(*paths: Any, **directories: int) -> None:
        steps.append(1)
        if len(steps) == step:
            raise Killed
        replace(*paths, **directories)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", or_die)
        yield steps


@pytest.mark.parametrize("again", [False, True])
def test_killed_at_any_point_the_next_run_ends_with_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    """Also where another content comes in between, of which hours were written already."""
    stream = schema_of("x.csv")
    first = [event(1, 8), event(2, 9), event(3, 10)]
    second = [event(4, 10), event(5, 14), event(1, 8)]
    third = [event(1, 8), event(6, 11)] if again else second

    def outcome(zone: Path, kill: int) -> tuple[dict[str, list[str]], int]:
        write(zone / "x.csv", first)
        run(zone, stream)
        write(zone / "x.csv", second, WRITTEN + 1)
        with killed_at(kill, monkeypatch) as steps:
            try:
                run(zone, stream)
            except Killed:
                write(zone / "x.csv", third, WRITTEN + 1 + again)
        run(zone, stream)
        assert run(zone, stream).figures["collected_files"] == 0
        assert notes(zone)[0]["hours"].keys() == hours(zone).keys()
        return {label: ids for label, ids in hours(zone).items() if ids or not again}, len(steps)

    wanted, steps = outcome(tmp_path / "clean", 0)
    assert steps == 8, "two notes; hours 9 to 14 but for those that are as they were"
    if again:
        wanted = {"2013-01-02T08": ["e1"], "2013-01-02T11": ["e6"]}
    for kill in range(1, steps + 1):
        assert outcome(tmp_path / str(kill), kill)[0] == wanted


def test_whoever_collects_beside_others_waits_for_them(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [event(1, 10)])
    with ThreadPoolExecutor() as pool:
        with module._alone(tmp_path, tmp_path.with_name(f".{tmp_path.name}{module.ASIDE}")):
            other = pool.submit(run, tmp_path, schema_of("x.csv"))
            with pytest.raises(TimeoutError):
                other.result(timeout=0.2)
            assert hours(tmp_path) == {}
        assert other.result().figures["collected_files"] == 1


ROWS: list[dict[str, Any]] = [
    event(1, 10, x=1.5, ok=True),
    event(2, 10, x=2.0, ok=False),
    event(3, 10, kind="B"),
    event(4, 10, kind="C"),
    event(5, 10, n=None),
    event(6, 10, at="2013-01-02 11:00:00.123456+01:00"),
    event(7, 10, at=None),
    event(8, 10, kind="B", seen="2013-01-02"),
    event(9, 10, kind="B", seen="soon"),
    event(10, 10, x=float("nan")),
    event(11, 10, x=float("inf")),
    event(12, 10, n=2**53 + 1),
    event(13, 10, id=""),
]


def outcomes(path: Path, stream: StreamSchema, direct: bool) -> tuple[list[Any], list[Any]]:
    """Events and rejected rows of a file, read as they are or by way of lines of JSON."""
    form = format_of(path.name)
    assert form is not None
    reader = read_csv if form == "csv" else read_parquet
    parts = reader(path, stream) if direct else (
        decode_lines(lines, stream) for lines in as_lines(path, form, stream)
    )  # fmt: skip
    events: list[Any] = []
    rejected: list[Any] = []
    for part in parts:
        events += part.events.drop_columns(["file"]).to_pylist()
        rejected += part.rejected.select(["record_number", "reason_code", "reason"]).to_pylist()
    return [str(row) for row in events], sorted(map(str, rejected))


@pytest.mark.parametrize(
    "text",
    [
        "id,at,kind,n,x\n" + "".join(f"e{n},2013-01-02T10:00:0{n}Z,A,{n},\n" for n in range(9)),
        "id,at,kind,n,ok\n1,2013-01-02,A,+07,TRUE\n2,2013-01-02,A,x,true\n3,2013-01-02,A,1,yes\n",
        'id,at,kind,n,note\n1,2013-01-02,A,7,"a ""b""\nc"\n2,2013-01-02,A,7\n3,2013,A,7,a"b\n',
        "kind,n,id,at,z.x\nB,1,1,2013-01-02,x\nC,x,2,2013,\nB,,3,noon,\n\nA,1e400,4,2013-01-02,\n",
        'id,at,kind,n\n{"id":"1","at":"2013-01-02","kind":"A","n":1}\n',
        "",
    ],
)  # fmt: skip
def test_lines_of_csv_are_read_as_its_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    stream = schema_of("x.csv")
    assert outcomes(path, stream, direct=False) == outcomes(path, stream, direct=True)


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
def test_rows_are_refused_for_the_same_reasons_as_lines(tmp_path: Path, name: str) -> None:
    rows = [{k: "" if v is None else v for k, v in r.items()} if "csv" in name else r for r in ROWS]
    path = write(tmp_path / name, rows)
    stream = schema_of(name)
    found = outcomes(path, stream, direct=False)
    assert found == outcomes(path, stream, direct=True)
    assert all(found)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["iso", "s", "ms", "us"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([1357120800_000001, None, 10**18], pa.timestamp("us")),
        pa.array([1357120800_123], pa.timestamp("ms", "America/New_York")),
        pa.array([1357120800_123456789], pa.timestamp("ns", "UTC")),
        pa.array([15707], pa.int32()).cast(pa.date32()),
        pa.array(["2013-01-02T10:00:00Z", "x"]).dictionary_encode(),
        pa.array([1357120800, 1357120800_000, 1357120800_000_000]),
        pa.array([1357120800.25]),
        pa.array([Decimal("1357120800.25"), Decimal("1357120800000.00")]),
        pa.array([b"2013-01-02"]),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_columns_of_parquet_are_read_as_such(
    tmp_path: Path, unit: str, column: pa.Array, inside: bool
) -> None:
    """Times of every type, also inside of structs; and the same columns as attributes."""
    size = len(column)
    text = SCHEMA.replace("FILES", "x.parquet").replace("UNIT", unit)
    if inside:
        text = text.replace("{field: at", "{field: p.at")
    table = pa.table({"id": pa.array(range(size)), "kind": ["B"] * size, "n": [1] * size})
    if inside:
        table = table.append_column("p", pa.StructArray.from_arrays([column], ["at"]))
    else:
        table = table.append_column("at", column).append_column("seen", column)
    pq.write_table(table, tmp_path / "x.parquet")
    stream = read_schema(text)
    found, wanted = (outcomes(tmp_path / "x.parquet", stream, direct) for direct in (False, True))
    assert found[0] == wanted[0]
    assert len(found[1]) == len(wanted[1])


@pytest.mark.slow
def test_a_long_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of an hour that were written in several goes are one file, in their order."""
    monkeypatch.setattr(module, "_WAITING", 100)
    records = [event(n, 8 + n % 3) for n in range(20_000)]
    write(tmp_path / "x.parquet", records)
    run(tmp_path, schema_of("x.parquet"))
    found = hours(tmp_path)
    assert found == {
        f"2013-01-02T{8 + rest:02}": [f"e{n}" for n in range(rest, 20_000, 3)] for rest in range(3)
    }
    assert len(landing_files(tmp_path, DAY)) == 1


@pytest.mark.parametrize("name", ["e.parquet", "e.csv.gz", "e.jsonl"])
def test_directories_below_the_fixed_part_of_a_rule_are_columns(tmp_path: Path, name: str) -> None:
    schema = SCHEMA.replace("B: {", "B: {where: {type: string, nullable: true, field: k}, ")
    schema = schema.replace("FILES", "x=1/day={date}/k=*/*").replace('*"}', f'{name}"}}')
    stream = read_schema(schema.replace("UNIT", "iso"))
    for key in ("a%2Fb", "__HIVE_DEFAULT_PARTITION__"):
        row = {"id": key, "at": "2013-01-02T10:30:00Z", "kind": "B", "n": 1}
        write(tmp_path / "x=1" / "day=2013-01-02" / f"k={key}" / name, [row])
    assert collect(tmp_path, stream, DAY, 0).figures["collected_lines"] == 2
    files = sorted((tmp_path / "2013/01/02").glob("events-*"))
    texts = (gzip.decompress(file.read_bytes()).splitlines() for file in files)
    lines = [json.loads(line) for part in texts for line in part]
    assert {line["k"] for line in lines} == {"a/b", None}
    assert {line["day"] for line in lines} == {"2013-01-02"}
    assert all("x" not in line for line in lines)
    assert collect(tmp_path, stream, DAY, 0).figures["collected_files"] == 0


def test_lines_that_land_where_they_are_stored_have_no_columns(tmp_path: Path) -> None:
    """Those with a column in a directory that varies are collected, so that they have it."""
    stream = schema_of("day={date}/h={hour}/*/e.jsonl")
    for part in ("k=a", "plain"):
        write(tmp_path / f"day=2013-01-02/h=10/{part}/e.jsonl", [event(1, 10)])
    sources = {s.name: s.is_raw for s in find_sources(tmp_path, stream.sources, None)}
    assert sources == {
        "day=2013-01-02/h=10/k=a/e.jsonl": False, "day=2013-01-02/h=10/plain/e.jsonl": True,
    }  # fmt: skip


@pytest.mark.parametrize("bad", [b"k=\xff/x", b"k=%FF/x", b"k=1/k=2", b"k=1/k=\xff"])
@pytest.mark.parametrize("rule", ["{date}/{hour}/*/*/e.jsonl", "*/*/*/*/e.jsonl"])
def test_a_directory_with_an_invalid_column_stops_only_its_files(
    tmp_path: Path, rule: str, bad: bytes
) -> None:
    stream = schema_of(rule)
    hour = tmp_path / "2013-01-02/10"
    for part in ("k=1/x", "plain/x"):
        path = write(hour / part / "e.jsonl", [event(1, 10)])
    shutil.copytree(path.parent, hour / os.fsdecode(bad))
    collected = collect(tmp_path, stream, DAY, 0)
    assert len(collected.refused) == 1
    json.dumps(collected.refused, ensure_ascii=False).encode()
    assert len(uncollected(tmp_path, stream, DAY, 0)) == 1
    names = [file.name for file in landing_files(tmp_path, DAY, stream.sources)]
    assert len(names) == 2, names


def put(path: Path, records: list[dict[str, Any]], **options: Any) -> Path:
    """Write a version of a Delta table that was committed when other files were written."""
    write_deltalake(str(path), pa.Table.from_pylist(records), **{"mode": "append", **options})
    return committed(path)


def committed(path: Path) -> Path:
    for commit in (path / "_delta_log").glob("*.json"):
        os.utime(commit, (WRITTEN, WRITTEN))
    return path


def rule(files: str) -> StreamSchema:
    return read_schema(
        SCHEMA.replace('"FILES"', f"'{files}', format: parquet").replace("UNIT", "iso")
    )


@pytest.mark.parametrize("files", ["tables/t", "tables/*", "tables/t/*.parquet"])
def test_a_rule_about_a_delta_table_or_its_files_collects_its_rows(
    tmp_path: Path, files: str
) -> None:
    stream = rule(files)
    for at in range(3):
        put(tmp_path / "tables/t", [event(2 * at, 9), event(2 * at + 1, 10)])
    assert run(tmp_path, stream).figures["collected_lines"] == 6
    ten = {"2013-01-02T09": ["e0", "e2", "e4"], "2013-01-02T10": ["e1", "e3", "e5"]}
    assert {hour: sorted(ids) for hour, ids in hours(tmp_path).items()} == ten
    before = {file.landing: file for file in all_files(tmp_path)}
    assert run(tmp_path, stream).figures["collected_files"] == 0, "the table is as it was"
    DeltaTable(str(tmp_path / "tables/t")).optimize.compact()
    committed(tmp_path / "tables/t")
    assert run(tmp_path, stream).figures["collected_files"] == 1
    assert {file.landing: file for file in all_files(tmp_path)} == before, "in any order"
    DeltaTable(str(tmp_path / "tables/t")).delete("n = 4")
    committed(tmp_path / "tables/t")
    run(tmp_path, stream)
    assert sorted(hours(tmp_path)["2013-01-02T09"]) == ["e0", "e2"]
    assert unread_files(tmp_path, DAY, stream.sources) == []


def test_a_rule_about_partitions_of_a_table_collects_what_they_hold(tmp_path: Path) -> None:
    stream = rule("t/day={date}/part=a/*.parquet")
    records = [
        event(number, 9, 1 + number // 2) | {"day": f"2013-01-0{1 + number // 2}", "part": part}
        for number, part in enumerate("abab")
    ]
    put(tmp_path / "t", records, partition_by=["day", "part"])
    put(tmp_path / "t", records, partition_by=["day", "part"], mode="overwrite")
    run(tmp_path, stream)
    assert hours(tmp_path) == {"2013-01-01T09": ["e0"], "2013-01-02T09": ["e2"]}
    assert [note["told"] for note in notes(tmp_path)] == ["2013-01-01", "2013-01-02"]


def test_tables_that_cannot_be_collected_keep_nobody_up(tmp_path: Path) -> None:
    zone = tmp_path / "zone"
    write(zone / "ice/metadata/v1.metadata.json", [])
    write(zone / "ice/data/x.parquet", [event(1, 9)])
    put(tmp_path / "elsewhere", [event(2, 9)])
    (zone / "linked").symlink_to(tmp_path / "elsewhere")
    put(zone / "good", [event(3, 10)])
    found = run(zone, rule("*"))
    assert hours(zone) == {"2013-01-02T10": ["e3"]}
    assert list(found.refused) == ["ice", "linked"]
    assert "Iceberg, which is not supported" in found.refused["ice"]
    assert "is below 'linked', a symbolic link" in found.refused["linked"]


def test_a_table_that_becomes_a_link_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "private", [event(2, 9)])
    table = put(tmp_path / "zone/t", [event(1, 9)])

    def swap(*args: Any, **options: Any) -> Any:
        if not table.is_symlink():
            table.rename(tmp_path / "old")
            table.symlink_to(tmp_path / "private")
        return as_lines(*args, **options)

    monkeypatch.setattr(module, "as_lines", swap)
    found = run(tmp_path / "zone", rule("*"))
    assert "is below 't', a symbolic link" in found.refused["t"]
    assert hours(tmp_path / "zone") == {}


def test_a_path_that_changes_while_it_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        put(tmp_path / name, [event(ord(name), 9)])
    resolve = Path.resolve

    def fail(path: Path, strict: bool = False) -> Path:
        if path.parent.name == "a":
            raise OSError(errno.EINVAL, "Invalid argument", str(path))
        return resolve(path, strict)

    monkeypatch.setattr(Path, "resolve", fail)
    found = run(tmp_path, rule("*/*.parquet"))
    assert [*hours(tmp_path).values()] == [["e98"]]
    [(name, why)] = found.refused.items()
    assert name.startswith("a/")
    assert "Invalid argument" in why


def test_links_to_files_of_tables_elsewhere_and_a_zone_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    part = next(put(tmp_path / "elsewhere", [event(1, 9)]).glob("*.parquet"))
    zone = Path("zone")
    put(zone / "t", [event(2, 10)])
    (zone / "t/x.parquet").symlink_to(part)
    (zone / "u").mkdir()
    (zone / "u/x.parquet").symlink_to(part)
    found = run(zone, rule("*/*.parquet"))
    assert hours(zone) == {"2013-01-02T10": ["e2"]}
    assert list(found.refused) == ["u/x.parquet"]
    assert "is outside of the landing zone" in found.refused["u/x.parquet"]
