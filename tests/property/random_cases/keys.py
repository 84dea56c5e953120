"""Random equivalence and grouping keys, scoped and unscoped."""

from __future__ import annotations

from collections import Counter

from elsinore.query.syntax import Reference
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.shape import Shape
from tests.property.random_cases.streams import TYPES

#: The attributes of keys; what stands often is drawn often.
_NAMES = ("k", "k", "k", "g", "g", "s", "f", "x")

#: Constructs of keys that differ in scope alone.
TWO_KEYS = ("two keys on one attribute", "two keys on one attribute, fixed length")

_GROUPED = (
    *("grouping", "grouping some types lack", "NOT partial key"),
    "AND of sides with different keys",
)


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
        if dice.chance(0.2, "scoped key"):
            # Binding one of several occurrences of a type mostly leaves the query ambiguous.
            by_type = dice.chance(0.85 if uses[leaf.type] > 1 else 0.3)
            scope = leaf.type if by_type else leaf.alias
        key = Reference(scope, name)
        alike = [other for other in found if other.attribute == name]
        if not alike or (scope and all(other.qualifier not in (None, scope) for other in alike)):
            found.append(key)
    return tuple(found)


def draw_two_keys(dice: Dice, shape: Shape) -> tuple[Reference, ...]:
    """One attribute scoped to two occurrences, where two carry one."""
    leaves = list(shape.positive)
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
    if not dice.chance(0.3, *_GROUPED):
        return ()
    return draw_keys(dice, shape, dice.pick((1, 1, 2)))
