"""Puts small files of the tables together and removes files that no version needs any more."""

from __future__ import annotations

import time

from elsinore.lake.maintain import figures, maintain
from elsinore.lake.run_metrics import MAINTAIN_STEP, note_metrics, record_metrics
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Maintain all tables, whatever the interval, which only names the run in the metrics."""
    lake = Lake.open(settings)
    lake.create_all()
    begun = time.perf_counter()
    done = figures(maintain(lake, keep_hours=settings.keep_hours, run=arguments.run))
    seconds = round(time.perf_counter() - begun, 3)
    note_metrics(lake, None, arguments.interval, MAINTAIN_STEP, done)
    record_metrics(lake, arguments.run)  # those of runs that never came to their report, too
    return {**done, "seconds": seconds}
