"""Random quantifiers, and ANY in place of event types."""

from __future__ import annotations

from elsinore.query.syntax import (
    AnyOf,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Quantified,
    Sequence,
    event_patterns,
    parts_of,
    with_parts,
)
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.shape import TYPES

_IN_NOT = ("quantifier in NOT", "ANY in NOT")
_OF_ANY = ("ANY", "ANY of all types", "ANY in NOT", "ANY in a quantifier", "ANY with key",
           "ANY with edge predicate", "ANY with aggregate")  # fmt: skip
_NESTED = "quantifier of a quantifier"
_GROUPS = ("quantified group", "NOT in a quantified group", "NOT at the edge of a quantified group")
_OF_QUANTIFIERS = (
    *("quantifier", "quantifier {n}", "quantifier {n,}", "quantifier {n,m}", "quantifier {0,m}"),
    *(*_GROUPS, _NESTED, "quantifier in NOT", "optional quantifier"),
    *("quantifier with edge predicate", "quantifier with next-match"),
    *("quantifier with contiguous", "quantifier with key", "quantifier with EACH"),
)
#: Constructs of quantifiers and ANY.
OF_REPEATED = (*_OF_QUANTIFIERS, *_OF_ANY)

#: Bounds of quantifiers, which streams of a few events can reach; None: any number.
_BOUNDS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "quantifier {n}": ((1, 1), (2, 2), (2, 2), (3, 3)),
    "quantifier {n,}": ((2, None), (2, None), (3, None), (1, None), (0, None)),
    "quantifier {n,m}": ((1, 2), (1, 3), (2, 3), (2, 4)),
    "quantifier {0,m}": ((0, 1), (0, 2), (0, 3)),
}
_EVERY = tuple(bounds for several in _BOUNDS.values() for bounds in several)


def with_repeated(dice: Dice, pattern: Pattern) -> Pattern:
    """A pattern with quantifiers and ANY, in one case of five or where aimed at.

    `dice` are the case's own for this, so that nothing else is drawn otherwise for them. An event
    of several types has a type such as `A|B`, see `written`.
    """
    if not dice.chance(0.2, *OF_REPEATED):
        return pattern
    if dice.chance(0.02, "ANY of all types") and dice.chance(0.6):
        # Next to other parts it is mostly ambiguous.
        any_type = EventPattern("|".join(sorted(TYPES)), "x0")
        quantified = _quantified(dice, any_type, 0.8)
        alone = quantified if dice.chance(0.7) else KleenePlus(any_type)
        return alone if dice.chance(0.8) else Sequence((Negation(EventPattern("N", "n0")), alone))
    used = {leaf.type for leaf in event_patterns(pattern)}
    return _changed(dice, pattern, used, negated=False)


def _changed(dice: Dice, pattern: Pattern, used: set[str], *, negated: bool) -> Pattern:
    inside = negated or isinstance(pattern, Negation)
    found = with_parts(pattern, lambda part: _changed(dice, part, used, negated=inside))
    aimed = not dice.aims(*_IN_NOT) or negated
    match found:
        case EventPattern():
            if dice.chance(0.3, *(_OF_ANY if aimed else ())) and dice.chance(0.6):
                found = _of_several_types(dice, found, used)
            return _quantified(dice, found, 0.35 if aimed else 0.1)
        case KleenePlus() | KleeneStar() | Maybe() if dice.chance(0.35):
            body = found.body
            return _quantified(dice, body, 0.0) if isinstance(body, Quantified) else found
        case Sequence() | Disjunction():
            return _quantified(dice, found, 0.5 if dice.aims(*_GROUPS) else 0.15)
    return found


def _of_several_types(dice: Dice, leaf: EventPattern, used: set[str]) -> EventPattern:
    """ANY of a type and others; mostly of types that occur once, or the pattern is ambiguous."""
    kinds = sorted(TYPES)
    if not dice.chance(0.05, "ANY of all types"):
        others = [kind for kind in kinds if kind != leaf.type]
        unused = [kind for kind in others if kind not in used]
        others = unused if unused and dice.chance(0.8) else others
        dice.shuffle(others)
        kinds = [leaf.type, *others[: dice.pick((1, 1, 2))]]
        used.update(kinds)
    return EventPattern("|".join(kinds), leaf.alias)


def _quantified(dice: Dice, body: Pattern, share: float) -> Pattern:
    if not dice.chance(share):
        return body
    among = _BOUNDS.get(dice.aim or "", _EVERY)
    found: Pattern = Quantified(body, *dice.pick(among))
    if dice.chance(0.1, _NESTED):
        outer = ((2, 2), (1, 2), (2, None), (0, 2), (1, 1))
        found = Quantified(found, *dice.pick(outer))
    return Maybe(found) if dice.chance(0.08, "optional quantifier") else found


def written(pattern: Pattern) -> Pattern:
    """The pattern as a query has it: types such as `A|B` are ANY."""
    if not isinstance(pattern, EventPattern):
        return with_parts(pattern, written)
    kinds = pattern.type.split("|")
    if len(kinds) == len(TYPES):
        return EventPattern("ANY", pattern.alias)
    if len(kinds) == 1:
        return pattern
    return AnyOf(tuple(EventPattern(kind, pattern.alias) for kind in kinds))


# ---- which of these constructs a pattern holds


def repeated_in(pattern: Pattern) -> set[str]:
    """Names of the constructs of quantifiers and ANY in a pattern as it is written."""
    found: set[str] = set()
    _walk(pattern, found, outside=frozenset())
    return found


def _walk(pattern: Pattern, found: set[str], outside: frozenset[type]) -> None:
    match pattern:
        case Quantified(body, least, most):
            found |= {"quantifier", _form(least, most)}
            found |= {"quantifier in NOT"} if Negation in outside else set()
            if isinstance(body, Quantified):
                found.add(_NESTED)
            if isinstance(body, Sequence | Disjunction) and not isinstance(body, AnyOf):
                found |= _of_group(body)
        case Maybe(Quantified()):
            found.add("optional quantifier")
        case AnyOf() | EventPattern("ANY"):
            found.add("ANY")
            found |= {"ANY in NOT"} if Negation in outside else set()
            found |= {"ANY in a quantifier"} if Quantified in outside else set()
            found |= {"ANY of all types"} if isinstance(pattern, EventPattern) else set()
            return
    for part in parts_of(pattern):
        _walk(part, found, outside | {type(pattern)})


def _form(least: int, most: int | None) -> str:
    if most is None:
        return "quantifier {n,}"
    if least == most:
        return "quantifier {n}"
    return "quantifier {n,m}" if least else "quantifier {0,m}"


def _of_group(body: Sequence | Disjunction) -> set[str]:
    found = {"quantified group"}
    nots = [number for number, part in enumerate(body.parts) if isinstance(part, Negation)]
    if nots and isinstance(body, Sequence):
        found.add("NOT in a quantified group")
        edges = {0, len(body.parts) - 1}
        found |= {"NOT at the edge of a quantified group"} if edges & set(nots) else set()
    return found
