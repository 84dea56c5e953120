"""Hints and help name commands, options and targets that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from elsinore.cli.main import COMMANDS, commands_for

ROOT = Path(__file__).parents[2]
#: A command in backticks, with what stands for a value in an f-string.
_QUOTED = re.compile(r"`(elsinore|make|pip) ([^`]*)`")
_OPTION = re.compile(r"(?<!\S)(--[a-z][a-z-]+)")
_VALUE = "VALUE"


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """All texts of a module, those of f-strings as a whole."""
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            parts = (
                str(part.value) if isinstance(part, ast.Constant) else _VALUE
                for part in node.values
            )
            yield node.lineno, "".join(parts)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            yield node.lineno, node.value


def named() -> dict[str, tuple[str, str]]:
    """By place, each program that a text of the package names, and its arguments."""
    found = {}
    for folder in ("lib", "jobs", "dags"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for line, text in texts(ast.parse(path.read_text(encoding="utf-8"))):
                for number, (program, rest) in enumerate(_QUOTED.findall(text)):
                    place = f"{path.relative_to(ROOT)}:{line}:{number}"
                    found[place] = program, " ".join(rest.split())
    return found


def options_of(words: list[str]) -> set[str]:
    """The options of a command; KeyError: there is none such."""
    group = typer.main.get_command(commands_for([words[0]]))
    command = group.commands[words[0]]  # type: ignore[attr-defined]
    if hasattr(command, "commands") and len(words) > 1 and not words[1].startswith("-"):
        command = command.commands[words[1]]
    return {option for parameter in command.params for option in parameter.opts} | {"--help"}


NAMED = named()


def test_texts_name_commands() -> None:
    assert len(NAMED) > 40


@pytest.mark.parametrize("place", NAMED)
def test_a_command_that_is_named_exists(place: str) -> None:
    program, rest = NAMED[place]
    words = rest.split()
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[0] in targets
        return
    if program == "pip":
        assert words[0] == "install"
        return
    if words[0] == _VALUE:  # one of several, each of which is named elsewhere
        return
    assert words[0] in COMMANDS, f"there is no command `elsinore {words[0]}`"
    assert {*_OPTION.findall(rest)} <= options_of(words)


def test_hints_name_no_job() -> None:
    """Jobs have other names than the commands that run them."""
    jobs = {path.stem for path in (ROOT / "jobs").glob("*_*.py") if path.stem != "__init__"}
    for path in sorted((ROOT / "lib").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                for line, text in texts(node.value):
                    told = [job for job in jobs if re.search(rf"\b{job}\b", text)]
                    assert not told, f"{path}:{line} names {told}: say `elsinore ...`"
