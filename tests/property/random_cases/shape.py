"""A drawn pattern with what the other clauses need to know of it, and keys that suit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from elsinore.query.automaton import neighbours
from elsinore.query.syntax import EventPattern, Negation, Pattern, Reference, parts_of
from tests.property.random_cases.dice import Dice


#: B and N lack the key `g`, C lacks `k`, D lacks both: their events belong to every partition
#: that they fit.
class _Types(dict[str, dict[str, Any]]):
    def __missing__(self, kinds: str) -> dict[str, Any]:
        """The attributes that all types of an ANY have; `A|B` is `ANY(A, B)`."""
        first, *others = kinds.split("|")
        return {n: kind for n, kind in self[first].items() if all(n in self[o] for o in others)}


TYPES = _Types(
    {
        "A": {"k": "long", "g": "string", "x": "long", "y": "double", "s": "string"},
        "B": {"k": "long", "x": "long", "y": "double", "s": "string", "t": "timestamp"},
        "C": {"g": "string", "x": "long", "y": "double", "f": "boolean"},
        "D": {"x": "long"},
        "N": {"k": "long", "x": "long"},
    }
)

#: The attributes of keys; what stands often is drawn often.
_NAMES = ("k", "k", "k", "g", "g", "s", "f", "x")

#: Constructs of keys that differ in scope alone.
TWO_KEYS = ("two keys on one attribute", "two keys on one attribute, fixed length")

#: Constructs in which keys decide what lies between the events of contiguous trends.
KEY_PER_ALIAS = "contiguous with a key per alias"
_SCOPED = "contiguous with scoped key"
CONTIGUOUS_KEYS = (
    *("contiguous with key", "contiguous with NOT and key", _SCOPED),
    *(KEY_PER_ALIAS, "contiguous with NULL in a key", "contiguous with types outside the pattern"),
)

#: Constructs in which a key may bind only some occurrences of a type. Such a query is ambiguous
#: unless conditions separate the occurrences.
KEYS_OF_SOME = (_SCOPED, KEY_PER_ALIAS)

_GROUPED = (
    *("grouping", "grouping some types lack", "NOT partial key"),
    "AND of sides with different keys",
)


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
        found = sorted(neighbours(self.pattern))
        return [p for p in found if p[0] in inside], [p for p in found if p[0] not in inside]

    def overlaps(self, leaf: EventPattern) -> bool:
        """Whether an ANY has a type of another occurrence in trends: an event may be at both."""
        own = set(leaf.type.split("|"))
        return any(
            own & set(other.type.split("|")) and (len(own) > 1 or "|" in other.type)
            for other in self.positive
            if other is not leaf
        )

    def types_once(self) -> set[str]:
        """Types that stand in trends and not in NOT."""
        positive = {leaf.type for leaf in self.positive if "|" not in leaf.type}
        return positive - {leaf.type for leaf in self.negated}


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


# ---- keys
def draw_keys(dice: Dice, shape: Shape, count: int) -> tuple[Reference, ...]:
    """Up to `count` keys that positive occurrences carry, mostly `k` and `g`.

    One attribute may be two keys, if each is scoped.
    """
    found: list[Reference] = []
    uses = Counter(leaf.type for leaf in shape.positive)
    for _ in range(count):
        leaf = dice.pick(shape.positive)
        names = [name for name in _NAMES if name in TYPES[leaf.type]]
        name = dice.pick(names)
        scope = None
        may_be_scoped = not shape.overlaps(leaf) or dice.chance(0.1)
        if dice.chance(0.2, "scoped key", "contiguous with scoped key") and may_be_scoped:
            # Binding one of several occurrences of a type mostly leaves the query ambiguous.
            by_type = dice.chance(0.85 if uses[leaf.type] > 1 else 0.3) and "|" not in leaf.type
            scope = leaf.type if by_type else leaf.alias
        key = Reference(scope, name)
        alike = [other for other in found if other.attribute == name]
        if not alike or (scope and all(other.qualifier not in (None, scope) for other in alike)):
            found.append(key)
    return tuple(found)


def draw_two_keys(dice: Dice, shape: Shape, *, apart: bool = False) -> tuple[Reference, ...]:
    """One attribute scoped to two occurrences, where two carry one.

    If `apart`, of types that occur once in trends: the engine refuses most others as ambiguous.
    """
    uses = Counter(leaf.type for leaf in shape.positive)
    leaves = [leaf for leaf in shape.positive if not apart or uses[leaf.type] == 1]
    dice.shuffle(leaves)
    for name in (dice.pick(_NAMES), "k", "x"):
        carriers = [leaf.alias for leaf in leaves if name in TYPES[leaf.type]]
        if len(carriers) > 1:
            return tuple(Reference(alias, name) for alias in carriers[:2])
    return ()


def draw_groups(dice: Dice, shape: Shape) -> tuple[Reference, ...]:
    """A GROUP-BY clause; mostly none."""
    if dice.aims(*TWO_KEYS):
        return draw_two_keys(dice, shape)
    # A scoped key in GROUP-BY is never ambiguous if its type occurs once.
    scoped = dice.aims(_SCOPED) and dice.chance(0.4)
    if not scoped and not dice.chance(0.3, *_GROUPED):
        return ()
    return draw_keys(dice, shape, dice.pick((1, 1, 2)))
