"""Count trends that are too many to enumerate, by visiting each state of the search once.

The possible continuations of a partial trend depend on its last event, the event's position, the
routes from there and the key values so far, but not on earlier events. Copies of a quantified part
have one position, but different routes. These four form a state of the search. The number of
trends through a state is the number of partial trends that reach it, times the number of trends
that each of them can become (GRETA, section 4: the paths of the graph are the trends).

The two-step search determines what may follow what. Numbers are Python's integers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from heapq import heappop, heappush

from elsinore.errors import UnsupportedQueryError
from elsinore.hints import Either, Hint
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction
from elsinore.reference.event import Event
from elsinore.reference.keys import KeyValues
from elsinore.reference.match import Matcher, Partial, begun
from elsinore.reference.total import Total
from elsinore.reference.totals import totals
from elsinore.reference.trends import Group, group_of


@dataclass(eq=False, slots=True)
class _Place:
    """A state of the search."""

    found: Partial  #: one of the partial trends in this state; all continue in the same way
    arrivals: int = 0  #: number of partial trends in this state
    onward: list[_Place] = field(default_factory=list)  #: the states after one more event
    #: by group, the number of trends that a partial trend in this state may become.
    trends: Counter[Group] = field(default_factory=Counter)


def tally_trends(matcher: Matcher) -> dict[Group, tuple[Total, ...]]:
    """Return the aggregates of a window by group, in the order of `query.aggregates`.

    The work grows with the number of pairs of adjacent events, not with the number of trends.

    Raises:
        BudgetError: there are too many pairs.
        UnsupportedQueryError: states of the search do not determine the trends, because a trend may
            be matched in several ways, a NOT depends on a later key, or the query counts pairs of
            trends.
    """
    query = matcher.query
    if isinstance(query.pattern, Conjunction):
        _refuse(query, "it counts pairs of trends")
    if any(item.measure is not None for item in query.aggregates):
        _refuse(query, "it reads measures of each trend")
    trends: Counter[Group] = Counter()
    times: dict[Group, Counter[tuple[Event, int]]] = defaultdict(Counter)
    for part in matcher.parts():
        begin = _Place(begun(query.pattern, part.keys.none), arrivals=1)
        places = _places(part, begin)
        for place in reversed(places):
            _look_ahead(part, place)
        trends.update(begin.trends)
        _add_times(places, times)
    return {
        # Each trend has one match here, so the events that any trend contains are all participants.
        group: totals(query, number, times[group], [*times[group]])
        for group, number in trends.items()
    }


def _places(matcher: Matcher, begin: _Place) -> list[_Place]:
    """Return all states from `begin` on, by the order of their last event, with their arrivals."""
    known: dict[tuple[int, int, int, KeyValues], _Place] = {}
    ahead: list[tuple[int, int]] = []
    numbered: list[_Place] = []
    places = []
    place: _Place | None = begin
    while place is not None:
        places.append(place)
        _require_one_way(matcher.query, place.found)
        for found in matcher.extensions(place.found):
            step = found.step
            assert step is not None
            # The matcher has one tuple of routes for each rest of the pattern.
            key = step.event.index, step.position, id(found.ways), found.values
            if key not in known:
                known[key] = _Place(found)
                heappush(ahead, (step.event.order, len(numbered)))
                numbered.append(known[key])
            known[key].arrivals += place.arrivals
            place.onward.append(known[key])
        # Only earlier events lead to a state, so all of its arrivals are known by now.
        place = numbered[heappop(ahead)[1]] if ahead else None
    return places


def _look_ahead(matcher: Matcher, place: _Place) -> None:
    if matcher.may_end(place.found):
        place.trends[group_of(matcher.query, place.found.values)] += 1
    for following in place.onward:
        for group, trends in following.trends.items():
            matcher.meter.spend()
            place.trends[group] += trends


def _add_times(places: list[_Place], times: dict[Group, Counter[tuple[Event, int]]]) -> None:
    """Add, by group, the number of trends that contain an event at a position."""
    for place in places:
        step = place.found.step
        if step is not None:
            for group, trends in place.trends.items():
                times[group][step.event, step.position] += place.arrivals * trends


def _require_one_way(query: BoundQuery, found: Partial) -> None:
    """Raise an error unless an event can extend a partial trend in at most one way.

    So each trend is matched in one way.
    """
    kinds = Counter(None if way.next is None else way.next.type for way in found.ways)
    if max(kinds.values(), default=0) > 1:
        _refuse(query, "a trend may be matched in several ways")
    if found.owed:
        _refuse(query, "a trend may be excluded by keys of later events")


def _refuse(query: BoundQuery, reason: str) -> None:
    raise UnsupportedQueryError(
        f"trends of query {query.name} cannot be counted without enumerating them: {reason}",
        hint=Hint(
            "use shorter windows: ",
            Either("`elsinore run --executor twostep`", "run(events, executor='twostep')"),
            " enumerates their trends",
        ),
        query=query.name,
        executor="twostep",
        reasons=(reason,),
    )
