"""`elsinore forget` erases a key from the lake; `elsinore migrate` adds new attributes to it.

Erasing a key removes its events, raw records and results, and rewrites every file that has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc
import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import SchemaError
from elsinore.lake.forget import Key, forget
from elsinore.lake.tables import Lake, other_columns
from elsinore.orchestration.run_step import at_work
from elsinore.quality.report import write_index
from elsinore.settings import Settings


def forget_key(key: Sequence[str], dry_run: bool) -> None:
    """Erase a key, and print the number of rows and files per table."""
    settings = Settings.load()
    stream = load_schema(settings.schema_file)
    wanted = Key.parse(key, stream)
    with at_work(settings.local, alone=not dry_run):
        removed, hours = forget(settings, wanted, run="forget", dry_run=dry_run)
        for own in settings.with_results() if not dry_run else ():
            if own.reports.is_dir():
                write_index(own.reports)
    typer.echo(f"{'would be erased' if dry_run else 'erased':26}{'rows':>10}{'files':>8}")
    for name, (rows, files) in removed.items():
        typer.echo(f"{name:26}{rows:>10,}{files:>8,}")
    if not dry_run:
        typer.echo(f"{'published hours now stale':26}{hours:>10,}")
    if stream.sources:
        typer.echo("source files that Elsinore collects from stay as they are: erase the key there")


def migrate(dry_run: bool) -> None:
    """Add the columns of new attributes and of this release, and print which ones."""
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
            f"existing events have no {', '.join(required)}, which {settings.schema_file} requires",
            hint="declare it with nullable: true",
        )
    if not new:
        return "the table events has all columns of the schema"
    columns = [f"{name} ({lake.schema('events').columns[name].type})" for name in new]
    if not dry_run:
        lake.add_columns("events", new)
    return f"the table events {'would get' if dry_run else 'got'} {', '.join(columns)}"
