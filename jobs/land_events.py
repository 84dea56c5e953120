"""Lands the raw files of an interval's hours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.settings import Settings
from elsinore.spark.land import land_events
from elsinore.spark.session import open_session
from elsinore.spark.tables import Lake
from jobs.edge import Arguments, run_job

JOB = "land_events"


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """Land, and give the counts."""
    lake = Lake.open(open_session(settings, JOB), settings)
    return land_events(lake, settings, arguments.interval, run=arguments.run)


if __name__ == "__main__":
    run_job(JOB, main)
