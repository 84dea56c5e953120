"""Builds the command line from the registry, without the work of the commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from elsinore.cli.commands.benchmarks import STREAMS, StreamCommand
from elsinore.cli.registry import COMMANDS, PROJECT, SUBCOMMANDS, Entry

#: Variables in which shells pass the line to complete: zsh, fish and PowerShell; bash.
_COMPLETED = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")
#: A package of the extra `pipeline`: without it, help marks the commands that need the extra.
_PIPELINE_PACKAGE = "deltalake"
_TO_INSTALL = "Needs elsinore[pipeline]."
_EXAMPLES = f"""\b
The examples run in a project:
  {PROJECT}
Pipeline examples also need its settings:
  source ./pipeline.env"""
_EXIT_CODES = """\b
Exit codes:
  0    Done.
  1    Failed: invalid data, a failed case or run.
  2    Not started: fix the command, query, schema or path first.
  130  Interrupted."""


class Command(TyperCommand):
    """A command that a shell can complete without importing pydantic and Rich."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; do not check their values if a shell only completes them."""
        if not ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        _, ctx.args, _ = self.make_parser(ctx).parse_args(args=args)
        return list(ctx.args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return completions without descriptions, which Rich would render."""
        return _without_help(super().shell_complete(ctx, incomplete))


class Group(TyperGroup):
    """A group of commands that a shell can complete without importing pydantic and Rich."""

    _parses_options = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments, without options if a command is called or completed.

        Typer checks even absent options with pydantic.
        """
        calls_command = bool(args) and not args[0].startswith("-")
        self._parses_options = not (ctx.resilient_parsing or calls_command)
        try:
            return super().parse_args(ctx, args)
        finally:
            self._parses_options = True

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, but none while `parse_args` goes without them."""
        return super().get_params(ctx) if self._parses_options else []

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return completions without descriptions, which Rich would render."""
        return _without_help(super().shell_complete(ctx, incomplete))


def _without_help(items: list[Any]) -> list[Any]:
    for item in items:
        item.help = None
    return items


class Commands(Group):
    """The top of the command line, which lists its commands in panels."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the registry."""
        return [name for name in COMMANDS if name in self.commands]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section per panel, with a line per command."""
        can_run_pipeline = find_spec(_PIPELINE_PACKAGE) is not None
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command, entry = self.commands[name], COMMANDS[name]
            words = command.get_short_help_str(limit=200)
            if entry.needs_pipeline and not can_run_pipeline:
                words = f"{words} {_TO_INSTALL}"
            panels.setdefault(entry.panel, []).append((name, words))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


def commands_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line with the one command that is called, or else with all of them."""
    called = _called(arguments)
    commands = typer.Typer(
        name="elsinore",
        cls=Commands,
        help="Count and aggregate event trends exactly, without building them. A trend is a match "
        "of a pattern.",
        epilog=f"{_EXAMPLES}\n\n{_EXIT_CODES}",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # importing Rich takes longer than all else that help needs
    )
    commands.callback(invoke_without_command=True)(_top)
    for name in [called] if called in COMMANDS else COMMANDS:
        entry = COMMANDS[name]
        if name in SUBCOMMANDS:
            commands.add_typer(_group(name), name=name, rich_help_panel=entry.panel)
        else:
            _add(commands, name, entry)
    return commands


def options_of(arguments: Sequence[str]) -> frozenset[str]:
    """Return the options of the command that is called, or of the top if no command is."""
    command: Any = typer.main.get_command(commands_for(arguments))
    for word in arguments:
        if word not in getattr(command, "commands", ()):
            break
        command = command.commands[word]
    return frozenset(option for parameter in command.params for option in parameter.opts)


def _called(arguments: Sequence[str]) -> str:
    """Return the first argument, of the line to complete if a shell asks for completions."""
    words = _completed_words()
    return " ".join(words[1:2] if words else arguments[:1])


def _completed_words() -> list[str]:
    """Return the line that a shell asks to complete; empty if it does not ask."""
    lines = (os.environ.get(variable, "") for variable in _COMPLETED)
    return next(filter(None, lines), "").split()


def _group(name: str) -> typer.Typer:
    group = typer.Typer(
        cls=Group,
        callback=_function(COMMANDS[name]),
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    for subcommand, entry in SUBCOMMANDS[name].items():
        _add(group, subcommand, entry)
    return group


def _add(commands: typer.Typer, name: str, entry: Entry) -> None:
    example = entry.example.replace("\n", "\n  ")
    is_stream = name in STREAMS
    commands.command(
        name,
        cls=StreamCommand if is_stream else Command,
        help=STREAMS.get(name),
        epilog=f"\b\nExample:\n  {example}",
        rich_help_panel=entry.panel,
    )(_function(entry))


def _function(entry: Entry) -> Any:
    module, _, attribute = entry.place.partition(":")
    return getattr(import_module(module), attribute)


def _print_version(asked: bool) -> None:
    from elsinore import __version__

    if asked:
        typer.echo(__version__)
        raise typer.Exit


def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass
