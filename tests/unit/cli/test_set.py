"""`--set` of the commands, and `params` of the library and of test cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import elsinore
from elsinore.cli.main import run_command
from elsinore.errors import QueryError

SCHEMA = """
stream: letters
time: {field: time, unit: integer}
type: {field: type}
types: {A: {v: long, s: {type: string, nullable: true}, b: {type: boolean, nullable: true}}}
"""
QUERY = "QUERY q RETURN COUNT(*) PATTERN A+ WHERE A.v >= $least WITHIN 10;"
PARAM = "PARAM least long DEFAULT 1;\n"
EVENTS = [{"type": "A", "time": time, "v": time} for time in range(4)]
RUN = ["run", "w.sase", "--schema", "s.yaml", "--input", "e.json"]
CASES = """
schema: {A: {v: long}}
query: PARAM least long; QUERY q RETURN COUNT(*) PATTERN A+ WHERE A.v >= $least WITHIN 10
events: a0(v=0) a1(v=1) a2(v=2) a3(v=3)
params: {least: 2}
cases:
  - rows: [[0, 10, {COUNT(*): 3}]]
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCHEMA, encoding="utf-8")
    Path("w.sase").write_text(PARAM + QUERY, encoding="utf-8")
    Path("e.json").write_text("\n".join(map(json.dumps, EVENTS)), encoding="utf-8")


def run(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, int]:
    assert run_command([*RUN, *options]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["query"]: row["values"]["COUNT(*)"] for row in rows}


def test_run_sets_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys) == {"q": 7}
    assert run(capsys, "--set", "least=2") == {"q": 3}
    assert run(capsys, "--set", "least=0, 2,3") == {"q[0]": 15, "q[2]": 3, "q[3]": 1}


@pytest.mark.parametrize("command", ["check", "run"])
def test_an_unused_parameter_has_a_warning(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    Path("w.sase").write_text("PARAM more double DEFAULT 1;\n" + PARAM + QUERY, encoding="utf-8")
    assert run_command(["check", *RUN[1:4]] if command == "check" else RUN) == 0
    warning = "warning: w.sase:1:7: no query uses the parameter more"
    assert warning in capsys.readouterr().err


def test_check_lists_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", *RUN[1:4], "--set", "least=2,3"]) == 0
    out = capsys.readouterr().out
    assert "q[2]\n  parameters   least = 2\n" in out
    assert "2 queries are valid" in out
    assert run_command(["check", *RUN[1:4], "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["parameters"] == {"least": "1"}


def test_plan_and_explain_take_values(capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--events", "e.json", "--set", "least=1,2"]
    assert run_command(["plan", *RUN[1:4], *more, "--json"]) == 0
    Path("plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert run_command(["explain", *RUN[1:4], *more]) == 0
    assert "q[2]" in capsys.readouterr().out
    sharon = ["--executor", "sharon", "--plan", "plan.json", "--set"]
    Path("w.sase").write_text(PARAM + QUERY.replace("A+", "SEQ(A, A x)"), encoding="utf-8")
    assert run_command(["plan", *RUN[1:4], *more, "--json"]) == 0
    Path("plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert run_command([*RUN, *sharon, "least=1,2"]) == 0
    assert run_command([*RUN, *sharon, "least=1,3"]) != 0, "a plan of other values"


def test_a_case_has_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.yaml").write_text(CASES, encoding="utf-8")
    assert run_command(["test", "c.yaml"]) == 0
    assert run_command(["test", "c.yaml", "--set", "least=1"]) == 1
    assert '"COUNT(*)": 7' in capsys.readouterr().out
    assert run_command(["test", "c.yaml", "--set", "most=1"]) == 2


def test_diff_sets_both_workloads(capsys: pytest.CaptureFixture[str]) -> None:
    Path("w2.sase").write_text(PARAM + QUERY.replace(">=", ">"), encoding="utf-8")
    more = ["--schema", "s.yaml", "--input", "e.json", "--set", "least=1,2", "--format", "json"]
    assert run_command(["diff", "w.sase", "w2.sase", *more]) == 0
    changes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {one["query"]: (one["before"], one["after"]) for one in changes}
    assert found == {"q[1]": ("7", "3"), "q[2]": ("3", "1")}
    assert run_command(["diff", "a.json", "b.json", "--set", "least=1"]) == 2


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "json", "txt"])
def test_results_of_a_list_can_be_written(suffix: str) -> None:
    Path("w.sase").write_text(
        "PARAM s string; QUERY q RETURN COUNT(*) PATTERN A+ WHERE A.s = $s OR A.v > 0 WITHIN 10;",
        encoding="utf-8",
    )
    form = ["--format", "table"] if suffix == "txt" else []
    values = "s=../../etc, <b>, '=1+1', '\n'"
    assert run_command([*RUN, "--set", values, "--output", f"r.{suffix}", *form]) == 0
    assert "etc]" in Path(f"r.{suffix}").read_text(encoding="utf-8", errors="replace")


# ---- the library


def workload(text: str = PARAM + QUERY, **more: Any) -> elsinore.Workload:
    return elsinore.workload(text, schema=SCHEMA, **more)


def counts(results: elsinore.Results) -> dict[str, list[int]]:
    return {name: table["COUNT(*)"].to_pylist() for name, table in results.items()}


def test_the_library_sets_parameters() -> None:
    assert counts(workload().run("e.json")) == {"q": [7]}
    listed = workload(params={"least": [0, 3]})
    assert listed.queries == ("q[0]", "q[3]")
    assert counts(listed.run("e.json")) == {"q[0]": [15], "q[3]": [1]}
    assert counts(listed.run("e.json", params={"least": 2})) == {"q": [3]}
    assert [one["parameters"] for one in listed.check().to_list()] == [
        {"least": "0"}, {"least": "3"},
    ]  # fmt: skip
    assert counts(workload("w.sase").run("e.json", params={"least": 2})) == {"q": [3]}


def test_run_can_set_a_parameter_without_a_default() -> None:
    unset = workload("PARAM least long;\n" + QUERY)
    assert counts(unset.run("e.json", params={"least": 2})) == {"q": [3]}
    for called in (unset.check, lambda: unset.queries, lambda: unset.run("e.json")):
        with pytest.raises(QueryError) as caught:
            called()
        assert str(caught.value).endswith(
            "(add params={'least': 10}, or a default: PARAM least long DEFAULT 10;)"
        )
    assert repr(unset) == "<Workload over letters: parameters without values>"


def test_equal_values_of_other_types_are_read_again() -> None:
    text = "PARAM b boolean; QUERY q RETURN COUNT(*) PATTERN A WHERE A.b = $b WITHIN 10;"
    Path("b.sase").write_text(text, encoding="utf-8")
    assert workload("b.sase", params={"b": True}).queries == ("q",)
    for value in (1, 1.0):
        with pytest.raises(QueryError):
            workload("b.sase", params={"b": value})
