"""`elsinore diff`: of two workloads over the same events, and of two files of answers."""

from __future__ import annotations

import json
import re
import struct
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from elsinore.cli import diff
from elsinore.cli.main import run_command
from elsinore.files import bounded_arrow

SCHEMA = """
stream: s
time: {field: time, unit: iso}
type: {field: type}
types: {A: {k: string, x: long}}
"""
OLD = """
QUERY kept RETURN COUNT(*) PATTERN A WITHIN 1 hour;
QUERY loops RETURN k, COUNT(*), SUM(A.x) PATTERN A+ WHERE A.x > 0 GROUP-BY k WITHIN 1 hour;
QUERY gone RETURN COUNT(*) PATTERN A WITHIN 1 hour;
"""
NEW = OLD.replace("A.x > 0", "A.x > 1 AND A.k != 'q'").replace("gone", "fresh")
#: Of p a run of 80 events, all but the first of which have more than 1; of q one, and 3 is added.
EVENTS = [("p", n) for n in range(1, 81)] + [("q", 2)]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCHEMA)
    Path("old.sase").write_text(OLD)
    Path("new.sase").write_text(NEW)
    lines = [
        {"time": f"2020-01-01T10:{n % 60:02}:{n // 60:02}Z", "type": "A", "k": k, "x": n}
        for k, n in EVENTS
    ]
    Path("e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


_WINDOW = {"window_start": "2020-01-01 10:00:00", "window_end": "2020-01-01 11:00:00"}
#: Trends of n events are 2^n - 1; each event is in half of 2^n.
_SUM = sum(range(1, 81))
CHANGES = {
    ("loops", '{"k": "p"}', "COUNT(*)"): ("changed", 2**80 - 1, 2**79 - 1),
    ("loops", '{"k": "p"}', "SUM(A.x)"): ("changed", _SUM * 2**79, (_SUM - 1) * 2**78),
    ("loops", '{"k": "q"}', "COUNT(*)"): ("removed", 1, None),
    ("loops", '{"k": "q"}', "SUM(A.x)"): ("removed", 2, None),
    ("gone", "{}", "COUNT(*)"): ("removed", 81, None),
    ("fresh", "{}", "COUNT(*)"): ("added", None, 81),
}
WORKLOADS = ["old.sase", "new.sase", "--schema", "s.yaml", "--input", "e.jsonl"]


def check(text: str) -> None:
    rows = [json.loads(line) for line in text.splitlines()]
    assert {
        (row["query"], row["group_key"], row["aggregate"]): (
            row["change"],
            *(side and int(side) for side in (row["before"], row["after"])),
        )
        for row in rows
    } == CHANGES
    assert all(row.items() >= _WINDOW.items() for row in rows)
    assert [row["difference"] for row in rows] == sorted(
        (float((after or 0) - (before or 0)) for _, before, after in CHANGES.values()),
        key=lambda by: -abs(by),
    ) or rows[2]["difference"] in (81.0, -81.0)  # of equal size in any order


def test_of_two_workloads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["diff", *WORKLOADS]) == 0
    out, error = capsys.readouterr()
    check(out)
    assert error == "elsinore: 7 values: 1 same, 2 changed, 1 added, 3 removed\n"


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), [*product(["jsonl", "parquet", "arrow"], repeat=2)])
def test_of_two_files_of_any_formats(
    one: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, form in (("old", one), ("new", other)):
        run = ["run", f"{name}.sase", "--schema", "s.yaml", "--input", "e.jsonl"]
        assert run_command([*run, "--output", f"{name}.{form}"]) == 0
    assert run_command(["diff", f"old.{one}", f"new.{other}"]) == 0
    check(capsys.readouterr().out)


def test_a_change_to_or_from_nan_is_as_large_as_any(capsys: pytest.CaptureFixture[str]) -> None:
    sides = {"old": [1, "NaN", 3, 4.0, "NaN"], "new": [2, 5.0, 30, "NaN", "NaN"]}
    for name, values in sides.items():
        answers = [
            {"query": "q", "group": {"n": n}, **_WINDOW, "values": {"AVG(A.x)": value}}
            for n, value in enumerate(values)
        ]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in answers))
    assert run_command(["diff", "old.jsonl", "new.jsonl"]) == 0
    changes = map(json.loads, capsys.readouterr().out.splitlines())
    assert [change["difference"] for change in changes] == ["NaN", "NaN", 27.0, 1.0]


def test_for_people_and_for_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["diff", *WORKLOADS, "--format", "table", "--top", "4"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["loops", "0", "2", "0", "2"] in shown
    assert ["fresh", "0", "0", "1", "0"] in shown
    assert ["kept", "1", "0", "0", "0"] in shown
    assert shown[-2] == ["and", "2", "more:", "--output", "FILE.csv", "writes", "all"]
    assert run_command(["diff", *WORKLOADS, "--output", "d.parquet"]) == 0
    assert pq.read_table("d.parquet").num_rows == len(CHANGES)
    assert capsys.readouterr().out == ""
    assert run_command(["diff", *WORKLOADS, "--top", "1"]) == 0
    (largest,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert largest["aggregate"] == "SUM(A.x)"
    assert run_command(["diff", "old.sase", "old.sase", *WORKLOADS[2:]]) == 0
    out, error = capsys.readouterr()
    assert out == ""
    assert "6 values: 6 same, 0 changed" in error.splitlines()[-1]


ODD = """
QUERY true RETURN x, COUNT(*), AVG(A.n), SUM(A.x), MAX(A.at) PATTERN A GROUP-BY x WITHIN 1 hour;
"""


@pytest.mark.parametrize(("one", "other"), [*product(["jsonl", "parquet", "arrow"], repeat=2)])
def test_odd_values_are_the_same_in_any_formats(
    one: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(
        "stream: s\ntime: {field: time, unit: iso}\ntype: {field: type}\ntypes: {A: {n: long,"
        " x: {type: double, nullable: true}, at: {type: timestamp, nullable: true}}}\n"
    )
    Path("odd.sase").write_text(ODD)
    lines = [
        {"time": "2020-01-01T10:00:00Z", "type": "A", "n": 2, "x": x, "at": at}
        for x, at in ((None, None), (float("nan"), "1960-01-01T00:00:00.000001Z"), (-0.0, None))
    ]
    Path("e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for form in (one, other):
        run = ["run", "odd.sase", "--schema", "s.yaml", "--input", "e.jsonl"]
        assert run_command([*run, "--output", f"odd.{form}"]) == 0
    assert run_command(["diff", f"odd.{one}", f"odd.{other}"]) == 0
    out, error = capsys.readouterr()
    assert out == ""
    assert "12 values: 12 same" in error.splitlines()[-1]


@pytest.mark.parametrize(
    "texts", [("1.1", "1.10"), ("1", "1.0"), ("1e5", "100000"), ("007", "7.0"), ("nan", "NaN")]
)
@pytest.mark.parametrize(("one", "other"), [("parquet", "jsonl"), ("jsonl", "arrow")])
def test_strings_that_look_like_one_number_are_two_groups(
    texts: tuple[str, str], one: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "QUERY q RETURN k, COUNT(*) PATTERN A GROUP-BY k WITHIN 1 hour;"
    Path("q.sase").write_text(query)
    for form, counts in ((one, (1, 2)), (other, (5, 2))):
        lines = [
            {"time": "2020-01-01T10:00:00Z", "type": "A", "k": text, "x": 1}
            for text, count in zip(texts, counts, strict=True)
            for _ in range(count)
        ]
        Path("k.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        run = ["run", "q.sase", "--schema", "s.yaml", "--input", "k.jsonl"]
        assert run_command([*run, "--output", f"{counts[0]}.{form}"]) == 0
    assert run_command(["diff", f"1.{one}", f"5.{other}"]) == 0
    out, error = capsys.readouterr()
    (change,) = map(json.loads, out.splitlines())
    assert json.loads(change["group_key"]) == {"k": texts[0]}
    assert (change["before"], change["after"]) == ("1", "5")
    assert "2 values: 1 same, 1 changed, 0 added, 0 removed" in error


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.json": '{"query": "q", "group": null, "window_start": 1}'}, "has no results of"),
        ({"a.json": '{"query": "q", "group": {}, "window_start": 1, "window_end": 2, '
          '"values": [1]}'},
         "has no results of"),
        ({"a.json": '{"query": "q", "group": {}, "window_start": 1, "window_end": 2, '
          '"values": {"COUNT(*)": [1]}}'},
         "has no results of"),
        ({"a.json": '{"query": 1, "group": {}, "window_start": 1, "window_end": 2, "values": {}}'},
         "has no results of"),
        ({"a.json": '{"query": "q", "group": {}, "window_start": 1, "window_end": 2, '
          '"values": {"n": 1}}\n' * 2},
         "two rows of q have one window and the group '{}'"),
        ({"a.csv": "a,b\n1,2\n"}, "a.csv is CSV, in which groups and values look alike"),
        ({"a.json/b.json": ""}, "cannot read a.json: Is a directory"),
        ({"a.json": ""}, "no such file: b.json (check the path)"),
        ({"a.txt": "q: 1 row"}, "a.txt is a table for people"),
        ({"a.sase": OLD}, "give two .sase files"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_said(
    files: dict[str, str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
        assert run_command(["diff", name.partition("/")[0], "b.json"]) == 2
    assert words in capsys.readouterr().err


def test_what_is_compared_is_not_written_to(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old.sase", "s.yaml", "e.jsonl"):
        assert run_command(["diff", *WORKLOADS, "--format", "csv", "--output", name]) == 2
        assert f"--output {name} is also an input" in capsys.readouterr().err


def test_bad_lines_are_told_and_too_many_refused(capsys: pytest.CaptureFixture[str]) -> None:
    good = Path("e.jsonl").read_text()
    Path("e.jsonl").write_text(good + '{"type": "A"}\n')
    assert run_command(["diff", *WORKLOADS]) == 0
    assert "1 of 82 records rejected (1 missing_time)" in capsys.readouterr().err
    Path("e.jsonl").write_text(good + '{"type": "A"}\n' * 30)
    assert run_command(["diff", *WORKLOADS]) != 0
    assert "30 of 111 records are invalid" in capsys.readouterr().err
    assert run_command(["diff", *WORKLOADS, "--max-error-rate", "0.5"]) == 0


@pytest.mark.parametrize("name", ["bomb.parquet", "bomb.arrow"])
def test_small_files_that_hold_gigabytes_are_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = _results(100, k=pa.array(["k" * 1_000_000] * 100))
    table = pa.Table.from_batches([batch])
    path = tmp_path / name
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        options = ipc.IpcWriteOptions(compression="zstd")
        with ipc.new_file(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=10)
    assert path.stat().st_size < 1_000_000
    assert run_command(["diff", str(path), str(path)]) == 1
    said = capsys.readouterr().err
    assert f"{name} " in said
    assert re.search("67,108,864", said)


def test_text_files_of_many_values_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diff, "_MOST_VALUES", 40)
    values = {"COUNT(*)": None, "SUM(A.x)": None}
    rows = [
        {"query": "q", "group": {}, "window_start": n, "window_end": n + 1, "values": values}
        for n in range(21)
    ]
    Path("a.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run_command(["diff", "a.json", "a.json"]) == 1
    assert "has more than 40 values" in capsys.readouterr().err


def test_a_line_without_an_end_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff, "_LONGEST_ROW", 1 << 16)
    Path("a.json").symlink_to("/dev/zero")
    assert run_command(["diff", "a.json", "a.json"]) == 1
    assert "has a row of more than 65,536 bytes" in capsys.readouterr().err


#: What the metadata of a file say: the columns of the group and of the values.
LAYOUT = {"q": {"group": {"k": "k"}, "values": {"n": "n"}}}


def _results(count: int, layout: object = LAYOUT, **columns: Any) -> pa.RecordBatch:
    """Return results as `run` writes them, a window per row."""
    plain = {
        "query": pa.repeat("q", count), "k": pa.repeat("x", count),
        "window_start": pa.array(range(count)), "window_end": pa.array(range(1, count + 1)),
        "n": pa.repeat(1, count),
    }  # fmt: skip
    batch = pa.record_batch(plain | columns)
    return batch.replace_schema_metadata({"elsinore.results": json.dumps(layout)})


def _write(path: Path, batch: pa.RecordBatch, compression: str | None = None) -> Path:
    options = ipc.IpcWriteOptions(compression=compression)
    with ipc.new_file(path, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return path


def test_arrow_files_that_hold_many_values_in_few_bytes_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nulls = {name: pa.nulls(300_000) for name in _results(1).schema.names}
    coded = pa.repeat("x" * 100, 9).dictionary_encode()
    batches = {
        "nulls": (_results(300_000, **nulls), "a column of the type null"),
        "codes": (_results(9, query=coded), "a column of the type dictionary"),
    }
    for name, (batch, why) in batches.items():
        path = _write(tmp_path / f"{name}.arrow", batch)
        assert run_command(["diff", str(path), str(path)]) == 1, name
        assert why in capsys.readouterr().err


def test_a_compressed_batch_is_not_unpacked_before_its_size_is_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = _results(2, k=pa.array(["k" * 1_000] * 2))
    path = _write(tmp_path / "large.arrow", batch, "lz4")
    content, size = path.read_bytes(), (2_000).to_bytes(8, "little")
    assert run_command(["diff", str(path), str(path)]) == 0
    # Other places, such as the last offset of the strings, can have the same bytes before it.
    before, _, after = content.rpartition(size)
    path.write_bytes(before + (1 << 40).to_bytes(8, "little") + after)
    assert run_command(["diff", str(path), str(path)]) == 1
    assert "large.arrow unpacks to more than 67,108,864 bytes" in capsys.readouterr().err


def test_compression_of_old_arrow_files_is_not_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Arrow 0.17 named the compression in the metadata of a message, and Arrow still unpacks it.
    zeros = b"\0" * (1 << 28)
    packed = struct.pack("<q", len(zeros)) + pa.compress(zeros, "zstd", asbytes=True)
    packed += b"\0" * (-len(packed) % 8)
    longs = pa.array(np.frombuffer(packed, np.int64))
    batch = _results(len(longs), n=longs)
    options = ipc.IpcWriteOptions(metadata_version=ipc.MetadataVersion.V4)
    path = tmp_path / "old.arrow"
    with ipc.new_file(path, batch.schema, options=options) as writer:
        writer.write_batch(batch, custom_metadata={"ARROW:experimental_compression": "zstd"})
    before = pa.default_memory_pool().max_memory()
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "old.arrow has no results of `elsinore run`" in capsys.readouterr().err
    assert pa.default_memory_pool().max_memory() < before + len(zeros)


def test_numbers_in_the_byte_order_of_other_processors_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _write(tmp_path / "turned.arrow", _results(2))
    assert run_command(["diff", str(path), str(path)]) == 0
    content = bytearray(path.read_bytes())
    # The schema's table begins with the distance to its list of fields, whose first entry is 0.
    at = 16
    (root,) = struct.unpack_from("<I", content, at)
    header = bounded_arrow._field(bytes(content[at:]), root, bounded_arrow._HEADER)
    table = header + struct.unpack_from("<I", content, at + header)[0]
    slot = table - struct.unpack_from("<i", content, at + table)[0] + 4
    assert struct.unpack_from("<H", content, at + slot) == (0,), "the default, little-endian"
    one = next(n for n in range(4, 2_000, 2) if content[at + table + n :][:2] == b"\1\0")
    struct.pack_into("<H", content, at + slot, one)
    path.write_bytes(content)
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "turned.arrow has no results of `elsinore run`" in capsys.readouterr().err


def test_an_arrow_file_that_is_cut_off_between_batches_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, batch = tmp_path / "cut.arrow", _results(4)
    with ipc.new_file(path, batch.schema) as writer:
        writer.write_batch(batch.slice(0, 2))
        writer.write_batch(batch.slice(2))
    content = path.read_bytes()
    *_, last, end = (found.start() for found in re.finditer(b"\xff{4}", content))
    mark = content[end : end + 8]
    for damaged in (content[:last], content[:last] + mark, content[:last] + mark + content[last:]):
        path.write_bytes(damaged)
        assert run_command(["diff", str(path), str(path)]) == 2
        assert "cut.arrow has no results of `elsinore run`" in capsys.readouterr().err


def test_a_damaged_arrow_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _write(tmp_path / "damaged.arrow", _results(2, k=pa.array(["abc", "def"])))
    content = path.read_bytes()
    offsets = (0).to_bytes(4, "little") + (3).to_bytes(4, "little") + (6).to_bytes(4, "little")
    wrong = offsets[:8] + (2**30).to_bytes(4, "little")
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, wrong))
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "damaged.arrow has no results of `elsinore run`" in capsys.readouterr().err


def test_buffers_of_negative_length_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Arrow does not read the first buffer, the NULLs of a column without any.
    path = _write(tmp_path / "negative.arrow", _results(2, k=pa.array(["abc", "def"])))
    content = path.read_bytes()
    buffers = struct.pack("<qqqq", 0, 0, 0, 12)
    assert content.count(buffers) == 1
    path.write_bytes(content.replace(buffers, struct.pack("<qqqq", 0, -(1 << 40), 0, 12)))
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "negative.arrow has no results of `elsinore run`" in capsys.readouterr().err


def test_an_arrow_file_with_an_integer_of_128_bits_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _write(tmp_path / "wide.arrow", _results(1))
    # The widths of the two columns of windows.
    width = (64).to_bytes(4, "little")
    content = path.read_bytes()
    assert content.count(b"\x01" + width) >= 2
    path.write_bytes(content.replace(b"\x01" + width, b"\x01" + (128).to_bytes(4, "little")))
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "wide.arrow has no results of `elsinore run`" in capsys.readouterr().err


def test_an_arrow_file_without_a_schema_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "short.arrow"
    path.write_bytes(b"ARROW1\0\0")
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "short.arrow has no results of `elsinore run`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("layout", "columns"),
    [
        (LAYOUT, {"n": pa.array([[1]])}),
        (LAYOUT, {"query": pa.array(["p"])}),
        (LAYOUT, {"query": pa.array([None], pa.string())}),
        (LAYOUT, {"window_start": pa.array([None], pa.int64())}),
        ({}, {}),
        ([1], {}),
        ({"q": {"group": {}}}, {}),
        ({"q": {"group": ["k"], "values": {"n": "n"}}}, {}),
        ({"q": {"group": {}, "values": {"n": "m"}}}, {}),
        ({"q": {"group": {}, "values": {"n": ["n"]}}}, {}),
    ],
)
def test_columns_of_other_content_are_no_results(
    layout: object,
    columns: dict[str, pa.Array],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pq.write_table(pa.table(_results(1, layout, **columns)), path := tmp_path / "other.parquet")
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "other.parquet has no results of `elsinore run`" in capsys.readouterr().err


def test_a_parquet_file_of_another_program_is_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"query": ["q"]}), path := tmp_path / "other.parquet")
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "other.parquet has no results of `elsinore run`" in capsys.readouterr().err


def test_names_texts_and_truth_values_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON, Parquet and Arrow, of two queries whose values of one name have other types."""
    text = """
    QUERY one RETURN k, COUNT(*) AS n, MAX(A.x) > {0} AS large, upper(k) AS title
    PATTERN A GROUP-BY k WITHIN 1 hour;
    QUERY two RETURN AVG(A.x) AS n PATTERN A WHERE A.x < {1} WITHIN 1 hour;
    """
    for name, numbers in (("a", (3, 9)), ("b", (90, 7))):
        Path("w.sase").write_text(text.format(*numbers))
        for form in ("json", "parquet", "arrow"):
            run = ["run", "w.sase", "--schema", "s.yaml", "--input", "e.jsonl"]
            assert run_command([*run, "--output", f"{name}.{form}"]) == 0
    for one, other in product(("json", "parquet", "arrow"), repeat=2):
        capsys.readouterr()
        assert run_command(["diff", f"a.{one}", f"b.{other}"]) == 0
        changes = map(json.loads, capsys.readouterr().out.splitlines())
        found = {(c["query"], c["aggregate"], c["before"], c["after"]) for c in changes}
        assert found == {
            ("one", "large", "true", "false"),
            ("two", "n", "4.222222222222222", "3.2857142857142856"),
        }


def test_numbers_of_too_many_digits_are_no_window(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"query": "q", "group": {}, "window_start": 10**30, "window_end": 1, "values": {"c": 1}}
    path = tmp_path / "wide.jsonl"
    path.write_text(json.dumps(row))
    assert run_command(["diff", str(path), str(path)]) == 2
    assert "wide.jsonl has no results of `elsinore run`" in capsys.readouterr().err
