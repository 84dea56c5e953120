"""The GRETA template of a query: states, and transitions between events that may be adjacent.

GRETA section 4.1, Algorithm 1. A state is an occurrence of an event type; a transition carries the
edge predicates of its pair (GRETA section 6). Without edge predicates a state needs but one
accumulator for all of its events.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from elsinore.query.adjacency import adjacency
from elsinore.query.bound import BoundQuery, EdgePredicate, Position


@dataclass(frozen=True, slots=True)
class Transition:
    """Events at state `earlier` may come right before events at state `later`."""

    earlier: int
    later: int
    predicates: tuple[EdgePredicate, ...]


@dataclass(frozen=True)
class Template:
    """States are the positions that are not negated, numbered anew from 0.

    Attributes:
        states: the position of each state.
        transitions: sorted by (later, earlier).
        starts, ends: states of START and END events.
    """

    states: tuple[Position, ...]
    transitions: tuple[Transition, ...]
    starts: frozenset[int]
    ends: frozenset[int]

    @cached_property
    def state_of(self) -> dict[int, int]:
        """State number of each position index."""
        return {position.index: state for state, position in enumerate(self.states)}

    def predecessors(self, state: int) -> tuple[Transition, ...]:
        """The transitions into a state (`P.predTypes` of the paper)."""
        return tuple(t for t in self.transitions if t.later == state)


def build_template(query: BoundQuery) -> Template:
    """The template of a query's positive pattern."""
    found = adjacency(query.pattern)
    states = tuple(position for position in query.positions if not position.negated)
    number = {position.alias: state for state, position in enumerate(states)}
    transitions = []
    for earlier, later in found.pairs:
        if earlier in number and later in number:
            ends = query.by_alias[earlier].index, query.by_alias[later].index
            predicates = tuple(e for e in query.edge_predicates if (e.earlier, e.later) == ends)
            transitions.append(Transition(number[earlier], number[later], predicates))
    return Template(
        states,
        tuple(sorted(transitions, key=lambda t: (t.later, t.earlier))),
        frozenset(number[alias] for alias in found.first),
        frozenset(number[alias] for alias in found.last),
    )


def describe_template(template: Template) -> list[str]:
    """The template as lines of text, one a state: its marks, alias, and who may come before."""
    lines = []
    for state, position in enumerate(template.states):
        marks = ["START"] * (state in template.starts) + ["END"] * (state in template.ends)
        before = ", ".join(
            template.states[t.earlier].alias + (" (edge predicate)" if t.predicates else "")
            for t in template.predecessors(state)
        )
        name = (
            position.type
            if position.alias == position.type
            else (f"{position.type} {position.alias}")
        )
        lines.append(f"{name} [{' '.join(marks) or 'MID'}] <- {before or 'nothing'}")
    return lines
