"""`elsinore forget` erases a key from the lake; `elsinore migrate` moves it to this release.

Erasing a key removes its events, raw records and results, and rewrites every file that has them.
"""

from __future__ import annotations

from collections.abc import Sequence

import typer

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import SetupError
from elsinore.ingest.tables import EVENTS, IngestTables
from elsinore.maintain.forget import forget, require_data
from elsinore.maintain.key import Key
from elsinore.maintain.migrate import Migrated, migrate_lake, old_rows
from elsinore.maintain.tables import OwnTables
from elsinore.orchestration.run_step import at_work
from elsinore.quality.report import write_index
from elsinore.query.print_query import count_of
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.store.stored_schema import require_fitting
from elsinore.wording import command


def forget_key(key: Sequence[str], dry_run: bool) -> None:
    """Erase a key, and print the number of rows and files per table."""
    settings = Settings.load().require_current()
    _require_no_old_tables(settings)
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


def _require_no_old_tables(settings: Settings) -> None:
    """Refuse to erase a key while old tables, which are not searched, can contain it."""
    if (old := settings.before_migration).is_dir():
        raise SetupError(
            f"{old} has tables of release 0.2, which can contain the key",
            hint=f"delete them: `{command('rm', '-r', old)}`",
        )


def migrate(dry_run: bool) -> None:
    """Move a lake of release 0.2 to this release, or else add columns; print what was done."""
    settings = Settings.load().of_workload("")
    is_old = settings.is_old
    if is_old and dry_run:
        counts = ", ".join(f"{name} ({rows:,} rows)" for name, rows in old_rows(settings).items())
        typer.echo(f"the tables of release 0.2 would be migrated: {counts}")
        return
    with at_work(settings.local, alone=not dry_run), open_session(settings, "migrate") as spark:
        if is_old:
            _show(settings, migrate_lake(spark, settings))
            return
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


def _show(settings: Settings, done: Migrated) -> None:
    for name, rows in done.rows.items():
        typer.echo(f"{name:26}{rows:>12,} rows")
    if done.changed:
        typer.echo(
            f"{count_of(done.changed, 'event')} changed, because other records win now; "
            "the next run recomputes the hours"
        )
    old = settings.before_migration
    typer.echo(f"the tables of release 0.2 are kept; to delete them: {command('rm', '-r', old)}")


def _missing(tables: IngestTables) -> tuple[str, ...]:
    """Return the columns that `events` lacks; raises as `IngestTables.create` does."""
    found = tables.store.difference(EVENTS)
    if found is None:
        return ()
    require_fitting(tables.store.schema(EVENTS), tables.store.path(EVENTS), found)
    tables.require_optional(found.new)
    return found.new
