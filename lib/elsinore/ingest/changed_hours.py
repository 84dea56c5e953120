"""The hours of events that changed, from the change feed of `events`.

A run adds the changed hours of all versions after the last recorded one to the ledger, including
versions that other runs or Spark jobs committed. So a run that is killed between its commit and its
rows in the ledger loses nothing, and changes by others make published hours stale, too. The removal
of events after their retention period changes no hour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.ingest.changes import changes_after
from elsinore.ingest.tables import EVENTS, IngestTables
from elsinore.ledger.fold import Fold
from elsinore.ledger.results import recorded_events_version
from elsinore.ledger.rows import Longs, State, entries
from elsinore.ledger.table import Ledger
from elsinore.store.failures import is_vacuumed

_NONE: Longs = np.array([], np.int64)


@dataclass(frozen=True)
class ChangedHours:
    """Hours of events that changed.

    Attributes:
        hours: First instants of the hours, ascending.
        versions: For each, the last version of `events` that changed it.
        rows: For each, the number of inserted, updated and deleted rows; 0: not known.
    """

    hours: Longs
    versions: Longs
    rows: Longs


def changed_hours(tables: IngestTables, after: int, known: Longs = _NONE) -> ChangedHours:
    """Return the hours of events that changed after a version of `events`.

    Args:
        tables: The tables.
        after: The last version whose changes are recorded; -1: none is.
        known: Hours that could have had events. If the change feed was vacuumed, these and the
            hours of all events count as changed.
    """
    latest = tables.store.version(EVENTS)
    if latest <= after:
        return ChangedHours(_NONE, _NONE, _NONE)
    try:
        feed = changes_after(tables.store, EVENTS, after, latest)
        if feed is None:
            return ChangedHours(_NONE, _NONE, _NONE)
        is_change = F.col("_change_type") != "update_preimage"
        found = feed.groupBy(_hour()).agg(
            F.max("_commit_version").alias("version"), F.count_if(is_change).alias("rows")
        ).orderBy("hour").toArrow()  # fmt: skip
    except PySparkException as error:
        if not is_vacuumed(error):
            raise
        return _all_hours(tables, known, latest)
    return ChangedHours(*(np.asarray(found[name], np.int64) for name in found.column_names))


def record_changed_hours(
    tables: IngestTables, ledger: Ledger, state: Fold, raw_version: int, *, step: str, run: str
) -> int:
    """Append the hours of events that changed since they were last recorded to the ledger.

    Args:
        tables: The tables.
        ledger: The ledger.
        state: The state of the hours before.
        raw_version: The version of `raw_events` that `events` reflects.
        step: Name of the step.
        run: Name of the run.

    Returns:
        The number of changed rows.

    Raises:
        ConflictError: others kept writing the ledger.
    """
    changed = changed_hours(tables, recorded_events_version(state), state.known)
    columns = {
        "raw_events_version": raw_version, "events_version": changed.versions,
        "changed_rows": changed.rows,
    }  # fmt: skip
    rows = entries(
        ledger.schema, State.REFRESHED, changed.hours, stream=tables.stream.name, step=step,
        run=run, columns=columns,
    )  # fmt: skip
    ledger.append([rows], run=run)
    return int(changed.rows.sum())


def _hour() -> Column:
    """Return the first instant of the hour of an event."""
    return F.unix_micros(F.date_trunc("hour", "event_time")).alias("hour")


def _all_hours(tables: IngestTables, known: Longs, version: int) -> ChangedHours:
    events = tables.store.read(EVENTS, version).select(_hour()).distinct().toArrow()
    hours = np.union1d(known, np.asarray(events["hour"], np.int64))
    return ChangedHours(hours, np.full(len(hours), version), np.zeros(len(hours), np.int64))
