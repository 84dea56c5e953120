"""Puts the commands together and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.exceptions import TyperException

from elsinore.cli.build import commands_for, options_of
from elsinore.cli.registry import ALIASES, COMMANDS, READ_FILES, RENAMED, RENAMED_OPTIONS
from elsinore.errors import (
    DEBUG,
    AuthorError,
    Diagnostic,
    ElsinoreError,
    OutOfMemoryError,
    ParameterError,
    SetupError,
    lacks_thread,
    pipeline_packages,
    storage_failures,
)
from elsinore.hints import Hint
from elsinore.memory_limit import MEMORY_LIMIT, limit_memory
from elsinore.places import is_here, require_here
from elsinore.renamed import RenamedWarning
from elsinore.safe_files import is_reachable
from elsinore.terminal import guarded_output
from elsinore.wording import command

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["COMMANDS", "app", "commands_for", "progress_line", "run_command", "warn_of_open_home"]

#: The longest argument that errors repeat in full, and how much of a longer one they show.
_LONGEST_WORD, _SHOWN = 4_096, 200
#: Words of the libraries about options, and the words to show instead.
_OUR_WORDS = {
    r"Value error, ": "",
    r"Input should be": "it must be",
    r"(?<=must be )a valid date.*": "a time, as in 2013-02-08T10:00",
    r"(?<=must be )a valid number.*": "a number, as in 0.05",
    r"(?<=must be )a valid integer.*": "a whole number",
    r"(?<=Missing option '--input'.)": " Write it before the first file of events",
}


def app() -> NoReturn:
    """Run the command line and end the process: 0 done, 1 failed, 2 bad usage."""
    sys.exit(run_command(sys.argv[1:], is_process=True))


def run_command(arguments: list[str], *, is_process: bool = False) -> int:
    """Run one command; errors go to standard error, one line each.

    Args:
        arguments: The command line, without the name of the program.
        is_process: The process runs only this command, so that its memory can be limited.

    Returns:
        The exit code: 0 done, 1 failed, 2 bad usage, query, schema or parameter, or a missing
        input.
    """
    with guarded_output(), _warnings_of_commands():
        return _run_command(arguments, is_process)


def _run_command(arguments: list[str], is_process: bool) -> int:
    try:
        if is_process and READ_FILES.intersection(arguments[:1]):
            limit_memory()
        for text in arguments:
            require_here(text.partition("=")[2] if text.startswith("--") else text)
        arguments = _by_new_name(arguments)
        commands = commands_for(arguments)
        called = " ".join(["elsinore", *arguments[:1]])
        with _process_failures(), pipeline_packages(called), storage_failures():
            result = commands(arguments or ["--help"], prog_name="elsinore", standalone_mode=False)
    except TyperException as error:
        message = error.format_message()
        for words, ours in _OUR_WORDS.items():
            message = re.sub(words, ours, message)
        message = _with_short(arguments, message)
        is_help = message.startswith("Usage:")  # of a group that was called without a command
        typer.echo(message if is_help else f"elsinore: {message} (see --help)", err=not is_help)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("elsinore: interrupted", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ElsinoreError as error:
        _show(error, arguments)
        return error.exit_code
    return result if isinstance(result, int) else 0


def _by_new_name(arguments: list[str]) -> list[str]:
    """Return the arguments with the new names of the command and its options, and print warnings.

    Raises:
        ParameterError: an old and a new option have different values.
    """
    if not arguments:
        return arguments
    first = ALIASES.get(arguments[0], arguments[0])
    if new := RENAMED.get(first):
        typer.echo(f"elsinore: `{first}` is now called `{new}`; use the new name", err=True)
    ends = arguments.index("--", 1) if "--" in arguments[1:] else len(arguments)
    options = [text.partition("=") for text in arguments[:ends]]
    values = {  # written as --option=value or --option value
        name: value if sign else "".join(arguments[at + 1 : at + 2])
        for at, (name, sign, value) in enumerate(options)
    }
    for old in filter(values.__contains__, RENAMED_OPTIONS):
        other = RENAMED_OPTIONS[old]
        if values.get(other, values[old]) != values[old]:
            raise ParameterError(f"{old} and {other} have different values", hint=f"remove {old}")
        typer.echo(f"elsinore: `{old}` is now called `{other}`; use the new name", err=True)
    named = ["".join((RENAMED_OPTIONS.get(name, name), *rest)) for name, *rest in options]
    return [new or first, *named[1:], *arguments[ends:]]


@contextmanager
def _warnings_of_commands() -> Iterator[None]:
    """Print warnings about old names as commands print their warnings."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, RenamedWarning):
            typer.echo(f"elsinore: {message}", err=True)
        else:
            before(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


@contextmanager
def _process_failures() -> Iterator[None]:
    """Raise errors of memory, nesting and files as errors of Elsinore."""
    less = f"read fewer events, or set a higher {MEMORY_LIMIT}"
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError("out of memory", hint=less) from error
    except RecursionError as error:
        hint = "write it with fewer levels"
        raise ParameterError("something given is nested too deeply", hint=hint) from error
    except OSError as error:
        if error.filename is None:
            raise
        home = os.environ.get("ELSINORE_HOME")
        is_home = home and str(error.filename).startswith(home)
        other = "set ELSINORE_HOME to a directory that can be made" if is_home else None
        raise SetupError(f"cannot use {error.filename}: {error.strerror}", hint=other) from error
    except Exception as error:
        if not lacks_thread(str(error)):
            raise
        problem = "out of memory or processes: no thread can be started"
        raise OutOfMemoryError(problem, hint=less) from error


def warn_of_open_home(home: Path) -> None:
    """Print on standard error how to close a home that every local user can read."""
    if is_here(home) and is_reachable(home):
        close = command("chmod", "700", home)
        typer.echo(f"elsinore: every user can read {home}; close it: {close}", err=True)


def _with_short(arguments: list[str], message: str) -> str:
    """Return a message in which arguments that are longer than a path can be are cut."""
    words = {part for text in arguments for part in (text, text.partition("=")[2])}
    for word in sorted(words, key=len, reverse=True):
        if len(word) > _LONGEST_WORD:
            for shown in (word, " ".join(word.split())):
                message = message.replace(shown, f"{shown[:_SHOWN]}... ({len(word):,} characters)")
    return message


def _show(error: ElsinoreError, arguments: list[str]) -> None:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    error = error.told(partial(Hint.for_command, options=options_of(arguments)))
    lines = error.diagnostics if isinstance(error, AuthorError) else (error,)
    for line in lines:
        typer.echo(f"elsinore: {_with_short(arguments, ' '.join(str(line).split()))}", err=True)
        if isinstance(line, Diagnostic) and (pointed := line.pointed()):
            typer.echo(pointed, err=True)


def progress_line() -> Progress:
    """A line on standard error, on a terminal only, that disappears when the work is done."""
    # Fast commands import nothing for this.
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from elsinore.console import SafeConsole

    console = SafeConsole(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        # Rich would interpret escape sequences in the text that is written meanwhile.
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not console.is_terminal,
    )
