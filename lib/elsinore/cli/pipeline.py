"""`elsinore replay` and the pipeline's steps, each the same code as in `jobs/`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console

from elsinore.errors import ParameterError
from elsinore.orchestration.job_command import job_command
from elsinore.replay import (
    DEFAULT_END,
    DEFAULT_START,
    ProgressPrinter,
    print_summary,
    replay,
)
from elsinore.settings import Settings
from elsinore.timeline import Interval

Start = Annotated[str, typer.Option(help="First hour of the interval, ISO 8601, UTC.")]
End = Annotated[str, typer.Option(help="End of the interval, ISO 8601, UTC.")]


def replay_flights(start: Start = DEFAULT_START, end: End = DEFAULT_END) -> None:
    """Replay real flights through the whole pipeline in Airflow; print the top results."""
    console = Console()
    summary = replay(Settings.load(), start, end, ProgressPrinter(console))
    print_summary(summary, console)


def _step(job: str, text: str) -> Callable[[Start, End], int]:
    """A command that runs a job over an interval; `text` is its help."""

    def step(start: Start, end: End) -> int:
        command = job_command(job, Interval.parse(start, end))
        root = Settings.load().root
        try:
            return subprocess.run(command, cwd=root, check=False).returncode
        except OSError as error:
            raise ParameterError(f"cannot run {job}: {error.strerror}") from error

    step.__doc__ = text
    return step


land = _step("land_events", "Land the raw files of an interval.")
aggregate = _step("aggregate_trends", "Aggregate the windows that end in an interval.")
validate = _step("validate_results", "Check a sample of staged results against the reference.")
publish = _step("publish_results", "Publish the validated results of an interval.")
report = _step("report_quality", "Write the data-quality report of an interval.")
