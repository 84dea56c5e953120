"""Writes the data-quality report of a run from the lake's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.catalog.load_schema import load_schema
from elsinore.lake.regions import run_key
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.judge import load_judgement
from elsinore.quality.report import write_report
from elsinore.quality.stories import find_workload
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """One page; links the Data Docs that the validation left behind, if it did."""
    interval = arguments.interval
    judgement = load_judgement(settings.quality, run_key(interval))
    stream = load_schema(settings.schema_file)
    workload = find_workload(settings.workload_file, stream)
    page = write_report(
        settings.lake,
        settings.reports,
        interval,
        judgement,
        stream=stream,
        workload=workload,
        airflow=arguments.page,
    )
    return {"report": str(page), "data_docs": judgement and judgement.docs_index}
