"""The events of a stream as plain Python values in time order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import TIME
from elsinore.query.syntax import Semantics


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One event.

    Attributes:
        index: its row in the table, which identifies it.
        type: its event type.
        time: in microseconds since the epoch, or in ticks.
        attributes: the values of its columns by name.
        order: its number in the order of events, from 0; equal for events that tie.
    """

    index: int
    type: str
    time: int
    attributes: Mapping[str, Any]
    order: int = 0

    def value(self, attribute: str) -> Any:
        """Return the value of an attribute, or the time for `TIME`; None is NULL."""
        return self.time if attribute == TIME else self.attributes[attribute]


def read_events(query: BoundQuery, events: EventTable) -> list[Event]:
    """Return the events that can affect a query's trends, in order, with the columns that it reads.

    These are the events of the pattern's types; for a step of a query with sessions, of the whole
    pattern's types. Under `contiguous`, these are the events of all types, because any event
    between two others makes them nonadjacent.
    """
    rows = events.table.select(
        [TIME_COLUMN, TYPE_COLUMN, *sorted(query.attributes_read)]
    ).to_pylist()
    types = [event_type.name for event_type in events.schema.types]
    session = query.window.session
    read = query.event_types if session is None else session.types
    every = query.semantics is Semantics.CONTIGUOUS
    places = [(row[TIME_COLUMN], row[query.order] if query.order else 0) for row in rows]
    numbers = {place: number for number, place in enumerate(sorted(set(places)))}
    found = [
        Event(index, types[row[TYPE_COLUMN]], row[TIME_COLUMN], row, numbers[places[index]])
        for index, row in enumerate(rows)
        if every or types[row[TYPE_COLUMN]] in read
    ]
    return sorted(found, key=lambda event: event.order)
