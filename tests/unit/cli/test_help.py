"""The help of each command: its panel, its example, and what it imports."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from elsinore.cli.main import commands_for, run_command
from elsinore.cli.registry import COMMANDS, PROJECT, SUBCOMMANDS, Entry

PANELS = ["Query", "Project", "Pipeline", "Operate", "Benchmarks"]
#: Modules that start-up must not load.
HEAVY = ["matplotlib", "numba", "numpy", "pandas", "pyarrow", "pydantic", "pyspark", "rich"]
#: Prints which of the modules a command line loads, after all that it prints.
PROGRAM = """
import json, sys
arguments, heavy = json.loads(sys.argv[1])
from elsinore.cli.main import run_command
try:
    run_command(arguments)
finally:
    print("loaded", *sorted({*heavy} & {*sys.modules}), file=sys.stderr)
"""
COMPLETED = {
    "elsinore r": "run\nreplay\nreport\n",
    "elsinore run --exec": "--executor\n",
    "elsinore run --executor gr": "greta\n",
    "elsinore generate s": "stock\n",
    "elsinore --ver": "--version\n",
}


def commands() -> Iterator[tuple[list[str], Entry]]:
    """Yield all commands and subcommands, as words."""
    for name, entry in COMMANDS.items():
        yield [name], entry
        for subcommand, own in SUBCOMMANDS.get(name, {}).items():
            yield [name, subcommand], own


EVERY = list(commands())
IDS = [" ".join(words) for words, _ in EVERY]


def examples(entry: Entry) -> list[str]:
    return [line for line in entry.example.splitlines() if line.startswith("elsinore ")]


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words call, and its arguments."""
    group: Any = typer.main.get_command(commands_for([]))
    command = group.commands[words[0]]
    if words[0] in SUBCOMMANDS:
        return command.commands[words[1]], words[2:]
    return command, words[1:]


def test_help_lists_each_command_in_a_panel(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["--help"]) == 0
    listed = capsys.readouterr().out
    panel, found = "", dict[str, str]()
    for line in listed.splitlines():
        if re.fullmatch(r"\w+:", line):
            panel = line[:-1]
        elif (words := re.match(r"  ([a-z-]+)  ", line)) and panel in PANELS:
            found[words[1]] = panel
    assert found == {name: entry.panel for name, entry in COMMANDS.items()}
    assert list(dict.fromkeys(found.values())) == PANELS
    assert PROJECT in listed
    assert "Exit codes:" in listed


@pytest.mark.parametrize(("words", "entry"), EVERY, ids=IDS)
def test_help_shows_an_example_that_parses(
    words: list[str], entry: Entry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert examples(entry)
    for example in examples(entry):
        assert len(example) <= 80
        if words[0] not in SUBCOMMANDS or len(words) == 2:
            assert f"    {example}\n" in shown
        command, arguments = command_of(shlex.split(example, comments=True)[1:])
        command.make_context("elsinore", arguments)


@pytest.mark.parametrize(("words", "entry"), EVERY, ids=IDS)
def test_every_parameter_has_help(words: list[str], entry: Entry) -> None:
    """What has no default, and is not required, says what happens without it."""
    if words[0] in SUBCOMMANDS and len(words) == 1:
        return
    command, _ = command_of([*words])
    context = typer.Context(command)
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is None:
            assert parameter.hidden, f"{words}: {parameter.name}"
            continue
        assert record[1].endswith((".", "]")), f"{words}: {record}"
        assert record[1][0].isupper(), f"{words}: {record}"


def test_examples_of_queries_and_projects_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the project that help names. Examples of the pipeline only parse: they need a JVM."""
    monkeypatch.chdir(tmp_path)
    make, _, change = PROJECT.partition(" && cd ")
    assert run_command(shlex.split(make)[1:]) == 0
    monkeypatch.chdir(change)
    monkeypatch.setenv("ELSINORE_HOME", str(Path("var").resolve()))
    monkeypatch.setenv("ELSINORE_SCHEMA_FILE", str(Path("schema.yaml").resolve()))
    monkeypatch.setenv("ELSINORE_WORKLOAD_FILE", str(Path("queries.sase").resolve()))
    runnable = ["run", "check", "test", "diff", "plan", "explain"]
    runnable += ["init", "schema", "put", "views", "bench"]
    entries = [COMMANDS[name] for name in runnable] + [SUBCOMMANDS["generate"]["stock"]]
    for line in [line for entry in entries for line in entry.example.splitlines()]:
        program, *arguments = shlex.split(line, comments=True)
        if program == "elsinore":
            assert run_command(arguments) == 0, f"{line}: {capsys.readouterr().err}"
        else:
            subprocess.run([program, *arguments], check=True)


def loaded_by(arguments: list[str], **environment: str) -> tuple[str, str]:
    """Return the output of a command in a new process, and which heavy modules it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([arguments, HEAVY])],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr.splitlines()[-1].removeprefix("loaded").strip()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"]])
def test_help_and_version_load_no_engine(arguments: list[str]) -> None:
    shown, loaded = loaded_by(arguments)
    assert shown
    assert loaded == ""


@pytest.mark.parametrize("line", COMPLETED)
def test_completion_loads_no_engine(line: str) -> None:
    bash = {"_ELSINORE_COMPLETE": "complete_bash", "COMP_WORDS": line}
    shown, loaded = loaded_by([], **bash, COMP_CWORD=str(len(line.split()) - 1))
    assert shown == COMPLETED[line]
    assert loaded == ""
    zsh = {"_ELSINORE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
    shown, loaded = loaded_by([], **zsh)
    assert [f'"{word}"' in shown for word in COMPLETED[line].split()]
    assert loaded == ""
