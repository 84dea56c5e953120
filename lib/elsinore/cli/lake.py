"""`elsinore forget` erases a key from the lake; `elsinore migrate` adds new columns to its tables.

Erasing a key removes its events, raw records and results, and rewrites every file that has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.ingest.tables import EVENTS, IngestTables
from elsinore.maintain.forget import forget, require_data
from elsinore.maintain.key import Key
from elsinore.maintain.tables import OwnTables
from elsinore.orchestration.run_step import at_work
from elsinore.quality.report import write_index
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.store.stored_schema import require_fitting


def forget_key(key: Sequence[str], dry_run: bool) -> None:
    """Erase a key, and print the number of rows and files per table."""
    settings = Settings.load()
    stream = load_schema(settings.schema_file)
    wanted = Key.parse(key, stream)
    require_data(settings, stream)
    with at_work(settings.local, alone=not dry_run), open_session(settings, "forget") as spark:
        removed, hours = forget(spark, settings, wanted, run="forget", dry_run=dry_run)
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
    with at_work(settings.local, alone=not dry_run), open_session(settings, "migrate") as spark:
        tables = IngestTables.open(spark, settings)
        if dry_run:
            new = _missing(tables)
        else:
            new = tables.create()
            for own in settings.with_results():
                OwnTables.open(spark, own)
    if not new:
        typer.echo(f"the table {EVENTS} has all columns of the schema")
        return
    types = tables.store.schema(EVENTS).columns
    columns = ", ".join(f"{name} ({types[name].type})" for name in new)
    typer.echo(f"the table {EVENTS} {'would get' if dry_run else 'got'} {columns}")


def _missing(tables: IngestTables) -> tuple[str, ...]:
    """Return the columns that `events` lacks; raises as `IngestTables.create` does."""
    found = tables.store.difference(EVENTS)
    if found is None:
        return ()
    require_fitting(tables.store.schema(EVENTS), tables.store.path(EVENTS), found)
    tables.require_optional(found.new)
    return found.new
