"""Find the trends of a query in one window, and pairs of trends for AND (GRETA section 9)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction, Pattern
from elsinore.reference.budget import Meter
from elsinore.reference.event import Event, read_events
from elsinore.reference.keys import ABSENT, Keys, KeyValues
from elsinore.reference.match import Match, Matcher
from elsinore.reference.spans import SpanMatcher
from elsinore.timeline import Interval


def matcher_of(
    query: BoundQuery, keys: Keys, events: Sequence[Event], meter: Meter, window: Interval
) -> Matcher:
    """Return the matcher of a window, or of a period of a query with a span.

    Args:
        query: the query.
        keys: its keys.
        events: the events of `Window.extent`, by time.
        meter: counts the steps.
        window: the window or period.
    """
    if query.window.span is None:
        return Matcher(query, keys, events, meter)
    return SpanMatcher(query, keys, events, meter, window)


#: A trend: the indices of its events.
Trend = tuple[int, ...]

#: Values of the grouping keys in the order of GROUP-BY.
Group = tuple[Any, ...]


@dataclass
class Trends:
    """The trends of a group."""

    matches: list[Match] = field(default_factory=list)  #: every trend once, as one of its matches
    #: other matches of these trends; empty if the query needs only one match per trend.
    others: list[Match] = field(default_factory=list)


def trends_by_group(matcher: Matcher) -> dict[Group, Trends]:
    """Return every trend by its group.

    Raises:
        UnsupportedQueryError: two matches of one trend differ in counted events, or in their group.
    """
    query = matcher.query
    found: dict[Trend, Match] = {}
    groups: dict[Group, Trends] = defaultdict(Trends)
    for match in matcher.trends(query.pattern):
        trend = trend_of(match)
        matcher.meter.spend(0, pieces=len(trend))
        first = found.setdefault(trend, match)
        if first is match:
            groups[group_of(query, match.values)].matches.append(match)
        elif _outcome(query, first) != _outcome(query, match):
            refuse_ambiguous(query)
        elif query.participating:
            groups[group_of(query, match.values)].others.append(match)
    return groups


def _outcome(query: BoundQuery, match: Match) -> tuple[Group, list[list[Event]]]:
    """Return the group of a match, and the events that aggregates count once per trend."""
    counted = [
        [step.event for step in match.steps() if step.position in positions]
        for aggregate in query.aggregates
        if not aggregate.each
        for positions, _ in aggregate.read
    ]
    return group_of(query, match.values), counted


def trend_of(match: Match) -> Trend:
    """Return the events of a match, without their positions."""
    return tuple([step.event.index for step in match.steps()])


def group_of(query: BoundQuery, values: KeyValues) -> Group:
    """Return the group of a trend with these key values.

    The value of a grouping key is None if no event carries it.
    """
    grouping = [
        None if value is ABSENT else value
        for key, value in zip(query.keys, values, strict=True)
        if key.group_label is not None
    ]
    return tuple(grouping)


def refuse_ambiguous(query: BoundQuery) -> None:
    """Raise an error for a query of which one trend has matches with different results.

    Raises:
        UnsupportedQueryError: with the fields `query`, `executor`, `reasons`.
    """
    reason = "one trend can be matched in several ways that differ in an aggregate or group"
    raise UnsupportedQueryError(
        f"query {query.name} is ambiguous: {reason}",
        hint="count or group by attributes that do not depend on the alias of an event",
        query=query.name,
        executor="twostep",
        reasons=(reason,),
    )


#: Maximum number of steps of the search, which take some microseconds each.
STEPS = 200_000


def list_trends(
    query: BoundQuery, events: EventTable, window: Interval, wanted: Callable[[Group], bool]
) -> tuple[list[Trend], str | None]:
    """Return the trends of a window in the order in which they are found, if their group is wanted.

    Args:
        query: a query without AND, which counts pairs of trends.
        events: the events of the window, or of `Window.extent` for a span.
        window: the window.
        wanted: returns whether a group is wanted.

    Returns:
        The trends, and the reason why they are not complete; None if they are.
    """
    meter = Meter(query.name, STEPS)
    meter.window = query.window.number_at(window.start)
    keys, ordered = Keys(query, events.schema), read_events(query, events)
    matcher = matcher_of(query, keys, ordered, meter, window)
    found: dict[Trend, None] = {}
    try:
        for match in matcher.trends(query.pattern):
            if wanted(group_of(query, match.values)):
                found.setdefault(trend_of(match))
    except BudgetError:
        return list(found), f"more trends than can be enumerated in {STEPS} steps"
    return list(found), None


def find_participants(
    query: BoundQuery, events: EventTable, window: Interval, wanted: Callable[[Group], bool]
) -> tuple[dict[Group, set[tuple[int, int]]], str | None]:
    """Return the participating events of a window by group, if their group is wanted.

    Args:
        query: a query without AND.
        events: the events of the window, or of `Window.extent` for a span.
        window: the window.
        wanted: returns whether a group is wanted.

    Returns:
        Indices of events, each with a position, and the reason why they are not complete; None if
        they are.
    """
    meter = Meter(query.name, STEPS)
    meter.window = query.window.number_at(window.start)
    keys, ordered = Keys(query, events.schema), read_events(query, events)
    found: dict[Group, set[tuple[int, int]]] = defaultdict(set)
    try:
        for match in matcher_of(query, keys, ordered, meter, window).trends(query.pattern):
            group = group_of(query, match.values)
            if wanted(group):
                found[group] |= {(step.event.index, step.position) for step in match.steps()}
    except BudgetError:
        return dict(found), f"more trends than can be enumerated in {STEPS} steps"
    return dict(found), None


# ---- pairs of trends


#: Each trend of one side with the key values that its matches have.
_Side = dict[Trend, set[KeyValues]]


def count_pairs(matcher: Matcher) -> dict[Group, int]:
    """Return the number of pairs of two different trends, one of each side, by group.

    Both trends of a pair are in one partition: they agree in every key that both of them carry. Let
    C12 trends of a partition match both sides, and C1 and C2 trends only one side. Then it has
    `C1*C2 + C1*C12 + C2*C12 + (C12 choose 2)` pairs.

    Raises:
        BudgetError: the enumeration exceeds the budget.
        UnsupportedQueryError: one pair belongs to several groups.
    """
    query = matcher.query
    assert isinstance(query.pattern, Conjunction)
    left, right = (_side(part, matcher) for part in query.pattern.parts)
    groups: dict[tuple[Trend, Trend], Group] = {}
    for one in left:
        for other in right:
            matcher.meter.spend()
            if one == other:
                continue
            pair = (one, other) if one < other else (other, one)
            for values in (matcher.keys.agreed(a, b) for a, b in product(left[one], right[other])):
                if values is None:
                    continue
                group = group_of(query, values)
                if groups.setdefault(pair, group) != group:
                    refuse_ambiguous(query)
    return dict(Counter(groups.values()))


def _side(pattern: Pattern, matcher: Matcher) -> _Side:
    side: _Side = {}
    for match in matcher.trends(pattern):
        trend = trend_of(match)
        matcher.meter.spend(0, pieces=len(trend))
        side.setdefault(trend, set()).add(match.values)
    return side
