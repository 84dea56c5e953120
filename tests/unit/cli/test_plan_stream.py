"""`elsinore plan --events`: what the stream looked like, beside the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

SCHEMA = """
stream: rides
time: {field: time, unit: integer}
type: {field: type}
types:
  A: {k: string, x: long}
  B: {k: string, x: long}
"""
WORKLOAD = """
QUERY q1 RETURN COUNT(*) PATTERN SEQ(B, A a+)
WHERE [k] AND a.x > 1 AND a.x < NEXT(a).x WITHIN 10;
QUERY q2 RETURN COUNT(*) PATTERN A a+ WHERE [k] AND a.x < NEXT(a).x WITHIN 10 SLIDE 5;
"""
#: Time, type, k, x: two panes of five ticks.
EVENTS = [(0, "B", "p", 0), (1, "A", "p", 1), (2, "A", "p", 2), (3, "A", "p", 3), (5, "A", "q", 1)]


def test_the_stream_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.sase").write_text(WORKLOAD)
    lines = [json.dumps(dict(zip(("time", "type", "k", "x"), e, strict=True))) for e in EVENTS]
    (tmp_path / "e.jsonl").write_text("\n".join(lines))
    files = [str(tmp_path / name) for name in ("w.sase", "s.yaml", "e.jsonl")]
    arguments = ["plan", files[0], "--schema", files[1], "--events", files[2]]
    assert run_command(arguments) == 0
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines()]
    assert "Events per pane of 5 ticks" in printed
    assert "Nothing to share: no two queries have a segment in common" in printed
    # Three of A in the first pane, one in the second; least, mean, median, most.
    assert ["A", "1", "2", "2", "3"] in rows
    # Bursts of A: 1, 2, 3 of p, 1 of q.
    assert ["A", "k", "5 ticks", "q1, q2", "2", "2", "2", "3"] in rows
    assert ["A.x > 1", "q1", "4", "50.0%"] in rows
    # q1: (2, 3); q2: all three pairs of 1, 2, 3.
    assert ["A.x < NEXT(A).x", "q1", "1 pair", "100.0%"] in rows
    assert ["A.x < NEXT(A).x", "q2", "3 pairs", "100.0%"] in rows
    assert ["k", "2", "2.5", "2.5", "4", "80.0%"] in rows
    assert run_command([*arguments, "--json"]) == 0
    assert "candidates" in json.loads(capsys.readouterr().out)
