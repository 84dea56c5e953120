"""The trends of one result, event by event."""

from __future__ import annotations

from collections.abc import Callable

from elsinore.errors import BudgetError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.budget import Budget, Meter
from elsinore.reference.event import read_events
from elsinore.reference.keys import Keys
from elsinore.reference.match import Matcher
from elsinore.reference.trends import Group, Trend, group_of, trend_of
from elsinore.timeline import Interval

#: Steps of the search, some microseconds each.
STEPS = 200_000


def list_trends(
    query: BoundQuery, events: EventTable, window: Interval, wanted: Callable[[Group], bool]
) -> tuple[list[Trend], str | None]:
    """The trends of a window whose group is wanted, in the order in which they are found.

    Args:
        query: no AND: that counts pairs of trends.
        events: those of the window.
        window: one of the query's.
        wanted: says of a group whether it is.

    Returns:
        The trends; and why they are not all, None where they are.
    """
    meter = Meter(query.name, Budget(STEPS))
    meter.window = window.start // query.window.slide
    matcher = Matcher(query, Keys(query, events.schema), read_events(query, events), meter)
    found: dict[Trend, None] = {}
    try:
        for match in matcher.trends(query.pattern):
            if wanted(group_of(query, match.values)):
                found.setdefault(trend_of(match))
    except BudgetError:
        return list(found), f"there are more trends than {STEPS} steps can build"
    return list(found), None
