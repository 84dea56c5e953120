"""Compressed copies are refused; corrections that lose by the name of their file are reported."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ParameterError
from elsinore.files.file_names import BY_ENDING, MODIFIED_EARLIER, order_doubt
from elsinore.files.read_events import ReadReport, read_events


def schema_of(ids: str) -> StreamSchema:
    return read_schema(
        f"stream: s\ntime: {{field: at, unit: s}}\nid: {ids}\ntypes: {{A: {{x: long}}}}\n"
    )


SCHEMA = schema_of("{field: id}")


def line(x: int, number: int = 1) -> bytes:
    return (json.dumps({"id": number, "at": 1_700_000_000, "x": x}) + "\n").encode()


def pack(data: bytes, ending: str) -> bytes:
    match ending:
        case ".gz":
            return gzip.compress(data)
        case ".zst":
            return pa.compress(data, codec="zstd", asbytes=True)
    return data


def read(*paths: Path) -> ReadReport:
    return read_events(paths, SCHEMA, max_error_rate=1)[1]


def events(path: Path, ids: str = "{field: id}") -> list[int]:
    """The values of x of the events that are left."""
    table = read_events([path], schema_of(ids), max_error_rate=1)[0].table
    return [int(x) for x in table["x"].to_pylist()]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), [("", ".gz"), ("", ".zst"), (".gz", ".zst")])
@pytest.mark.parametrize("folder", [True, False])
def test_a_compressed_copy_is_refused(tmp_path: Path, one: str, other: str, folder: bool) -> None:
    data = line(1) * 100_000  # more than a block
    paths = [tmp_path / f"a.jsonl{ending}" for ending in (one, other)]
    for path, ending in zip(paths, (one, other), strict=True):
        path.write_bytes(pack(data, ending))
    with pytest.raises(
        ParameterError, match=r"has the same content as .*: its events would count twice"
    ):
        read(*([tmp_path] if folder else paths))
    assert read(paths[1]).lines == 100_000


def test_a_copy_may_be_in_another_directory(tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    (tmp_path / "a.csv").write_text("id,at,x\n1,1700000000,1\n")
    (tmp_path / "backup" / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    with pytest.raises(
        ParameterError, match=r"backup/a\.csv\.gz has the same content as .*/a\.csv"
    ):
        read(tmp_path)


def test_other_content_is_no_copy(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line(1) + line(2, 2)))
    assert read(tmp_path).lines == 3


@pytest.mark.parametrize(
    ("loser", "winner", "doubt"),
    [
        ("T20-late.jsonl.gz", "T20.jsonl.gz", BY_ENDING),
        ("d-new/a.csv", "d/a.csv", BY_ENDING),
        ("a+1.csv", "a.csv", BY_ENDING),
        ("a.csv", "a.jsonl", BY_ENDING),
        ("T19.jsonl", "T20.jsonl", ""),
        ("T20.jsonl", "T20~late.jsonl", ""),
        ("T20.jsonl", "T20_late.jsonl", ""),
    ],
)
def test_names_that_look_later(loser: str, winner: str, doubt: str) -> None:
    assert loser < winner
    assert order_doubt(loser, winner, 0, 0) == doubt


def test_names_without_extensions_decide(tmp_path: Path) -> None:
    for name, x in (("e-T20-late.jsonl.gz", 5), ("e-T20.jsonl.gz", 1), ("e-T20_0.jsonl", 3)):
        (tmp_path / name).write_bytes(pack(line(x), Path(name).suffix))
    assert events(tmp_path) == [3]
    (tmp_path / "e-T20_0.jsonl").unlink()
    assert events(tmp_path) == [5]
    assert read(tmp_path).warnings == ()


def test_modification_times_decide_if_the_schema_says_so(tmp_path: Path) -> None:
    for name, x, at in (("a.jsonl", 1, 2_000), ("b.jsonl", 2, 1_000)):
        (tmp_path / name).write_bytes(line(x))
        os.utime(tmp_path / name, (at, at))
    assert events(tmp_path) == [2]
    assert events(tmp_path, "{field: id, order: modified}") == [1]


def test_a_correction_that_loses_is_reported(tmp_path: Path) -> None:
    first, late = tmp_path / "e" / "T20.jsonl.gz", tmp_path / "e-late" / "T20.jsonl.gz"
    for path, x in ((first, 1), (late, 5)):
        path.parent.mkdir()
        path.write_bytes(gzip.compress(line(x) + line(x, 2)))
    report = read(tmp_path)
    assert report.warnings == (
        f"2 superseded records of {late} lost to {first}, {BY_ENDING}; the last file by name wins: "
        f"rename {late.name} if it has the corrections",
    )
    assert report.rejected["reason"].to_pylist()[0].endswith(f"{first}:1, {BY_ENDING}")


def test_a_file_that_was_modified_later_is_reported(tmp_path: Path) -> None:
    for name, x, at in (("a.jsonl", 1, 2_000), ("b.jsonl", 2, 1_000)):
        (tmp_path / name).write_bytes(line(x))
        os.utime(tmp_path / name, (at, at))
    (warning,) = read(tmp_path).warnings
    assert f"lost to {tmp_path / 'b.jsonl'}, {MODIFIED_EARLIER}" in warning
    os.utime(tmp_path / "b.jsonl", (1_999.5, 1_999.5))  # copied together
    assert read(tmp_path).warnings == ()


def test_gzip_keeps_its_input(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1))
    subprocess.run(["gzip", "-k", tmp_path / "a.jsonl"], check=True)
    with pytest.raises(ParameterError) as refused:
        read(tmp_path)
    assert refused.value.hint == f"remove one of them, or read only {tmp_path / 'a.jsonl'}"
