"""`elsinore run`: answers by each executor, what is set aside, and what is refused by name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from elsinore.cli.main import run_command

SCHEMA = """
stream: rides
time: {field: time, unit: integer}
type: {field: type}
id: {field: id}
types:
  A: {k: string, x: {type: long, nullable: true}}
  B: {k: string, x: {type: long, nullable: true}}
  C: {k: string}
"""
PAIRS = "QUERY pairs RETURN k, COUNT(*), SUM(a.x) PATTERN SEQ(A a+, B) GROUP-BY k WITHIN 60;"
FIXED = """
QUERY two RETURN k, COUNT(*) PATTERN SEQ(A, B) GROUP-BY k WITHIN 20;
QUERY three RETURN k, COUNT(*) PATTERN SEQ(A, B, C) GROUP-BY k WITHIN 20;
"""
SWEPT = """
QUERY many RETURN k, COUNT(*), SUM(B.x) PATTERN SEQ(A, B+) GROUP-BY k WITHIN 20;
QUERY two RETURN k, COUNT(*) PATTERN SEQ(A, B) GROUP-BY k WITHIN 20;
"""
SHARABLE = """
QUERY starts RETURN COUNT(*) PATTERN SEQ(A a, B+) WITHIN 60;
QUERY loops RETURN COUNT(*), COUNT(B) PATTERN B+ WITHIN 60;
QUERY lone RETURN COUNT(*) PATTERN SEQ(A a, NOT A x, B) WITHIN 60;
"""
AMBIGUOUS = "QUERY n RETURN COUNT(x) PATTERN SEQ(A x+, A y+) WITHIN 60;"
EVENTS = [
    {"id": "1", "time": 1, "type": "A", "k": "p", "x": 3},
    {"id": "2", "time": 2, "type": "A", "k": "p", "x": None},
    {"id": "3", "time": 3, "type": "B", "k": "p"},
    {"id": "4", "time": 4, "type": "B", "k": "q"},
]
#: The event of each tick has the tick as `x`.
ABABB, ABABC = (
    [{"id": str(n), "time": n, "type": kind, "k": "p"} | ({"x": n} if kind != "C" else {})
     for n, kind in enumerate(kinds)]
    for kinds in ("ABABB", "ABABC")
)  # fmt: skip


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCHEMA)
    put(EVENTS)


def put(events: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(event) + "\n" for event in events)
    Path("e.jsonl").write_text(text)
    Path("e.jsonl.gz").write_bytes(gzip.compress(text.encode()))


def run(workload: str, *more: str, events: str = "e.jsonl") -> int:
    Path("w.sase").write_text(workload)
    return run_command(["run", "w.sase", "--schema", "s.yaml", "--input", events, *more])


def rows(captured: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line) for line in captured.readouterr().out.splitlines()]


@pytest.mark.parametrize("executor", ["auto", "greta", "twostep"])
@pytest.mark.parametrize("events", ["e.jsonl", "e.jsonl.gz"])
def test_run_answers_from_files(
    executor: str, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(PAIRS, "--executor", executor, events=events) == 0
    assert rows(capsys) == [
        {
            "query": "pairs",
            "group": {"k": "p"},
            "window_start": 0,
            "window_end": 60,
            "values": {"COUNT(*)": 3, "SUM(a.x)": 6},  # (a1 b), (a2 b), (a1 a2 b)
        }
    ]
    assert run(PAIRS, "--output", "out.jsonl") == 0
    assert capsys.readouterr().out == ""
    assert json.loads(Path("out.jsonl").read_text())["values"]["COUNT(*)"] == 3


# ABABC: two b after the first a, one after the second: 3, and the c is after all.
# ABABB: three b after the first a make 7 sets, each b in 4; two after the second: 3, each in 2.
# The sum of x: 4 * (1 + 3 + 4) + 2 * (3 + 4) = 46.
# SHARABLE over EVENTS: two a, three sets of b; a2 with either b, since a1 has a2 in between.
@pytest.mark.parametrize(
    ("workload", "events", "executors", "answers"),
    [
        (FIXED, ABABC, ("aseq", "sharon", "greta"),
         {"two": {"COUNT(*)": 3}, "three": {"COUNT(*)": 3}}),
        (SWEPT, ABABB, ("sweep", "auto", "greta"),
         {"many": {"COUNT(*)": 10, "SUM(B.x)": 46}, "two": {"COUNT(*)": 5}}),
        (SHARABLE, EVENTS, ("hamlet", "hamlet-static"),
         {"starts": {"COUNT(*)": 6}, "loops": {"COUNT(*)": 3, "COUNT(B)": 4},
          "lone": {"COUNT(*)": 2}}),
        ("QUERY q RETURN COUNT(*) PATTERN SEQ(B, A, A a) WITHIN 3;", EVENTS, ("sweep",), {}),
    ],
)  # fmt: skip
def test_queries_that_share_are_answered_with_those_beside_them(
    workload: str, events: list[dict[str, Any]], executors: tuple[str, ...],
    answers: dict[str, Any], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    put(events)
    for executor in executors:
        assert run(workload, "--executor", executor) == 0
        assert {row["query"]: row["values"] for row in rows(capsys)} == answers


@pytest.mark.parametrize("executor", ["greta", "twostep"])
@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.parquet"])
def test_contiguous_reads_the_keys_of_types_outside_of_the_pattern(
    name: str, executor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """c2 is in another partition than a1 and a3; c12 separates a11 from a13."""
    found = ((1, "A", "p"), (2, "C", "q"), (3, "A", "p"), (11, "A", "p"), (12, "C", "p"))
    put(
        [{"id": f"{t}", "time": t, "type": kind, "k": k} for t, kind, k in (*found, (13, "A", "p"))]
    )
    lines = map(json.loads, Path("e.jsonl").read_text().splitlines())
    table = pa.Table.from_pylist([*lines])
    pyarrow.csv.write_csv(table, "e.csv")
    pyarrow.parquet.write_table(table, "e.parquet")
    query = (
        "QUERY q RETURN COUNT(*) PATTERN SEQ(A+, NOT B) WHERE [k] WITHIN 10 SEMANTICS contiguous;"
    )
    assert run(query, "--executor", executor, events=name) == 0
    assert [row["values"]["COUNT(*)"] for row in rows(capsys)] == [3, 2]


def test_bad_lines_are_set_aside_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    times = (2**62, 2**63 - 1, -(2**70))
    late = [{"id": f"l{at}", "time": at, "type": "B", "k": "p"} for at in times]
    put([*EVENTS, *late])
    with Path("e.jsonl").open("a") as out:
        out.write("{broken\n")
    assert run(PAIRS, "--quarantine", "bad.jsonl", "--max-error-rate", "0.5") == 0
    told = capsys.readouterr()
    assert "4 of 8 records rejected (1 bad_json, 3 time_out_of_range)" in told.err
    assert len(told.out.splitlines()) == 1
    *kept, broken = (json.loads(line) for line in Path("bad.jsonl").read_text().splitlines())
    reasons = [row["reason"] for row in kept]
    assert all("-4611686018427387904 to 4611686018427387903" in reason for reason in reasons)
    assert broken["record_number"] == 8
    assert run(PAIRS, "--max-error-rate", "0.1") == 1


@pytest.mark.parametrize(
    ("pattern", "executors", "reason", "hint"),
    [
        ("COUNT(x) PATTERN SEQ(A x+, A y+)", ("greta", "hamlet", "hamlet-static"),
         "one event of a trend can match x or y, but COUNT(x) counts only x", ""),
        ("COUNT(x) PATTERN SEQ(A x+, A y+)", ("sharon",), "", "use --executor twostep"),
        ("COUNT(*) PATTERN A+", ("aseq", "sharon"),
         "its pattern is more than a sequence of single events", "use --executor greta"),
        ("COUNT(*) PATTERN SEQ(A, NOT C, B)", ("aseq", "sharon"),
         "its pattern is more than a sequence of single events", "use --executor greta"),
        ("COUNT(*) PATTERN SEQ(A, B) WHERE A.k != NEXT(B).k", ("aseq", "sharon"),
         "a predicate on adjacent events", "use --executor greta"),
        ("COUNT(*) PATTERN SEQ(A, NOT C, B)", ("sweep",), "", "use --executor greta"),
        ("COUNT(*) PATTERN SEQ(A, B) WHERE A.x < NEXT(B).x", ("sweep",),
         "an edge predicate looks at pairs of events", ""),
    ],
)  # fmt: skip
def test_what_an_executor_cannot_run_is_refused_by_name(
    pattern: str, executors: tuple[str, ...], reason: str, hint: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    for executor in executors:
        assert run(f"{FIXED} QUERY odd RETURN {pattern} WITHIN 60;", "--executor", executor) == 2
        out, error = capsys.readouterr()
        assert (out, "cannot run two" in error) == ("", False)
        assert f"{executor} cannot run odd: " in error
        assert reason in error
        assert hint in error


def test_auto_says_at_once_what_it_leaves_to_twostep(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before anything is read: there is no such file."""
    others = "QUERY m RETURN COUNT(x) PATTERN SEQ(A x+, A y+) WHERE x.x > 0 AND y.x <= 0 WITHIN 60;"
    assert run(AMBIGUOUS + others, events="none.jsonl") == 2
    said, failed = capsys.readouterr().err.splitlines()
    assert said == (
        "elsinore: n runs on twostep, which builds every trend and may take very long; greta "
        "cannot run it: one event of a trend can match x or y, but COUNT(x) counts only x"
    )
    assert "no such file" in failed
    assert run(AMBIGUOUS) == 0
    assert [row["values"] for row in rows(capsys)] == [{"COUNT(x)": 1}]  # (a1, a2)


def test_sharon_takes_a_plan_of_its_workload_and_nobody_else_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(ABABC)
    Path("w.sase").write_text(FIXED)
    plan = ["plan", "w.sase", "--schema", "s.yaml", "--events", "e.jsonl"]
    assert run_command(plan) == 0
    assert "(A, B)" in capsys.readouterr().out
    assert run_command([*plan, "--json"]) == 0
    Path("p.json").write_text(capsys.readouterr().out)
    assert json.loads(Path("p.json").read_text())["chosen"]
    assert run(FIXED, "--executor", "sharon", "--plan", "p.json") == 0
    assert len(rows(capsys)) == 2
    other = FIXED.replace("WITHIN 20", "WITHIN 30")
    assert run(other, "--executor", "sharon", "--plan", "p.json") == 1
    assert "found for another workload" in capsys.readouterr().err
    assert run(FIXED, "--executor", "aseq", "--plan", "p.json") == 2
    assert "--plan needs --executor sharon" in capsys.readouterr().err
