"""`elsinore schema`: a first schema from events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsinore.library.infer_schema import infer_schema

schema_app = typer.Typer(help="Schemas of event streams.", no_args_is_help=True)


@schema_app.callback()
def _schemas() -> None:
    """Schemas of event streams."""


@schema_app.command()
def infer(
    events: Annotated[list[Path], typer.Argument(help="Events: files or folders.")],
    stream: Annotated[str, typer.Option(help="What to call the stream.")] = "events",
) -> None:
    """Print a schema that fits the first events, for you to correct; guesses end in a ?."""
    typer.echo(infer_schema(events, stream=stream), nl=False)
