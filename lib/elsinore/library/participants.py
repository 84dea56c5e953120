"""The events and values behind EACH, DISTINCT and the keys of a step.

The executors find these events without building trends, so a window may have any number of trends.
The reference builds the trends of queries that no other executor supports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.executors.output.listed_events import list_events
from elsinore.executors.plan import pass_of
from elsinore.library.told_events import event_words, told_trends
from elsinore.query.bound import BoundAggregate, BoundQuery
from elsinore.query.expressions import TIME, Applied, Slot
from elsinore.query.print_query import count_of
from elsinore.reference.event import read_events
from elsinore.reference.keys import canonical
from elsinore.reference.measures import reader_of
from elsinore.reference.trends import Group, find_participants
from elsinore.results.row import plain_value
from elsinore.template.support import participation_refusals
from elsinore.timeline import Interval, format_instant
from elsinore.wording import visible

#: Events (their rows in the table) that participate at any of some positions.
_Events = Mapping[frozenset[int], np.ndarray]


def list_participants(
    query: BoundQuery,
    events: EventTable,
    window: Interval,
    wanted: Callable[[Group], bool],
    limit: int,
    ids: Sequence[str | None] = (),
) -> list[dict[str, Any]]:
    """Return the events and values that EACH and DISTINCT of a row count once.

    Args:
        query: a query without AND; with steps, one of them.
        events: the events of the window, or of `Window.extent` for a span.
        window: the window.
        wanted: returns whether a group is wanted.
        limit: maximum number of events or values to list.
        ids: the id of each event, if known.

    Returns:
        A mapping for each set of events (`kind` is "events") and for each DISTINCT ("values").
        `of` names the values of the row that count them. `listed` has the first ones by time,
        events as in `told_trends`. `count` and `left_out` are None if not all could be found, for
        the `reason`.

    Raises:
        QueryError: there are too many events.
    """
    asked: dict[tuple[frozenset[int], str | Applied | None], list[str]] = {}
    for item in query.participating:
        read = item.attribute if item.distinct else None
        asked.setdefault((item.positions, read), []).append(_name(query, item))
    if not asked:
        return []
    found, reason = _found(query, events, window, wanted, {places for places, _ in asked})
    described = []
    for (places, read), names in asked.items():
        rows = found.get(places, np.empty(0, np.int64))
        listed, count = (
            _events_of(query, events, rows, limit, ids)
            if read is None
            else _values_of(query, events, rows, read, limit)
        )
        described.append(
            {
                "kind": "events" if read is None else "values",
                "of": names,
                "aliases": query.labels(places),
                "count": count if reason is None else None,
                "listed": listed,
                "left_out": count - len(listed) if reason is None else None,
                "reason": reason,
            }
        )
    return described


def participant_lines(
    participants: Sequence[Mapping[str, Any]], keys: Collection[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield a heading and lines of text for each result of `list_participants`.

    Args:
        participants: the events and values.
        keys: attributes that are left out, because the whole row has their value.
    """
    for one in participants:
        is_events = one["kind"] == "events"
        noun = "event" if is_events else "distinct value"
        what = f"{noun}s" if one["count"] is None else count_of(one["count"], noun)
        what += f" of {', '.join(one['aliases'])}" if is_events else ""
        lines = [
            event_words(each, keys) if is_events else _value_text(each) for each in one["listed"]
        ]
        if one["reason"]:
            lines.append(f"and more, not counted: {one['reason']}")
        elif one["left_out"]:
            lines.append(f"and {one['left_out']:,} more")
        yield f"{what}, as in {', '.join(map(visible, one['of']))}", lines


def _value_text(value: Any) -> str:
    return visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _name(query: BoundQuery, item: BoundAggregate) -> str:
    """Return the name of a value of RETURN that is only an aggregate, otherwise the aggregate."""
    number = query.aggregates.index(item)
    for output in query.outputs:
        if isinstance(output.expression, Slot) and output.expression.number == number:
            return output.name
    return item.label


def _found(
    query: BoundQuery,
    events: EventTable,
    window: Interval,
    wanted: Callable[[Group], bool],
    places: Collection[frozenset[int]],
) -> tuple[_Events, str | None]:
    """Return the events of wanted groups, and the reason if there may be more."""
    found: dict[frozenset[int], list[int]] = {each: [] for each in places}
    if participation_refusals(query):
        groups, reason = find_participants(query, events, window, wanted)
        for pairs in groups.values():
            for each in places:
                found[each] += [row for row, position in pairs if position in each]
    else:
        reason, number = None, query.window.number_at(window.start)
        if events.table.num_rows:
            listed = list_events(query, events, number, places, pass_of([query]))
            for (group, each), rows in listed.items():
                if wanted(tuple(json.loads(group))):
                    found[each] += rows.tolist()
    times = [events.table[TIME_COLUMN].to_numpy()]
    if query.order is not None:
        times.insert(0, events.table[query.order].to_numpy())
    sorted_rows = {}
    for each, listed_rows in found.items():
        every = np.unique(np.array(listed_rows, np.int64))
        sorted_rows[each] = every[np.lexsort([of[every] for of in times])]
    return sorted_rows, reason


def _events_of(
    query: BoundQuery,
    events: EventTable,
    rows: np.ndarray,
    limit: int,
    ids: Sequence[str | None],
) -> tuple[list[Any], int]:
    """Return the first events, and the number of all."""
    [listed] = told_trends(query, events, [tuple(rows[:limit].tolist())], ids)
    return listed, rows.size


def _values_of(
    query: BoundQuery, events: EventTable, rows: np.ndarray, read: str | Applied, limit: int
) -> tuple[list[Any], int]:
    """Return the first distinct values, and the number of all; NULL is not a value."""
    chosen = EventTable(events.schema, events.table.take(pa.array(rows, pa.int64())))
    value_of = reader_of(read)
    read_values = (value_of(event) for event in read_events(query, chosen))
    distinct = {canonical(value): value for value in read_values if value is not None}
    is_instant = _type_of(events, read) is AttributeType.TIMESTAMP
    first = list(distinct.values())[:limit]
    listed = [format_instant(v) if is_instant else plain_value(v) for v in first]
    return listed, len(distinct)


def _type_of(events: EventTable, read: str | Applied) -> AttributeType:
    """Return the type of a value of an event."""
    if isinstance(read, Applied):
        return read.type
    if read == TIME:
        is_calendar = events.schema.time_unit.is_calendar
        return AttributeType.TIMESTAMP if is_calendar else AttributeType.LONG
    return events.schema.attributes[read]
