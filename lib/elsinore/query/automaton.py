"""The position automaton of a pattern: who may begin, follow and end, and past which NOT.

GRETA Algorithm 1 gives `start(P)`, `end(P)` and `P.predTypes`; here each of them also says which
NOT are passed on the way (GRETA section 5 puts a negative sub-pattern between a previous and a
following event type). The sets follow Glushkov's construction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import TypeVar

from elsinore.query import syntax

#: The NOT passed on each way from one event to the next, as guard numbers; one way must be open.
#: A way that passes all NOT of another, and more, says nothing that the other does not.
Ways = frozenset[frozenset[int]]

NO_WAY: Ways = frozenset()
OPEN_WAY: Ways = frozenset([frozenset()])

Pair = tuple[int, int]

Place = TypeVar("Place")


@dataclass(frozen=True)
class Automaton:
    """Ways from the beginning to positions, between positions, and from positions to the end."""

    first: Mapping[int, Ways]  #: ways to each position that may begin a match
    last: Mapping[int, Ways]  #: ways on from each position that may end one
    pairs: Mapping[Pair, Ways]  #: ways from a position to one that may come next
    empty: Ways  #: ways through the pattern without any event

    @cached_property
    def successors(self) -> Mapping[int, Set[int]]:
        """The positions that may come right after each; none where none may."""
        found: dict[int, set[int]] = defaultdict(set)
        for earlier, later in self.pairs:
            found[earlier].add(later)
        return found


def automaton(
    pattern: syntax.Pattern, position: Callable[[str], int], guard: Callable[[syntax.Negation], int]
) -> Automaton:
    """The automaton of a pattern without AND, in which every occurrence has an alias of its own.

    `position` gives the position of an alias, `guard` the number that a NOT goes by.
    """

    def build(part: syntax.Pattern) -> Automaton:
        match part:
            case syntax.EventPattern(alias=alias):
                here = {position(alias): OPEN_WAY}
                return Automaton(here, here, {}, NO_WAY)
            case syntax.Negation():
                return Automaton({}, {}, {}, frozenset([frozenset([guard(part)])]))
            case syntax.Sequence(parts):
                return _in_a_row([build(each) for each in parts])
            case syntax.Disjunction(parts):
                return reduce(_either, map(build, parts))
            case syntax.KleenePlus(body):
                return _repeated(build(body))
            case syntax.KleeneStar(body):
                return _either(_repeated(build(body)), _PASSED)
            case syntax.Maybe(body):
                return _either(build(body), _PASSED)
        raise AssertionError(f"{part} has no automaton of its own")

    return build(pattern)


_PASSED = Automaton({}, {}, {}, OPEN_WAY)


def either_way(left: Ways, right: Ways) -> Ways:
    """Return all ways of two sets, without ways that pass more NOT than another."""
    both = left | right
    if both >= OPEN_WAY:
        return OPEN_WAY
    return frozenset(way for way in both if not any(other < way for other in both))


def one_after_another(left: Ways, right: Ways) -> Ways:
    """Every way of one set, then one of the other."""
    if left == OPEN_WAY:
        return right
    return either_way(NO_WAY, frozenset(way | on for way in left for on in right))


def _in_a_row(parts: list[Automaton]) -> Automaton:
    """Halves first: of a long sequence each pair is copied only a few times."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return _followed_by(_in_a_row(parts[:middle]), _in_a_row(parts[middle:]))


def _followed_by(left: Automaton, right: Automaton) -> Automaton:
    pairs = _merged(left.pairs, right.pairs)
    return Automaton(
        _merged(left.first, _past(left.empty, right.first)),
        _merged(right.last, _past(right.empty, left.last)),
        _merged(pairs, _crossing(left, right)),
        one_after_another(left.empty, right.empty),
    )


def _either(left: Automaton, right: Automaton) -> Automaton:
    return Automaton(
        _merged(left.first, right.first),
        _merged(left.last, right.last),
        _merged(left.pairs, right.pairs),
        either_way(left.empty, right.empty),
    )


def _repeated(body: Automaton) -> Automaton:
    pairs = _merged(body.pairs, _crossing(body, body))
    return Automaton(body.first, body.last, pairs, body.empty)


def _crossing(left: Automaton, right: Automaton) -> dict[Pair, Ways]:
    """Ways from the ends of one to the beginnings of the other."""
    return {
        (p, e): one_after_another(out, into)
        for p, out in left.last.items()
        for e, into in right.first.items()
    }


def _merged(left: Mapping[Place, Ways], right: Mapping[Place, Ways]) -> dict[Place, Ways]:
    found = dict(left)
    for place, ways in right.items():
        found[place] = either_way(found[place], ways) if place in found else ways
    return found


def _past(empty: Ways, ends: Mapping[int, Ways]) -> dict[int, Ways]:
    """Ends reached past a part that takes no event."""
    return {p: one_after_another(empty, ways) for p, ways in ends.items()} if empty else {}


# ---- neighbours, whatever NOT lies on the way


def neighbours(pattern: syntax.Pattern) -> frozenset[tuple[str, str]]:
    """Pairs of aliases of which the second may come right after the first, inside of NOT too.

    The occurrences of the pattern have distinct aliases.

    >>> from elsinore.query.syntax import EventPattern as E, KleenePlus, Sequence
    >>> sorted(neighbours(KleenePlus(Sequence((KleenePlus(E("A", "A")), E("B", "B"))))))
    [('A', 'A'), ('A', 'B'), ('B', 'A')]
    """
    aliases = [leaf.alias for leaf in syntax.event_patterns(pattern)]
    number = {alias: index for index, alias in enumerate(aliases)}
    inside: list[Automaton] = []

    def enter(negation: syntax.Negation) -> int:
        inside.append(automaton(negation.body, number.__getitem__, enter))
        return 0  # which NOT lies on the way does not matter here

    sides = pattern.parts if isinstance(pattern, syntax.Conjunction) else (pattern,)
    found = [automaton(side, number.__getitem__, enter) for side in sides]
    return frozenset((aliases[p], aliases[e]) for part in found + inside for p, e in part.pairs)


def may_meet(pattern: syntax.Pattern) -> frozenset[frozenset[str]]:
    """Aliases that two events of one trend, or of a pair of trends under AND, may have.

    An alias that two events may have is in a pair with itself. Events under NOT are not part of a
    trend.

    >>> from elsinore.query.syntax import Disjunction, EventPattern as E, KleenePlus
    >>> found = may_meet(Disjunction((KleenePlus(E("A", "a")), E("B", "b"))))
    >>> [sorted(aliases) for aliases in found]
    [['a']]
    """
    onward: dict[str, set[str]] = {alias: set() for alias in _trend_aliases(pattern)}
    for earlier, later in neighbours(pattern):
        if earlier in onward:
            onward[earlier].add(later)
    for middle, beyond in onward.items():  # Warshall's transitive closure
        for reached in onward.values():
            if middle in reached:
                reached |= beyond
    found = {frozenset((p, e)) for p, reached in onward.items() for e in reached}
    if isinstance(pattern, syntax.Conjunction):
        sides = map(_trend_aliases, pattern.parts)
        found |= {frozenset(pair) for pair in product(*sides)}
    return frozenset(found)


def _trend_aliases(pattern: syntax.Pattern) -> list[str]:
    """Return the aliases of a pattern that are not under NOT."""
    match pattern:
        case syntax.EventPattern(alias=alias):
            return [alias]
        case syntax.Negation():
            return []
    return [alias for part in syntax.parts_of(pattern) for alias in _trend_aliases(part)]
