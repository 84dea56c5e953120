"""Remove rows, reports and Data Docs after their retention period. Published results stay.

`events` is a view of `raw_events`, and both lose old rows. So the commits have a note that later
refreshes skip (`ingest.changes`), and `events` has two properties with the first days that stayed,
for refreshes of all keys. The hours of removed events are in the ledger: results that need them are
not computed again.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ParameterError
from elsinore.ingest.changes import RETENTION
from elsinore.ingest.tables import EVENTS, EVENTS_FROM, QUARANTINE, RAW, RAW_FROM, IngestTables
from elsinore.ledger.rows import State, entries
from elsinore.ledger.table import Ledger
from elsinore.maintain.tables import METRICS, VALIDATIONS, OwnTables
from elsinore.publish.tables import DAY_COLUMN, STAGED
from elsinore.store.regions import day_of
from elsinore.timeline import DAY

#: Name of the step in the ledger.
STEP = "maintain"

#: The days of tables of data.
_DAYS = {RAW: "file_day", QUARANTINE: "file_day", EVENTS: "event_day", STAGED: DAY_COLUMN}
#: The column of records that begins with the day of their hours.
_BEGINS = {VALIDATIONS: "window_end_hour", METRICS: "run_key"}

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def remove_old(own: OwnTables, *, longest: int, until: int, run: str) -> dict[str, int]:
    """Remove whole days that are older than their retention period.

    The stream's schema sets the period, or else the settings do. Removal of events is not a
    correction: no published hour becomes stale.

    Args:
        own: The tables.
        longest: The longest window of the stream's queries, in microseconds.
        until: The time from which days are counted back, in microseconds since 1970.
        run: Id of the run, for the history of the tables.

    Returns:
        By `<table or directory>_expired` the number of removed rows, or of pages and directories.

    Raises:
        ParameterError: a period is shorter than runs look back; nothing is removed then.
        ConflictError: other writers won each time.
    """
    of_all: Mapping[Any, int] = own.settings.retention_days
    stream = own.ingest.stream
    keep = {**of_all, **stream.retention_days}
    _require_kept(keep, own.settings.late_arrival_days, stream, longest)
    first = {name: day_of(until - days * DAY) for name, days in keep.items()}
    if own.is_of_stream:
        _set_borders(own.ingest, first, run)
        if EVENTS in first:
            _record_removed(own.ingest, own.ledger, first[EVENTS], run)
    removed = dict[str, int]()
    for name, day in first.items():
        if name in own.data:
            note = {"run": run, RETENTION: day.isoformat()}
            count = own.data[name].delete_before(name, _DAYS[name], day, note)
        elif name in own.records:
            count = own.lake.remove_before(name, _BEGINS[name], day, note=json.dumps({"run": run}))
        elif name == "reports":
            count = _remove_pages(own.settings.reports, day)
        elif name == "data_docs":
            count = _remove_pages(own.settings.quality, day)
        else:  # a table of the stream, and these are tables of a further workload
            continue
        removed[f"{name}_expired"] = count
    return removed


def _set_borders(tables: IngestTables, first: Mapping[str, date], run: str) -> None:
    """Note the first days that stay, before anything is removed; they never go back."""
    stored = tables.store.properties(EVENTS)
    wanted = {
        name: max(first[table].isoformat(), stored.get(name, ""))
        for name, table in ((EVENTS_FROM, EVENTS), (RAW_FROM, RAW))
        if table in first
    }
    if wanted:
        tables.store.set_properties(EVENTS, wanted, {"run": run})


def _record_removed(tables: IngestTables, ledger: Ledger, first: date, run: str) -> None:
    """Append the hours of old events to the ledger, before the events are removed.

    A version of `events` would say that the changed hours of all earlier ones are recorded.
    """
    hour = F.unix_micros(F.date_trunc("hour", "event_time")).alias("hour")
    old = tables.store.read(EVENTS).where(F.col("event_day") < F.lit(first))
    found = old.groupBy(hour).agg(F.count("*").alias("rows")).orderBy("hour").toArrow()
    rows = entries(
        ledger.schema, State.REMOVED, np.asarray(found["hour"], np.int64),
        stream=tables.stream.name, step=STEP, run=run, columns={"rows": found["rows"]},
    )  # fmt: skip
    ledger.append([rows], run=run)


def _require_kept(
    keep: Mapping[str, int], late_arrival_days: int, stream: StreamSchema, longest: int
) -> None:
    """Refuse periods after which runs would miss rows that they need.

    A record may be late, in a file that is late; other records of its id may be in another file
    whose events were late there.
    """
    reach = late_arrival_days * DAY + 2 * stream.allowed_lateness + stream.max_clock_skew + longest
    least = reach // DAY + 2
    for name, after, more in (
        (EVENTS, None, least), (RAW, EVENTS, 2), (QUARANTINE, RAW, 0)
    ):  # fmt: skip
        wanted = more + (keep.get(after, 36_500) if after else 0)
        if name in keep and keep[name] < wanted:
            raise ParameterError(
                f"{name} is kept for {keep[name]} days, but runs need {least} days of events, and "
                "raw_events and quarantine two days longer",
                hint=f"set {name} to {wanted} or more in retention_days or "
                "ELSINORE_RETENTION_DAYS, or lower time.allowed_lateness",
            )


def _remove_pages(folder: Path, first: date) -> int:
    """Remove what is named by days that are all before a day; return the number."""
    old = [
        path
        for path in folder.glob("*")
        if (days := _DAY.findall(path.name)) and max(days) < str(first)
    ]
    for path in old:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return len(old)
