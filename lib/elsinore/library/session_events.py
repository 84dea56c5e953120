"""Find the events of one session, given its group and its start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.events import TYPE_COLUMN, EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.event import read_events
from elsinore.reference.sessions import find_sessions
from elsinore.timeline import Interval


class SessionEvents(NamedTuple):
    """A session with the events on which its rows depend."""

    bounds: Interval
    events: EventTable


def sessions_of_group(
    query: BoundQuery, events: EventTable, group: Sequence[Any]
) -> list[SessionEvents]:
    """Return the sessions of the events with the BY attributes of a group, by their start.

    Args:
        query: a query with sessions.
        events: all events that can be in such a session, in any order.
        group: the values of GROUP-BY, in the order of `query.group_keys`.
    """
    session = query.window.session
    assert session is not None, "the query has sessions"
    every = len(query.positions)
    values = {
        key.attribute: value
        for key, value in zip(query.group_keys, group, strict=True)
        if key.value is None and len(key.positions) == every
    }
    types = [events.schema.type_codes[name] for name in session.types]
    inside = np.isin(events.table[TYPE_COLUMN].to_numpy(), types)
    own = inside
    for name in session.keys:
        same = pc.fill_null(pc.equal(events.table[name], values[name]), False)
        own = own & same.to_numpy(zero_copy_only=False)
    # Under `contiguous`, events of other types separate events.
    chosen = EventTable(events.schema, events.table.filter(pa.array(own | ~inside)))
    found = find_sessions(query, read_events(query, chosen))
    return [
        SessionEvents(
            one.bounds,
            EventTable(
                events.schema,
                chosen.table.take(pa.array(sorted(event.index for event in one.events))),
            ),
        )
        for one in found
    ]
