"""`elsinore migrate`: a lake that is older than the stream's schema gets its new attributes."""

from __future__ import annotations

from typing import Annotated

import typer

from elsinore.errors import SchemaError
from elsinore.lake.tables import Lake, other_columns
from elsinore.settings import Settings


def migrate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
) -> None:
    """Add a column to the table events for each new attribute of the schema.

    No file is written anew: new attributes are NULL in the events that are there.
    """
    settings = Settings.load()
    lake = Lake.open(settings)
    new, others = lake.difference("events")
    if others:
        raise other_columns("events", others)
    required = [
        f"{kind.name}.{name}"
        for kind in lake.stream.types
        for name in new
        if name in kind.by_name and not kind.by_name[name].nullable
    ]
    if required:
        raise SchemaError(
            f"events that landed before lack {', '.join(required)}, which {settings.schema_file} "
            "requires",
            hint="say nullable: true of it there",
        )
    if not new:
        typer.echo("events has all columns of the schema")
        return
    columns = [f"{name} ({lake.schema('events').columns[name].type})" for name in new]
    if not dry_run:
        lake.add_columns("events", new)
    typer.echo(f"events {'would get' if dry_run else 'has got'} {', '.join(columns)}")
