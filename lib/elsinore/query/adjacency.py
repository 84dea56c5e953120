"""Which occurrences of a pattern may begin a trend, end one, and follow each other in one.

GRETA's `start(P)`, `end(P)` and `P.predTypes` (Algorithm 1), whatever NOT lies on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from elsinore.query.automaton import Automaton, automaton
from elsinore.query.syntax import Conjunction, Negation, Pattern, event_patterns


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Aliases that may begin (`first`) and end (`last`) a match, and pairs `(p, e)` of neighbours.

    `nullable` says whether the pattern also matches no event at all. Negated parts contribute the
    pairs inside of them, but neither beginning nor end.
    """

    first: frozenset[str]
    last: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    nullable: bool


def adjacency(pattern: Pattern) -> Adjacency:
    """The adjacency of a pattern whose occurrences have distinct aliases.

    >>> from elsinore.query.syntax import EventPattern as E, KleenePlus, Sequence
    >>> found = adjacency(KleenePlus(Sequence((KleenePlus(E("A", "A")), E("B", "B")))))
    >>> sorted(found.pairs)
    [('A', 'A'), ('A', 'B'), ('B', 'A')]
    """
    aliases = [leaf.alias for leaf in event_patterns(pattern)]
    number = {alias: index for index, alias in enumerate(aliases)}
    inside: list[Automaton] = []

    def enter(negation: Negation) -> int:
        inside.append(automaton(negation.body, number.__getitem__, enter))
        return 0  # which NOT lies on the way does not matter here

    sides = pattern.parts if isinstance(pattern, Conjunction) else (pattern,)
    found = [automaton(side, number.__getitem__, enter) for side in sides]
    return Adjacency(
        frozenset(aliases[position] for side in found for position in side.first),
        frozenset(aliases[position] for side in found for position in side.last),
        frozenset((aliases[p], aliases[e]) for part in found + inside for p, e in part.pairs),
        any(side.empty for side in found),
    )


def may_meet(pattern: Pattern) -> frozenset[frozenset[str]]:
    """Aliases that two events of one trend, or of a pair of trends under AND, may have.

    An alias that two events may have stands by itself.

    >>> from elsinore.query.syntax import Disjunction, EventPattern as E, KleenePlus
    >>> found = may_meet(Disjunction((KleenePlus(E("A", "a")), E("B", "b"))))
    >>> [sorted(aliases) for aliases in found]
    [['a']]
    """
    onward: dict[str, set[str]] = {leaf.alias: set() for leaf in event_patterns(pattern)}
    for earlier, later in adjacency(pattern).pairs:
        onward[earlier].add(later)
    for middle, beyond in onward.items():  # Warshall's transitive closure
        for reached in onward.values():
            if middle in reached:
                reached |= beyond
    found = {frozenset((p, e)) for p, reached in onward.items() for e in reached}
    if isinstance(pattern, Conjunction):
        sides = [[leaf.alias for leaf in event_patterns(side)] for side in pattern.parts]
        found |= {frozenset(pair) for pair in product(*sides)}
    return frozenset(found)
