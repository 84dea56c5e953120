"""The one form of a pattern, and names resolved against it and the stream's schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import Diagnostic, Location
from elsinore.query import syntax
from elsinore.query.automaton import neighbours
from elsinore.query.bound import Key, Position
from elsinore.query.expressions import TIME, BoundExpression
from elsinore.wording import listed, some_of, suggest


class BindFault(Exception):
    """Something cannot be bound; why is already noted in the scope."""


@dataclass
class Scope:
    """The names of a query, and the errors found so far.

    `well_shaped`: the pattern is valid, so it is known which events are adjacent. Parts that depend
    on an already noted error of the pattern (an unknown type, a repeated alias) are not bound, and
    cause no further errors.
    """

    schema: StreamSchema
    pattern: syntax.Pattern
    faults: list[Diagnostic] = field(default_factory=list)
    well_shaped: bool = True
    #: A condition as an example for hints.
    example: str = "V.price > 5"
    #: Integers are exact at any size, not only up to 64 bits.
    exact: bool = False

    def other_meaning(self, expression: syntax.Expression) -> BoundExpression | None:
        """Return the bound form of an expression that has another meaning than in WHERE.

        Args:
            expression: an expression, or a part of one.

        Returns:
            None if it means the same as in WHERE, where nothing has another meaning.

        Raises:
            BindFault: it is refused in this clause.
        """
        return None

    def fault(self, message: str, at: Location, hint: str) -> None:
        """Note one fault for the query's author."""
        self.faults.append(Diagnostic(message, at, hint))

    def refuse(self, message: str, at: Location, hint: str) -> NoReturn:
        """Note one fault, and give up what was being bound (BindFault)."""
        self.fault(message, at, hint)
        raise BindFault(message)

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """The occurrences of the pattern from left to right."""
        negated = {
            id(leaf)
            for negation in _negations(self.pattern)
            for leaf in syntax.event_patterns(negation)
        }
        return tuple(
            Position(index, leaf.alias, leaf.type, id(leaf) in negated)
            for index, leaf in enumerate(syntax.event_patterns(self.pattern))
        )

    @cached_property
    def neighbours(self) -> frozenset[tuple[str, str]]:
        """Pairs of aliases of which the second may come right after the first."""
        return neighbours(self.pattern)

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
        """Return whether faults are noted already of all of some positions."""
        return all(p.index in self._unclear for p in positions)

    def meant(self, reference: syntax.Reference) -> tuple[Position, ...]:
        """Return the named positions, or the positions with the attribute; at least one.

        Raises:
            BindFault: there are none, or the name is ambiguous.
        """
        if reference.qualifier is not None:
            return self.named(reference.qualifier, reference.at)
        found = self.carriers(reference.attribute)
        if not found:
            self._no_carrier(reference.attribute, reference.at)
        return found

    def names(self, name: str) -> bool:
        """Return whether a name is an alias or a type of the pattern."""
        return any(name in (p.alias, p.type) for p in self.positions)

    def named(self, name: str, at: Location) -> tuple[Position, ...]:
        """The positions of an alias or type of the pattern; BindFault: none, or one is unclear."""
        found = tuple(p for p in self.positions if p.alias == name)
        found = found or tuple(p for p in self.positions if p.type == name)
        if not found:
            known = sorted({p.alias for p in self.positions} | {p.type for p in self.positions})
            carriers = self.carriers(name)
            hint = f"write {listed(f'{p.alias}.{name}' for p in carriers)}" if carriers else None
            hint = hint or suggest(name, known) or f"it has {some_of(known)}"
            self.refuse(f"the pattern has no {name}", at, hint)
        if any(p.index in self._unclear for p in found):
            raise BindFault
        return found

    def carriers(self, attribute: str) -> tuple[Position, ...]:
        """The positions whose types have an attribute."""
        types = self.schema.carriers(attribute)
        return tuple(p for p in self.positions if p.type in types)

    def _no_carrier(self, attribute: str, at: Location) -> NoReturn:
        """Refuse what no type of the pattern has; silently where an unknown type may have it."""
        types, by_name = {p.type for p in self.positions}, self.schema.by_name
        may_have_it = attribute in self.schema.attributes or types.isdisjoint(by_name)
        if may_have_it and not types <= by_name.keys():
            raise BindFault
        known = {a for name in types if name in by_name for a in by_name[name].by_name}
        hint = self._own_field(attribute, self.positions[0]) or suggest(attribute, sorted(known))
        there = some_of(sorted(known)) or "none"
        hint = hint or f"attributes: {there}; write strings in single quotes"
        self.refuse(f"no event type of the pattern has an attribute {attribute}", at, hint)

    def _own_field(self, name: str, position: Position) -> str | None:
        """Return a hint for a raw field that every event has."""
        schema = self.schema
        if name in ("time", schema.time_field):
            return f"write {position.alias}.time"
        if name == schema.type_field:
            return "name event types in PATTERN"
        if name == schema.id_field:
            return "to read the id, list it in the schema as an attribute of the type"
        return None

    def column(self, position: Position, attribute: str, at: Location) -> tuple[str, AttributeType]:
        """Column name and type of an attribute at a position; BindFault: its type has none such."""
        known = self.schema.by_name[position.type].by_name
        if attribute in known:
            return attribute, known[attribute].type
        if attribute != "time":
            self._refuse_attribute(position, attribute, at)
        calendar = self.schema.time_unit.is_calendar
        return TIME, AttributeType.TIMESTAMP if calendar else AttributeType.LONG

    def _refuse_attribute(self, position: Position, attribute: str, at: Location) -> NoReturn:
        known = self.schema.by_name[position.type].by_name
        hint = self._own_field(attribute, position) or suggest(attribute, [*known, "time"])
        if others := self.carriers(attribute):
            hint = f"write {listed(f'{p.alias}.{attribute}' for p in others)}"
        hint = hint or f"it has {some_of([*known, 'time'])}"
        self.refuse(f"{position.type} has no attribute {attribute}", at, hint)


# ---- keys of trends


def bind_key(scope: Scope, reference: syntax.Reference) -> Key:
    """Return the key of an attribute; a qualified one applies only to the named positions."""
    attribute, at = reference.attribute, reference.at
    if reference.following:
        scope.refuse("NEXT(...) cannot be a key", at, f"write {attribute} without NEXT")
    carriers = scope.meant(reference)
    if reference.qualifier is not None:
        scope.column(carriers[0], attribute, at)  # all of them are of one type
    if scope.well_shaped and all(position.negated for position in carriers):
        hint = "use an attribute of an event type outside of NOT"
        scope.refuse(f"no event of a trend has the attribute {attribute}", at, hint)
    kind = scope.schema.attributes.get(attribute)
    if kind is None:
        scope.refuse(f"{attribute} cannot be a key", at, "use WITHIN and SLIDE to group by time")
    return Key(attribute, kind, frozenset(position.index for position in carriers))


def _negations(pattern: syntax.Pattern) -> list[syntax.Negation]:
    inner = [found for part in syntax.parts_of(pattern) for found in _negations(part)]
    return [pattern, *inner] if isinstance(pattern, syntax.Negation) else inner


# ---- the one form of a pattern that all later passes read, and the rules that it must keep


def normal_form(pattern: syntax.Pattern) -> syntax.Pattern:
    """An equal pattern without needless nesting.

    Sequences in sequences and choices in choices are flattened, one-part sequences unwrapped, and
    repeated repetitions folded: `(P+)+` is `P+`, `(P*)+`, `(P+)?` and `(P?)*` are `P*`.

    >>> from elsinore.query.syntax import EventPattern as E, KleenePlus, Sequence
    >>> a, b = E("A", "A"), E("B", "B")
    >>> normal_form(Sequence((Sequence((KleenePlus(KleenePlus(a)), b)),))).parts
    (KleenePlus(body=EventPattern(type='A', alias='A')), EventPattern(type='B', alias='B'))
    """
    match pattern:
        case syntax.EventPattern():
            return pattern
        case syntax.Sequence(parts) | syntax.Disjunction(parts) | syntax.Conjunction(parts):
            kind, flat = type(pattern), list[syntax.Pattern]()
            for part in map(normal_form, parts):
                flat += part.parts if isinstance(part, kind) else [part]
            alone = len(flat) == 1 and not isinstance(flat[0], syntax.Negation)
            return flat[0] if alone else kind(tuple(flat), pattern.at)
    body = normal_form(pattern.body)
    folded = (syntax.KleenePlus, syntax.KleeneStar, syntax.Maybe)
    if not (isinstance(pattern, folded) and isinstance(body, folded)):
        return type(pattern)(body, pattern.at)
    # Two different ones: any number.
    return body if type(body) is type(pattern) else syntax.KleeneStar(body.body, pattern.at)


#: Event types of a pattern, alike or not: as many may follow each other in any order.
MAX_PARTS = 300


def check_pattern(scope: Scope) -> None:
    """Note every fault of the pattern's shape, types and aliases in the scope."""
    leaves = list(syntax.event_patterns(scope.pattern))
    if len(leaves) > MAX_PARTS:
        message = f"the pattern has more than {MAX_PARTS} event types"
        scope.fault(message, leaves[MAX_PARTS].at, "split the query into several queries")
        scope.well_shaped = False
        return
    known = scope.schema.type_codes
    for leaf in leaves:
        if leaf.type not in known:
            hint = suggest(leaf.type, known) or f"it has {some_of(known)}"
            scope.fault(f"the stream has no event type {leaf.type}", leaf.at, hint)
    _check_aliases(scope, leaves)
    before = len(scope.faults)
    if isinstance(scope.pattern, syntax.Negation):
        scope.fault("NOT cannot be a whole pattern", scope.pattern.at, "write SEQ(NOT N, P)")
    if isinstance(scope.pattern, syntax.Conjunction) and len(scope.pattern.parts) != 2:
        scope.fault("AND joins two patterns", scope.pattern.at, "as in P AND Q")
    _check_shape(scope, scope.pattern)
    scope.well_shaped = len(scope.faults) == before


def _check_aliases(scope: Scope, leaves: list[syntax.EventPattern]) -> None:
    uses = Counter(leaf.alias for leaf in leaves)
    types = {leaf.type for leaf in leaves}
    for leaf in leaves:
        if uses[leaf.alias] > 1:
            scope.fault(
                f"{leaf.alias} names {uses[leaf.alias]} parts of the pattern",
                leaf.at,
                f"give each its own alias, as in {leaf.type} {leaf.alias.lower()}1",
            )
            uses[leaf.alias] = 0
        if leaf.alias != leaf.type and leaf.alias in types:
            message = f"the alias {leaf.alias} is also a type of the pattern"
            scope.fault(message, leaf.at, f"choose another alias, as in {leaf.type} {leaf.alias}1")


def _check_shape(scope: Scope, pattern: syntax.Pattern) -> None:
    for part in syntax.parts_of(pattern):
        if isinstance(part, syntax.Conjunction):
            message = "AND is allowed only at the top of a pattern"
            scope.fault(message, part.at, "write PATTERN P AND Q")
        if isinstance(part, syntax.Negation) and not isinstance(pattern, syntax.Sequence):
            scope.fault("NOT is allowed only inside SEQ", part.at, "write SEQ(P, NOT N, Q)")
        _check_shape(scope, part)
    if isinstance(pattern, syntax.Sequence) and all(
        isinstance(p, syntax.Negation) for p in pattern.parts
    ):
        scope.fault("this SEQ contains only NOT", pattern.at, "add a part that must occur")
