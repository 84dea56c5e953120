"""Validates the staged results of some hours: samples against the reference, and the suites."""

from __future__ import annotations

from math import ceil

from elsinore.errors import ConflictError
from elsinore.lake.answered import Answered, answered_by
from elsinore.ledger.of_run import RunLedger
from elsinore.ledger.results import lost
from elsinore.ledger.rows import State, hours_in
from elsinore.ledger.run_metrics import VALIDATE_STEP as STEP
from elsinore.ledger.run_metrics import note_metrics
from elsinore.ledger.staged import Staged, per_hour, staged
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.check_expectations import check_expectations, require_accepted
from elsinore.quality.run_tables import ahead_of, read_run_tables
from elsinore.quality.sample import SampleSize
from elsinore.quality.validate import require_no_mismatch, validate
from elsinore.settings import Settings
from elsinore.store.regions import run_key
from elsinore.timeline import DAY
from jobs.aggregate_trends import main as aggregate_trends

#: Results that are checked of a slice of a run at least, however small its share of the run.
LEAST = 20


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Check results and expectations, and only then record what publishing asks for."""
    one = answered_by(settings, (settings.workload,))[0]
    hours = arguments.interval
    ledger = RunLedger.open(settings, one.lake.stream.name, STEP, arguments.run)
    state, wanted = ledger.state(one.title), hours_in(hours)
    if not arguments.ingested and len(lost(state, wanted, one.reach)) == len(wanted):
        return {}  # they are recomputed for another workload
    what = staged(state, hours)
    if what is None or what.workload_fingerprint != one.fingerprint:
        # Another run has aggregated some of them since, perhaps for other queries.
        aggregate_trends(arguments, settings)
        what = staged(ledger.state(one.title), hours)
    if what is None:
        raise ConflictError(
            f"other runs aggregated some of {hours} at the same time",
            hint="run the step again",
        )
    with ledger.failures(hours, {one.title: what.columns()}):
        return _validate(arguments, settings, one, what, ledger)


def _validate(
    arguments: Arguments, settings: Settings, one: Answered, what: Staged, ledger: RunLedger
) -> Figures:
    hours, most = arguments.interval, settings.sample_windows
    windows = min(most, max(LEAST, ceil(most * arguments.share)))
    size = SampleSize(windows, settings.sample_budget, settings.sample_seed)
    validation = validate(one.lake, one.workload, hours, size, what, run=arguments.run)
    state = ledger.state(one.title)
    ahead = ahead_of(one.workload)
    expectations = check_expectations(
        read_run_tables(one.lake, ahead, state, hours, ingested=arguments.ingested),
        settings.quality,
        run_key(hours),
        expectations_dir=settings.expectations_dir,
        docs=hours.length >= DAY and arguments.share == 1.0,
    )
    require_no_mismatch(validation)
    require_accepted(expectations)
    checked = per_hour(validation.checked_rows(), hours_in(hours))
    columns = {**what.columns(), "checked_rows": checked}
    ledger.append(State.VALIDATED, hours, one.title, columns)
    figures = validation.figures()
    note_metrics(one.lake, one.fingerprint, hours, STEP, figures)
    warnings, docs = len(expectations.failed("warning")), expectations.docs_index
    return {**figures, "warnings": warnings, "data_docs": docs}
