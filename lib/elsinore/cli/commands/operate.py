"""Commands that query, inspect and maintain the lake."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsinore.choices import Engine
from elsinore.cli.commands.arguments import AsJson, DryRun, Output, ResultFormat, Set

_Workload = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File of queries (.sase). By default the pipeline's."),
]
_Schema = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Schema of the events (.yaml). By default the pipeline's."),
]


def sql(
    query: Annotated[str, typer.Argument(metavar="SQL", help="One statement, in DuckDB's SQL.")],
    form: ResultFormat = None,
    output: Output = None,
) -> None:
    """Query the lake with SQL: its tables, and a view of the results per query.

    SHOW TABLES lists both. The lake is read-only here.
    """
    from elsinore.cli.sql import sql as query_lake

    query_lake(query, form, output)


def views(
    workload: Annotated[
        Path | None,
        typer.Argument(
            metavar="WORKLOAD", help="File of queries (.sase). By default the pipeline's."
        ),
    ] = None,
    schema: _Schema = None,
    dialect: Annotated[Engine, typer.Option(help="SQL dialect of the statements.")] = Engine.DUCKDB,
) -> None:
    """Print SQL that defines the lake's tables and a typed view per query.

    Run it in DuckDB, Spark or Trino to query the lake from there.
    """
    from elsinore.cli.sql import views as print_views

    print_views(workload, schema, dialect)


def why(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Name of the query.")],
    group: Annotated[
        str,
        typer.Argument(
            metavar="GROUP", help="Group, as name=value,... or a JSON object; {} if it has none."
        ),
    ],
    window: Annotated[
        str, typer.Argument(metavar="TIME", help="Start of the window (ISO 8601, UTC).")
    ],
    lake: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", help="Directory of the Delta tables. By default the pipeline's."
        ),
    ] = None,
    workload: _Workload = None,
    schema: _Schema = None,
    set_: Set = None,
    limit: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Maximum number of trends, events and values to list."
        ),
    ] = 10,
    step: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Step whose trends are listed. By default the last one."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the origin of a published result, its checks, its trends and what EACH counts.

    `elsinore lineage` is another name of this command.
    """
    from elsinore.cli.why import WhyOptions, explain_result

    explain_result(
        WhyOptions(
            query,
            group,
            window,
            lake,
            workload,
            schema,
            set_ or [],
            limit=limit,
            step=step,
            as_json=as_json,
        )
    )


def hours(
    days: Annotated[
        int, typer.Option(metavar="N", min=1, max=366, help="Number of days to show.")
    ] = 14,
    since: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="First day to show, such as 2013-02-08 (UTC)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show which hours are published, missing, stale or failed, and which have to be computed.

    A line per day shows a character per hour (UTC) and the day's counts.
    """
    from elsinore.cli.hours import HoursOptions, show_hours

    show_hours(HoursOptions(days=days, since=since, as_json=as_json))


def migrate(dry_run: DryRun = False) -> None:
    """Move the lake's tables to this release, and add columns that a schema has added.

    Pause the DAGs first. The tables of release 0.2 are kept in the directory before-0.3. A new
    attribute is NULL in existing events.
    """
    from elsinore.cli.lake import migrate as migrate_tables

    migrate_tables(dry_run)


def forget(
    key: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY",
            help="Key, as attribute=value. If you give several, events that match all are erased.",
        ),
    ],
    dry_run: DryRun = False,
) -> None:
    """Erase a key from raw files, tables, reports, Data Docs and logs.

    Older versions of the tables are erased, too. Published hours that the key affects become stale:
    the next run recomputes them.
    """
    from elsinore.cli.lake import forget_key

    forget_key(key, dry_run)


def stop() -> None:
    """Stop the Spark server that Elsinore started on demand."""
    from elsinore.cli.pipeline import stop as stop_spark

    stop_spark()
