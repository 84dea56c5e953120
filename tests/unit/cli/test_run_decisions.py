"""`elsinore run --decisions`: what hamlet decided, burst by burst."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

SCHEMA = """
stream: rides
time: {field: time, unit: s}
type: {field: type}
types: {A: {who: string}, B: {who: string}, C: {who: string}}
"""
WORKLOAD = """
QUERY first RETURN who, COUNT(*) PATTERN SEQ(A, B+) GROUP-BY who WITHIN 100 seconds;
QUERY second RETURN who, COUNT(*) PATTERN SEQ(C, B+) GROUP-BY who WITHIN 100 seconds;
"""


START = 946_684_800  # 2000-01-01T00:00:00Z


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.sase").write_text(WORKLOAD)
    lines = [{"time": START + n, "type": kind, "who": "ann"} for n, kind in enumerate("ACBBBABB")]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def run(files: Path, decisions: str, executor: str = "hamlet-static") -> int:
    return run_command(
        ["run", str(files / "w.sase"), "--schema", str(files / "s.yaml"), "--input",
         str(files / "e.jsonl"), "--executor", executor, "--decisions", str(files / decisions)]
    )  # fmt: skip


def test_every_burst_is_named_with_who_shares_it(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A burst for each run of a type: A, C, BBB, A, BB; only those of B belong to both queries."""
    assert run(files, "d.json") == 0
    assert "2 bursts of 1 set: 2 shared by all of their queries, 0 by some" in (
        capsys.readouterr().err
    )
    (found,) = json.loads((files / "d.json").read_text())["sets"]
    assert (found["set"], found["kleene"], found["complete"]) == ("s1", "B", True)
    assert found["queries"] == ["first", "second"]
    assert found["counts"]["bursts"] == 5
    told = [
        (d["type"], d["time"], d["group"], d["b"], d["k"], d["sharing"])
        for d in found["decisions"]
        if d["type"] == "B"
    ]
    assert told == [
        ("B", "2000-01-01T00:00:02.000000Z", ["ann"], 3, 2, ["first", "second"]),
        ("B", "2000-01-01T00:00:06.000000Z", ["ann"], 2, 2, ["first", "second"]),
    ]
    # nothing is weighed where everything is shared
    assert {(d["shared_cost"], d["alone_cost"]) for d in found["decisions"]} == {(None, None)}


def test_costs_decide_and_the_answers_are_the_same(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(files, "d.json", "hamlet") == 0
    dynamic = capsys.readouterr().out
    (found,) = json.loads((files / "d.json").read_text())["sets"]
    for decision in found["decisions"]:
        pays = decision["shared_cost"] <= decision["alone_cost"]
        assert bool(decision["sharing"]) is pays
    assert run(files, "d.svg") == 0
    assert capsys.readouterr().out == dynamic
    assert "<svg" in (files / "d.svg").read_text(encoding="utf-8")


def test_a_run_without_sets_says_so(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "w.sase").write_text(WORKLOAD.split(";", maxsplit=1)[0] + ";")
    assert run(files, "d.json") == 0
    assert "no burst of several queries" in capsys.readouterr().err
    assert json.loads((files / "d.json").read_text()) == {"sets": []}


@pytest.mark.parametrize(
    ("name", "executor", "complaint"),
    [
        ("d.txt", "hamlet", "let it end in .json, .svg or .png"),
        ("d.json", "greta", "--decisions needs --executor hamlet or hamlet-static"),
        ("nowhere/d.json", "hamlet", "cannot write"),
    ],
)
def test_other_endings_executors_and_folders_are_refused(
    files: Path, name: str, executor: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(files, name, executor) == 2
    assert complaint in capsys.readouterr().err
