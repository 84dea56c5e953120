"""Writes the data-quality report of a run from the lake's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.catalog.load_schema import load_schema
from elsinore.lake.regions import run_key
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.judgement import load_judgement
from elsinore.quality.report import write_report
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings, *, night: bool = False) -> Mapping[str, Any]:
    """One page; links the Data Docs that the validation left behind, if it did.

    Args:
        arguments: the hours, and the run.
        settings: name the lake and where pages go.
        night: whether it is the report of a day: of all its runs, beside the days before it.
    """
    interval = arguments.interval
    judgement = load_judgement(settings.quality, run_key(interval))
    docs_index = judgement.docs if judgement else None
    page = write_report(
        settings.lake,
        settings.reports,
        interval,
        docs_index,
        judgement,
        stream=load_schema(settings.schema_file),
        night=night,
    )
    return {"report": str(page), "data_docs": str(docs_index) if docs_index else None}
