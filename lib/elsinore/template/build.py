"""Builds the templates of a query, whatever its pattern.

Grouping and equivalence attributes together partition the trends. With optional parts some trends
may carry a key that others lack: each kind is partitioned by its own keys (spec section 1,
grouping).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from elsinore.query.automaton import Automaton, automaton
from elsinore.query.bound import BoundQuery, Key, of_query
from elsinore.query.expressions import Applied, BoundExpression, Field
from elsinore.query.syntax import Conjunction, Negation, Pattern, Semantics, shape_of
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
    """The templates of a query without AND; NotUnambiguous: see `subsets.subset_template`."""
    types = [position.type for position in query.positions if not position.negated]
    if len(set(types)) < len(types):  # local predicates may tell its positions apart
        return _Builder(query).templates(query.pattern)
    asked = query.keys, query.edge_predicates, query.semantics
    return _built(_Shaped(query, (shape_of(query.pattern), *asked)))


@dataclass(frozen=True)
class _Shaped:
    """A query with one position for each type, equal to all that have the same templates."""

    query: BoundQuery = field(compare=False)
    shape: tuple[object, ...]


@lru_cache(maxsize=256)
def _built(shaped: _Shaped) -> Templates:
    """Kept, since the queries of a workload have few shapes."""
    return _Builder(shaped.query).templates(shaped.query.pattern)


@of_query
def build_conjoined(query: BoundQuery) -> Conjoined:
    """The templates of an AND of two patterns; NotUnambiguous: see `subsets.subset_template`."""
    assert isinstance(query.pattern, Conjunction)
    left, right = query.pattern.parts
    return Conjoined(
        _Builder(query).templates(left),
        _Builder(query).templates(right),
        _Builder(query).of_both(left, right),
    )


@dataclass
class _Builder:
    query: BoundQuery
    guards: list[Template] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    def templates(self, pattern: Pattern) -> Templates:
        found = self._automaton(pattern)
        pairs = Pairs(self.query, found, self.query.semantics)
        if is_ambiguous(found, self.query):
            return self._assembled(subset_template(pairs, accept_by(found)))
        return self._assembled(position_template(pairs))

    def of_both(self, left: Pattern, right: Pattern) -> Templates:
        """Trends that two patterns match: the subsets that hold an END position of each."""
        one, other = self._automaton(left), self._automaton(right)
        if not overlap(one, other, self.query):
            return ()
        together = Automaton(
            {**one.first, **other.first},
            {**one.last, **other.last},
            {**one.pairs, **other.pairs},
            one.empty | other.empty,
        )
        pairs = Pairs(self.query, together, self.query.semantics)
        trends = subset_template(pairs, accept_by(one, other))
        return self._assembled(trends) if trends.ends else ()

    def _automaton(self, pattern: Pattern) -> Automaton:
        places = self.query.by_alias
        return automaton(pattern, lambda alias: places[alias].index, self._guard)

    def _guard(self, negation: Negation) -> int:
        """The number of a NOT; those inside of it have smaller ones."""
        place = id(negation)
        if place not in self._numbers:
            pairs = Pairs(self.query, self._automaton(negation.body), Semantics.ANY)
            number = len(self.guards)
            self.guards.append(position_template(pairs, number))
            self._numbers[place] = number
        return self._numbers[place]

    def _assembled(self, trends: Template) -> Templates:
        return tuple(_assemble(part, self._guards(part)) for part in split_by_keys(trends))

    def _guards(self, trends: Template) -> list[Template]:
        """The NOT that trends may meet, and those inside of them; nothing in the others' places."""
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
        """The NOT that a template's ways pass, and those inside of them."""
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


#: What the trends of a template match: the whole pattern, or a side of AND.
WHOLE = "pattern"
LEFT, RIGHT, BOTH = "left side of AND", "right side of AND", "both sides of AND at once"


def template_parts(query: BoundQuery) -> list[tuple[str, Template]]:
    """A query's templates, one for each set of keys that trends may carry; NotUnambiguous: none."""
    if not isinstance(query.pattern, Conjunction):
        return [(WHOLE, template) for template in build_templates(query)]
    found = build_conjoined(query)
    sides = ((LEFT, found.left), (RIGHT, found.right), (BOTH, found.both))
    return [(side, template) for side, templates in sides for template in templates]


def carried_keys(query: BoundQuery, template: Template) -> list[str]:
    """Attributes of the keys that the trends of a template carry."""
    return [query.keys[number].attribute for number in sorted(template.keys)]


# ---- trends split by the keys that they carry, and keys that only NOT carries


Keys = frozenset[int]


def split_by_keys(trends: Template) -> Iterator[Template]:
    """The template of the trends that carry exactly each set of keys.

    Where all trends carry the same, the states stay as they are. Else they are doubled by the
    keys carried so far; states that lead to other sets of keys stay as ends without a way on, since
    under skip-till-next-match their events matter.
    """
    carried = _carried(trends)
    finals = sorted({keys for state, keys in carried if state in trends.ends}, key=sorted)
    if len(finals) == 1:
        yield replace(_kept(trends), keys=finals[0])
        return
    for keys in finals:
        yield replace(_kept(_doubled(trends, carried, keys)), keys=keys)


def _carried(trends: Template) -> list[tuple[int, Keys]]:
    """Every state with every set of keys that a trend may carry when it gets there."""

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
    """The states that lead to an end, and those whose events close one of them."""
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
    """Arrows between states of other numbers."""
    return tuple(
        Transition(number(a.earlier), number(a.later), a.condition, a.closes, a.slot)
        for a in arrows
    )


def bind_guard_keys(
    query: BoundQuery, guard: Template, inside: Iterable[Template], carried: frozenset[int]
) -> Template:
    """A NOT's template beside trends that carry some keys; its events agree in the others.

    Partitions see to the keys that the trends carry (`carried`, their numbers). Those that only the
    events of NOT carry are compared from one event to the next. `inside` are the templates of the
    NOT inside of it.

    Raises:
        NotUnambiguous: events of one match that are not next to each other would have to agree, or
            events of a match with those of a NOT inside of it.
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
    """Both events carry the same value; NULL is a value of its own, as in GROUP BY."""
    left = Field(earlier, key.attribute, key.type)
    right = Field(later, key.attribute, key.type, following=True)
    neither = Applied("AND", (Applied("IS NULL", (left,)), Applied("IS NULL", (right,))))
    return Applied("OR", (Applied("=", (left, right)), neither))
