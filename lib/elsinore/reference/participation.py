"""Find the events that participate in a row: EACH and DISTINCT count each of them once.

An event participates at a position if at least one match of one of the row's trends has it there.
If a trend has several matches, all of them are considered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from elsinore.query.bound import BoundAggregate
from elsinore.reference.event import Event
from elsinore.reference.keys import canonical
from elsinore.reference.match import Match

#: The events that participate in a row, each with a position.
Participants = Collection[tuple[Event, int]]


def participants(matches: Iterable[Match]) -> Participants:
    """Return the participating events of a row.

    Args:
        matches: all matches of all trends of the row.
    """
    return {(step.event, step.position) for match in matches for step in match.steps()}


def participating_at(aggregate: BoundAggregate, found: Participants) -> list[Event]:
    """Return the events that an aggregate with EACH or DISTINCT reads, each once, in order."""
    events = {event for event, position in found if position in aggregate.positions}
    return sorted(events, key=lambda event: (event.order, event.index))


def count_distinct(values: Iterable[Any]) -> int:
    """Return the number of distinct values without NULL, as in SQL.

    >>> count_distinct([float("nan"), 0.0, None, -0.0, float("nan")])
    2
    """
    return len({canonical(value) for value in values if value is not None})
