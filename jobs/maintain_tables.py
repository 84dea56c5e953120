"""Removes what is old enough, puts small files of tables together and drops those no one needs."""

from __future__ import annotations

import time

from elsinore.lake.maintain import figures, maintain
from elsinore.lake.retain import remove_old
from elsinore.lake.run_metrics import MAINTAIN_STEP, note_metrics, record_metrics
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.report import write_index
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Maintain all tables, whatever the interval: from its end days are counted back to keep."""
    lake = Lake.open(settings)
    lake.create_all()
    begun, until = time.perf_counter(), arguments.interval.end
    workload = load_workload(settings.workload_file, lake.stream)
    done = remove_old(lake, settings, workload, until, run=arguments.run)
    if done.get("reports_expired"):
        write_index(settings.reports)
    done |= figures(maintain(lake, keep_hours=settings.keep_hours, run=arguments.run))
    seconds = round(time.perf_counter() - begun, 3)
    note_metrics(lake, None, arguments.interval, MAINTAIN_STEP, done)
    record_metrics(lake, arguments.run)  # those of runs that never came to their report, too
    return {**done, "seconds": seconds}
