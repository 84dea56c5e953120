"""Which occurrences of a pattern may begin a trend, end one, and follow each other in one.

The sets are those of a position automaton: GRETA's `start(P)`, `end(P)` and `P.predTypes`
(Algorithm 1), extended to optional parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.query.syntax import (
    Conjunction,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Sequence,
)


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


_NOTHING = Adjacency(frozenset(), frozenset(), frozenset(), True)


def adjacency(pattern: Pattern) -> Adjacency:
    """The adjacency of a pattern whose occurrences have distinct aliases.

    >>> from elsinore.query.syntax import EventPattern as E, KleenePlus, Sequence
    >>> found = adjacency(KleenePlus(Sequence((KleenePlus(E("A", "A")), E("B", "B")))))
    >>> sorted(found.pairs)
    [('A', 'A'), ('A', 'B'), ('B', 'A')]
    """
    match pattern:
        case EventPattern(alias=alias):
            return Adjacency(frozenset([alias]), frozenset([alias]), frozenset(), False)
        case Sequence(parts):
            found = _NOTHING
            for part in parts:
                found = _followed_by(found, adjacency(part))
            return found
        case KleenePlus(body) | KleeneStar(body):
            return _repeated(adjacency(body), optional=isinstance(pattern, KleeneStar))
        case Maybe(body):
            inner = adjacency(body)
            return Adjacency(inner.first, inner.last, inner.pairs, True)
        case Negation(body):
            return Adjacency(frozenset(), frozenset(), adjacency(body).pairs, True)
        case Disjunction(parts) | Conjunction(parts):
            alternatives = [adjacency(part) for part in parts]
            return Adjacency(
                frozenset().union(*(a.first for a in alternatives)),
                frozenset().union(*(a.last for a in alternatives)),
                frozenset().union(*(a.pairs for a in alternatives)),
                any(a.nullable for a in alternatives),
            )


def _followed_by(left: Adjacency, right: Adjacency) -> Adjacency:
    crossing = frozenset((p, e) for p in left.last for e in right.first)
    return Adjacency(
        left.first | right.first if left.nullable else left.first,
        left.last | right.last if right.nullable else right.last,
        left.pairs | right.pairs | crossing,
        left.nullable and right.nullable,
    )


def _repeated(body: Adjacency, *, optional: bool) -> Adjacency:
    again = frozenset((p, e) for p in body.last for e in body.first)
    return Adjacency(body.first, body.last, body.pairs | again, body.nullable or optional)
