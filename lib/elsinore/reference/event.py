"""The events of a stream as plain Python values in the order of time."""

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
    """One event; `index` is its row in the table that it came from, and its identity.

    `time` is in microseconds since the epoch, or in ticks.
    """

    index: int
    type: str
    time: int
    attributes: Mapping[str, Any]

    def value(self, attribute: str) -> Any:
        """The value of a column, `TIME` included; None is NULL."""
        return self.time if attribute == TIME else self.attributes[attribute]


def read_events(query: BoundQuery, events: EventTable) -> list[Event]:
    """The events that can affect a query's trends, by time, with the columns that it reads.

    Those are the events of the pattern's types; under `contiguous` those of every type, since
    whatever lies between two events parts them.
    """
    rows = events.table.select(
        [TIME_COLUMN, TYPE_COLUMN, *sorted(query.attributes_read)]
    ).to_pylist()
    types = [event_type.name for event_type in events.schema.types]
    every = query.semantics is Semantics.CONTIGUOUS
    found = [
        Event(index, types[row[TYPE_COLUMN]], row[TIME_COLUMN], row)
        for index, row in enumerate(rows)
        if every or types[row[TYPE_COLUMN]] in query.event_types
    ]
    return sorted(found, key=lambda event: event.time)
