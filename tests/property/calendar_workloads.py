"""Random workloads with windows of a calendar, which differ in zones and lengths."""

from __future__ import annotations

from dataclasses import replace

from elsinore.errors import QueryError
from elsinore.query import syntax
from elsinore.query.bind_query import bind_query
from elsinore.query.bound import BoundQuery, Workload
from elsinore.timeline import DAY, Interval
from tests.property.random_cases import RandomCase
from tests.property.random_cases.calendars import CHANGES, with_calendar
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.streams import CALENDAR


def on_a_calendar(case: RandomCase, name: str) -> RandomCase:
    """Return a workload with windows of a calendar of one zone, or some of another zone.

    The events are near a change of the clock of the first query.
    """
    dice = Dice(name)
    aim = dice.pick(("calendar days", "calendar weeks", "sliding calendar windows"))
    queries: list[BoundQuery] = []
    zones = dice.pick([*CHANGES]), dice.pick([*CHANGES])
    moves = None
    for query in case.workload.queries:
        drawn, moved = with_calendar(Dice(f"{name} {dice.number(0, 2)}", aim), query.source)
        if moved is None:
            continue
        zone = zones[dice.chance(0.2)]
        drawn = replace(drawn, zone=replace(drawn.zone or syntax.Zone(zone), name=zone))
        try:
            queries.append(bind_query(drawn, CALENDAR))
        except QueryError:  # such as an OFFSET that is too long
            continue
        moves = moves or moved
    rows = case.rows if moves is None else tuple(moves.events(list(case.rows)))
    return RandomCase(name, Workload(CALENDAR, tuple(queries)), rows)


def some_days(case: RandomCase) -> Interval:
    """Return an interval in which windows of some events end."""
    first = min(time for _, time, _ in case.rows)
    return Interval(first + 1, first + 2 * DAY)
