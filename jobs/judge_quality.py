"""Judges the rows of an interval by the suites, whichever runs brought them; builds Data Docs."""

from __future__ import annotations

from elsinore.lake.regions import run_key
from elsinore.lake.tables import Lake
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.judge import judge, require_accepted
from elsinore.quality.run_tables import read_run_tables
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Judge; a failed critical expectation fails the job after its page was built."""
    interval, lake = arguments.interval, Lake.open(settings)
    lake.create_records()  # a new workload has had no run yet
    judgement = judge(
        read_run_tables(lake, state_of(settings), interval),
        settings.quality,
        run_key(interval),
        expectations_dir=settings.expectations_dir,
        docs=True,
    )
    require_accepted(judgement)
    return {"warnings": len(judgement.failed("warning")), "data_docs": judgement.docs_index}
