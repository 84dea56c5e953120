"""Whether patterns can match one sequence of events in two ways."""

from __future__ import annotations

from collections.abc import Iterable

from elsinore.query.automaton import Automaton, Pair
from elsinore.query.bound import BoundQuery


def is_ambiguous(found: Automaton, query: BoundQuery) -> bool:
    """Whether some trend has two different paths through the automaton of a query's pattern."""
    return any(p != q for p, q in _paired(found, found, query))


def overlap(left: Automaton, right: Automaton, query: BoundQuery) -> bool:
    """Whether some trend may match both of two patterns of a query."""
    return bool(_paired(left, right, query))


def _paired(left: Automaton, right: Automaton, query: BoundQuery) -> set[Pair]:
    """The pairs of positions at which one event of a trend may stand on paths through both.

    Two paths over the same event types are a path through the product of the automata, from two
    beginnings to two ends.
    """

    def alike(lefts: Iterable[int], rights: Iterable[int]) -> set[Pair]:
        types = [position.type for position in query.positions]
        rights = tuple(rights)
        return {(p, q) for p in lefts for q in rights if types[p] == types[q]}

    arrows: dict[Pair, set[Pair]] = {}
    pending = list(alike(left.first, right.first))
    while pending:
        pair = pending.pop()
        if pair not in arrows:
            arrows[pair] = alike(left.successors(pair[0]), right.successors(pair[1]))
            pending += arrows[pair]
    return _that_reach(arrows, [p for p in arrows if p[0] in left.last and p[1] in right.last])


def _that_reach(arrows: dict[Pair, set[Pair]], ends: list[Pair]) -> set[Pair]:
    """The pairs from which an end can be reached."""
    backwards: dict[Pair, list[Pair]] = {}
    for pair, nexts in arrows.items():
        for after in nexts:
            backwards.setdefault(after, []).append(pair)
    pending = list(ends)
    reached: set[Pair] = set()
    while pending:
        pair = pending.pop()
        if pair not in reached:
            reached.add(pair)
            pending += backwards.get(pair, [])
    return reached
