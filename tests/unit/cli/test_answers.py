"""What `elsinore run` writes: formats, exact integers, tables, and why there is no answer."""

from __future__ import annotations

import io
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv, ipc

from elsinore.choices import InputFormat
from elsinore.cli import answers
from elsinore.cli.main import run_command
from elsinore.safe_files import resolve_own_links

SCHEMA = """
stream: rides
time: {field: time, unit: iso}
type: {field: type}
types: {A: {k: string, x: {type: long, nullable: true}}, B: {}, C: {}}
"""
WORKLOAD = """
QUERY some RETURN k, COUNT(*), AVG(A.x) PATTERN A+ GROUP-BY k WITHIN 1 hour;
QUERY none RETURN COUNT(*) PATTERN SEQ(A, C?, B) WITHIN 1 hour;
"""
#: Trends of n events are 2^n - 1.
SIZES = {"one": 1, "two": 2, "sixty": 64, "many": 140}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCHEMA)
    Path("w.sase").write_text(WORKLOAD)
    put(["one", "two"])


def put(groups: list[str]) -> None:
    events = [
        {"time": f"2020-01-01T10:{n // 60:02}:{n % 60:02}Z", "type": "A", "k": name, "x": n}
        for name in groups
        for n in range(SIZES[name])
    ]
    Path("e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def run(*more: str, events: str = "e.jsonl") -> int:
    return run_command(["run", "w.sase", "--schema", "s.yaml", "--input", events, *more])


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        (["one", "two"], pa.int64()),
        (["one", "sixty"], pa.decimal128(38)),
        (["two", "many"], pa.decimal256(76)),
    ],
)
def test_files_hold_every_integer_in_full(groups: list[str], kind: pa.DataType) -> None:
    put(groups)
    for name in ("o.parquet", "o.arrow", "o.csv"):
        assert run("--output", name) == 0
    table = pq.read_table("o.parquet")
    assert table.column_names == [
        "query", "window_start", "window_end", "k", "COUNT(*)", "AVG(A.x)",
    ]  # fmt: skip
    assert table.schema.field("COUNT(*)").type == kind
    assert table.schema.field("window_start").type == pa.timestamp("us", "UTC")
    assert ipc.open_file("o.arrow").read_all().equals(table)
    counts = {row["k"]: int(row["COUNT(*)"]) for row in table.to_pylist() if row["COUNT(*)"]}
    assert counts == {name: 2 ** SIZES[name] - 1 for name in groups}
    from_csv = csv.read_csv(
        "o.csv", convert_options=csv.ConvertOptions(column_types={"COUNT(*)": pa.string()})
    ).to_pylist()
    assert {row["k"]: int(row["COUNT(*)"]) for row in from_csv} == counts
    asked = """SELECT sum("AVG(A.x)") FROM 'o.parquet'"""
    averages = sum((SIZES[name] - 1) / 2 for name in groups)
    assert duckdb.sql(asked).fetchall() == [(averages,)]


def test_csv_has_a_column_per_group_attribute_and_aggregate() -> None:
    Path("w.sase").write_text(
        "QUERY some RETURN k, COUNT(*), AVG(A.x) PATTERN A+ GROUP-BY k WITHIN 1 hour;\n"
        "QUERY other RETURN query, MAX(A.time) PATTERN A GROUP-BY query WITHIN 1 hour;\n"
    )
    Path("s.yaml").write_text(SCHEMA.replace("k: string", "k: string, query: string"))
    events = [
        {"time": "2020-01-01T10:20:30.5Z", "type": "A", "k": k, "query": "=1+1", "x": x}
        for k, x in (("one, or", 2), ('"two"', None))
    ]
    Path("e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert run("--output", "o.csv") == 0
    assert Path("o.csv").read_text().splitlines() == [
        '"query","window_start","window_end","query_","k","MAX(A.time)","COUNT(*)","AVG(A.x)"',
        '"other","2020-01-01 10:00:00","2020-01-01 11:00:00","\'=1+1",,'
        '"2020-01-01 10:20:30.500000",,',
        '"some","2020-01-01 10:00:00","2020-01-01 11:00:00",,"""two""",,1,',
        '"some","2020-01-01 10:00:00","2020-01-01 11:00:00",,"one, or",,1,2',
    ]


def test_a_stream_without_a_calendar_has_ticks(capsysbinary: Any) -> None:
    Path("s.yaml").write_text(SCHEMA.replace("iso", "integer"))
    Path("w.sase").write_text("QUERY q RETURN COUNT(*) PATTERN B+ WITHIN 10;")
    Path("e.jsonl").write_text('{"type": "B", "time": 3}\n')
    assert run("--format", "arrow") == 0
    table = ipc.open_file(capsysbinary.readouterr().out).read_all()
    assert table.to_pylist() == [{"query": "q", "window_start": 0, "window_end": 10, "COUNT(*)": 1}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--output", "o.xlsx"], [".csv, .parquet, .arrow", "--format"]),
        (["--format", "xml"], ["'xml'", "table", "parquet"]),
        (["--output", "nowhere/o.csv"], ["cannot write nowhere/o.csv"]),
        (["--top", "0"], ["'--top'"]),
    ],
)
def test_what_cannot_be_written_is_refused(
    more: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*more) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert [word for word in words if word not in error] == []
    assert not list(Path().glob("o.*"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--output", "e.jsonl"], "--output e.jsonl is also an input (write to another file)"),
        (["--quarantine", "w.sase"], "--quarantine w.sase is also an input"),
        (["--decisions", "link.json"], "--decisions link.json is also an input"),
        (["--input", "in", "--output", "in/a.json"], "--output in/a.json is also an input"),
        (
            ["--output", "o", "--quarantine", "./o"],
            "--output and --quarantine name the same file: o",
        ),
    ],
)
def test_what_is_read_is_not_written_to(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in").mkdir()
    for name in ("in/a.json", "in/_old.json"):
        Path(name).touch()
    Path("link.json").symlink_to("s.yaml")
    files = {path: path.read_bytes() for path in Path().rglob("*.*")}
    assert run(*more) == 2
    assert f"elsinore: {said}" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path().rglob("*.*")} == files
    assert run("--input", "in", "--output", "in/_old.json") == 0
    assert run("--output", "/dev/null", "--quarantine", "/dev/null") == 0


def test_what_is_open_is_written_on() -> None:
    """As a shell opens it after `>>`."""
    with open("log", "ab") as log:
        log.write(b"before\n")
        log.flush()
        assert run("--output", f"/dev/fd/{log.fileno()}") == 0
    first, *answers = Path("log").read_text().splitlines()
    assert (first, len(answers)) == ("before", 2)


def test_a_file_that_is_replaced_keeps_its_mode() -> None:
    Path("o.csv").touch(0o600)
    assert run("--output", "o.csv") == 0
    assert Path("o.csv").stat().st_mode & 0o777 == 0o600
    Path("o.csv").chmod(0o6755)
    assert run("--output", "o.csv") == 0
    assert Path("o.csv").stat().st_mode & 0o7777 == 0o644


def test_no_file_is_overwritten_by_a_link_next_to_the_output() -> None:
    """In a directory such as /tmp others could put links under names that can be computed."""
    Path("victim").write_text("precious")
    for name in (f".o.csv.{os.getpid()}", ".o.csv.part", "o.csv.part"):
        Path(name).symlink_to("victim")
    Path("o.csv").write_text("old")
    Path("o.csv").chmod(0o640)
    assert run("--output", "o.csv") == 0
    assert Path("victim").read_text() == "precious"
    assert Path("o.csv").stat().st_mode & 0o777 == 0o640


OF_ANOTHER = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")


@OF_ANOTHER
@pytest.mark.parametrize("output", ["shared/o.json", "shared/d/v.json", "own/shared/o.json"])
@pytest.mark.parametrize("option", ["--output", "--quarantine"])
def test_no_output_follows_a_link_of_another_user(
    output: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("v.json").write_text("precious")
    Path("shared").mkdir()
    Path("shared").chmod(0o1777)
    for name, target in (("o.json", "../v.json"), ("d", "..")):
        Path("shared", name).symlink_to(target)
        os.lchown(f"shared/{name}", 65534, -1)
    Path("own").symlink_to(".")
    assert run(option, output) == 2
    assert "is a symbolic link of user 65534 (use a directory" in capsys.readouterr().err
    assert Path("v.json").read_text() == "precious"


@OF_ANOTHER
def test_no_output_follows_a_link_that_was_made_after_the_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("v.json").write_text("precious")
    Path("shared").mkdir()
    Path("shared").chmod(0o1777)

    def swapped(path: Path) -> Path:
        resolved = resolve_own_links(path)
        path.symlink_to("../v.json")
        os.lchown(path, 65534, -1)
        return resolved

    monkeypatch.setattr(answers, "resolve_own_links", swapped)
    assert run("--output", "shared/o.json") == 0
    assert Path("v.json").read_text() == "precious"
    assert not Path("shared/o.json").is_symlink()


@OF_ANOTHER
def test_no_output_goes_to_a_pipe_of_another_user(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shared").mkdir()
    Path("shared").chmod(0o1777)
    os.mkfifo("shared/o.json")
    os.chown("shared/o.json", 65534, -1)
    reader = os.open("shared/o.json", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("--output", "shared/o.json") == 2
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)
    error = capsys.readouterr().err
    assert "shared/o.json is a pipe or device of user 65534 (use a directory" in error


def test_a_pipe_that_becomes_a_file_is_not_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("o.json").write_text("precious")
    monkeypatch.setattr(answers, "is_special", lambda _: True)
    assert run("--output", "o.json") == 2
    assert Path("o.json").read_text() == "precious"


def test_an_output_follows_links_of_its_user(tmp_path: Path) -> None:
    Path("shared").mkdir()
    Path("shared").chmod(0o1777)
    Path("target.csv").touch()
    Path("shared/o.csv").symlink_to(tmp_path / "target.csv")
    assert run("--output", "shared/o.csv") == 0
    assert Path("target.csv").stat().st_size
    Path("loop.csv").symlink_to("loop.csv")
    assert run("--output", "loop.csv") == 2


@OF_ANOTHER
def test_no_output_has_the_mode_that_another_user_chose() -> None:
    Path("o.csv").touch()
    os.chown("o.csv", 65534, -1)
    Path("o.csv").chmod(0o6777)
    assert run("--output", "o.csv") == 0
    assert Path("o.csv").stat().st_mode & 0o6002 == 0


@pytest.mark.parametrize("arguments", [[], ["diff", "a.json", "a.json"], ["sql", "SELECT 1"]])
def test_a_closed_standard_output_is_said(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert (run_command(arguments) if arguments else run()) == 2
    said = "elsinore: standard output is closed (add --output FILE)\n"
    assert capsys.readouterr().err == said
    assert run("--output", "o.csv") == 0


def test_top_leaves_the_largest_of_each_query(capsys: pytest.CaptureFixture[str]) -> None:
    put([*SIZES])
    assert run("--top", "2") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["group"]["k"] for row in rows] == ["many", "sixty"]


def test_a_table_has_digits_in_full_and_says_what_it_leaves_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    put([*SIZES])
    assert run("--format", "table", "--top", "3") == 0
    out, error = capsys.readouterr()
    title, head, *body, more, empty = (line.rstrip() for line in out.splitlines())
    assert title == "some: 4 rows, largest COUNT(*) first"
    assert head.split() == ["from", "until", "k", "COUNT(*)", "AVG(A.x)"]
    assert [line[42:].split(maxsplit=1) for line in body] == [
        ["many", "1.39e42 (43 digits)      69.5"],
        ["sixty", "18,446,744,073,709,551,615      31.5"],
        ["two", "3       0.5"],
    ]
    assert all(line.startswith("2020-01-01 10:00:00  2020-01-01 11:00:00") for line in body)
    assert (more, empty) == ("and 1 more: --top 4 shows all, --output FILE.csv writes all", "")
    assert "elsinore: 207 events, 4 rows of 2 queries, " in error


def test_a_terminal_gets_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """One 70 columns wide."""
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    mine, its = pty.openpty()
    with os.fdopen(mine, "rb", buffering=0) as screen, os.fdopen(its, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        assert run() == 0
        terminal.flush()
        shown = screen.read(1 << 16).decode()
    assert "some: 2 rows" in shown
    assert "AVG(A.x)" in shown
    assert "{" not in shown


EMPTY = "no results, because the input has no events: 1 file read"


@pytest.mark.parametrize(
    ("query", "text", "more", "said"),
    [
        ("A", "", [], f"{EMPTY}, it is empty"),
        ("A", "\n  \n", [], f"{EMPTY}, it is empty"),
        ("A", '{"a": 1}\n', ["--max-error-rate", "1"], f"{EMPTY}, every record was rejected"),
        ("SEQ(A, B)", None, [], "q has no row: the input has no event of type B"),
        ("SEQ(A, B b OR SEQ(C, B c))", None, [], "q has no row: the input has no event of type B"),
        ("SEQ(A, B?, C*, A a)", None, [], "but no match"),
        ("SEQ(A, NOT B, A a) WHERE A.time = a.time", None, [], "reads several events: A, a"),
        ("A+ WHERE A.x > 99", None, [], "none of 3 events of type A has A.x > 99"),
        ("A OR SEQ(A b, A c) WHERE A.x > 99 AND b.x > c.x", None, [], "reads several events: b, c"),
        ("A OR SEQ(A b, A c) WHERE A.x > 99 AND b.x > NEXT(c).x", None, [], "but no match"),
    ],
)
def test_no_answer_says_why(
    query: str, text: str | None, more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern, *where = query.split(" WHERE ")
    clause = f"WHERE {where[0]}" if where else ""
    Path("w.sase").write_text(
        f"QUERY q RETURN COUNT(*) PATTERN {pattern} {clause} WITHIN 1 second;"
    )
    if text is not None:
        Path("e.jsonl").write_text(text)
    run(*more)
    out, error = capsys.readouterr()
    assert out == ""
    assert said in error


def run_on(given: bytes, *more: str) -> int:
    """`run` with a pipe as standard input."""
    before, (its, mine) = os.dup(0), os.pipe()
    with os.fdopen(mine, "wb") as pipe:
        pipe.write(given)
    os.dup2(its, 0)
    try:
        return run(*more, events="-")
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(its)


def test_standard_input_is_read_in_each_format(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.loads(line) for line in Path("e.jsonl").read_text().splitlines()]
    table = pa.Table.from_pylist(lines)
    packed, plain = io.BytesIO(), io.BytesIO()
    pq.write_table(table, packed)
    csv.write_csv(table, plain)
    written = {"jsonl": Path("e.jsonl").read_bytes(), "csv": plain.getvalue()}
    written["parquet"] = packed.getvalue()
    assert written.keys() == {*InputFormat}
    answers = set()
    for form, given in written.items():
        assert run_on(given, "--input-format", form) == 0
        out, error = capsys.readouterr()
        assert "elsinore: 3 events, 2 rows of 2 queries" in error
        answers.add(out)
    assert len(answers) == 1
    assert run_on(b"") == 2
    assert "--input-format jsonl" in capsys.readouterr().err


def test_what_lies_beside_the_events_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in").mkdir()
    Path("e.jsonl").rename("in/e.jsonl")
    for name in ("notes.txt", "e.tsv", "_SUCCESS", ".hidden"):
        Path("in", name).touch()
    assert run(events="in") == 0
    error = capsys.readouterr().err
    assert "2 files skipped, not an event file: e.tsv, notes.txt" in error


def test_no_rows_have_the_types_of_rows_and_no_sign_moves_the_cursor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    put([*SIZES])
    Path("w.sase").write_text("QUERY q RETURN COUNT(*) PATTERN A WHERE A.x < 0 WITHIN 1 hour;")
    assert run("--output", "none.parquet") == 0
    assert pq.read_schema("none.parquet").field("window_start").type == pa.timestamp("us", "UTC")
    assert pq.read_table("none.parquet").num_rows == 0
    Path("w.sase").write_text("QUERY q RETURN k, COUNT(*) PATTERN A GROUP-BY k WITHIN 1 hour;")
    line = {"type": "A", "time": "2020-01-01T10:00:00Z", "k": "\x1b[31mred\nline"}
    Path("e.jsonl").write_text(json.dumps(line) + "\n")
    assert run("--format", "table") == 0
    assert r"\x1b[31mred\nline" in capsys.readouterr().out
