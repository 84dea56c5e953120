"""Find the sessions of a query, and the events of each.

A session consists of consecutive events of the pattern's types that have equal BY attributes, each
at most the gap after the one before it. An event that is more than UP TO after the first event of
its session starts the next one. An event whose BY attribute is NULL or NaN is in no session.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from elsinore.query.bound import BoundQuery
from elsinore.reference.event import Event
from elsinore.reference.keys import canonical
from elsinore.timeline import Interval
from elsinore.windows import Session


class FoundSession(NamedTuple):
    """One session."""

    owner: tuple[Any, ...]  #: the values of the BY attributes
    bounds: Interval  #: from its first event to its last event plus the gap, or to the next session
    #: the events that its trends depend on, by time: its own; and the events of other types before
    #: its last event, which separate events under `contiguous`.
    events: list[Event]


def find_sessions(query: BoundQuery, events: Sequence[Event]) -> list[FoundSession]:
    """Return the sessions of a query, by their first event.

    Args:
        query: a query with sessions.
        events: the events that can affect its trends, by time.
    """
    session = query.window.session
    assert session is not None, "the query has sessions"
    of_owner: dict[tuple[Any, ...], list[Event]] = defaultdict(list)
    others = []
    for event in events:
        if event.type not in session.types:
            others.append(event)
            continue
        owner = tuple(canonical(event.value(name)) for name in session.keys)
        if all(value is not None and value == value for value in owner):
            of_owner[owner].append(event)
    found = []
    for owner, own in of_owner.items():
        parts = _divided(session, own)
        for number, part in enumerate(parts):
            first, end = part[0].time, part[-1].time + session.gap
            if number + 1 < len(parts):
                end = min(end, parts[number + 1][0].time)
            between = [event for event in others if first <= event.time <= part[-1].time]
            relevant = sorted([*part, *between], key=lambda event: event.order)
            found.append(FoundSession(owner, Interval(first, end), relevant))
    return sorted(found, key=lambda one: one.bounds.start)


def _divided(session: Session, events: Sequence[Event]) -> list[list[Event]]:
    """Return the sessions of the events of one owner, which are in the order of time."""
    parts: list[list[Event]] = []
    for event in events:
        belongs = (
            bool(parts)
            and event.time - parts[-1][-1].time <= session.gap
            and (session.up_to is None or event.time - parts[-1][0].time <= session.up_to)
        )
        if belongs:
            parts[-1].append(event)
        else:
            parts.append([event])
    return parts
