"""Writes the data-quality report of a run from the lake's tables."""

from __future__ import annotations

from contextlib import suppress

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import QueryError
from elsinore.lake.own_workload import load_own_workload
from elsinore.ledger.run_metrics import record_metrics
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.check_expectations import load_validation_results
from elsinore.quality.report import write_report
from elsinore.settings import Settings
from elsinore.store.tables import Lake


def main(arguments: Arguments, settings: Settings) -> Figures:
    """One page; links the Data Docs that the validation left behind, if it did."""
    return write_page(arguments, settings, night=False)


def write_page(arguments: Arguments, settings: Settings, *, night: bool) -> Figures:
    """The page of a run or, by night, of a day; and the figures of the steps in their table."""
    record_metrics(Lake.open(settings), arguments.run, arguments.interval)
    validation = load_validation_results(settings.quality, arguments.interval)
    stream = load_schema(settings.schema_file)
    workload = None
    with suppress(QueryError):  # a run that has failed since it is not valid has a report, too
        workload = load_own_workload(settings, stream)
    page = write_report(
        settings.lake,
        state_of(settings),
        settings.reports,
        arguments.interval,
        validation,
        stream=stream,
        workload=workload,
        night=night,
        airflow=arguments.page,
        of_stream=settings.stream,
    )
    return {"report": str(page), "data_docs": validation and validation.docs_index}
