"""Writes the data-quality report of a day: of all its runs, beside the days before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import ParameterError
from elsinore.lake.regions import run_key
from elsinore.orchestration.run_step import Arguments
from elsinore.quality.judge import load_judgement
from elsinore.quality.report import write_report
from elsinore.quality.stories import find_workload
from elsinore.settings import Settings
from elsinore.timeline import DAY


def main(arguments: Arguments, settings: Settings) -> Mapping[str, Any]:
    """One page; links the Data Docs of the day and the reports of its runs, as far as they exist.

    Raises:
        ParameterError: the interval is no day in UTC.
    """
    interval = arguments.interval
    if interval.start % DAY or interval.end - interval.start != DAY:
        raise ParameterError(
            f"{interval} is no day", hint="give midnight to midnight, UTC, as start and end"
        )
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
        night=True,
        airflow=arguments.page,
    )
    return {"report": str(page), "data_docs": judgement and judgement.docs_index}
