"""Ingest the files of some hours: raw events and quarantine, then the view `events`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from elsinore.ingest.landing_zone import LandingFile
from elsinore.ingest.refresh import Refreshed, refresh
from elsinore.ingest.tables import IngestTables
from elsinore.ingest.write_raw import HourCounts, write_raw


@dataclass(frozen=True)
class Ingested:
    """The result of an ingest batch: the counts of each hour by label, and of the refresh."""

    hours: Mapping[str, HourCounts]
    events: Refreshed


def ingest_hours(
    tables: IngestTables, files: Sequence[LandingFile], hours: Collection[int], *, run: str,
    max_error_rate: float = 1.0,
) -> Ingested:  # fmt: skip
    """Ingest all files of some hours, in any order of calls, again, or at the same time as others.

    The tables follow from the files of all hours. If the call is interrupted, repeat it, or let the
    next call complete `events`.

    Args:
        tables: The tables, which exist (`IngestTables.create`).
        files: All files of these hours.
        hours: First instants of the hours, at least one, in microseconds since 1970.
        run: Name of the run, for the history of the tables.
        max_error_rate: Share of rejected records above which only `quarantine` is written.

    Raises:
        DataError: the share of rejected records is too large, a file cannot be read, or stored
            records no longer fit the schema.
        ConflictError: other writers won each time.
    """
    written = write_raw(tables, files, hours, run=run, max_error_rate=max_error_rate)
    return Ingested(written.hours, refresh(tables, run=run))
