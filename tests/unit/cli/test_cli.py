"""The command line: answers, exit codes, and one line for each error."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

SCHEMA = """
stream: rides
time: {field: time, unit: integer}
type: {field: type}
id: {field: id}
types:
  A: {k: string, x: {type: long, nullable: true}}
  B: {k: string}
"""
WORKLOAD = """
QUERY pairs RETURN k, COUNT(*), SUM(a.x) PATTERN SEQ(A a+, B) GROUP-BY k WITHIN 60;
"""
EVENTS = [
    {"id": "1", "time": 1, "type": "A", "k": "p", "x": 3},
    {"id": "2", "time": 2, "type": "A", "k": "p", "x": None},
    {"id": "3", "time": 3, "type": "B", "k": "p"},
    {"id": "4", "time": 4, "type": "B", "k": "q"},
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.sase").write_text(WORKLOAD)
    text = "".join(json.dumps(event) + "\n" for event in EVENTS)
    (tmp_path / "e.jsonl").write_text(text)
    (tmp_path / "e.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def run(files: Path, *more: str, events: str = "e.jsonl", workload: str = "w.sase") -> int:
    return run_command(
        ["run", str(files / workload), "--schema", str(files / "s.yaml"), "--input",
         str(files / events), *more]
    )  # fmt: skip


@pytest.mark.parametrize("executor", ["auto", "greta", "twostep"])
@pytest.mark.parametrize("events", ["e.jsonl", "e.jsonl.gz"])
def test_run_answers_from_files(
    files: Path, executor: str, events: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(files, "--executor", executor, events=events) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "query": "pairs",
        "group": {"k": "p"},
        "window_start": 0,
        "window_end": 60,
        "values": {"COUNT(*)": 3, "SUM(a.x)": 6},  # (a1 b), (a2 b), (a1 a2 b)
    }


def test_output_goes_to_a_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(files, "--output", str(files / "out.jsonl")) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((files / "out.jsonl").read_text())["values"]["COUNT(*)"] == 3


def test_bad_lines_are_set_aside_and_kept(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (files / "e.jsonl").open("a") as out:
        out.write("{broken\n")
    assert run(files, "--quarantine", str(files / "bad.jsonl"), "--max-bad-share", "0.5") == 0
    assert "1 of 5 lines set aside" in capsys.readouterr().err
    assert json.loads((files / "bad.jsonl").read_text())["position"] == 5
    assert run(files, "--max-bad-share", "0.1") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nonsense"], 2, "nonsense"),
        (["run", "w.sase"], 2, "--schema"),
        (["check", "missing.sase", "--schema", "missing.yaml"], 2, "cannot read missing.yaml"),
        (["plan", "w.sase", "--schema", "s.yaml"], 2, "--rates FILE or --events FILE"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == code
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


@pytest.mark.timeout(1200)  # compiles the kernels where they are not in the cache
@pytest.mark.parametrize("executor", ["hamlet", "hamlet-static"])
def test_hamlet_runs_sets_of_sharable_queries_and_others_beside(
    files: Path, executor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "three.sase").write_text(
        "QUERY starts RETURN COUNT(*) PATTERN SEQ(A a, B+) WITHIN 60;"
        "QUERY loops RETURN COUNT(*), COUNT(B) PATTERN B+ WITHIN 60;"
        "QUERY lone RETURN COUNT(*) PATTERN SEQ(A a, NOT A x, B) WITHIN 60;"
    )
    assert run(files, "--executor", executor, workload="three.sase") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["query"]: row["values"] for row in rows} == {
        "starts": {"COUNT(*)": 6},  # two a, three sets of B
        "loops": {"COUNT(*)": 3, "COUNT(B)": 4},
        "lone": {"COUNT(*)": 2},  # a2 with either B; a1 has a2 in between
    }


def test_greta_refuses_by_name_what_auto_gives_to_twostep(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "n.sase").write_text("QUERY n RETURN COUNT(x) PATTERN SEQ(A x+, A y+) WITHIN 60;")
    reason = "one event of a trend can stand for x or y, and COUNT(x) counts only x"
    for executor in ("greta", "hamlet", "hamlet-static"):
        assert run(files, "--executor", executor, workload="n.sase") == 2
        assert f"{executor} cannot run n: {reason}" in capsys.readouterr().err
    assert run(files, "--executor", "auto", workload="n.sase") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["values"] == {"COUNT(x)": 1}  # (a1, a2)


def test_auto_says_at_once_what_it_leaves_to_twostep(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read: there is no such file."""
    (files / "n.sase").write_text(
        "QUERY n RETURN COUNT(x) PATTERN SEQ(A x+, A y+) WITHIN 60;"
        "QUERY m RETURN COUNT(x) PATTERN SEQ(A x+, A y+) WHERE x.x > 0 AND y.x <= 0 WITHIN 60;"
    )
    assert run(files, workload="n.sase", events="none.jsonl") == 1
    said, failed = capsys.readouterr().err.splitlines()
    assert said == (
        "elsinore: n is left to twostep, which builds every trend and may take very long; greta "
        "cannot run it: one event of a trend can stand for x or y, and COUNT(x) counts only x"
    )
    assert "no such file" in failed


@pytest.mark.parametrize(
    ("pattern", "executor", "other"),
    [
        ("COUNT(*) PATTERN SEQ(A a+, B)", "aseq", "greta"),
        ("COUNT(*) PATTERN SEQ(A a, NOT A x, B)", "sweep", "greta"),
        ("COUNT(x) PATTERN SEQ(A x+, A y+)", "sharon", "twostep"),
    ],
)
def test_a_refusal_says_who_can_run_the_query(
    files: Path, pattern: str, executor: str, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "r.sase").write_text(f"QUERY r RETURN {pattern} WITHIN 60;")
    assert run(files, "--executor", executor, workload="r.sase") == 2
    error = capsys.readouterr().err
    assert f"{executor} cannot run r: " in error
    assert f"{other} can run it" in error


def test_times_out_of_range_are_set_aside_with_the_range(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = [{"id": "l", "time": 2**62, "type": "B", "k": "p"},
            {"id": "m", "time": 2**63 - 1, "type": "B", "k": "p"},
            {"id": "n", "time": -(2**70), "type": "B", "k": "p"}]  # fmt: skip
    with (files / "e.jsonl").open("a") as out:
        out.write("".join(json.dumps(event) + "\n" for event in late))
    kept = files / "bad.jsonl"
    assert run(files, "--quarantine", str(kept), "--max-bad-share", "0.5") == 0
    told = capsys.readouterr()
    assert "3 of 7 lines set aside (3 time_out_of_range)" in told.err
    assert len(told.out.splitlines()) == 1
    reasons = [json.loads(line)["reason"] for line in kept.read_text().splitlines()]
    assert all("-4611686018427387904 to 4611686018427387903" in reason for reason in reasons)


def test_plan_from_events(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "two.sase").write_text(
        "QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 60;"
        "QUERY q2 RETURN COUNT(*) PATTERN SEQ(A, B, A a2) WITHIN 60;"
    )
    arguments = ["plan", str(files / "two.sase"), "--schema", str(files / "s.yaml"), "--events"]
    assert run_command([*arguments, str(files / "e.jsonl"), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [candidate["pattern"] for candidate in plan["candidates"]] == [["A", "B"]]
    assert run_command([*arguments, str(files / "e.jsonl")]) == 0
    assert "(A, B)" in capsys.readouterr().out


def test_a_run_loads_no_solver_no_lake_and_no_pictures(files: Path) -> None:
    """Each costs more than the answer; `elsinore run` should take no longer than it must."""
    arguments = ["run", str(files / "w.sase"), "--schema", str(files / "s.yaml"), "--input",
                 str(files / "e.jsonl")]  # fmt: skip
    code = (
        "import sys; from elsinore.cli.main import run_command; "
        f"code = run_command({arguments!r}); "
        "print(code, *sorted({'scipy.optimize', 'matplotlib', 'deltalake', 'pyspark', 'airflow',"
        " 'great_expectations'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[1:] == ["0"]


@pytest.mark.parametrize("command", ["check", "plan", "explain", "land", "generate", "replay"])
def test_every_command_has_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([command, "--help"]) == 0
    assert f"elsinore {command}" in capsys.readouterr().out
