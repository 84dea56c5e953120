"""`elsinore init`: what it writes runs, whatever the events are."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from elsinore.cli.main import run_command

ONE = {"time": "2025-03-03T10:00:00Z", "event": "a1", "n": 5}
SHAPES: dict[str, list[dict[str, Any]]] = {
    "one type": [ONE],
    "one type without a key": [{"time": 1740996000, "type": "A", "x": 1.5}],
    "two types with a key": [ONE, ONE | {"event": "page view"}],
    "two types without a key": [{"time": 5, "kind": "A", "x": 1.5}, {"time": 7, "kind": "B"}],
    "words of the language": [{"time": 5, "type": kind, "NOT": "k"} for kind in ("SEQ", "not")],
    "a key that is a word": [ONE | {"NEXT": "k", "event": kind} for kind in ("null", "B")],
    "the words of the first query": [ONE | {"event": "one", "other": "k", "one": "k"}],
    "attributes named like columns of the search": [
        {"ts": ONE["time"], "event": kind, "window": "k", "time": "k", "time_min": "k"}
        for kind in "AB"
    ],
    "all types of attributes": [
        ONE | {"x": 1.5, "ok": True, "at": "2025-03-03T10:00:00Z", "event": kind} for kind in "AB"
    ],
    "envelopes": [{"m": {"ts": "2025-03-03", "type": kind, "user-id": "u"}} for kind in "AB"],
}


@pytest.mark.parametrize("events", SHAPES.values(), ids=list(SHAPES))
def test_every_command_of_a_new_project_runs(
    events: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("my events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert run_command(["init", "shop", "--from", "my events.jsonl"]) == 0
    told = capsys.readouterr().out
    monkeypatch.chdir("shop")
    last = told.splitlines()[-1]
    for line in [*readme_commands()[:3], last]:
        program, *arguments = shlex.split(line)
        assert (program, run_command(arguments)) == ("elsinore", 0), capsys.readouterr().err
    assert "1 case: 1 ok, 0 failed" in capsys.readouterr().out
    assert "stream: shop" in Path("schema.yaml").read_text()


def readme_commands() -> list[str]:
    lines = Path("README.md").read_text().splitlines()
    return [line for line in lines if line.startswith("elsinore ")]


def test_without_events_it_is_of_rides_and_goes_on_to_the_pipeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(["init", "my-rides"]) == 0
    monkeypatch.chdir("my-rides")
    for line in Path("pipeline.env").read_text().splitlines()[1:]:
        name, value = line.removeprefix("export ").split("=")
        monkeypatch.setenv(name, value.strip('"').replace("$PWD", str(Path.cwd())))
    for line in readme_commands():
        assert run_command(shlex.split(line)[1:]) == 0
    told = capsys.readouterr()
    assert '"values": {"drivers": 2, "travel_events": 6, "matches": 32}' in told.out
    assert "elsinore replay --start 2013-01-01T10:00 --end 2013-01-01T12:00" in told.out
    assert len(list(Path("var/landing/2013/01/01").iterdir())) == 1


ORDERS = [
    {"time": f"2025-03-03T10:0{n}:00Z", "order": "a", "status": status}
    for n, status in enumerate(["created", "sent"] * 2)
]


@pytest.mark.parametrize(
    "command", [["init", "shop", "--from", "e.jsonl"], ["schema", "infer", "e.jsonl"]]
)
def test_the_type_can_be_given_and_its_candidates_are_named(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("e.jsonl").write_text("".join(json.dumps(order) + "\n" for order in ORDERS))
    assert run_command(command) == 0
    assert "add --type FIELD (candidates: status)\n" in capsys.readouterr().err
    again = [word.replace("shop", "other") for word in command]
    assert run_command([*again, "--type", "status"]) == 0
    out, error = capsys.readouterr()
    assert "--type" not in error
    schema = out if command[0] == "schema" else Path("other/schema.yaml").read_text()
    assert "type: {field: status}" in schema
    if command[0] == "init":
        assert "PATTERN SEQ(created, sent+)" in Path("other/queries.sase").read_text()
    assert run_command([*again, "--type", "state"]) == 2


@pytest.mark.slow
def test_commands_work_as_printed_if_elsinore_is_not_on_path(tmp_path: Path) -> None:
    """Each line of the output, typed into one shell."""
    program = tmp_path / "bin" / "elsinore"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom elsinore.cli import app\napp()\n")
    program.chmod(0o755)

    def shell(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    printed = shell("bin/elsinore init 'my rides'").splitlines()
    assert printed[0].endswith("; next:")
    assert '"matches": 32' in shell(" && ".join(printed[1:]))
    readme = (tmp_path / "my rides" / "README.md").read_text()
    check = next(line for line in readme.splitlines() if " check queries" in line)
    assert "1 query is valid." in shell(f"cd 'my rides' && {check}")


def test_what_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("")
    assert run_command(["init", str(tmp_path)]) == 2
    assert "is not empty (name a new directory)" in capsys.readouterr().err
    assert run_command(["init", str(tmp_path / "new"), "--from", str(tmp_path / "none.csv")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


MESSAGES = [
    {
        "msg_id": f"m{n}", "time": f"2025-03-0{1 + n % 3}T{10 + n % 5}:{n:02d}:00Z",
        "event": ["login", "view", "buy"][n % 3], "text": f"text {n}", "user_id": f"u{n % 4}",
    }
    for n in range(24)
]  # fmt: skip


@pytest.mark.parametrize(
    ("events", "id_line", "key"),
    [
        (MESSAGES, "id: {field: msg_id}  # ?", "user_id"),
        (MESSAGES[:12], "# id: {field: msg_id}  # ? if it identifies an event", "user_id"),
        # A duplicate: nearly all values differ.
        ([*MESSAGES, MESSAGES[0]], "# id: {field: msg_id}  # ? if it", "user_id"),
        # No value of the key has both types.
        ([e | {"user_id": f"{e['event']}{n % 2}"} for n, e in enumerate(MESSAGES)],
         "id: {field: msg_id}", None),
    ],
)  # fmt: skip
def test_the_first_query_returns_rows(
    events: list[dict[str, str]], id_line: str, key: str | None, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("m.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    assert run_command(["init", "shop", "--from", "m.jsonl"]) == 0
    query = Path("shop/queries.sase").read_text()
    assert (f"WHERE [{key}]" in query) if key else ("WHERE" not in query)
    assert f"\n{id_line}" in Path("shop/schema.yaml").read_text()
    capsys.readouterr()
    arguments = ["--schema", "shop/schema.yaml", "--input", "m.jsonl"]
    assert run_command(["run", "shop/queries.sase", *arguments]) == 0
    assert capsys.readouterr().out.startswith('{"query": "first"')


def test_the_printed_command_enters_a_directory_that_begins_with_a_dash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(["init", "--", "-x y"]) == 0
    _, enter, _ = capsys.readouterr().out.splitlines()
    assert shlex.split(enter) == ["cd", "./-x y"]
