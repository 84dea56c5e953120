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


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """One page; links the Data Docs that the validation left behind, if it did."""
    interval = arguments.interval
    judgement = load_judgement(settings.quality, run_key(interval))
    docs_index = judgement.docs if judgement else None
    stream = load_schema(settings.schema_file)
    page = write_report(
        settings.lake, settings.reports, interval, docs_index, judgement, stream=stream
    )
    return {"report": str(page), "data_docs": str(docs_index) if docs_index else None}
