"""`elsinore run` with the executors aseq and sharon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

SCHEMA = """
stream: purchases
time: {field: time, unit: integer}
type: {field: type}
types: {Laptop: {who: string}, Case: {who: string}, Dock: {who: string}}
"""
WORKLOAD = """
QUERY cased RETURN who, COUNT(*) PATTERN SEQ(Laptop, Case) GROUP-BY who WITHIN 20;
QUERY docked RETURN who, COUNT(*) PATTERN SEQ(Laptop, Case, Dock) GROUP-BY who WITHIN 20;
"""
EVENTS = ["Laptop", "Case", "Laptop", "Case", "Dock"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.sase").write_text(WORKLOAD)
    lines = [{"time": n, "type": kind, "who": "ann"} for n, kind in enumerate(EVENTS)]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def run(files: Path, *more: str) -> int:
    return run_command(
        ["run", str(files / "w.sase"), "--schema", str(files / "s.yaml"), "--input",
         str(files / "e.jsonl"), *more]
    )  # fmt: skip


@pytest.mark.parametrize("executor", ["aseq", "sharon", "greta"])
def test_all_queries_are_answered(
    files: Path, executor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two cases after the first laptop, one after the second: 3, and the dock is after all."""
    assert run(files, "--executor", executor) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["query"], r["group"], r["values"]) for r in rows] == [
        ("cased", {"who": "ann"}, {"COUNT(*)": 3}),
        ("docked", {"who": "ann"}, {"COUNT(*)": 3}),
    ]


def _plan(files: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    arguments = ["plan", str(files / "w.sase"), "--schema", str(files / "s.yaml")]
    assert run_command([*arguments, "--events", str(files / "e.jsonl"), "--json"]) == 0
    (files / "p.json").write_text(capsys.readouterr().out)
    return files / "p.json"


def test_sharon_takes_a_plan(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = _plan(files, capsys)
    assert json.loads(plan.read_text())["chosen"]
    assert run(files, "--executor", "sharon", "--plan", str(plan)) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_plan_for_another_workload_is_refused(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = _plan(files, capsys)
    (files / "w.sase").write_text(WORKLOAD.replace("WITHIN 20", "WITHIN 30"))
    assert run(files, "--executor", "sharon", "--plan", str(plan)) == 1
    assert "found for another workload" in capsys.readouterr().err


def test_a_plan_is_for_sharon_alone(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(files, "--executor", "aseq", "--plan", str(files / "p.json")) == 2
    assert "--plan is for --executor sharon" in capsys.readouterr().err


@pytest.mark.parametrize("executor", ["aseq", "sharon"])
@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("Laptop+", "its pattern is more than a sequence of single events"),
        ("SEQ(Laptop, NOT Dock, Case)", "its pattern is more than a sequence of single events"),
        ("SEQ(Laptop, Case) WHERE Laptop.who != NEXT(Case).who", "a predicate on adjacent events"),
    ],
)
def test_what_they_cannot_run_is_refused_by_name(
    files: Path, executor: str, pattern: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"QUERY odd RETURN COUNT(*) PATTERN {pattern} WITHIN 20;"
    (files / "w.sase").write_text(WORKLOAD + text)
    assert run(files, "--executor", executor) == 2
    error = capsys.readouterr().err
    assert f"{executor} cannot run odd: " in error
    assert reason in error
    assert "cased" not in error
