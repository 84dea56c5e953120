"""Puts the commands together and turns errors into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from elsinore import __version__
from elsinore.errors import (
    DEBUG,
    AuthorError,
    Diagnostic,
    ElsinoreError,
    OutOfMemoryError,
    ParameterError,
    SetupError,
    pipeline_packages,
    storage_failures,
)
from elsinore.places import is_here, require_here
from elsinore.safe_files import is_reachable
from elsinore.terminal import guarded_output

if TYPE_CHECKING:
    from rich.progress import Progress

#: Arguments of several commands.
QueryFile = Annotated[Path, typer.Argument(help="The queries, a .sase file.")]
SchemaFile = Annotated[Path, typer.Option(help="How to read an event, a .yaml file.")]
EventFiles = Annotated[list[Path], typer.Argument(help="Events: files or folders.")]
MaxBadShare = Annotated[
    float, typer.Option(min=0, max=1, help="Fail when more lines than this share are bad.")
]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]

#: Where each command is. Only the one that is called for is imported: `run` needs neither solver
#: nor lake, and each of them is felt.
COMMANDS = {
    "run": "elsinore.cli.run:run",
    "test": "elsinore.cli.cases:run_cases",
    "diff": "elsinore.cli.diff:diff",
    "check": "elsinore.cli.plan:check",
    "plan": "elsinore.cli.plan:plan",
    "explain": "elsinore.cli.plan:explain",
    "schema": "elsinore.cli.init:schema_app",
    "why": "elsinore.cli.why:why",
    "sql": "elsinore.cli.sql:sql",
    "views": "elsinore.cli.sql:views",
    "bench": "elsinore.cli.main:bench",
    "init": "elsinore.cli.init:init",
    "new-stream": "elsinore.cli.ingest:new_stream",
    "ingest": "elsinore.cli.ingest:ingest",
    "migrate": "elsinore.cli.lake:migrate",
    "forget": "elsinore.cli.lake:forget_key",
    "replay": "elsinore.cli.pipeline:replay_hours",
    "generate": "elsinore.cli.generate:generate_app",
    "land": "elsinore.cli.pipeline:land",
    "aggregate": "elsinore.cli.pipeline:aggregate",
    "validate": "elsinore.cli.pipeline:validate",
    "publish": "elsinore.cli.pipeline:publish",
    "report": "elsinore.cli.pipeline:report",
    "stop": "elsinore.cli.pipeline:stop",
}

#: What the libraries say of options, and what we say instead.
_OUR_WORDS = {
    r"Value error, ": "",
    r"Input should be": "it must be",
    r"(?<=must be )a valid date.*": "a time, as in 2013-02-08T10:00",
    r"(?<=must be )a valid number.*": "a number, as in 0.05",
    r"(?<=must be )a valid integer.*": "a whole number",
    r"(?<=Missing option '--input'.)": " Write it before the first file of events",
}


def commands_for(arguments: Sequence[str]) -> typer.Typer:
    """The command line with the one command that the arguments call for; else with all of them."""
    called = [arguments[0]] if arguments and arguments[0] in COMMANDS else list(COMMANDS)
    commands = typer.Typer(
        name="elsinore",
        help="Counts and sums event trends exactly, without building them.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
    )
    commands.callback(invoke_without_command=True)(_top)
    for name in called:
        try:
            command = _command(name)
        except SetupError:
            if len(called) == 1:
                raise
            commands.command(name, help="Needs the pipeline's packages.")(_top)  # only listed
            continue
        if isinstance(command, typer.Typer):
            commands.add_typer(command, name=name)
        else:
            commands.command(name)(command)
    return commands


def _command(name: str) -> Any:
    """A command, once its packages are there; SetupError: one of the pipeline's is not."""
    module, _, attribute = COMMANDS[name].partition(":")
    with _process_failures(), pipeline_packages(f"elsinore {name}"):
        return getattr(import_module(module), attribute)


def _top(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def app() -> NoReturn:
    """Run the command line and end the process: 0 done, 1 failed, 2 bad usage."""
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Run one command; errors go to standard error, one line each.

    Returns:
        The exit code: 0 done, 1 failed, 2 bad usage, query, schema or parameter, or a missing
        input.
    """
    with guarded_output():
        return _run_command(arguments)


def _run_command(arguments: list[str]) -> int:
    try:
        for text in arguments:
            require_here(text.partition("=")[2] if text.startswith("--") else text)
        commands = commands_for(arguments)
        # What a command of the core imports on the way; and disks and stores beneath it.
        with _process_failures(), pipeline_packages("this"), storage_failures():
            result = commands(arguments or ["--help"], prog_name="elsinore", standalone_mode=False)
    except TyperException as error:
        message = error.format_message()
        for words, ours in _OUR_WORDS.items():
            message = re.sub(words, ours, message)
        if message:  # a group of commands alone has printed its help
            typer.echo(f"elsinore: {message} (--help tells more)", err=True)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("elsinore: interrupted", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ElsinoreError as error:
        _show(error)
        return error.exit_code
    return result if isinstance(result, int) else 0


@contextmanager
def _process_failures() -> Iterator[None]:
    """Raise errors of memory, nesting and files as errors of Elsinore."""
    try:
        yield
    except MemoryError as error:
        hint = "read fewer events, or allow more memory"
        raise OutOfMemoryError("out of memory", hint=hint) from error
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


def warn_of_open_home(home: Path) -> None:
    """Print on standard error how to close a home that every local user can read."""
    if is_here(home) and is_reachable(home):
        shown = shlex.quote(str(home))
        typer.echo(f"elsinore: every user can read {shown}; close it: chmod 700 {shown}", err=True)


def _show(error: ElsinoreError) -> None:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    lines = error.diagnostics if isinstance(error, AuthorError) else (error,)
    for line in lines:
        typer.echo(f"elsinore: {' '.join(str(line).split())}", err=True)
        if isinstance(line, Diagnostic) and (pointed := line.pointed()):
            typer.echo(pointed, err=True)


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which ones; all of them where none is named.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Say which there are, their bars and last figures.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Take the results over into docs/benchmarks/results.md.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A line for each, for programs.")] = False,
) -> int:
    """Measure the claims on speed and memory; 1 if an answer was wrong, however fast."""
    runner = _runner(Path(__file__).parents[3])
    if list_:
        runner.show_list(names or [], as_lines=as_json)
        return 0
    return 0 if runner.run(names or [], as_lines=as_json, keep=keep) else 1


def _runner(checkout: Path) -> ModuleType:
    """The benchmarks, no part of the package; SetupError: this does not stand in a checkout."""
    if not (checkout / "benchmarks" / "registry.py").is_file():
        raise SetupError(
            "the benchmarks are not installed with the package",
            hint="run this in a checkout of the repository, after `make setup`",
        )
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    return importlib.import_module("benchmarks.run")


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
