"""Errors have a hint, and hints name commands, options, targets and settings that exist."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

import elsinore
from elsinore import errors
from elsinore.cli.main import COMMANDS, commands_for
from elsinore.cli.registry import ALIASES
from elsinore.hints import Option
from elsinore.settings import Settings

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


@cache
def _modules() -> dict[str, ast.Module]:
    """Parse each module once, by its path, and not when tests are collected."""
    paths = (p for f in ("lib", "jobs", "dags") for p in sorted((ROOT / f).rglob("*.py")))
    return {str(p.relative_to(ROOT)): ast.parse(p.read_text(encoding="utf-8")) for p in paths}


@cache
def _named() -> dict[str, tuple[str, str]]:
    """By place, each program that a text of the package names, and its arguments."""
    return {
        f"{name}:{line}:{number}": (program, " ".join(rest.split()))
        for name, tree in _modules().items()
        for line, text in texts(tree)
        for number, (program, rest) in enumerate(_QUOTED.findall(text))
    }


def options_of(words: list[str]) -> set[str]:
    """Return the options of a command; KeyError: it does not exist."""
    group = typer.main.get_command(commands_for([words[0]]))
    command = group.commands[words[0]]  # type: ignore[attr-defined]
    if hasattr(command, "commands") and len(words) > 1 and not words[1].startswith("-"):
        command = command.commands[words[1]]
    parameters = command.get_params(typer.Context(command))
    return {option for parameter in parameters for option in parameter.opts} | {"--help"}


def test_texts_name_commands() -> None:
    assert len(_named()) > 40


def test_commands_that_are_named_exist() -> None:
    for place, (program, rest) in _named().items():
        _assert_exists(place, program, rest)


def _assert_exists(place: str, program: str, rest: str) -> None:
    words = rest.split()
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert words[0] in targets, place
        return
    if program == "pip":
        assert words[0] == "install", place
        return
    if words[0] == _VALUE:  # one of several, each of which is named elsewhere
        return
    words[0] = ALIASES.get(words[0], words[0])
    assert words[0] in COMMANDS, f"{place}: there is no command `elsinore {words[0]}`"
    assert {*_OPTION.findall(rest)} <= options_of(words), place


def test_hints_name_no_job() -> None:
    """Jobs have other names than the commands that run them."""
    jobs = {path.stem for path in (ROOT / "jobs").glob("*_*.py") if path.stem != "__init__"}
    for name, line, text in _all_hints():
        named_jobs = [job for job in jobs if re.search(rf"\b{job}\b", text)]
        assert not named_jobs, f"{name}:{line} names {named_jobs}: write `elsinore ...`"


# ---- every error of a user has a hint

#: Errors of users; an `EngineError` is a defect, and no user can fix it.
USER_ERRORS = frozenset(
    name
    for name, error in vars(errors).items()
    if isinstance(error, type) and issubclass(error, errors.ElsinoreError)
    if error.default_hint is None and error not in (errors.ElsinoreError, errors.EngineError)
)


def without_hint(tree: ast.AST) -> list[int]:
    """Return the lines of a module in which an error of a user, or a diagnostic, has no hint."""
    lines = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        hints = [word.value for word in call.keywords if word.arg == "hint"]
        hints += call.args[2:3] if name == "Diagnostic" else []
        # Each diagnostic has its own.
        hints += [word.value for word in call.keywords if word.arg == "diagnostics"]
        is_given = any(not isinstance(h, ast.Constant) or h.value is not None for h in hints)
        if name in USER_ERRORS | {"Diagnostic"} and not is_given:
            lines.append(call.lineno)
    return lines


def test_an_error_without_a_hint_is_found() -> None:
    source = (
        "raise ParameterError('no')\n"
        "raise DataError('no', hint='do this')\n"
        "raise PlanError('no', hint=None)\n"
        "Diagnostic('no', at)\n"
        "Diagnostic('no', at, hint)\n"
        "raise EngineError('a defect')\n"
        "raise ConflictError('another writer')\n"
    )
    assert without_hint(ast.parse(source)) == [1, 3, 4]


def test_errors_that_pass_have_a_hint_of_their_class() -> None:
    assert str(errors.ConflictError("another writer")) == "another writer (run it again)"
    assert str(errors.ConflictError("another writer", hint="wait")) == "another writer (wait)"


@pytest.mark.slow
def test_every_error_of_a_user_has_a_hint() -> None:
    lacking = {name: lines for name, tree in _modules().items() if (lines := without_hint(tree))}
    assert not lacking, f"add hint=... (a command or a valid value): {lacking}"


def _hints(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts of hints: of the parameter, of variables named so, and of diagnostics."""
    for node in ast.walk(tree):
        values: list[ast.AST] = []
        if isinstance(node, ast.keyword) and node.arg == "hint":
            values = [node.value]
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id.lower() for target in targets if isinstance(target, ast.Name)]
            values = [node.value] if any("hint" in name for name in names) else []
        elif isinstance(node, ast.Call):
            last = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            values = [*node.args[2:3]] if last in ("refuse", "fault") else []
        for value in values:
            yield from texts(value)


@cache
def _all_hints() -> tuple[tuple[str, int, str], ...]:
    return tuple(
        (name, line, text) for name, tree in _modules().items() for line, text in _hints(tree)
    )


@cache
def _all_options() -> frozenset[str]:
    """Options of all commands and subcommands."""
    known = set[str]().union(*(options_of([name]) for name in COMMANDS))
    for name in COMMANDS:
        command = typer.main.get_command(commands_for([name])).commands[name]  # type: ignore[attr-defined]
        for inner in getattr(command, "commands", ()):
            known |= options_of([name, inner])
    return frozenset(known)


def test_hints_name_options_that_exist() -> None:
    known = _all_options()
    unknown = {
        f"{name}:{line}": option
        for name, line, text in _all_hints()
        for option in _OPTION.findall(re.sub(r"`(?!elsinore)[^`]*`", "", text))
        if option not in known
    }
    assert len(_all_hints()) > 150
    assert not unknown


def _parameters() -> frozenset[str]:
    """Parameters of the public functions and methods of the library."""
    public = [getattr(elsinore, name) for name in elsinore.__all__]
    public += [method for name, method in vars(elsinore.Workload).items() if name[0] != "_"]
    called = [each for each in public if inspect.isfunction(each)]
    return frozenset(name for each in called for name in inspect.signature(each).parameters)


def _calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Calls of a function by its name, with the modules that make them."""
    for module, tree in _modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                yield f"{module}:{node.lineno}", node


def test_options_of_hints_exist_on_the_command_line_and_in_the_library() -> None:
    known, number = _parameters(), 0
    for place, call in _calls("Option"):
        parameter = ast.literal_eval(call.args[0])
        option = Option(parameter, "")
        assert option.name in _all_options(), place
        named = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        assert (parameter in known) is named.get("is_in_library", True), place
        number += 1
    assert number >= 3


def test_words_for_the_library_name_its_parameters() -> None:
    known, number = _parameters(), 0
    for place, call in _calls("Either"):
        command, python = (ast.literal_eval(argument) for argument in call.args)
        assert {*re.findall(r"(\w+)=", python)} <= known, place
        assert "--" not in python, place
        assert {*_OPTION.findall(command.replace("`", " "))} <= _all_options(), place
        number += 1
    assert number >= 4


def test_hints_name_commands_in_code_quotes() -> None:
    """So that the tests above find them."""
    bare = re.compile(r"(?<![`\w./-])elsinore [a-z]")
    assert not {f"{name}:{line}": text for name, line, text in _all_hints() if bare.search(text)}


def test_messages_name_settings_that_exist() -> None:
    known = {f"ELSINORE_{name.upper()}" for name in Settings.model_fields}
    known |= {errors.DEBUG, "ELSINORE_"}
    counts: Counter[str] = Counter()
    for name, line, text in _all_hints():
        for setting in re.findall(r"ELSINORE_[A-Z_]*", text):
            counts[setting] += 1
            assert setting in known, f"{name}:{line} names {setting}"
    assert len(counts) > 5


def test_hints_ask_nothing_but_which_name_was_meant() -> None:
    questions = [
        f"{name}:{line}: {text}"
        for name, line, text in _all_hints()
        if "?" in text and "did you mean" not in text and not re.search(r"['\"*+{][^ ]*\?", text)
    ]
    assert not questions


@pytest.mark.slow
def test_no_message_installs_the_package_from_an_index() -> None:
    """Its name is not registered there."""
    wrong = [
        f"{name}:{line}"
        for name, tree in _modules().items()
        for line, text in texts(tree)
        if re.search(r"pip install '?elsinore", text)
    ]
    assert not wrong
