"""Checks the rows of an interval against the suites, for all runs; builds Data Docs."""

from __future__ import annotations

from elsinore.lake.own_workload import load_own_workload
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.check_expectations import check_expectations, require_accepted
from elsinore.quality.run_tables import ahead_of, read_run_tables
from elsinore.settings import Settings
from elsinore.store.regions import run_key
from elsinore.store.tables import Lake


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Check the rows; a failed critical expectation fails the job after its page was built."""
    interval, lake = arguments.interval, Lake.open(settings)
    lake.create_records()  # a new workload has had no run yet
    ahead = ahead_of(load_own_workload(settings, lake.stream))
    validation = check_expectations(
        read_run_tables(lake, ahead, state_of(settings), interval),
        settings.quality,
        run_key(interval),
        expectations_dir=settings.expectations_dir,
        docs=True,
    )
    require_accepted(validation)
    return {"warnings": len(validation.failed("warning")), "data_docs": validation.docs_index}
