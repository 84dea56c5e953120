"""Resolves names of a query against its pattern and the stream's schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import Diagnostic, Location
from elsinore.query.adjacency import Adjacency, adjacency
from elsinore.query.bound import Position
from elsinore.query.expressions import TIME
from elsinore.query.syntax import Negation, Pattern, event_patterns, parts_of


def suggest(word: str, known: list[str]) -> str | None:
    """A hint for a misspelt name, or None."""
    lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lower), n=1)
    return f"did you mean {lower[close[0]]}?" if close else None


@dataclass
class Scope:
    """What names mean inside of one query; collects the faults found on the way."""

    schema: StreamSchema
    pattern: Pattern
    faults: list[Diagnostic] = field(default_factory=list)

    def fault(self, message: str, at: Location, hint: str | None = None) -> None:
        """Note one fault for the query's author."""
        self.faults.append(Diagnostic(message, at, hint))

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """The occurrences of the pattern from left to right."""
        negated = {
            id(leaf) for negation in _negations(self.pattern) for leaf in event_patterns(negation)
        }
        return tuple(
            Position(index, leaf.alias, leaf.type, id(leaf) in negated)
            for index, leaf in enumerate(event_patterns(self.pattern))
        )

    @cached_property
    def adjacency(self) -> Adjacency:
        """Which occurrences may follow each other."""
        return adjacency(self.pattern)

    def named(self, name: str, at: Location) -> tuple[Position, ...]:
        """The positions of an alias, or of a type that the pattern names; none is a fault."""
        found = tuple(p for p in self.positions if p.alias == name)
        found = found or tuple(p for p in self.positions if p.type == name)
        if not found:
            known = sorted({p.alias for p in self.positions} | {p.type for p in self.positions})
            self.fault(f"the pattern has no {name}", at, suggest(name, known))
        return found

    def carriers(self, attribute: str) -> tuple[Position, ...]:
        """The positions whose types have an attribute."""
        types = self.schema.carriers(attribute)
        return tuple(p for p in self.positions if p.type in types)

    def column(
        self, position: Position, attribute: str, at: Location
    ) -> tuple[str, AttributeType] | None:
        """Column name and type of an attribute at a position; None (and a fault) if it has none."""
        known = self.schema.by_name[position.type].by_name
        if attribute in known:
            return attribute, known[attribute].type
        if attribute == "time":
            calendar = self.schema.time_unit.is_calendar
            return TIME, AttributeType.TIMESTAMP if calendar else AttributeType.LONG
        self.fault(
            f"{position.type} has no attribute {attribute}", at, suggest(attribute, list(known))
        )
        return None


def _negations(pattern: Pattern) -> list[Negation]:
    inner = [found for part in parts_of(pattern) for found in _negations(part)]
    return [pattern, *inner] if isinstance(pattern, Negation) else inner
