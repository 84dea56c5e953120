"""`elsinore replay` and the pipeline's steps, each the same code as in `jobs/`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated

import typer

from elsinore.cli.main import warn_of_open_home
from elsinore.console import SafeConsole
from elsinore.errors import DataError, ParameterError
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import run_keys
from elsinore.orchestration.run_params import day_interval, run_interval
from elsinore.orchestration.run_step import Arguments, run_step
from elsinore.places import make_home
from elsinore.replay import DEFAULT_END, DEFAULT_START, replay
from elsinore.settings import LakePath, Settings
from elsinore.spark.server import stop_server
from elsinore.timeline import Interval

Start = Annotated[str, typer.Option(help="First hour of the interval, ISO 8601, UTC.")]
End = Annotated[str, typer.Option(help="End of the interval, ISO 8601, UTC.")]


def replay_hours(start: Start = DEFAULT_START, end: End = DEFAULT_END) -> None:
    """Run the whole pipeline over some hours of the stream of ELSINORE_SCHEMA_FILE, in Airflow.

    Lands the raw files, answers the queries, checks a sample and publishes; prints the largest
    results, and which windows are still open. Replaying hours again leaves the same tables. If the
    stream is `flights`, as it comes with Elsinore, raw files that are missing are made from real
    flights of 2013; the default hours are theirs.
    """
    settings = Settings.load()
    make_home(settings.home)
    warn_of_open_home(settings.home)
    replay(settings, start, end, SafeConsole())


def report(
    run: Annotated[
        str | None, typer.Argument(help="A run by its name, such as 2013-02-08T00_2013-02-10T00.")
    ] = None,
    start: Annotated[str | None, typer.Option(help="First hour of a run, ISO 8601, UTC.")] = None,
    end: Annotated[str | None, typer.Option(help="End of the run, ISO 8601, UTC.")] = None,
    night: Annotated[
        str | None, typer.Option(help="A day (UTC), such as 2013-02-08: all its runs.")
    ] = None,
) -> int:
    """Write the data-quality report of a run, or of a day with all its runs, from the tables."""
    given = [run is not None, start is not None or end is not None, night is not None]
    if sum(given) != 1:
        raise ParameterError(
            "a report is of one run or of one day",
            hint="give RUN, or --start and --end, or --night",
        )
    if night is not None:
        return _run_job("report_night", day_interval(night))
    interval = _named_run(run) if run is not None else run_interval(start, end)
    require_run(Settings.load().lake, interval)
    return _run_job("report_quality", interval)


def require_run(lake: LakePath, interval: Interval) -> None:
    """Refuse hours that no run was over; DataError: no step of such a run left a figure."""
    known = run_keys(lake)
    if (key := run_key(interval)) not in known:
        last = f"the last ones are {', '.join(known[-3:])}" if known else "there was none at all"
        raise DataError(f"there was no run {key}", hint=last)


def _named_run(name: str) -> Interval:
    found = re.fullmatch(r"(\d{4}-\d{2}-\d{2}T\d{2})_(\d{4}-\d{2}-\d{2}T\d{2})", name)
    if found is None:
        raise ParameterError(
            f"not the name of a run: {name[:60]!r}", hint="write it as 2013-02-08T00_2013-02-10T00"
        )
    return Interval.parse(f"{found[1]}:00", f"{found[2]}:00")


def _run_job(job: str, interval: Interval) -> int:
    arguments = Arguments(interval, f"{job} {interval}", by_hand=True)
    figures = run_step(job, arguments, Settings.load())
    print(json.dumps({"job": job, **figures}))
    return 0


def _step(job: str, text: str) -> Callable[[Start, End], int]:
    """A command that runs a job over an interval; `text` is its help."""

    def step(start: Start, end: End) -> int:
        return _run_job(job, run_interval(start, end))

    step.__doc__ = text
    return step


land = _step("land_events", "Land the raw files of an interval.")
aggregate = _step(
    "aggregate_trends", "Find a plan, and aggregate the windows that end in an interval."
)
validate = _step("validate_results", "Check a sample of staged results against the reference.")
publish = _step("publish_results", "Publish the validated results of an interval.")


def stop() -> None:
    """End the Spark server that was started on demand, if it runs."""
    ended = stop_server(Settings.load())
    print("Spark has ended" if ended else "Spark does not run")
