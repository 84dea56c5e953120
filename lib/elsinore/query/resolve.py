"""The one form of a pattern, and names resolved against it and the stream's schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import Diagnostic, Location
from elsinore.query import syntax
from elsinore.query.automaton import neighbours
from elsinore.query.bound import Key, Position
from elsinore.query.expression_sizes import ExpressionSizes
from elsinore.query.expressions import TIME, BoundExpression
from elsinore.query.print_query import print_pattern
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
    #: The sizes of all expressions of the query.
    sizes: ExpressionSizes = field(default_factory=ExpressionSizes)
    #: The default zone of functions that read a clock; None for UTC.
    zone: str | None = None

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
        choices = {
            id(leaf)
            for part in syntax.named_parts(self.pattern)
            if isinstance(part, syntax.AnyOf)
            for leaf in part.parts
        }
        return tuple(
            Position(index, leaf.alias, leaf.type, id(leaf) in negated, id(leaf) in choices)
            for index, leaf in enumerate(syntax.event_patterns(self.pattern))
        )

    @cached_property
    def neighbours(self) -> frozenset[tuple[str, str]]:
        """Pairs of aliases of which the second may come right after the first."""
        return neighbours(self.pattern)

    @cached_property
    def _unclear(self) -> frozenset[int]:
        """Positions of which a fault of the pattern is noted: their names say nothing for sure."""
        uses = Counter(part.alias for part in syntax.named_parts(self.pattern))
        types = {p.type for p in self.positions}
        return frozenset(
            p.index
            for p in self.positions
            if p.type not in self.schema.by_name
            or uses[p.alias] > 1
            or ((p.choice or p.alias != p.type) and p.alias in types)
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
            form = f"@.{reference.attribute}"
            return self.named(reference.qualifier, reference.at, form)
        found = self.carriers(reference.attribute)
        if not found:
            self._no_carrier(reference.attribute, reference.at)
        return found

    def names(self, name: str) -> bool:
        """Return whether a name is an alias or a type of the pattern."""
        return any(name in (p.alias, p.type) for p in self.positions)

    def named(self, name: str, at: Location, form: str = "@") -> tuple[Position, ...]:
        """Return the positions of an alias or type of the pattern.

        Args:
            name: the alias or type; a type that is a choice of ANY is named by the alias only.
            at: its position in the text.
            form: how a name is used, such as `COUNT(@)`, for hints.

        Raises:
            BindFault: there are none, or one is unclear; noted in the scope.
        """
        found = tuple(p for p in self.positions if p.alias == name)
        of_type = tuple(p for p in self.positions if p.type == name)
        found = found or tuple(p for p in of_type if not p.choice)
        if not found and of_type:
            alias = of_type[0].alias
            self.refuse(
                f"{name} is only a part of {alias}", at, f"write {form.replace('@', alias)}"
            )
        if not found:
            known = {p.alias for p in self.positions}
            known |= {p.type for p in self.positions if not p.choice}
            several = name == syntax.ANY and any(p.choice for p in self.positions)
            hint = "give it an alias, as in ANY x" if several else self._with_alias(name)
            hint = hint or suggest(name, sorted(known)) or f"it has {some_of(sorted(known))}"
            self.refuse(f"the pattern has no {name}", at, hint)
        if any(p.index in self._unclear for p in found):
            raise BindFault
        return found

    def _with_alias(self, attribute: str) -> str | None:
        """Return a hint that names the aliases with an attribute."""
        written = dict.fromkeys(f"{p.alias}.{attribute}" for p in self.carriers(attribute))
        return f"write {listed(written)}" if written else None

    def of_one_alias(self, reference: syntax.Reference) -> tuple[Position, ...]:
        """Return the positions of the one alias of which an expression reads an attribute.

        They are several if the alias is of an ANY. Without an alias, an attribute that only some
        types of an ANY have is not one of its attributes, if another alias has it.

        Raises:
            BindFault: there is none, or several; noted in the scope.
        """
        found = self.meant(reference)
        aliases = dict.fromkeys(p.alias for p in found)
        if len(aliases) > 1:
            has_it = {p.index for p in found}
            partly = {p.alias for p in self.positions if p.index not in has_it} & aliases.keys()
            aliases = dict.fromkeys(a for a in aliases if a not in partly) or aliases
        if len(aliases) > 1:
            if self.all_unclear(found):
                raise BindFault
            name = reference.attribute
            choices = some_of(f"{alias}.{name}" for alias in aliases)
            hint = f"write one of them, or [{name}] for one value in the whole trend"
            self.refuse(f"{name} could be any of {choices}", reference.at, hint)
        meant = tuple(p for p in self.positions if p.alias in aliases)
        if any(p.index in self._unclear for p in meant):
            raise BindFault
        return meant

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
        """Column name and type of an attribute at a position; BindFault: its type has none such.

        The position of a type of an ANY represents all its types.
        """
        if position.choice:
            self._require_in_all(position, attribute, at)
        return self.own_column(position, attribute, at)

    def own_column(
        self, position: Position, attribute: str, at: Location
    ) -> tuple[str, AttributeType]:
        """Return what `column` does, for the one type of a position."""
        known = self.schema.by_name[position.type].by_name
        if attribute in known:
            return attribute, known[attribute].type
        if attribute != "time":
            self._refuse_attribute(position, attribute, at)
        calendar = self.schema.time_unit.is_calendar
        return TIME, AttributeType.TIMESTAMP if calendar else AttributeType.LONG

    def _require_in_all(self, position: Position, attribute: str, at: Location) -> None:
        """Refuse an attribute that only some types of an ANY have."""
        types = [p.type for p in self.positions if p.alias == position.alias]
        carriers = self.schema.carriers(attribute)
        lacking = [kind for kind in types if kind not in carriers]
        if lacking and len(lacking) < len(types):
            have = "has" if len(lacking) == 1 else "have"
            message = f"{some_of(lacking)} {have} no attribute {attribute}"
            self.refuse(message, at, "ANY reads attributes that all its types have")

    def _refuse_attribute(self, position: Position, attribute: str, at: Location) -> NoReturn:
        known = self.schema.by_name[position.type].by_name
        hint = self._own_field(attribute, position) or suggest(attribute, [*known, "time"])
        hint = self._with_alias(attribute) or hint
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
        scope.column(carriers[0], attribute, at)  # all of them are of one type, or of one ANY
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


def with_types(pattern: syntax.Pattern, schema: StreamSchema) -> syntax.Pattern:
    """Return a pattern in which each ANY lists its types, each once, and has an alias of its own.

    The word ANY without types means all types of the stream, in the order of their names, unless
    the stream has a type of that name.
    """
    found = _with_types(pattern, schema)
    unnamed = [
        part
        for part in syntax.named_parts(found)
        if isinstance(part, syntax.AnyOf) and part.alias == syntax.ANY
    ]
    if len(unnamed) < 2:
        return found
    numbers = {id(part): number for number, part in enumerate(unnamed, start=1)}

    def numbered(part: syntax.Pattern) -> syntax.Pattern:
        if id(part) not in numbers:
            return syntax.with_parts(part, numbered)
        assert isinstance(part, syntax.AnyOf)
        types = [leaf.type for leaf in part.leaves]
        return _choice(part, f"{syntax.ANY} {numbers[id(part)]}", types)

    return numbered(found)


def _with_types(pattern: syntax.Pattern, schema: StreamSchema) -> syntax.Pattern:
    match pattern:
        case syntax.EventPattern(kind, alias) if is_any(kind, schema):
            return _choice(pattern, syntax.ANY if alias == kind else alias, sorted(schema.by_name))
        case syntax.AnyOf():
            return replace(pattern, parts=tuple({e.type: e for e in pattern.leaves}.values()))
    return syntax.with_parts(pattern, lambda part: _with_types(part, schema))


def is_any(kind: str, schema: StreamSchema) -> bool:
    """Return whether a type of a pattern means all types of a stream."""
    return kind.upper() == syntax.ANY and kind not in schema.by_name


def _choice(
    written: syntax.EventPattern | syntax.AnyOf, alias: str, types: Iterable[str]
) -> syntax.AnyOf:
    leaves = tuple(syntax.EventPattern(kind, alias, written.at) for kind in types)
    return syntax.AnyOf(leaves, written.at)


def normal_form(
    pattern: syntax.Pattern, semantics: syntax.Semantics = syntax.Semantics.ANY
) -> syntax.Pattern:
    """An equal pattern without needless nesting.

    Sequences in sequences and choices in choices are flattened, one-part sequences unwrapped, and
    repeated repetitions folded: `(P+)+` is `P+`, `(P*)+`, `(P+)?` and `(P?)*` are `P*`, and
    `(P{2,3}){4}` is `P{8,12}`. `P{1}` stays a part of its own.

    Args:
        pattern: a pattern whose ANY list their types.
        semantics: the selection semantics, which may distinguish copies of a part.

    >>> from elsinore.query.syntax import EventPattern as E, KleenePlus, Sequence
    >>> a, b = E("A", "A"), E("B", "B")
    >>> normal_form(Sequence((Sequence((KleenePlus(KleenePlus(a)), b)),))).parts
    (KleenePlus(body=EventPattern(type='A', alias='A')), EventPattern(type='B', alias='B'))
    """

    def form(part: syntax.Pattern) -> syntax.Pattern:
        match part:
            case syntax.EventPattern() | syntax.AnyOf():
                return part
            case syntax.Sequence(parts) | syntax.Disjunction(parts) | syntax.Conjunction(parts):
                kind, flat = type(part), list[syntax.Pattern]()
                for inner in map(form, parts):
                    flat += inner.parts if type(inner) is kind else [inner]
                alone = len(flat) == 1 and not isinstance(flat[0], syntax.Negation)
                return flat[0] if alone else kind(tuple(flat), part.at)
        changed = syntax.with_parts(part, form)
        outer = syntax.bounds_of(changed)
        return changed if outer is None else _folded(changed, outer, semantics)

    return form(pattern)


def _folded(
    pattern: syntax.Pattern, outer: syntax.Bounds, semantics: syntax.Semantics
) -> syntax.Pattern:
    """Return a repetition as one with its body, if the body is a repetition too."""
    [body] = syntax.parts_of(pattern)
    inner = syntax.bounds_of(body)
    if inner is None or not _is_one_repetition(inner, outer, semantics):
        return _repetition(body, outer, pattern.at)
    most = None if None in (inner[1], outer[1]) else (inner[1] or 0) * (outer[1] or 0)
    return _repetition(syntax.parts_of(body)[0], (inner[0] * outer[0], most), pattern.at)


def _is_one_repetition(
    inner: syntax.Bounds, outer: syntax.Bounds, semantics: syntax.Semantics
) -> bool:
    """Return whether `(P{a,b}){n,m}` equals `P{na,mb}`.

    The lengths of n to m groups of a to b copies have no gaps, if `kb + 1 >= (k+1)a` for each k
    from n to m - 1; n is the hardest. Under skip-till-next-match the groups matter too: after the
    first two copies of `(P{1,2}){2}` a third one may be excluded or not.
    """
    (least, most), (start, stop) = inner, outer
    exact = least == most and start == stop
    looped = {(0, 1), (0, None), (1, None)}
    if semantics is syntax.Semantics.NEXT and not exact and not {inner, outer} <= looped:
        return False
    if start == stop:
        return True
    if most is None and start:
        return True
    return start * (most or 0) + 1 >= (start + 1) * least


def _repetition(body: syntax.Pattern, bounds: syntax.Bounds, at: Location) -> syntax.Pattern:
    match bounds:
        case 1, None:
            return syntax.KleenePlus(body, at)
        case 0, None:
            return syntax.KleeneStar(body, at)
        case 0, 1:
            return syntax.Maybe(body, at)
    return syntax.Quantified(body, *bounds, at)


#: Event types of a pattern, alike or not: as many may follow each other in any order.
MAX_PARTS = 300


def check_pattern(scope: Scope) -> None:
    """Note every fault of the pattern's shape, types and aliases in the scope."""
    leaves = list(syntax.event_patterns(scope.pattern))
    parts = list(syntax.named_parts(scope.pattern))
    if len(parts) > MAX_PARTS:
        message = f"the pattern has more than {MAX_PARTS} event types"
        scope.fault(message, parts[MAX_PARTS].at, "split the query into several queries")
        scope.well_shaped = False
        return
    known = scope.schema.type_codes
    for leaf in leaves:
        if leaf.type not in known:
            hint = suggest(leaf.type, known) or f"it has {some_of(known)}"
            scope.fault(f"the stream has no event type {leaf.type}", leaf.at, hint)
    _check_aliases(scope, parts)
    before = len(scope.faults)
    if isinstance(scope.pattern, syntax.Negation):
        scope.fault("NOT cannot be a whole pattern", scope.pattern.at, "write SEQ(NOT N, P)")
    if isinstance(scope.pattern, syntax.Conjunction) and len(scope.pattern.parts) != 2:
        scope.fault("AND joins two patterns", scope.pattern.at, "as in P AND Q")
    _check_shape(scope, scope.pattern)
    scope.well_shaped = len(scope.faults) == before


def _check_aliases(scope: Scope, parts: list[syntax.EventPattern | syntax.AnyOf]) -> None:
    uses = Counter(part.alias for part in parts)
    types = {leaf.type for part in parts for leaf in syntax.event_patterns(part)}
    for part in parts:
        kind = part.type if isinstance(part, syntax.EventPattern) else f"ANY({part.leaves[0].type})"
        if uses[part.alias] > 1:
            scope.fault(
                f"{part.alias} names {uses[part.alias]} parts of the pattern",
                part.at,
                f"give each its own alias, as in {kind} {part.alias.lower()}1",
            )
            uses[part.alias] = 0
        if part.alias != kind and part.alias in types:
            message = f"the alias {part.alias} is also a type of the pattern"
            scope.fault(message, part.at, f"choose another alias, as in {kind} {part.alias}1")


#: Copies of a part at most, together in quantifiers inside of each other.
MAX_COPIES = 1_000_000


def check_quantifiers(scope: Scope, written: syntax.Pattern) -> None:
    """Note every error of the quantifiers of a pattern, as they are written."""
    _check_quantifiers(scope, written, 1)


def _check_quantifiers(scope: Scope, pattern: syntax.Pattern, copies: int) -> None:
    if isinstance(pattern, syntax.Quantified):
        copies *= _check_quantifier(scope, pattern, copies)
    for part in syntax.parts_of(pattern):
        _check_quantifiers(scope, part, copies)


def _check_quantifier(scope: Scope, found: syntax.Quantified, copies: int) -> int:
    """Return how many copies a quantifier has, at least 1; note its errors."""
    least, most = found.least, found.most
    number = max(least, 1) if most is None else most
    if most is not None and least > most:
        shown = print_pattern(replace(found, least=most, most=least))
        scope.fault(f"at least {least} but at most {most}", found.at, f"write {shown}")
    elif number == 0:
        scope.fault("this part never occurs", found.at, "remove it")
    elif copies <= MAX_COPIES < copies * number:
        message = f"more than {MAX_COPIES:,} repetitions"
        scope.fault(message, found.at, f"repeat it at most {MAX_COPIES // copies} times")
    return max(number, 1)


def _check_shape(scope: Scope, pattern: syntax.Pattern) -> None:
    for part in syntax.parts_of(pattern):
        if isinstance(part, syntax.Conjunction):
            message = "AND is allowed only at the top of a pattern"
            scope.fault(message, part.at, "write PATTERN P AND Q")
        if isinstance(part, syntax.Negation) and isinstance(pattern, syntax.Quantified):
            shown = print_pattern(syntax.Negation(replace(pattern, body=part.body)))
            scope.fault("NOT cannot be repeated", part.at, f"write {shown} for as many in the gap")
        elif isinstance(part, syntax.Negation) and not isinstance(pattern, syntax.Sequence):
            scope.fault("NOT is allowed only inside SEQ", part.at, "write SEQ(P, NOT N, Q)")
        _check_shape(scope, part)
    if isinstance(pattern, syntax.Sequence) and all(
        isinstance(p, syntax.Negation) for p in pattern.parts
    ):
        scope.fault("this SEQ contains only NOT", pattern.at, "add a part that must occur")
