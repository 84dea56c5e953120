"""Writes the data-quality report of a day: of all its runs, beside the days before it."""

from __future__ import annotations

from elsinore.errors import ParameterError
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings
from elsinore.timeline import DAY
from jobs.report_quality import write_page


def main(arguments: Arguments, settings: Settings) -> Figures:
    """One page; links the Data Docs of the day and the reports of its runs, as far as they exist.

    Raises:
        ParameterError: the interval is no day in UTC.
    """
    interval = arguments.interval
    if interval.start % DAY or interval.end - interval.start != DAY:
        raise ParameterError(f"{interval} is not a day", hint="set start and end to midnight, UTC")
    return write_page(arguments, settings, night=True)
