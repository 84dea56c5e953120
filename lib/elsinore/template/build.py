"""Build the templates of a query.

Grouping and equivalence attributes together partition the trends. If a pattern has optional parts,
some trends may carry a key that others lack. Then trends are partitioned by the keys that they
carry (spec section 1, grouping).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from elsinore.query.automaton import Automaton, Places, automaton, count_places
from elsinore.query.bound import BoundQuery, Key, of_query
from elsinore.query.expressions import Applied, BoundExpression, turned
from elsinore.query.syntax import Conjunction, Negation, Pattern, Semantics, shape_of
from elsinore.template.refine import refine
from elsinore.template.subsets import NotUnambiguous, is_ambiguous, overlap, subset_template
from elsinore.template.template import (
    NOTHING,
    Holds,
    Pairs,
    Template,
    Transition,
    accept_by,
    every,
    guards_of,
    leading_to,
    position_template,
    reachable,
)

#: One template for each set of keys that trends of a pattern carry.
Templates = tuple[Template, ...]


@dataclass(frozen=True)
class Conjoined:
    """The templates of `P1 AND P2` (GRETA section 9)."""

    #: trends of each side.
    left: Templates
    right: Templates
    both: Templates  #: trends that match both sides


@of_query
def build_templates(query: BoundQuery) -> Templates:
    """Return the templates of a query without AND.

    Raises:
        NotUnambiguous: see `subsets.subset_template`.
    """
    if query.refinement is not None:
        base, trackers, _ = query.refinement
        refined = map(_kept, refine(base, build_templates(base), trackers).templates)
        # Trends of some templates may lack a value that is required.
        return tuple(each for each in refined if not each.ends.keys().isdisjoint(each.trend_states))
    types = [position.type for position in query.positions if not position.negated]
    if len(set(types)) < len(types):  # local predicates may distinguish its positions
        return _Builder(query).templates(query.pattern)
    asked = query.keys, query.edge_predicates, query.semantics
    return _built(_Shaped(query, (shape_of(query.pattern), *asked)))


@dataclass(frozen=True)
class _Shaped:
    """A query with one position per type; equal to all queries that have the same templates."""

    query: BoundQuery = field(compare=False)
    shape: tuple[object, ...]


@lru_cache(maxsize=256)
def _built(shaped: _Shaped) -> Templates:
    """Return cached templates, because the queries of a workload have few shapes."""
    return _Builder(shaped.query).templates(shaped.query.pattern)


@of_query
def position_templates(query: BoundQuery) -> Templates:
    """Return templates with a state per position, of a query without AND.

    If the pattern is ambiguous, several paths lead to one trend. So these templates can find the
    events of trends, but they cannot count trends.

    Raises:
        NotUnambiguous: see `bind_guard_keys`.
    """
    builder = _Builder(query)
    found = position_template(builder.pairs(query.pattern))
    return builder.assembled(found) if found.ends else ()


@of_query
def build_conjoined(query: BoundQuery) -> Conjoined:
    """Return the templates of an AND of two patterns.

    Raises:
        NotUnambiguous: see `subsets.subset_template`.
    """
    assert isinstance(query.pattern, Conjunction)
    left, right = query.pattern.parts
    return Conjoined(
        _Builder(query).templates(left),
        _Builder(query).templates(right),
        _Builder(query).of_both(left, right),
    )


#: Places of the templates of a query at most; the copies of a quantifier are places of their own.
MOST_PLACES = 1_000


def has_few_places(query: BoundQuery) -> bool:
    """Return whether the quantifiers of a query have few enough copies for templates."""
    return count_places(query.pattern) <= MOST_PLACES


class _Builder:
    """Builds the templates of a query; the places of all its automata are numbered together."""

    def __init__(self, query: BoundQuery) -> None:
        if not has_few_places(query):
            message = f"its quantifiers have more than {MOST_PLACES:,} copies of its events"
            raise NotUnambiguous(message)
        self.query = query
        self.guards: list[Template] = []
        self._numbers: dict[int, int] = {}
        self._places = Places(query.position_of)

    def templates(self, pattern: Pattern) -> Templates:
        pairs = self.pairs(pattern)
        if is_ambiguous(pairs):
            return self.assembled(subset_template(pairs, accept_by(pairs.automaton)))
        return self.assembled(position_template(pairs))

    def pairs(self, pattern: Pattern) -> Pairs:
        """Return the places of a pattern that may follow each other, with their conditions."""
        return self._pairs(self._automaton(pattern), self.query.semantics)

    def of_both(self, left: Pattern, right: Pattern) -> Templates:
        """Return the templates of trends that match both patterns.

        Their END states contain an END position of each pattern.
        """
        one, other = self._automaton(left), self._automaton(right)
        if not overlap(self._pairs(one), self._pairs(other)):
            return ()
        together = Automaton(
            {**one.first, **other.first},
            {**one.last, **other.last},
            {**one.pairs, **other.pairs},
            one.empty | other.empty,
        )
        pairs = self._pairs(together, self.query.semantics)
        trends = subset_template(pairs, accept_by(one, other))
        return self.assembled(trends) if trends.ends else ()

    def _automaton(self, pattern: Pattern) -> Automaton:
        return automaton(pattern, self._places, self._guard)

    def _pairs(self, found: Automaton, semantics: Semantics = Semantics.ANY) -> Pairs:
        return Pairs(self.query, found, semantics, self._places.positions)

    def _guard(self, negation: Negation) -> int:
        """Return the number of a NOT; the NOT inside of it have smaller numbers."""
        place = id(negation)
        if place not in self._numbers:
            pairs = self._pairs(self._automaton(negation.body))
            number = len(self.guards)
            self.guards.append(position_template(pairs, number))
            self._numbers[place] = number
        return self._numbers[place]

    def assembled(self, trends: Template) -> Templates:
        """Return the templates of a pattern per set of keys, with the states of its NOT."""
        return tuple(_assemble(part, self._guards(part)) for part in split_by_keys(trends))

    def _guards(self, trends: Template) -> list[Template]:
        """Return the templates of all NOT by number; `NOTHING` if no way of a trend passes it."""
        met = self._and_inside(trends)
        return [
            bind_guard_keys(
                self.query, guard, [self.guards[n] for n in self._and_inside(guard)], trends.keys
            )
            if number in met
            else NOTHING
            for number, guard in enumerate(self.guards)
        ]

    def _and_inside(self, template: Template) -> set[int]:
        """Return the numbers of the NOT on the ways of a template, and inside of these NOT."""
        met = set(guards_of(template))
        for number in reversed(range(len(self.guards))):
            if number in met:
                met |= guards_of(self.guards[number])
        return met


def _assemble(trends: Template, guards: list[Template]) -> Template:
    parts = [trends, *guards]
    offsets = [sum(len(other.states) for other in parts[:n]) for n in range(len(parts))]
    placed = list(zip(parts, offsets, strict=True))
    arrows = [a for part, offset in placed for a in _moved(part.transitions, offset.__add__)]
    return replace(
        trends,
        states=tuple(state for part in parts for state in part.states),
        transitions=tuple(sorted(arrows, key=lambda arrow: (arrow.later, arrow.earlier))),
        starts={n + o: floor for part, o in placed for n, floor in part.starts.items()},
        ends={n + o: floor for part, o in placed for n, floor in part.ends.items()},
        guards=len(guards),
    )


#: The part of the pattern that the trends of a template match.
WHOLE = "pattern"
LEFT, RIGHT, BOTH = "left side of AND", "right side of AND", "both sides of AND at once"


def has_one_group(query: BoundQuery) -> bool:
    """Return whether all matches of a trend are surely in one group.

    Raises:
        NotUnambiguous: the pattern is too large.
    """
    every = {position.index for position in query.positions if not position.negated}
    if all(key.positions >= every for key in query.group_keys):
        return True
    return not is_ambiguous(_Builder(query).pairs(query.pattern))


def template_parts(query: BoundQuery) -> list[tuple[str, Template]]:
    """Return the templates of a query, one per set of keys that trends may carry.

    Each has the name of the part of the pattern that its trends match.

    Raises:
        NotUnambiguous: see `subsets.subset_template`.
    """
    if not isinstance(query.pattern, Conjunction):
        only_events = query.participating and not (query.counted or query.measured)
        built = position_templates(query) if only_events else build_templates(query)
        return [(WHOLE, template) for template in built]
    found = build_conjoined(query)
    sides = ((LEFT, found.left), (RIGHT, found.right), (BOTH, found.both))
    return [(side, template) for side, templates in sides for template in templates]


def carried_keys(query: BoundQuery, template: Template) -> list[str]:
    """Return the attributes of the keys that the trends of a template carry."""
    return [query.keys[number].attribute for number in sorted(template.keys)]


# ---- trends split by the keys that they carry, and keys that only NOT carries


Keys = frozenset[int]


def split_by_keys(trends: Template) -> Iterator[Template]:
    """Yield a template per set of keys that trends carry, with exactly these trends.

    If all trends carry the same keys, the states do not change. Otherwise there is a state per
    original state and set of keys carried so far. States that lead to other sets of keys stay as
    dead ends, because their events matter under skip-till-next-match.
    """
    carried = _carried(trends)
    finals = sorted({keys for state, keys in carried if state in trends.ends}, key=sorted)
    if len(finals) == 1:
        yield replace(_kept(trends), keys=finals[0])
        return
    for keys in finals:
        yield replace(_kept(_doubled(trends, carried, keys)), keys=keys)


def _carried(trends: Template) -> list[tuple[int, Keys]]:
    """Return every state with every set of keys that a trend may carry at the state."""

    def onwards(place: tuple[int, Keys]) -> list[tuple[int, Keys]]:
        later = [arrow.later for arrow in trends.transitions if arrow.earlier == place[0]]
        return [(state, place[1] | trends.states[state].keys) for state in later]

    begin = [(state, trends.states[state].keys) for state in trends.starts]
    return sorted(reachable(begin, onwards), key=lambda place: (place[0], sorted(place[1])))


def _doubled(trends: Template, carried: list[tuple[int, Keys]], keys: Keys) -> Template:
    number = {place: index for index, place in enumerate(carried)}
    first = {state: number[state, trends.states[state].keys] for state in trends.starts}

    def doubled(arrows: tuple[Transition, ...]) -> tuple[Transition, ...]:
        return tuple(
            replace(arrow, earlier=index, later=number[arrow.later, held | found.keys])
            for (state, held), index in number.items()
            for arrow in arrows
            if arrow.earlier == state
            for found in [trends.states[arrow.later]]
        )

    return replace(
        trends,
        states=tuple(trends.states[state] for state, _ in carried),
        transitions=doubled(trends.transitions),
        starts={first[state]: floor for state, floor in trends.starts.items()},
        ends={number[s, keys]: f for s, f in trends.ends.items() if (s, keys) in number},
        bars={first[state]: floor for state, floor in trends.bars.items()},
        ways_out=doubled(trends.ways_out),
    )


def _kept(trends: Template) -> Template:
    """Return the template without useless states.

    A state is kept if it leads to an end, or if its events close a state that does.
    """
    useful = leading_to(trends.ends, ((a.earlier, a.later) for a in trends.transitions))
    arrows = tuple(
        arrow
        for arrow in trends.transitions
        if arrow.earlier in useful and (arrow.later in useful or arrow.closes)
    )
    outs = [out for out in trends.ways_out if out.earlier in useful]
    kept = sorted(useful | {a.later for a in arrows} | {out.later for out in outs})
    number = {state: index for index, state in enumerate(kept)}
    return replace(
        trends,
        states=tuple(trends.states[state] for state in kept),
        transitions=_moved(arrows, number.__getitem__),
        starts={number[s]: floor for s, floor in trends.starts.items() if s in useful},
        ends={number[s]: floor for s, floor in trends.ends.items()},
        bars={number[s]: floor for s, floor in trends.bars.items() if s in useful},
        ways_out=_moved(outs, number.__getitem__),
    )


def _moved(arrows: Iterable[Transition], number: Callable[[int], int]) -> tuple[Transition, ...]:
    """Return transitions with renumbered states."""
    return tuple(
        Transition(number(a.earlier), number(a.later), a.condition, a.closes, a.slot)
        for a in arrows
    )


def bind_guard_keys(
    query: BoundQuery, guard: Template, inside: Iterable[Template], carried: frozenset[int]
) -> Template:
    """Return the template of a NOT whose events agree in all keys.

    Partitions ensure that events agree in the keys that the trends carry. Keys that only events of
    the NOT carry are compared between adjacent events of a match.

    Args:
        query: the query.
        guard: the template of the NOT.
        inside: the templates of the NOT inside of it.
        carried: numbers of the keys that the trends carry.

    Raises:
        NotUnambiguous: events of a match that are not adjacent would have to agree, or events of a
            match with events of a NOT inside of it.
    """
    bound = guard
    deeper = {n for part in inside for state in part.states for n in state.keys}
    for number in sorted({n for state in guard.states for n in state.keys} - carried):
        carriers = [n for n, state in enumerate(guard.states) if number in state.keys]
        alone = len(carriers) == 1 and all(a.earlier not in carriers for a in guard.transitions)
        if alone and number not in deeper:
            continue
        if len(carriers) < len(guard.states) or number in deeper:
            name = query.keys[number].attribute
            raise NotUnambiguous(f"{name} is a key of some events under a NOT, but not of a trend")
        bound = _agreeing(query, bound, query.keys[number])
    return bound


def _agreeing(query: BoundQuery, guard: Template, key: Key) -> Template:
    arrows = []
    for arrow in guard.transitions:
        ends = (min(guard.states[n].positions) for n in (arrow.earlier, arrow.later))
        agree = Holds(_same(key, *ends))
        arrows.append(replace(arrow, condition=every(arrow.condition, agree)))
    return replace(guard, transitions=tuple(arrows))


def _same(key: Key, earlier: int, later: int) -> BoundExpression:
    """Return the condition that both events have the same value.

    NULL equals NULL, as in GROUP BY.
    """
    left, right = key.read(earlier), turned(key.read(later))
    neither = Applied("AND", (Applied("IS NULL", (left,)), Applied("IS NULL", (right,))))
    return Applied("OR", (Applied("=", (left, right)), neither))
