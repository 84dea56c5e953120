"""Control and bidirectional characters of events, files and arguments never reach a terminal."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import elsinore
from elsinore.choices import Format
from elsinore.cli.answers import write_rows
from elsinore.cli.main import progress_line, run_command
from elsinore.console import SafeConsole
from elsinore.library.told_events import event_words
from elsinore.terminal import SafeStream, guarded_output
from elsinore.wording import escaped

#: What a terminal obeys: a title, a cleared screen, C1's CSI, a carriage return; and what reorders.
SIGNS = [
    "\x1b]0;PWNED\x07", "\x1b[2J", "\x9b2J", "\x85", "\x7f", "\r", "\x00", "\x08", "\u202e",
    "\u2066", "\u2069", "\u200e", "\u200f", "\u061c", "\u2028", "\u2029",
]  # fmt: skip
EVIL = "x".join(SIGNS)
#: NUL is in no path, nor is what ends a line in an argument of a test.
PATH = EVIL.replace("\x00", "")
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
#: What Rich writes itself: colors, and the moves of a line of progress.
OWN = re.compile(r"\x1b\[(?:[0-9;]*m|2K|1A|\?25[lh])|\r")

SCHEMA = """stream: s
time: {field: t, unit: us}
type: {field: k}
id: {field: id}
types: {A: {x: long, s: {type: string, nullable: true}}, B: {s: string}}
"""
QUERY = """QUERY q RETURN s, COUNT(*), MAX(A.x) PATTERN A+ GROUP-BY s WITHIN 1 hour;
QUERY p RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 1 hour;
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Hostile events, some of them damaged, with a schema, queries and a case."""
    folder = tmp_path / "project"
    (folder / "in").mkdir(parents=True)
    (folder / "s.yaml").write_text(SCHEMA)
    (folder / "q.sase").write_text(QUERY)
    (folder / "other.sase").write_text(QUERY.replace("1 hour", "2 hours"))
    lines = [
        json.dumps({"t": 1700000000000000 + n, "k": "A", "x": n, "s": sign, "id": f"{sign}{n}"})
        for n, sign in enumerate([EVIL, *SIGNS, EVIL])
    ]
    lines += [json.dumps({"t": 1700000000000100, "k": EVIL}), f'{{"t": {EVIL}'.replace("\n", "")]
    (folder / "in" / f"{PATH}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "in" / f"{PATH}.txt").write_text("nothing")
    case = {
        "name": EVIL,
        "schema": "s.yaml",
        "time": "us",
        "workload": "q.sase",
        "query": "q",
        "events": [{"t": 1700000000000000, "k": "A", "x": 1, "s": EVIL, "id": EVIL}],
        "rows": [[0, 1, {"s": EVIL}, {EVIL: 1}]],
    }
    (folder / "cases.yaml").write_text(json.dumps([case]))
    return folder


def on_terminal(monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> str:
    """What a terminal gets from standard output and standard error."""
    master, slave = os.openpty()
    got = bytearray()

    def read() -> None:
        try:
            while chunk := os.read(master, 65_536):
                got.extend(chunk)
        except OSError:  # the other end is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    with (
        monkeypatch.context() as patched,
        os.fdopen(slave, "wb", buffering=0) as raw,
        io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", write_through=True) as text,
    ):
        patched.setenv("TERM", "xterm-256color")
        patched.setattr("sys.stdout", text)
        patched.setattr("sys.stderr", text)
        do()
        text.flush()
    reader.join(10)
    os.close(master)
    return got.decode().replace("\r\n", "\n")


COMMANDS = {
    "run": "run q.sase --schema s.yaml --input in --max-error-rate 1",
    "run as JSON": "run q.sase --schema s.yaml --input in --max-error-rate 1 --format json",
    "run as CSV": "run q.sase --schema s.yaml --input in --max-error-rate 1 --format csv",
    "run over bad lines": "run q.sase --schema s.yaml --input in --max-error-rate 0",
    "run by twostep": "run q.sase --schema s.yaml --input in --max-error-rate 1 --executor twostep",
    "check": "check q.sase --schema s.yaml",
    "check --json": "check q.sase --schema s.yaml --json",
    "check of a missing file": "check EVIL.sase --schema s.yaml",
    "check of a missing schema": "check q.sase --schema EVIL.yaml",
    "check of a wrong query": "check evil.sase --schema s.yaml",
    "check of a wrong schema": "check q.sase --schema evil.yaml",
    "plan": "plan q.sase --schema s.yaml --events in",
    "plan with wrong rates": "plan q.sase --schema s.yaml --rates evil.yaml",
    "explain": "explain q.sase --schema s.yaml --events in",
    "explain by a wrong plan": "explain q.sase --schema s.yaml --plan evil.yaml",
    "test": "test cases.yaml",
    "test of a missing file": "test EVIL.yaml",
    "diff": "diff q.sase other.sase --schema s.yaml --input in --max-error-rate 1",
    "diff of missing files": "diff EVIL.json EVIL.json",
    "schema infer": "schema infer in/EVIL.jsonl",
    "a command that does not exist": "EVIL",
    "an option that does not exist": "run --EVIL",
    "init": "init new --from in/EVIL.jsonl",
    "put": "put in/EVIL.jsonl --max-error-rate 1",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_lets_events_control_the_terminal(
    name: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("ELSINORE_HOME", str(project / "home"))
    monkeypatch.setenv("ELSINORE_SCHEMA_FILE", str(project / "s.yaml"))
    (project / "evil.sase").write_text(f"QUERY {EVIL} RETURN 'x{EVIL}';\n")
    (project / "evil.yaml").write_text(json.dumps({EVIL: EVIL, "stream": EVIL}))
    arguments = [part.replace("EVIL", PATH) for part in COMMANDS[name].split()]
    said = on_terminal(monkeypatch, lambda: run_command(arguments))
    assert said.strip(), "nothing was printed"
    assert "\x1b[2J" not in said
    assert not FORBIDDEN.findall(OWN.sub("", said)), repr(said)


def test_the_name_of_a_file_adds_no_line(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    (project / "in" / "x\nelsinore: all is well.txt").touch()
    assert run_command(COMMANDS["run"].split()) == 0
    lines = capsys.readouterr().err.splitlines()
    assert not any(line.startswith("elsinore: all is well") for line in lines)
    assert any("x\\nelsinore: all is well.txt" in line for line in lines)


@pytest.mark.parametrize("form", ["LONG", "--LONG", "check LONG --schema s.yaml"])
def test_an_endless_argument_is_not_repeated(
    form: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    arguments = form.replace("LONG", "x" * 50_000).split()
    assert run_command(arguments) == 2
    said = capsys.readouterr().err
    assert "xxx" in said
    assert len(said) < 1_000


def test_json_in_a_pipe_is_escaped_and_equal(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(project)
    arguments = COMMANDS["run as JSON"].split()
    assert run_command(arguments) == 0
    text = capfdbinary.readouterr().out.decode()
    assert not FORBIDDEN.findall(text)
    groups = [row["group"]["s"] for row in map(json.loads, text.splitlines()) if row["group"]]
    assert sorted(groups) == sorted({EVIL, *SIGNS})


def test_csv_in_a_file_has_the_values_as_they_are(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert run_command([*COMMANDS["run"].split(), "--output", "out.csv"]) == 0
    assert "\u202ex\u2066" in (project / "out.csv").read_text(encoding="utf-8")


def test_columns_and_values_of_sql_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({EVIL: [EVIL]})
    for form in (Format.TABLE, Format.JSON, Format.CSV):
        write = partial(write_rows, [EVIL], lambda: [[EVIL]], form, None, table=lambda: table)
        said = on_terminal(monkeypatch, write)
        assert not FORBIDDEN.findall(OWN.sub("", said)), form


def test_why_and_results_are_escaped(project: Path) -> None:
    event = {"type": "A", "id": EVIL, "time": "2024", "s": EVIL}
    assert not FORBIDDEN.findall(event_words(event, ()))
    events = project / "in" / f"{PATH}.jsonl"
    work = elsinore.workload(project / "q.sase", schema=project / "s.yaml")
    assert not FORBIDDEN.findall(repr(work.run(events, max_error_rate=1)))
    why = work.why(events, "q", {"s": EVIL}, "2023-11-14T22:00")
    assert why.count == 3
    assert not FORBIDDEN.findall(repr(why))
    why.print(console := SafeConsole(file=io.StringIO()))
    assert not FORBIDDEN.findall(console.file.getvalue())  # type: ignore[attr-defined]


def test_progress_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        with guarded_output(), progress_line() as progress:
            progress.add_task(f"[red] {EVIL}")
            progress.refresh()

    said = on_terminal(monkeypatch, work)
    assert "\\u001b]0;PWNED" in said
    assert "[red]" in said
    assert not FORBIDDEN.findall(OWN.sub("", said))


def test_escapes_are_those_of_json() -> None:
    assert json.loads(escaped(json.dumps(EVIL, ensure_ascii=False))) == EVIL
    assert escaped("äöü €\t\n 日本 \N{ZERO WIDTH JOINER}") == "äöü €\t\n 日本 \N{ZERO WIDTH JOINER}"
    stream = SafeStream(out := io.StringIO())
    stream.writelines(["a\x9b", "b"])
    assert stream.write("\x1b") == 1
    assert out.getvalue() == "a\\u009bb\\u001b"


@pytest.mark.slow
def test_the_package_makes_no_other_console() -> None:
    """A plain console of Rich would let everything through."""
    for path in Path(elsinore.__file__).parent.rglob("*.py"):
        calls = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        ]
        plain = [
            call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Console"
        ]
        assert not plain, f"{path}: use elsinore.console.SafeConsole"
