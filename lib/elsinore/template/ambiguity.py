"""Whether patterns can match one sequence of events in two ways."""

from __future__ import annotations

from collections.abc import Iterable

from elsinore.query.automaton import Automaton, Pair
from elsinore.query.bound import BoundQuery
from elsinore.template.satisfiable import told_apart
from elsinore.template.subsets import NotUnambiguous

#: Steps through the product of two automata, which has up to the fourth power of a pattern's
#: length: 25 parts of one type that follow each other in any order are within it.
MAX_ARROWS = 400_000


def is_ambiguous(found: Automaton, query: BoundQuery) -> bool:
    """Whether some trend has two different paths through the automaton of a query's pattern."""
    return any(p != q for p, q in _paired(found, found, query))


def overlap(left: Automaton, right: Automaton, query: BoundQuery) -> bool:
    """Whether some trend may match both of two patterns of a query."""
    return bool(_paired(left, right, query))


def _paired(left: Automaton, right: Automaton, query: BoundQuery) -> set[Pair]:
    """The pairs of positions at which one event of a trend may stand on paths through both.

    Two paths that the same events can take are a path through the product of the automata, from two
    beginnings to two ends.

    Raises:
        NotUnambiguous: the product is too large to look at.
    """
    types = [position.type for position in query.positions]
    apart = told_apart(query)
    afters, others = _followers(left), _followers(right)

    def alike(lefts: Iterable[int], rights: Iterable[int]) -> set[Pair]:
        same: dict[str, list[int]] = {}
        for q in rights:
            same.setdefault(types[q], []).append(q)
        pairs = {(p, q) for p in lefts for q in same.get(types[p], ())}
        return pairs - apart if apart else pairs

    arrows: dict[Pair, set[Pair]] = {}
    pending = list(alike(left.first, right.first))
    room = MAX_ARROWS
    while pending:
        pair = pending.pop()
        if pair not in arrows:
            arrows[pair] = alike(afters.get(pair[0], ()), others.get(pair[1], ()))
            room -= len(arrows[pair])
            if room < 0:
                raise NotUnambiguous("its ways to match one trend are too many")
            pending += arrows[pair]
    return _that_reach(arrows, [p for p in arrows if p[0] in left.last and p[1] in right.last])


def _followers(found: Automaton) -> dict[int, list[int]]:
    """The positions that may come right after each."""
    followers: dict[int, list[int]] = {}
    for earlier, later in found.pairs:
        followers.setdefault(earlier, []).append(later)
    return followers


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
