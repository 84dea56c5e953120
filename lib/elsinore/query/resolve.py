"""Resolves names of a query against its pattern and the stream's schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import Diagnostic, Location
from elsinore.query.automaton import Adjacency, adjacency
from elsinore.query.bound import Position
from elsinore.query.expressions import TIME
from elsinore.query.faults import some_of, suggest
from elsinore.query.syntax import Negation, Pattern, event_patterns, parts_of


class BindFault(Exception):
    """Something cannot be bound; why is already noted in the scope."""


@dataclass
class Scope:
    """What names mean inside of one query; collects the faults found on the way.

    `well_shaped` says that the pattern's parts stand where they may, so that it can be told which
    events are adjacent. What stands on a fault of the pattern that is noted already (an unknown
    type, an alias of two parts) is not bound, and no further fault is noted.
    """

    schema: StreamSchema
    pattern: Pattern
    faults: list[Diagnostic] = field(default_factory=list)
    well_shaped: bool = True

    def fault(self, message: str, at: Location, hint: str | None = None) -> None:
        """Note one fault for the query's author."""
        self.faults.append(Diagnostic(message, at, hint))

    def refuse(self, message: str, at: Location, hint: str | None = None) -> NoReturn:
        """Note one fault, and give up what was being bound.

        Raises:
            BindFault: always.
        """
        self.fault(message, at, hint)
        raise BindFault(message)

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

    @cached_property
    def _unclear(self) -> frozenset[int]:
        """Positions of which a fault of the pattern is noted: their names say nothing for sure."""
        uses = Counter(p.alias for p in self.positions)
        types = {p.type for p in self.positions}
        return frozenset(
            p.index
            for p in self.positions
            if p.type not in self.schema.by_name
            or uses[p.alias] > 1
            or (p.alias != p.type and p.alias in types)
        )

    def all_unclear(self, positions: Iterable[Position]) -> bool:
        """Whether faults are noted already of all of some positions."""
        return all(p.index in self._unclear for p in positions)

    def named(self, name: str, at: Location) -> tuple[Position, ...]:
        """The positions of an alias, or of a type that the pattern names.

        Empty where there is none, which is noted as a fault, and where one of them is unclear.
        """
        found = tuple(p for p in self.positions if p.alias == name)
        found = found or tuple(p for p in self.positions if p.type == name)
        if not found:
            known = sorted({p.alias for p in self.positions} | {p.type for p in self.positions})
            hint = suggest(name, known) or f"it has {some_of(known)}"
            self.fault(f"the pattern has no {name}", at, hint)
        return () if any(p.index in self._unclear for p in found) else found

    def carriers(self, attribute: str) -> tuple[Position, ...]:
        """The positions whose types have an attribute."""
        types = self.schema.carriers(attribute)
        return tuple(p for p in self.positions if p.type in types)

    def no_carrier(self, attribute: str, at: Location) -> None:
        """Note that no type of the pattern has an attribute, unless an unknown type may have it."""
        types, by_name = {p.type for p in self.positions}, self.schema.by_name
        if attribute in self.schema.attributes and not types <= by_name.keys():
            return
        known = {a for name in types if name in by_name for a in by_name[name].by_name}
        hint = suggest(attribute, sorted(known))
        if attribute == "time":
            hint = f"write {self.positions[0].alias}.time"
        self.fault(f"no event type of the pattern has an attribute {attribute}", at, hint)

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
        hint = suggest(attribute, [*known, "time"])
        hint = hint or f"it has {some_of(known) or 'none but time'}"
        self.fault(f"{position.type} has no attribute {attribute}", at, hint)
        return None


def _negations(pattern: Pattern) -> list[Negation]:
    inner = [found for part in parts_of(pattern) for found in _negations(part)]
    return [pattern, *inner] if isinstance(pattern, Negation) else inner
