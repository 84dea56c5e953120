"""Rebuild the trends of one published result from the events in the lake, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

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
from elsinore.library.participants import list_participants
from elsinore.library.told_events import told_trends
from elsinore.quality.checked_events import MAX_EVENTS, Wanted
from elsinore.quality.sample import Place, group_json
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.steps import query_of_step
from elsinore.query.syntax import Conjunction
from elsinore.reference.trends import Group, list_trends
from elsinore.settings import LakePath
from elsinore.store.delta_log import read_rows
from elsinore.timeline import EPOCH, HOUR, Interval, instant_of


class Rebuilt(NamedTuple):
    """The trends of a result, as far as they can be built.

    Attributes:
        trends: the trends by time, each as a list of its events (see
            `library.told_events.told_trends`); if they are not complete, in no order.
        reason: why not all trends can be built; None if they are complete.
        participants: the events and values behind EACH and DISTINCT (see
            `library.participants.list_participants`); empty if they are not asked for, or if no
            trend can be built.
    """

    trends: list[list[dict[str, Any]]]
    reason: str | None
    participants: list[dict[str, Any]]


def build_trends(
    lake: LakePath, state: Fold, workload: Workload, result: Mapping[str, Any],
    publication: Publication | None, limit: int | None = None,
) -> Rebuilt:  # fmt: skip
    """Build the trends of a published result from the events that it was computed from.

    Args:
        lake: directory of the Delta tables.
        state: the state of the hours.
        workload: the queries; one of them must have the result's name and fingerprint.
        result: a row of `results`. Without a step, the trends of the last step are built.
        publication: the publication of the hour in which the window ends.
        limit: maximum number of participating events or values to list; None: list none.

    Raises:
        DataError: a table is missing or cannot be read.
    """
    found = _events_of(lake, state, workload, result, publication)
    if isinstance(found, str):
        return Rebuilt([], found, [])
    query, events, ids = found
    window = Interval(instant_of(result["window_start"]), instant_of(result["window_end"]))

    def wanted(group: Group) -> bool:
        return group_json(query, group) == result["group_key"]

    built, reason = list_trends(query, events, window, wanted)
    trends = told_trends(query, events, built, ids)
    if reason is None:
        trends.sort(key=lambda trend: [(event["time"], event["id"] or "") for event in trend])
    if limit is None:
        return Rebuilt(trends, reason, [])
    return Rebuilt(trends, reason, list_participants(query, events, window, wanted, limit, ids))


def _events_of(
    lake: LakePath, state: Fold, workload: Workload, result: Mapping[str, Any],
    publication: Publication | None,
) -> tuple[BoundQuery, EventTable, list[str | None]] | str:  # fmt: skip
    """Return the query of a result, its events and their ids, or why the events are unknown.

    Events are read from the version of the table that the result was computed from.
    """
    start = instant_of(result["window_start"])
    query = workload.by_name.get(result["query"])
    if query is None or query.fingerprint != result["query_fingerprint"]:
        return "the workload has no query with this name and text"
    query = query_of_step(query, result["step"])
    if isinstance(query.pattern, Conjunction):
        return "the query counts pairs of trends"
    if publication is None:
        return "the version of the events that was read is unknown"
    number = query.window.number_at(start)
    extent = query.window.extent(number)
    version = publication.events_version
    if version is None:
        return "it was computed by release 0.2, and events of the window have changed since"
    try:
        rows = _events(lake, extent, version)
    except DataError:
        if _changed_since(state, extent, version):
            gone = f"version {version} of the events was deleted"
            return f"{gone}, and events of the window may have changed since"
        rows = _events(lake, extent, None)
    # Others are of a type that has left the schema.
    known = pa.array(list(workload.schema.type_codes), pa.string())
    rows = rows.filter(pc.is_in(rows["event_type"].cast(pa.string()), known))
    if rows.num_rows > MAX_EVENTS:
        return f"the window has more than {MAX_EVENTS} events"
    place = Place(result["query"], result["group_key"], number)
    events = _event_table(workload.schema, rows)
    wanted = Wanted(workload, [(0, place)])
    matter = pa.array(dict(wanted.by_place(events.table))[0])
    events = EventTable(workload.schema, events.table.take(matter))
    return query, events, rows["event_id"].take(matter).to_pylist()


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
