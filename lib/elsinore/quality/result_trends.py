"""Rebuild the trends of one published result from the events in the lake, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.lake.event_files import event_table
from elsinore.ledger.fold import Fold
from elsinore.ledger.results import Publication
from elsinore.ledger.rows import State
from elsinore.library.why import told_trends
from elsinore.quality.checked_events import MAX_EVENTS, Wanted
from elsinore.quality.sample import Place, group_json
from elsinore.query.bound import Workload
from elsinore.query.steps import query_of_step
from elsinore.query.syntax import Conjunction
from elsinore.reference.trends import list_trends
from elsinore.settings import LakePath
from elsinore.store.delta_log import read_rows
from elsinore.timeline import EPOCH, HOUR, Interval, instant_of


def build_trends(
    lake: LakePath, state: Fold, workload: Workload, result: Mapping[str, Any],
    publication: Publication | None,
) -> tuple[list[list[dict[str, Any]]], str | None]:  # fmt: skip
    """Build the trends of a published result from the events that it was computed from.

    Args:
        lake: directory of the Delta tables.
        state: the state of the hours.
        workload: the queries; one of them must have the result's name and fingerprint.
        result: a row of `results`. Without a step, the trends of the last step are built.
        publication: the publication of the hour in which the window ends.

    Returns:
        The trends by time, each as a list of its events (see `library.why.told_trends`), and None.
        If not all trends can be built: the trends built so far, in no order, and the reason.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    start = instant_of(result["window_start"])
    query = workload.by_name.get(result["query"])
    if query is None or query.fingerprint != result["query_fingerprint"]:
        return [], "the workload has no query with this name and text"
    query = query_of_step(query, result["step"])
    if isinstance(query.pattern, Conjunction):
        return [], "the query counts pairs of trends"
    if publication is None:
        return [], "the version of the events that was read is unknown"
    window = Interval(start, instant_of(result["window_end"]))
    number = query.window.number_at(start)
    extent = query.window.extent(number)
    version = publication.events_version
    if version is None:
        return [], "it was computed by release 0.2, and events of the window have changed since"
    try:
        rows = _events(lake, extent, version)
    except DataError:
        if _changed_since(state, extent, version):
            gone = f"version {version} of the events was deleted"
            return [], f"{gone}, and events of the window may have changed since"
        rows = _events(lake, extent, None)
    # Others are of a type that has left the schema.
    known = pa.array(list(workload.schema.type_codes), pa.string())
    rows = rows.filter(pc.is_in(rows["event_type"].cast(pa.string()), known))
    if rows.num_rows > MAX_EVENTS:
        return [], f"the window has more than {MAX_EVENTS} events"
    place = Place(result["query"], result["group_key"], number)
    events = _event_table(workload.schema, rows)
    wanted = Wanted(workload, [(0, place)])
    matter = pa.array(dict(wanted.by_place(events.table))[0])
    events = EventTable(workload.schema, events.table.take(matter))
    found, reason = list_trends(
        query, events, window, lambda group: group_json(query, group) == result["group_key"]
    )
    ids = rows["event_id"].take(matter).to_pylist()
    trends = told_trends(query, events, found, ids)
    if reason is None:
        trends.sort(key=lambda trend: [(event["time"], event["id"] or "") for event in trend])
    return trends, reason


def _changed_since(state: Fold, window: Interval, version: int) -> bool:
    """Return whether events of a window's hours changed, or were removed, after a version."""
    for one in (state[State.REFRESHED], state[State.REMOVED]):
        inside = (one.hours > window.start - HOUR) & (one.hours < window.end)
        if (one.longs("events_version")[inside] > version).any():
            return True
    return False


def _events(lake: LakePath, window: Interval, version: int | None) -> pa.Table:
    """Return the events of a window."""
    first, last = (EPOCH + timedelta(microseconds=t) for t in (window.start, window.end))
    time, day = ds.field("event_time"), ds.field("event_day")
    inside = (day >= first.date()) & (day <= last.date()) & (time >= first) & (time < last)
    return read_rows(lake, "events", where=inside, version=version)


def _event_table(schema: StreamSchema, rows: pa.Table) -> EventTable:
    """Return rows of the table `events` as the engine reads them."""
    codes = [schema.type_codes[name] for name in rows["event_type"].to_pylist()]
    columns = {TIME_COLUMN: rows["event_time"], TYPE_COLUMN: pa.array(codes, pa.int32())}
    # A version may be older than an attribute.
    there = {name: rows[name] for name in schema.attributes if name in rows.column_names}
    return event_table(schema, pa.table(columns | there))
