"""The position automaton of a pattern: who may begin, follow and end, and past which NOT.

GRETA Algorithm 1 gives `start(P)`, `end(P)` and `P.predTypes`; here each of them also says which
NOT are passed on the way (GRETA section 5 puts a negative sub-pattern between a previous and a
following event type). The sets follow Glushkov's construction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise, product
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


@dataclass
class Places:
    """Numbers the places of an automaton from 0 on, in the order of the pattern.

    Attributes:
        position_of: returns the position of an event pattern.
        positions: the position of each place so far.
    """

    position_of: Callable[[syntax.EventPattern], int]
    positions: list[int] = field(default_factory=list)

    def __call__(self, event: syntax.EventPattern) -> int:
        """Return the number of the next place."""
        self.positions.append(self.position_of(event))
        return len(self.positions) - 1


def automaton(
    pattern: syntax.Pattern,
    place: Callable[[syntax.EventPattern], int],
    guard: Callable[[syntax.Negation], int],
) -> Automaton:
    """The automaton of a pattern without AND.

    Args:
        pattern: the pattern. Each copy of a quantified part is a part of its own.
        place: returns the number of the next place of an event; copies of a quantified part must
            have numbers of their own, as by `Places`.
        guard: returns the number that a NOT goes by, which is the same in each copy.
    """

    def build(part: syntax.Pattern) -> Automaton:
        match part:
            case syntax.EventPattern():
                here = {place(part): OPEN_WAY}
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
            case syntax.Quantified(body, least, most):
                copies = [build(body) for _ in range(most or max(least, 1))]
                return _quantified(copies, least, open_ended=most is None)
        raise AssertionError(f"{part} has no automaton of its own")

    return build(pattern)


def _quantified(copies: list[Automaton], least: int, *, open_ended: bool) -> Automaton:
    """Return the automaton of copies of one part, of which some at the end may be missing.

    Args:
        copies: the copies.
        least: how many of them are needed.
        open_ended: whether the last one repeats.
    """
    if not copies[0].empty:
        return _of_full_copies(copies, least, open_ended=open_ended)
    if open_ended:
        copies = [*copies[:-1], _repeated(copies[-1])]
    rest = _PASSED
    for copy in reversed(copies[least:]):
        rest = _either(_followed_by(copy, rest), _PASSED)
    return _followed_by(_in_a_row(copies[:least]), rest) if least else rest


def _of_full_copies(copies: list[Automaton], least: int, *, open_ended: bool) -> Automaton:
    """Return what `_quantified` does, in one pass, if each copy takes an event."""
    pairs: dict[Pair, Ways] = {}
    for copy in copies:
        pairs |= copy.pairs
    for copy, following in pairwise(copies):
        pairs |= _crossing(copy, following)
    if open_ended:
        pairs = _merged(pairs, _crossing(copies[-1], copies[-1]))
    last: dict[int, Ways] = {}
    for copy in copies[max(least - 1, 0) :]:
        last |= copy.last
    return Automaton(copies[0].first, last, pairs, NO_WAY if least else OPEN_WAY)


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


#: Weight of a copy that can be empty: the number of pairs of places grows with its square.
_OF_EMPTY = 5


def count_places(pattern: syntax.Pattern) -> int:
    """Return how many places the automata of a pattern and of all its NOT have.

    Copies that can be empty count as `_OF_EMPTY`, since any later copy may follow them.

    >>> from elsinore.query.syntax import EventPattern as E, Negation, Quantified, Sequence
    >>> pair = Sequence((E("A", "A"), Negation(E("B", "B"))))
    >>> count_places(Quantified(pair, 2, 5))
    6
    """
    bodies: list[syntax.Pattern] = [pattern]  # each NOT has one automaton, in whatever copies

    def of(part: syntax.Pattern) -> int:
        match part:
            case syntax.EventPattern():
                return 1
            case syntax.Negation(body):
                bodies.append(body)
                return 0
            case syntax.Quantified(body, least, most):
                copies = most or max(least, 1)
                if copies > 1 and syntax.can_be_empty(body):
                    copies *= _OF_EMPTY
                return of(body) * copies
        return sum(map(of, syntax.parts_of(part)))

    return sum(map(of, bodies))


# ---- neighbours, whatever NOT lies on the way

#: The alias and type of an event pattern; only parts of ANY have one alias and several types.
Leaf = tuple[str, str]


def leaf_of(event: syntax.EventPattern) -> Leaf:
    """Return what identifies an event pattern in its pattern."""
    return event.alias, event.type


def neighbours(pattern: syntax.Pattern) -> frozenset[tuple[str, str]]:
    """Pairs of aliases of which the second may come right after the first, inside of NOT too.

    The occurrences of the pattern have distinct aliases.

    >>> from elsinore.query.syntax import EventPattern as E, KleenePlus, Sequence
    >>> sorted(neighbours(KleenePlus(Sequence((KleenePlus(E("A", "A")), E("B", "B"))))))
    [('A', 'A'), ('A', 'B'), ('B', 'A')]
    """
    return frozenset((p[0], e[0]) for p, e in _neighbors(pattern))


def reaches_end(pattern: syntax.Pattern) -> bool:
    """Return whether a NOT reaches to the end of the window.

    That is a NOT after the last event of a match, be it of a trend or of another NOT.

    >>> from elsinore.query.syntax import EventPattern as E, Negation, Sequence
    >>> reaches_end(Sequence((E("A", "A"), Negation(E("B", "B")))))
    True
    """
    found: list[Automaton] = []

    def enter(part: syntax.Pattern) -> int:
        body = part.body if isinstance(part, syntax.Negation) else _looped(part)
        found.append(automaton(body, Places(lambda event: 0), enter))
        return 0

    enter(pattern)
    return any(way for one in found for ways in one.last.values() for way in ways)


def _neighbors(pattern: syntax.Pattern) -> frozenset[tuple[Leaf, Leaf]]:
    leaves = [leaf_of(leaf) for leaf in syntax.event_patterns(pattern)]
    number = {leaf: index for index, leaf in enumerate(leaves)}
    inside: list[Automaton] = []

    def place(event: syntax.EventPattern) -> int:
        return number[leaf_of(event)]

    def enter(negation: syntax.Negation) -> int:
        inside.append(automaton(negation.body, place, enter))
        return 0  # which NOT lies on the way does not matter here

    sides = pattern.parts if isinstance(pattern, syntax.Conjunction) else (pattern,)
    found = [automaton(_looped(side), place, enter) for side in sides]
    return frozenset((leaves[p], leaves[e]) for part in found + inside for p, e in part.pairs)


def _looped(pattern: syntax.Pattern) -> syntax.Pattern:
    """Return a pattern with the same neighbors, in which loops replace quantifiers."""
    if not isinstance(pattern, syntax.Quantified):
        return syntax.with_parts(pattern, _looped)
    body = _looped(pattern.body)
    if pattern.most is None or pattern.most > 1:
        body = syntax.KleenePlus(body, pattern.at)
    return body if pattern.least else syntax.Maybe(body, pattern.at)


def may_meet(pattern: syntax.Pattern) -> frozenset[frozenset[Leaf]]:
    """Leaves that two events of one trend, or of a pair of trends under AND, may have.

    A leaf that two events may have is in a pair with itself. Events under NOT are not part of a
    trend.

    >>> from elsinore.query.syntax import Disjunction, EventPattern as E, KleenePlus
    >>> found = may_meet(Disjunction((KleenePlus(E("A", "a")), E("B", "b"))))
    >>> [sorted(leaves) for leaves in found]
    [[('a', 'A')]]
    """
    onward: dict[Leaf, set[Leaf]] = {leaf: set() for leaf in _trend_leaves(pattern)}
    for earlier, later in _neighbors(pattern):
        if earlier in onward:
            onward[earlier].add(later)
    for middle, beyond in onward.items():  # Warshall's transitive closure
        for reached in onward.values():
            if middle in reached:
                reached |= beyond
    found = {frozenset((p, e)) for p, reached in onward.items() for e in reached}
    if isinstance(pattern, syntax.Conjunction):
        sides = map(_trend_leaves, pattern.parts)
        found |= {frozenset(pair) for pair in product(*sides)}
    return frozenset(found)


def _trend_leaves(pattern: syntax.Pattern) -> list[Leaf]:
    """Return the leaves of a pattern that are not under NOT."""
    match pattern:
        case syntax.EventPattern():
            return [leaf_of(pattern)]
        case syntax.Negation():
            return []
    return [leaf for part in syntax.parts_of(pattern) for leaf in _trend_leaves(part)]
