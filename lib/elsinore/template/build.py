"""Builds the templates of a query, whatever its pattern."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from elsinore.query.automaton import Automaton, automaton
from elsinore.query.bound import BoundQuery
from elsinore.query.remember import of_query
from elsinore.query.syntax import Conjunction, Negation, Pattern, Semantics
from elsinore.template.keys import bind_guard_keys, split_by_keys
from elsinore.template.machine import (
    NOTHING,
    Accept,
    Machine,
    Pairs,
    accept_by,
    accept_by_both,
    guards_of,
    position_machine,
)
from elsinore.template.subsets import is_ambiguous, overlap, subset_machine
from elsinore.template.template import Floor, Template, floor_of

#: One template for each set of keys that trends of a pattern carry.
Templates = tuple[Template, ...]


@dataclass(frozen=True)
class Conjoined:
    """The templates of `P1 AND P2` (GRETA section 9).

    Attributes:
        left, right: trends of each side.
        both: trends that match both sides.
    """

    left: Templates
    right: Templates
    both: Templates


@of_query
def build_templates(query: BoundQuery) -> Templates:
    """The templates of a query without AND.

    Raises:
        NotUnambiguous: see `subsets.subset_machine`.
    """
    return _Builder(query).templates(query.pattern)


@of_query
def build_conjoined(query: BoundQuery) -> Conjoined:
    """The templates of a query whose pattern is an AND of two.

    Raises:
        NotUnambiguous: see `subsets.subset_machine`.
    """
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
    guards: list[Machine] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {alias: position.index for alias, position in self.query.by_alias.items()}

    def templates(self, pattern: Pattern) -> Templates:
        found = self._automaton(pattern)
        pairs = Pairs(self.query, found, self.query.semantics)
        if is_ambiguous(found, self.query):
            machine = subset_machine(pairs, accept_by(found))
        else:
            machine = position_machine(pairs)
        return self._assembled(machine)

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
        accept: Accept = accept_by_both(one, other)
        machine = subset_machine(pairs, accept)
        return self._assembled(machine) if machine.ends else ()

    def _automaton(self, pattern: Pattern) -> Automaton:
        return automaton(pattern, self._positions.__getitem__, self._guard)

    def _guard(self, negation: Negation) -> int:
        """The number of a NOT; those inside of it have smaller ones."""
        place = id(negation)
        if place not in self._numbers:
            pairs = Pairs(self.query, self._automaton(negation.body), Semantics.ANY)
            number = len(self.guards)
            self.guards.append(position_machine(pairs, number))
            self._numbers[place] = number
        return self._numbers[place]

    def _assembled(self, machine: Machine) -> Templates:
        return tuple(
            _assemble(keys, part, self._guards(part, keys)) for keys, part in split_by_keys(machine)
        )

    def _guards(self, trends: Machine, keys: frozenset[int]) -> list[Machine]:
        """The NOT that trends may meet, and those inside of them; nothing in the others' places."""
        met = self._and_inside(trends)
        return [
            bind_guard_keys(
                self.query, guard, [self.guards[n] for n in self._and_inside(guard)], keys
            )
            if number in met
            else NOTHING
            for number, guard in enumerate(self.guards)
        ]

    def _and_inside(self, machine: Machine) -> set[int]:
        """The NOT that a machine's ways pass, and those inside of them."""
        met = set(guards_of(machine))
        for number in reversed(range(len(self.guards))):
            if number in met:
                met |= guards_of(self.guards[number])
        return met


def _assemble(keys: frozenset[int], trends: Machine, guards: list[Machine]) -> Template:
    machines = [trends, *guards]
    offsets = [sum(len(other.states) for other in machines[:n]) for n in range(len(machines))]
    placed = list(zip(machines, offsets, strict=True))
    arrows = [
        replace(arrow, earlier=arrow.earlier + offset, later=arrow.later + offset)
        for machine, offset in placed
        for arrow in machine.arrows
    ]
    return Template(
        keys=keys,
        states=tuple(state for machine in machines for state in machine.states),
        transitions=tuple(sorted(arrows, key=lambda arrow: (arrow.later, arrow.earlier))),
        starts={n + o: floor_of(w) for m, o in placed for n, w in m.starts.items()},
        bars={n: Floor(ways) for n, ways in trends.bars.items()},
        ends={n + o: floor_of(w) for m, o in placed for n, w in m.ends.items()},
        ways_out=trends.ways_out,
        guards=len(guards),
    )


#: What the trends of a template match: the whole pattern, or a side of AND.
WHOLE = "pattern"
LEFT, RIGHT, BOTH = "left side of AND", "right side of AND", "both sides of AND at once"


def template_parts(query: BoundQuery) -> list[tuple[str, Template]]:
    """The templates of a query, one for each set of keys that its trends may carry.

    Raises:
        NotUnambiguous: the pattern has none.
    """
    if not isinstance(query.pattern, Conjunction):
        return [(WHOLE, template) for template in build_templates(query)]
    found = build_conjoined(query)
    sides = ((LEFT, found.left), (RIGHT, found.right), (BOTH, found.both))
    return [(side, template) for side, templates in sides for template in templates]


def carried_keys(query: BoundQuery, template: Template) -> list[str]:
    """Attributes of the keys that the trends of a template carry."""
    return [query.keys[number].attribute for number in sorted(template.keys)]
