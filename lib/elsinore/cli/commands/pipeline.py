"""Commands that run the pipeline, as a whole or step by step."""

from __future__ import annotations

from typing import Annotated

import typer

from elsinore.cli.commands.arguments import (
    FIRST_HOUR,
    LAST_HOUR,
    End,
    EventFiles,
    MaxErrorRate,
    Start,
)


def put(events: EventFiles, max_error_rate: MaxErrorRate = 0) -> None:
    """Write events to the landing zone, by the hour of their event time.

    The command is idempotent: it overwrites no file and skips events that it wrote before. It
    prints the `elsinore replay` commands that compute all windows of the events.

    An hour without events gets an empty file if it is between two events less than a week apart.
    Results of windows that reach an hour without a file are provisional.
    """
    from elsinore.cli.put import put as put_files

    put_files(events, max_error_rate)


def replay(
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="First hour (ISO 8601, UTC). Required, except for the sample stream flights: "
            "2013-02-08T00:00Z.",
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="End of the last hour (ISO 8601, UTC). Required, except for the sample stream "
            "flights: 2013-02-10T00:00Z.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only list the hours that would be computed, each with the reason."
        ),
    ] = False,
) -> None:
    """Run the whole pipeline over a range of hours, in Airflow.

    ELSINORE_STREAM or ELSINORE_SCHEMA_FILE selects the stream. Each hour is ingested from the
    landing zone, evaluated, checked on a sample and published. Runs are idempotent: replay any hour
    again and you get the same tables.

    Prints the largest results and the windows that are still open. For the sample stream flights,
    missing raw files are created from real flights of 2013.
    """
    from elsinore.cli.pipeline import replay_hours

    replay_hours(start, end, dry_run=dry_run)


def ingest(
    files: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    start: Annotated[str | None, typer.Option(metavar="TIME", help=FIRST_HOUR)] = None,
    end: Annotated[str | None, typer.Option(metavar="TIME", help=LAST_HOUR)] = None,
) -> int:
    """Run the first step: ingest the raw files of a range of hours."""
    from elsinore.cli.pipeline import run_hours
    from elsinore.errors import ParameterError
    from elsinore.wording import command

    if files:  # which the command of this name took in release 0.2
        raise ParameterError(
            "ingest reads files of the landing zone",
            hint=f"write files into the landing zone first: {command('elsinore', 'put', *files)}",
        )
    if start is None or end is None:
        raise ParameterError(
            "ingest needs a range of hours", hint="add --start TIME and --end TIME"
        )
    return run_hours("ingest_events", start, end)


def aggregate(start: Start, end: End) -> int:
    """Run the second step: find a plan and compute the windows that end in a range of hours."""
    from elsinore.cli.pipeline import run_hours

    return run_hours("aggregate_trends", start, end)


def validate(start: Start, end: End) -> int:
    """Run the third step: check a sample of staged results against the reference."""
    from elsinore.cli.pipeline import run_hours

    return run_hours("validate_results", start, end)


def publish(start: Start, end: End) -> int:
    """Run the last step: publish the checked results of a range of hours."""
    from elsinore.cli.pipeline import run_hours

    return run_hours("publish_results", start, end)


def report(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Name of a run, such as 2013-02-08T00_2013-02-10T00."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="First hour of the run, instead of its name."),
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="End of the run, instead of its name.")
    ] = None,
    night: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Day (UTC), such as 2013-02-08: report all its runs."),
    ] = None,
) -> int:
    """Write the data quality report of a run, or of a day with all its runs."""
    from elsinore.cli.pipeline import report as write_report

    return write_report(run, start, end, night)
