"""The rules that a pattern must keep whatever the stream (spec section 1)."""

from __future__ import annotations

from collections import Counter

from elsinore.query.faults import some_of, suggest
from elsinore.query.resolve import Scope
from elsinore.query.syntax import (
    Conjunction,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Sequence,
    event_patterns,
    parts_of,
)

#: Event types of a pattern, alike or not: as many may follow each other in any order.
MAX_PARTS = 300


def check_pattern(scope: Scope) -> None:
    """Note every fault of the pattern's shape, types and aliases in the scope."""
    leaves = list(event_patterns(scope.pattern))
    if len(leaves) > MAX_PARTS:
        scope.fault(f"a pattern of more than {MAX_PARTS} event types", leaves[MAX_PARTS].at)
        scope.well_shaped = False
        return
    _check_types(scope)
    _check_aliases(scope)
    before = len(scope.faults)
    _check_top(scope)
    _check_shape(scope, scope.pattern)
    scope.well_shaped = len(scope.faults) == before


def _check_types(scope: Scope) -> None:
    known = scope.schema.type_codes
    for leaf in event_patterns(scope.pattern):
        if leaf.type not in known:
            hint = suggest(leaf.type, list(known))
            hint = hint or f"it has {some_of(known)}"
            scope.fault(f"the stream has no event type {leaf.type}", leaf.at, hint)


def _check_aliases(scope: Scope) -> None:
    uses = Counter(leaf.alias for leaf in event_patterns(scope.pattern))
    types = {leaf.type for leaf in event_patterns(scope.pattern)}
    for leaf in event_patterns(scope.pattern):
        if uses[leaf.alias] > 1:
            scope.fault(
                f"{leaf.alias} names {uses[leaf.alias]} parts of the pattern",
                leaf.at,
                f"give each its own alias, as in {leaf.type} {leaf.alias.lower()}1",
            )
            uses[leaf.alias] = 0
        if leaf.alias != leaf.type and leaf.alias in types:
            scope.fault(f"the alias {leaf.alias} is also a type of the pattern", leaf.at)


def _check_top(scope: Scope) -> None:
    if isinstance(scope.pattern, Negation):
        scope.fault("NOT cannot be a whole pattern", scope.pattern.at, "write SEQ(NOT N, P)")
    if isinstance(scope.pattern, Conjunction) and len(scope.pattern.parts) != 2:
        scope.fault("AND joins two patterns", scope.pattern.at)


def _check_shape(scope: Scope, pattern: Pattern) -> None:
    for part in parts_of(pattern):
        if isinstance(part, Conjunction):
            scope.fault("AND can only stand at the top of a pattern", part.at)
        if isinstance(part, Negation) and not isinstance(pattern, Sequence):
            scope.fault("NOT can only stand inside SEQ", part.at, "write SEQ(P, NOT N, Q)")
        _check_shape(scope, part)
    match pattern:
        case Sequence(parts):
            _check_sequence(scope, parts, pattern)
        case KleenePlus() | KleeneStar() | Maybe() | Negation():
            pass


def _check_sequence(scope: Scope, parts: tuple[Pattern, ...], whole: Sequence) -> None:
    if all(isinstance(part, Negation) for part in parts):
        scope.fault("this SEQ has nothing but NOT", whole.at, "add a part that must occur")
