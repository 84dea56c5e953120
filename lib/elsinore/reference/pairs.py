"""Conjunction: pairs of trends (GRETA, section 9)."""

from __future__ import annotations

from collections import Counter

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction, Pattern
from elsinore.reference.budget import Meter
from elsinore.reference.keys import Keys, KeyValues
from elsinore.reference.match import Matcher
from elsinore.reference.trends import Group, Trend, group_of, refuse_ambiguous, trend_of

#: Each trend of one side with the key values that its matches have.
_Side = dict[Trend, set[KeyValues]]


def count_pairs(query: BoundQuery, keys: Keys, matcher: Matcher, meter: Meter) -> dict[Group, int]:
    """The number of pairs of two different trends, one of each side, by group.

    A pair lies in one partition: its trends agree in every key that both of them carry. Within a
    partition these are `C1*C2 + C1*C12 + C2*C12 + (C12 choose 2)` pairs, where C12 trends match
    both sides and C1, C2 only the one.

    Raises:
        BudgetError: there is too much to enumerate.
        UnsupportedQueryError: one pair belongs to several groups.
    """
    assert isinstance(query.pattern, Conjunction)
    left, right = (_side(part, matcher) for part in query.pattern.parts)
    groups: dict[tuple[Trend, Trend], Group] = {}
    for one in left:
        for other in right:
            meter.spend()
            if one == other:
                continue
            pair = (one, other) if one < other else (other, one)
            for values in _agreements(keys, left[one], right[other]):
                group = group_of(query, values)
                if groups.setdefault(pair, group) != group:
                    refuse_ambiguous(query)
    return dict(Counter(groups.values()))


def _side(pattern: Pattern, matcher: Matcher) -> _Side:
    side: _Side = {}
    for match in matcher.trends(pattern):
        side.setdefault(trend_of(match), set()).add(match.values)
    return side


def _agreements(keys: Keys, left: set[KeyValues], right: set[KeyValues]) -> list[KeyValues]:
    joined = [keys.agreed(one, other) for one in left for other in right]
    return [values for values in joined if values is not None]
