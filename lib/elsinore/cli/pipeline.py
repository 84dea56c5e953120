"""`elsinore replay` and the pipeline's steps, each the same code as in `jobs/`."""

from __future__ import annotations

import subprocess
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

#: Steps of the pipeline by the job that runs them.
STEPS = {
    "land": ("land_events", "Land the raw files of an interval."),
    "aggregate": ("aggregate_trends", "Aggregate the windows that end in an interval."),
    "validate": ("validate_results", "Check a sample of staged results against the reference."),
    "publish": ("publish_results", "Publish the validated results of an interval."),
    "report": ("report_quality", "Write the data-quality report of an interval."),
}


def replay_flights(start: Start = DEFAULT_START, end: End = DEFAULT_END) -> None:
    """Replay real flights through the whole pipeline in Airflow; print the top results."""
    console = Console()
    summary = replay(Settings.load(), start, end, ProgressPrinter(console))
    print_summary(summary, console)


def add_steps(commands: typer.Typer) -> None:
    """Add a command for each step of the pipeline."""
    for name, (job, text) in STEPS.items():
        commands.command(name, help=text)(_step(job))


def _step(job: str):  # type: ignore[no-untyped-def]
    def step(start: Start, end: End) -> int:
        command = job_command(job, Interval.parse(start, end))
        root = Settings.load().root
        try:
            return subprocess.run(command, cwd=root, check=False).returncode
        except OSError as error:
            raise ParameterError(f"cannot run {job}: {error.strerror}") from error

    return step
