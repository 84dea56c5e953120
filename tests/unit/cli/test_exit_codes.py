"""Exit code 2 for what must be put right before a start, 1 for failures; never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.cli.main import run_command

SCHEMA = "stream: s\ntime: {field: t, unit: us}\ntype: {field: k}\ntypes: {A: {}, B: {}}\n"
QUERY = "QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 1 hour;\n"
DEEP = '{"a":' * 50_000

#: Each names a file that is not there; the others are.
MISSING = {
    "workload of run": "run none.sase --schema s.yaml --input e.jsonl",
    "schema of run": "run q.sase --schema none.yaml --input e.jsonl",
    "input of run": "run q.sase --schema s.yaml --input none.jsonl",
    "input beside others": "run q.sase --schema s.yaml --input e.jsonl none.jsonl",
    "plan of run": "run pair.sase --schema s.yaml --input e.jsonl --executor sharon "
    "--plan none.json",
    "workload of check": "check none.sase --schema s.yaml",
    "events of plan": "plan q.sase --schema s.yaml --events none.jsonl",
    "rates of plan": "plan q.sase --schema s.yaml --rates none.yaml",
    "events of explain": "explain q.sase --schema s.yaml --events none.jsonl",
    "plan of explain": "explain q.sase --schema s.yaml --plan none.json",
    "cases of test": "test none.yaml",
    "results of diff": "diff none.json none.json",
    "workloads of diff": "diff none.sase none.sase --schema s.yaml --input e.jsonl",
    "input of diff": "diff q.sase q.sase --schema s.yaml --input none.jsonl",
    "events of schema infer": "schema infer none.jsonl",
    "events of init": "init new --from none.jsonl",
    "events of ingest": "ingest none.jsonl",
    "events of new-stream": "new-stream other --from none.jsonl",
}
#: Each is about files that are there, and fails.
FAILED = {
    "bad events": "run q.sase --schema s.yaml --input bad.jsonl",
    "a directory without events": "run q.sase --schema s.yaml --input empty",
    "a failed case": "test wrong.yaml",
}
#: Each is nested more deeply than Python goes.
NESTED = {
    "a group": ["why", "q", DEEP, "2024-01-01T10:00"],
    "a plan": ["explain", "q.sase", "--schema", "s.yaml", "--plan", "deep.json"],
    "results": ["diff", "deep.json", "deep.json"],
    "rates": ["plan", "q.sase", "--schema", "s.yaml", "--rates", "deep.json"],
    "cases": ["test", "deep.json"],
    "a schema": ["check", "q.sase", "--schema", "deep.json"],
    "events": ["run", "q.sase", "--schema", "s.yaml", "--input", "deep.jsonl"],
    "a sample": ["schema", "infer", "deep.jsonl"],
}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with queries, a schema and events."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ELSINORE_SCHEMA_FILE", str(tmp_path / "s.yaml"))
    case = "- {name: c, schema: s.yaml, query: RETURN COUNT(*) PATTERN A WITHIN 1 hour, events: "
    texts = {
        "s.yaml": SCHEMA,
        "q.sase": QUERY,
        "pair.sase": QUERY.replace("A+", "SEQ(A, B)"),
        "e.jsonl": '{"t": 1700000000000000, "k": "A"}\n',
        "bad.jsonl": "nothing\n",
        "wrong.yaml": f"{case} A@1s, rows: []}}\n",
        "deep.json": DEEP,
        "deep.jsonl": DEEP + "\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("empty").mkdir()


def said_by(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and the one line on standard error that is no line of text shown."""
    code = run_command(arguments)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("elsinore: ")]
    return code, lines[-1] if lines else ""


@pytest.mark.parametrize("name", MISSING)
def test_a_file_that_is_not_there_is_bad_usage(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = said_by(MISSING[name].split(), capsys)
    assert code == 2, said
    assert "none." in said


@pytest.mark.parametrize("name", FAILED)
def test_what_is_there_and_does_not_do_is_a_failure(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said_by(FAILED[name].split(), capsys)[0] == 1


@pytest.mark.parametrize("name", NESTED)
def test_no_depth_of_what_is_given_ends_in_a_traceback(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = said_by(NESTED[name], capsys)
    assert code in (1, 2)
    assert len(said) < 500
