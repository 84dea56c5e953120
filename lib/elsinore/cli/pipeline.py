"""`elsinore replay` and the pipeline's steps, each the same code as in `jobs/`."""

from __future__ import annotations

import json
import re

from elsinore.cli.main import warn_of_open_home
from elsinore.console import SafeConsole
from elsinore.errors import DataError, ParameterError
from elsinore.ledger.run_metrics import run_keys
from elsinore.orchestration.run_params import day_interval, run_interval
from elsinore.orchestration.run_step import Arguments, run_step
from elsinore.places import make_home
from elsinore.replay import DEFAULT_END, DEFAULT_START, FLIGHTS, print_plan, replay
from elsinore.settings import LakePath, Settings
from elsinore.spark.server import stop_server
from elsinore.store.regions import run_key
from elsinore.timeline import Interval


def replay_hours(start: str | None, end: str | None, *, dry_run: bool = False) -> None:
    """Run the whole pipeline over a range of hours, or print the hours that it would compute.

    The sample stream has default hours.
    """
    settings = Settings.load().require_current()
    if settings.schema_file == settings.root / FLIGHTS:
        start, end = start or DEFAULT_START, end or DEFAULT_END
    if start is None or end is None:
        raise ParameterError(
            f"replay needs the hours of the stream {settings.stream}",
            hint="add --start TIME and --end TIME; `elsinore put` prints them",
        )
    if dry_run:
        print_plan(settings, start, end, SafeConsole())
        return
    make_home(settings.home)
    warn_of_open_home(settings.home)
    replay(settings, start, end, SafeConsole())


def report(
    run: str | None = None,
    start: str | None = None,
    end: str | None = None,
    night: str | None = None,
) -> int:
    """Write the data quality report of a run, or of a day with all its runs."""
    given = [run is not None, start is not None or end is not None, night is not None]
    if sum(given) != 1:
        raise ParameterError(
            "a report covers either a run or a day",
            hint="give RUN, or --start and --end, or --night",
        )
    if night is not None:
        return _run_job("report_night", day_interval(night))
    interval = _named_run(run) if run is not None else run_interval(start, end)
    require_run(Settings.load().require_current().lake, interval)
    return _run_job("report_quality", interval)


def require_run(lake: LakePath, interval: Interval) -> None:
    """Refuse hours that no run covered; DataError: the lake has no metrics of such a run."""
    known = run_keys(lake)
    if (key := run_key(interval)) not in known:
        last = f"the last runs are {', '.join(known[-3:])}" if known else "no run has finished yet"
        raise DataError(f"run {key} not found", hint=last)


def _named_run(name: str) -> Interval:
    found = re.fullmatch(r"(\d{4}-\d{2}-\d{2}T\d{2})_(\d{4}-\d{2}-\d{2}T\d{2})", name)
    if found is None:
        raise ParameterError(
            f"not the name of a run: {name[:60]!r}", hint="write it as 2013-02-08T00_2013-02-10T00"
        )
    return Interval.parse(f"{found[1]}:00", f"{found[2]}:00")


def run_hours(job: str, start: str, end: str) -> int:
    """Run a job over a range of hours and print its metrics."""
    return _run_job(job, run_interval(start, end))


def _run_job(job: str, interval: Interval) -> int:
    arguments = Arguments(interval, f"{job} {interval}", by_hand=True)
    metrics = run_step(job, arguments, Settings.load())
    print(json.dumps({"job": job, **metrics}))
    return 0


def stop() -> None:
    """Stop the Spark server that was started on demand, if it runs."""
    stopped = stop_server(Settings.load())
    print("Spark stopped" if stopped else "Spark was not running")
