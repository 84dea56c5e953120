"""What a report tells beside the figures of its own run: coverage, fields, days, publishing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from elsinore.catalog.stream import StreamSchema
from elsinore.lake.regions import Hours
from elsinore.quality.coverage import COLUMNS, QueryCoverage, coverage
from elsinore.quality.day_figures import DayFigures, read_day_figures
from elsinore.quality.event_fields import LandedEvents, read_landed_events
from elsinore.quality.lake import read_rows
from elsinore.quality.run_lines import Publishing, RunLine, read_publishing, read_runs
from elsinore.quality.unusable_files import UnusableFile, read_unusable_files
from elsinore.timeline import Interval


@dataclass(frozen=True, slots=True)
class PageData:
    """The rest of a page.

    Attributes:
        coverage: of each query, how much was checked and what that can find.
        landed: what the events hold that landed.
        unusable: the files of which nothing landed.
        days: figures of the days up to this one, oldest first.
        publishing: what of the hours is published.
        runs: those behind the hours; None on the page of a single run.
    """

    coverage: tuple[QueryCoverage, ...]
    landed: LandedEvents
    unusable: tuple[UnusableFile, ...]
    days: tuple[DayFigures, ...]
    publishing: Publishing
    runs: tuple[RunLine, ...] | None

    @property
    def results(self) -> int:
        """Staged results."""
        return sum(one.results for one in self.coverage)

    @property
    def checked(self) -> int:
        """Those of them that the reference has answered too."""
        return sum(one.checked for one in self.coverage)


def read_page_data(
    lake: Path,
    interval: Interval,
    stream: StreamSchema | None,
    *,
    staged: Mapping[str, int],
    pages: Path | None,
) -> PageData:
    """Read it for the hours of an interval.

    Args:
        lake: folder of the Delta tables.
        interval: whole hours.
        stream: the stream's schema; None: fields are not looked at.
        staged: how many staged results each query has.
        pages: folder of the runs' reports; None where the page is of a single run.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    owned = Hours(interval).expression(by_day=False)
    checks = read_rows(lake, "validations", columns=COLUMNS, where=owned)
    return PageData(
        coverage=tuple(coverage(staged, checks.to_pandas())),
        landed=read_landed_events(lake, interval, stream),
        unusable=read_unusable_files(lake, interval),
        days=read_day_figures(lake, interval),
        publishing=read_publishing(lake, interval),
        runs=None if pages is None else read_runs(lake, interval, pages),
    )
