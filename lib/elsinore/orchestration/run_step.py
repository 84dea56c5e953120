"""A step of the pipeline: a module of `jobs/`, called in this process."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from elsinore.settings import Settings
from elsinore.step_clock import timed_step
from elsinore.timeline import Interval

#: Libraries that steps need and that take long to import.
_LIBRARIES = (
    "deltalake",
    "lark",
    "numba",
    "pydantic_settings",
    "pyspark.sql.connect.session",
    "tenacity",
    "great_expectations",
    "scipy.optimize",
)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What every job is told.

    Attributes:
        interval: what it works on, whole hours.
        run: the run that it belongs to; the history of tables shows it beside each commit.
    """

    interval: Interval
    run: str

    def session(self, job: str) -> str:
        """The name of a job's Spark session: the same whenever the job is tried again."""
        return f"{job} {self.interval} {self.run}"


def run_step(job: str, arguments: Arguments, settings: Settings) -> dict[str, Any]:
    """Calls `main(arguments, settings)` of a module in `jobs/` and returns its figures.

    They are plain data that JSON can hold.
    """
    with timed_step():
        figures = load_job(job, settings).main(arguments, settings)
    return dict(json.loads(json.dumps(figures)))


def load_job(job: str, settings: Settings) -> Any:
    """A module of `jobs/`, which lies beside the library and not in it."""
    if (root := str(settings.root)) not in sys.path:
        sys.path.insert(0, root)
    return import_module(f"jobs.{job}")


def import_libraries() -> None:
    """Imports what steps need and what takes long, 5 s of a processor, for who has the time now."""
    os.environ["GX_ANALYTICS_ENABLED"] = "False"
    for name in _LIBRARIES:
        import_module(name)
