"""Writes the data-quality report of a run from the lake's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import QueryError
from elsinore.lake.regions import run_key
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.judge import load_judgement
from elsinore.quality.report import write_report
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """One page; links the Data Docs that the validation left behind, if it did."""
    interval = arguments.interval
    judgement = load_judgement(settings.quality, run_key(interval))
    stream = load_schema(settings.schema_file)
    page = write_report(
        settings.lake, settings.reports, interval, judgement,
        stream=stream, workload=workload_of(settings, stream), airflow=arguments.page,
    )  # fmt: skip
    return {"report": str(page), "data_docs": judgement and judgement.docs_index}


def workload_of(settings: Settings, stream: StreamSchema) -> Workload | None:
    """The workload, whose texts a report shows; None where it is not valid.

    A run that has failed for that has a report, too.
    """
    try:
        return load_workload(settings.workload_file, stream)
    except QueryError:
        return None
