"""A drawn pattern with what the other clauses need to know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from elsinore.query.automaton import adjacency
from elsinore.query.syntax import EventPattern, Negation, Pattern, parts_of


@dataclass(frozen=True)
class Shape:
    """A pattern and its occurrences of event types."""

    pattern: Pattern

    @cached_property
    def positive(self) -> tuple[EventPattern, ...]:
        """The occurrences that are part of trends, from left to right."""
        return tuple(_leaves(self.pattern, negated=False))

    @cached_property
    def negated(self) -> tuple[EventPattern, ...]:
        """The occurrences inside of NOT."""
        return tuple(_leaves(self.pattern, negated=True))

    @cached_property
    def every(self) -> tuple[EventPattern, ...]:
        """All occurrences."""
        return (*self.positive, *self.negated)

    @cached_property
    def pairs(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Aliases of neighbours: those of trends, and those within NOT."""
        inside = {leaf.alias for leaf in self.positive}
        found = sorted(adjacency(self.pattern).pairs)
        return [p for p in found if p[0] in inside], [p for p in found if p[0] not in inside]

    def types_once(self) -> set[str]:
        """Types that stand in trends and not in NOT."""
        return {leaf.type for leaf in self.positive} - {leaf.type for leaf in self.negated}


def _leaves(pattern: Pattern, *, negated: bool) -> Iterator[EventPattern]:
    pending, inside = [pattern], False
    if negated:
        pending, inside = [n.body for n in negations(pattern)], True
    while pending:
        part = pending.pop()
        if isinstance(part, EventPattern):
            yield part
        elif inside or not isinstance(part, Negation):
            pending += reversed(parts_of(part))


def negations(pattern: Pattern) -> list[Negation]:
    """The outermost NOT of a pattern."""
    if isinstance(pattern, Negation):
        return [pattern]
    return [found for part in parts_of(pattern) for found in negations(part)]
