"""Row counts of ingested hours, from the ledger and from the tables of data; without a JVM."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyarrow.acero import AggregateNodeOptions

from elsinore.files.rejection import Reason, empty_files
from elsinore.ledger.fold import Fold, is_in, lookup
from elsinore.ledger.rows import State, labels
from elsinore.settings import LakePath
from elsinore.store.delta_log import aggregate_rows
from elsinore.store.regions import Landings
from elsinore.timeline import DAY, Interval, parse_hour

#: Weeks whose records are compared, and the number of them that must be known.
_WEEKS, _KNOWN = 4, 2
_COUNTS = ("file_count", "bytes", "records", "bad_records")


def is_table(lake: LakePath, table: str) -> bool:
    """Return whether a run has created a table."""
    return bool(DeltaTable.is_deltatable(str(lake / table)))


def ingested_hours(lake: LakePath, state: Fold, interval: Interval) -> pd.DataFrame:
    """Return a row per ingested hour of an interval, in order.

    Empty files count in `empty` only: they show that an hour has no event.

    Args:
        lake: directory of the Delta tables.
        state: the state of the hours.
        interval: whole hours of files.

    Returns:
        `file_hour`, its label; from the ledger `file_count`, `bytes`, `records`, `bad_records`
        (records in quarantine), `first_event` and `last_event`; `accepted`, the number of events
        of the hour in `events`; `repeated`, records of events that other records contain;
        `quarantined`, the number of records of the hour in `quarantine`, and `reasons`, a dict with
        their number per reason code; `earliest_event` and `latest_event` of the rows in `events`;
        `empty`, the number of empty files; `has_failed`, True if a later ingest of the hour failed.

    Raises:
        DataError: a table cannot be read.
    """
    rows = state[State.INGESTED]
    is_own = (rows.hours >= interval.start) & (rows.hours < interval.end)
    own = rows.where(is_own)
    names = labels(own.hours).to_pylist()
    events, reasons = _events(lake, names, interval), _reasons(lake, names, interval)
    found = pd.DataFrame({"file_hour": pd.Series(names, dtype=object)})
    for name in _COUNTS:
        found[name] = np.maximum(own.longs(name), 0)
    for name in ("first_event", "last_event"):
        found[name] = own.rows[name].to_pandas()
    found["accepted"] = [events.get(name, (0,))[0] for name in names]
    found["repeated"] = found["records"] - found["bad_records"] - found["accepted"]
    for place, column in ((1, "earliest_event"), (2, "latest_event")):
        times = [events[name][place] if name in events else None for name in names]
        found[column] = pd.Series(times, dtype="datetime64[us, UTC]")
    others = [_without_empty(reasons[name]) for name in names]
    found["quarantined"] = pd.Series([sum(one.values()) for one in others], dtype="int64")
    found["reasons"] = pd.Series(others, dtype=object)
    found["empty"] = pd.Series([empty_files(reasons[name]) for name in names], dtype="int64")
    found["has_failed"] = is_in(state.failed_ingests.last.hours, own.hours)
    for name in ("records", "bad_records"):
        found[name] -= found["empty"]
    return found


def _without_empty(reasons: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in reasons.items() if name != Reason.EMPTY_FILE}


def _events(
    lake: LakePath, names: Sequence[str], interval: Interval
) -> dict[str, tuple[int, object, object]]:
    """Return by hour of files the number of events, and the first and the last event time."""
    if not names or not is_table(lake, "events"):
        return {}
    columns = {"file_hour": pc.field("file_hour"), "event_time": pc.field("event_time")}
    wanted = AggregateNodeOptions(
        [
            ([], "hash_count_all", None, "rows"),
            ("event_time", "hash_min", None, "first"),
            ("event_time", "hash_max", None, "last"),
        ],
        keys=["file_hour"],
    )
    rows = aggregate_rows(lake, "events", columns, wanted, hours=Landings(interval)).to_pylist()
    return {row["file_hour"]: (row["rows"], row["first"], row["last"]) for row in rows}


def _reasons(
    lake: LakePath, names: Sequence[str], interval: Interval
) -> defaultdict[str, dict[str, int]]:
    """Return by hour the number of quarantined records per reason code."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    if not names or not is_table(lake, "quarantine"):
        return found
    keys = ["file_hour", "reason_code"]
    columns = {name: pc.field(name) for name in keys}
    wanted = AggregateNodeOptions([([], "hash_count_all", None, "rows")], keys=keys)
    rows = aggregate_rows(lake, "quarantine", columns, wanted, hours=Landings(interval))
    for row in rows.to_pylist():
        found[row["file_hour"]][row["reason_code"]] = row["rows"]
    return found


def usual_records(state: Fold, names: Sequence[str]) -> list[float | None]:
    """Return the median of the records of the same hour in the four weeks before each hour.

    It is None if fewer than two of them were ingested.

    Args:
        state: the state of the hours.
        names: labels of hours.
    """
    rows, hours = state[State.INGESTED], np.array(list(map(parse_hour, names)), np.int64)
    counts = rows.longs("records")
    weeks = [lookup(rows.hours, counts, hours - week * 7 * DAY) for week in range(1, _WEEKS + 1)]
    found = ([int(n) for n in one if n >= 0] for one in np.transpose(weeks))
    return [median(known) if len(known) >= _KNOWN else None for known in found]
