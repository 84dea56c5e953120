"""`elsinore run --executor sweep`, and that `auto` sweeps what it can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

SCHEMA = """
stream: purchases
time: {field: time, unit: integer}
type: {field: type}
types: {Laptop: {who: string, price: long}, Case: {who: string, price: long}}
"""
WORKLOAD = """
QUERY cases RETURN who, COUNT(*), SUM(Case.price) PATTERN SEQ(Laptop, Case+)
  GROUP-BY who WITHIN 20;
QUERY fixed RETURN who, COUNT(*) PATTERN SEQ(Laptop, Case) GROUP-BY who WITHIN 20;
"""
EVENTS = ["Laptop", "Case", "Laptop", "Case", "Case"]


def run(tmp_path: Path, workload: str, *more: str) -> int:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.sase").write_text(workload)
    lines = [{"time": n, "type": kind, "who": "ann", "price": n} for n, kind in enumerate(EVENTS)]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run_command(
        ["run", str(tmp_path / "w.sase"), "--schema", str(tmp_path / "s.yaml"), "--input",
         str(tmp_path / "e.jsonl"), *more]
    )  # fmt: skip


@pytest.mark.parametrize("executor", ["sweep", "auto", "greta"])
def test_all_queries_are_answered(
    tmp_path: Path, executor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cases at 1, 3, 4 follow the first laptop: 7 sets of them, each case in 4; at 3, 4 the second.

    The sum of prices: 4 * (1 + 3 + 4) + 2 * (3 + 4) = 46.
    """
    assert run(tmp_path, WORKLOAD, "--executor", executor) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["query"], r["values"]) for r in rows] == [
        ("cases", {"COUNT(*)": 10, "SUM(Case.price)": 46}),
        ("fixed", {"COUNT(*)": 5}),
    ]


def test_what_looks_at_pairs_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = WORKLOAD.replace(
        "SEQ(Laptop, Case)", "SEQ(Laptop, Case) WHERE Laptop.price < NEXT(Case).price"
    )
    assert run(tmp_path, text, "--executor", "sweep") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "sweep cannot run fixed: an edge predicate looks at pairs of events" in told.err


def test_nothing_to_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(Case, Laptop, Laptop l) WITHIN 3;"
    assert run(tmp_path, text, "--executor", "sweep") == 0
    assert capsys.readouterr().out == ""
