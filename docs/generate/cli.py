"""The page of commands, from the declarations that also print `--help`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import typer.main

from docs.generate.markdown import blocks, code, one_line, plain, table
from elsinore.cli.main import commands_for

_PROGRAM = "elsinore"

_INTRO = """\
The command `elsinore` runs queries on files, tests them, and operates the pipeline. This page lists
every command with its options and defaults. `elsinore COMMAND --help` prints the same text.
[Error codes](error-codes.md#exit-codes) lists the exit codes."""

#: Marks a paragraph of help whose lines are not joined.
_AS_IT_IS = "\b\n"

#: Kinds of values in words; those of others are as they are.
_KINDS = {
    "bool": "",
    "float": "number",
    "float range": "number",
    "int": "whole number",
    "int range": "whole number",
    "list[Path]": "paths",
    "list[str]": "texts",
    "str": "text",
}

#: How help ends: the default, whether an option is required, and bounds of numbers.
_NOTES = re.compile(r"\s*\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]$")


def page() -> str:
    """Return the page."""
    # Typer's commands have no public type.
    root: Any = typer.main.get_command(commands_for([]))
    context = typer.Context(root, info_name=_PROGRAM)
    commands = list(_commands(root, context, _PROGRAM))
    rows = [
        (f"[`{path}`](#{path.replace(' ', '-')})", _panel(command), plain(_summary(command)))
        for path, command in commands
    ]
    if all(panel for _, panel, _ in rows):
        index = table(["command", "group", "purpose"], rows)
    else:
        index = table(["command", "purpose"], [(name, purpose) for name, _, purpose in rows])
    parts = ["# Command line", _INTRO, index]
    for path, command in commands:
        parts += _section(path, command)
    return blocks(parts)


def _commands(group: Any, context: typer.Context, path: str) -> Iterator[tuple[str, Any]]:
    """Yield each command, and each of a group's, with the words that call it."""
    for name in group.list_commands(context):
        command, words = group.get_command(context, name), f"{path} {name}"
        if hasattr(command, "list_commands"):
            yield from _commands(command, context, words)
        elif not command.hidden:
            yield words, command


def _panel(command: Any) -> str:
    panel = command.rich_help_panel
    return panel if isinstance(panel, str) else ""


def _summary(command: Any) -> str:
    """Return the first paragraph of a command's help."""
    return one_line((command.help or "").split("\n\n")[0])


def _section(path: str, command: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=path)
    yield f"## {path}"
    paragraphs = (command.help or "").replace(_AS_IT_IS, "").split("\n\n")
    yield from map(plain, paragraphs)
    yield f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```"
    for kind in ("argument", "option"):
        shown = [p for p in command.get_params(context) if p.param_type_name == kind]
        records = [p.get_help_record(context) for p in shown]
        rows = [_row(*record) for record in records if record and record[0] != "--help"]
        if rows:
            yield table([kind, "value", "meaning", "default"], rows)
    if command.epilog:
        yield from _example(command.epilog)


def _row(name: str, text: str) -> tuple[str, str, str, str]:
    """Return a row of a parameter, from its line of help: name, value, meaning and default.

    >>> _row("--top <int range>", "Largest rows only.  [default: 5; x>=1]")
    ('`--top`', 'whole number, `x>=1`', 'Largest rows only.', '`5`')
    >>> _row("--format <json|csv>", "Format.  [required]")
    ('`--format`', '`json`, `csv`', 'Format.', 'required')
    >>> _row("--output FILE", "Write to this file.")
    ('`--output`', '`FILE`', 'Write to this file.', '')
    """
    notes = _NOTES.search(text)
    default, bounds = "", []
    for note in notes[1].split("; ") if notes else []:
        if note.startswith("default: "):
            default = code(note.removeprefix("default: "))
        elif note == "required":
            default = note
        else:
            bounds.append(code(note))
    words, kind = _split(name)
    choices = map(code, kind.split("|")) if "|" in kind else [_KINDS.get(kind, kind)]
    value = ", ".join(filter(None, [*choices, *bounds]))
    return code(words), value, plain(text[: notes.start()] if notes else text), default


def _split(name: str) -> tuple[str, str]:
    """Return how a parameter is written, and the kind of its values: in Typer's words, or ours."""
    if name.endswith(">"):
        words, _, kind = name.removesuffix(">").partition(" <")
        return words, kind
    words, _, own = name.rpartition(" ")
    return (words, code(own)) if words and own.isupper() else (name, "")


def _example(epilog: str) -> Iterator[str]:
    r"""Yield the example that a command's help ends with.

    >>> [*_example("\b\nExample:\n  elsinore stop")]
    ['Example:', '```sh\nelsinore stop\n```']
    """
    lines = epilog.replace(_AS_IT_IS, "").strip().removeprefix("Example:").strip("\n")
    yield "Example:"
    yield f"```sh\n{dedent(lines)}\n```"
