"""Puts the commands together and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from elsinore import __version__
from elsinore.cli.bench import bench
from elsinore.cli.check import check
from elsinore.cli.explain import explain
from elsinore.cli.generate import generate_app
from elsinore.cli.pipeline import add_steps, replay_flights
from elsinore.cli.plan import plan
from elsinore.cli.run import run
from elsinore.cli.why import why
from elsinore.errors import AuthorError, ElsinoreError
from elsinore.settings import DEBUG

commands = typer.Typer(
    name="elsinore",
    help="Counts and sums event trends exactly, without building them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
commands.command()(run)
commands.command()(check)
commands.command()(plan)
commands.command()(explain)
commands.command()(why)
commands.command()(bench)
commands.command("replay")(replay_flights)
commands.add_typer(generate_app, name="generate")
add_steps(commands)


@commands.callback(invoke_without_command=True)
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
        The exit code.
    """
    try:
        result = commands(arguments, prog_name="elsinore", standalone_mode=False)
    except TyperException as error:
        message = error.format_message()
        is_help = "\n" in message
        typer.echo(message if is_help else f"elsinore: {message} (--help tells more)", err=True)
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


def _show(error: ElsinoreError) -> None:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    lines = error.diagnostics if isinstance(error, AuthorError) else (error,)
    for line in lines:
        typer.echo(f"elsinore: {' '.join(str(line).split())}", err=True)
