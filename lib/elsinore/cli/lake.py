"""`elsinore forget` and `migrate`: a key leaves the lake, or a new attribute comes to it.

With a key go its events, raw lines and results, and every file that holds them.
"""

from __future__ import annotations

from typing import Annotated

import pyarrow.compute as pc
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import SchemaError
from elsinore.lake.forget import Key, forget
from elsinore.lake.tables import Lake, other_columns
from elsinore.orchestration.run_step import at_work
from elsinore.quality.report import write_index
from elsinore.settings import Settings


def forget_key(
    key: Annotated[
        list[str],
        typer.Argument(help="attribute=value; of several, events with all of them are forgotten."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove a key from raw files, tables, reports, Data Docs and logs, with all older versions.

    Published hours that it changes are re-opened: the next run computes them anew.
    """
    settings = Settings.load()
    stream = load_schema(settings.schema_file)
    wanted = Key.parse(key, stream)
    with at_work(settings.local, alone=not dry_run):
        removed, hours = forget(settings, wanted, run="forget", dry_run=dry_run)
        for own in settings.with_results() if not dry_run else ():
            if own.reports.is_dir():
                write_index(own.reports)
    typer.echo(f"{'would go' if dry_run else 'removed':26}{'rows':>10}{'files':>8}")
    for name, (rows, files) in removed.items():
        typer.echo(f"{name:26}{rows:>10,}{files:>8,}")
    if not dry_run:
        typer.echo(f"{'published hours re-opened':26}{hours:>10,}")
    if stream.sources:
        typer.echo("files that were collected, not landed where they lie, stay as they are")


def migrate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would do.")] = False,
) -> None:
    """Add a column to the table events for each new attribute of the schema.

    No file is written anew: new attributes are NULL in the events that are there. The other tables
    get the columns that this release has added to them.
    """
    settings = Settings.load()
    with at_work(settings.local, alone=not dry_run):
        typer.echo(_migrate(settings, dry_run=dry_run))
        for own in settings.with_results() if not dry_run else ():
            Lake.open(own).create_all()


def _migrate(settings: Settings, *, dry_run: bool) -> str:
    lake = Lake.open(settings)
    new, others = lake.difference("events")
    if others:
        raise other_columns(lake.path("events"), others)
    required = [
        f"{kind.name}.{name}"
        for kind in lake.stream.types
        for name in new
        if name in kind.by_name and not kind.by_name[name].nullable
        and lake.dataset("events").head(1, filter=pc.field("event_type") == kind.name).num_rows
    ]  # fmt: skip
    if required:
        raise SchemaError(
            f"events that landed before lack {', '.join(required)}, which {settings.schema_file} "
            "requires",
            hint="say nullable: true of it there",
        )
    if not new:
        return "events has all columns of the schema"
    columns = [f"{name} ({lake.schema('events').columns[name].type})" for name in new]
    if not dry_run:
        lake.add_columns("events", new)
    return f"events {'would get' if dry_run else 'has got'} {', '.join(columns)}"
