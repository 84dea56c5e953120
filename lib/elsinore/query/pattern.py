"""The one form of a pattern that all later passes read, and the rules that it must keep."""

from __future__ import annotations

from collections import Counter

from elsinore.query.faults import some_of, suggest
from elsinore.query.resolve import Scope
from elsinore.query.syntax import (
    Conjunction,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Sequence,
    event_patterns,
    parts_of,
)


def normal_form(pattern: Pattern) -> Pattern:
    """An equal pattern without needless nesting.

    Sequences in sequences and choices in choices are flattened, one-part sequences unwrapped, and
    repeated repetitions folded: `(P+)+` is `P+`, `(P*)+`, `(P+)?` and `(P?)*` are `P*`.

    >>> from elsinore.query.syntax import EventPattern as E
    >>> a, b = E("A", "A"), E("B", "B")
    >>> normal_form(Sequence((Sequence((KleenePlus(KleenePlus(a)), b)),))).parts
    (KleenePlus(body=EventPattern(type='A', alias='A')), EventPattern(type='B', alias='B'))
    """
    match pattern:
        case EventPattern():
            return pattern
        case Sequence(parts):
            flat = _flat(parts, Sequence)
            alone = len(flat) == 1 and not isinstance(flat[0], Negation)
            return flat[0] if alone else Sequence(flat, pattern.at)
        case Disjunction(parts):
            flat = _flat(parts, Disjunction)
            return flat[0] if len(flat) == 1 else Disjunction(flat, pattern.at)
        case Conjunction(parts):
            return Conjunction(_flat(parts, Conjunction), pattern.at)
        case Negation(body):
            return Negation(normal_form(body), pattern.at)
        case _:
            return _repetition(pattern, normal_form(pattern.body))


def _flat(
    parts: tuple[Pattern, ...], kind: type[Sequence | Disjunction | Conjunction]
) -> tuple[Pattern, ...]:
    flat: list[Pattern] = []
    for part in map(normal_form, parts):
        flat += part.parts if isinstance(part, kind) else (part,)
    return tuple(flat)


def _repetition(pattern: KleenePlus | KleeneStar | Maybe, body: Pattern) -> Pattern:
    if isinstance(body, KleenePlus | KleeneStar | Maybe):
        if type(body) is type(pattern):
            return body
        return KleeneStar(body.body, pattern.at)  # two different ones make any number
    return type(pattern)(body, pattern.at)


#: Event types of a pattern, alike or not: as many may follow each other in any order.
MAX_PARTS = 300


def check_pattern(scope: Scope) -> None:
    """Note every fault of the pattern's shape, types and aliases in the scope."""
    leaves = list(event_patterns(scope.pattern))
    if len(leaves) > MAX_PARTS:
        scope.fault(f"a pattern of more than {MAX_PARTS} event types", leaves[MAX_PARTS].at)
        scope.well_shaped = False
        return
    known = scope.schema.type_codes
    for leaf in leaves:
        if leaf.type not in known:
            hint = suggest(leaf.type, known) or f"it has {some_of(known)}"
            scope.fault(f"the stream has no event type {leaf.type}", leaf.at, hint)
    _check_aliases(scope, leaves)
    before = len(scope.faults)
    if isinstance(scope.pattern, Negation):
        scope.fault("NOT cannot be a whole pattern", scope.pattern.at, "write SEQ(NOT N, P)")
    if isinstance(scope.pattern, Conjunction) and len(scope.pattern.parts) != 2:
        scope.fault("AND joins two patterns", scope.pattern.at)
    _check_shape(scope, scope.pattern)
    scope.well_shaped = len(scope.faults) == before


def _check_aliases(scope: Scope, leaves: list[EventPattern]) -> None:
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
            scope.fault(f"the alias {leaf.alias} is also a type of the pattern", leaf.at)


def _check_shape(scope: Scope, pattern: Pattern) -> None:
    for part in parts_of(pattern):
        if isinstance(part, Conjunction):
            scope.fault("AND can only stand at the top of a pattern", part.at)
        if isinstance(part, Negation) and not isinstance(pattern, Sequence):
            scope.fault("NOT can only stand inside SEQ", part.at, "write SEQ(P, NOT N, Q)")
        _check_shape(scope, part)
    if isinstance(pattern, Sequence) and all(isinstance(p, Negation) for p in pattern.parts):
        scope.fault("this SEQ has nothing but NOT", pattern.at, "add a part that must occur")
