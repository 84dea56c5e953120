"""Which NOT of a query is which: numbers that people read, from left to right in the pattern."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import EventPattern, Negation, Pattern, parts_of
from elsinore.template.template import TREND, Template


@dataclass(frozen=True, slots=True)
class NumberedNot:
    """One NOT of a query.

    Attributes:
        number: counts from 1, the outer one before those inside of it.
        body: what must not be matched.
        positions: the positions of its events, without those of a NOT inside of it.
        inside: number of the NOT around it, or None.
    """

    number: int
    body: Pattern
    positions: frozenset[int]
    inside: int | None

    @property
    def name(self) -> str:
        """As texts and pictures call it."""
        return f"NOT {self.number}"


def numbered_nots(query: BoundQuery) -> tuple[NumberedNot, ...]:
    """Every NOT of a query, in the order of its text."""
    found: list[NumberedNot] = []

    def visit(pattern: Pattern, inside: int | None) -> None:
        if isinstance(pattern, Negation):
            number = len(found) + 1
            positions = frozenset(query.by_alias[alias].index for alias in _own(pattern.body))
            found.append(NumberedNot(number, pattern.body, positions, inside))
            inside = number
        for part in parts_of(pattern):
            visit(part, inside)

    visit(query.pattern, None)
    return tuple(found)


def guard_nots(query: BoundQuery, template: Template) -> dict[int, NumberedNot]:
    """The NOT that each guard of a template stands for."""
    by_position = {p: found for found in numbered_nots(query) for p in found.positions}
    return {
        state.guard: by_position[min(state.positions)]
        for state in template.states
        if state.guard != TREND
    }


def _own(pattern: Pattern) -> Iterator[str]:
    """Aliases of a pattern without those under NOT."""
    if isinstance(pattern, EventPattern):
        yield pattern.alias
    for part in parts_of(pattern):
        if not isinstance(part, Negation):
            yield from _own(part)
