"""Commands that start a project, a schema or a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsinore.cli.commands.arguments import EventFiles, EventTypeField


def schema() -> None:
    """Write a schema for your events."""


def infer(
    events: EventFiles,
    stream: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the stream in the schema.")
    ] = "events",
    type_: EventTypeField = None,
) -> None:
    """Print a schema that fits the first 100,000 events.

    Review it before you use it: guesses end in `# ?`.
    """
    from elsinore.cli.init import print_schema

    print_schema(events, stream, type_)


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="New or empty directory.")],
    events: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Your events. By default Elsinore writes nine events of a ride service.",
        ),
    ] = None,
    type_: EventTypeField = None,
) -> None:
    """Create a project in DIRECTORY: schema, first query, test case and README.

    The schema is inferred from your events.
    """
    from elsinore.cli.init import create_project

    create_project(directory, events, type_)


def new_stream(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lowercase letters, digits and _.")],
    events: Annotated[Path, typer.Option("--from", metavar="FILE", help="Events of the stream.")],
    type_: EventTypeField = None,
) -> None:
    """Add a stream to the pipeline: a schema that fits its events, and a first query.

    Prints the environment variables that the stream needs.
    """
    from elsinore.cli.put import new_stream as add_stream

    add_stream(name, events, type_)
