"""Random RETURN, WITHIN and SEMANTICS clauses."""

from __future__ import annotations

from collections import Counter

from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_item
from elsinore.query.syntax import Call, Conjunction, Duration, Item, Reference, Semantics
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.dispersions import OF_DISPERSIONS, OF_EXPRESSION
from tests.property.random_cases.results import OF_EACH
from tests.property.random_cases.shape import CONTIGUOUS_KEYS, TYPES, Shape
from tests.property.random_cases.signed import SIGNED

_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")
_EXTREMES = ("MIN", "MAX")
_AIMS = {"COUNT of alias": "COUNT", SIGNED: "SUM", **{name: name for name in _FUNCTIONS[1:]}}
_APART = "aliases told apart by conditions"
_AMBIGUOUS = ("ambiguous", "ambiguous with predicate", "ambiguous with NOT")

#: Arguments of aggregates over an alias P, by the attributes that its type must have.
_EXPRESSIONS = (
    ("x", "P.x * P.x"), ("x", "P.x + 1"), ("x", "abs(P.x - 2)"), ("x", "-P.x"),
    ("xk", "P.x * P.k"), ("xy", "P.x * 2 - 1"), ("x", "nullif(P.x, 1)"),
    ("x", "CASE WHEN P.x > 1 THEN P.x END"), ("xs", "CASE WHEN P.s = 'u' THEN P.x ELSE 0 END"),
    ("s", "length(concat(P.s, 'ab'))"), ("x", "P.x % 3"), ("t", "extract(minute FROM P.t)"),
)  # fmt: skip
_CASES = tuple(each for each in _EXPRESSIONS if "CASE" in each[1])

_OF_REPEATED = ("quantifier with EACH", "ANY with aggregate")

_WITHINS = (5, 8, 10, 25, 60)
#: The longest WITHIN of integer times.
_LONGEST = 2**61 - 1


def draw_returns(dice: Dice, shape: Shape, groups: tuple[Reference, ...]) -> tuple[Item, ...]:
    """COUNT(*) mostly, up to three more aggregates, and sometimes the grouping keys."""
    every = [_aggregate("COUNT", "*", None)]
    if not isinstance(shape.pattern, Conjunction):
        wanted = dice.aim in _AIMS or dice.aims(
            "timestamp extreme", _APART, *OF_EACH, *_OF_REPEATED, *OF_DISPERSIONS
        )
        more = dice.number(1 if wanted else 0, 3)
        every += [found for _ in range(more) if (found := _draw_aggregate(dice, shape))]
        if len(every) > 1 and dice.chance(0.1):
            del every[0]
    by_label = {print_item(item): item for item in every}
    named = map(Item, groups) if dice.chance(0.2) else ()
    return (*named, *by_label.values())


def _draw_aggregate(dice: Dice, shape: Shape) -> Item | None:
    leaf = dice.pick(shape.positive)
    target = leaf.alias
    uses = Counter(other.type for other in shape.positive)
    several = "aggregate over several positions"
    share = 0.92 if uses[leaf.type] > 1 else 0.2
    by_type = leaf.type in shape.types_once() and not dice.aims(_APART)
    if by_type and dice.chance(share, several, *_AMBIGUOUS):
        target = leaf.type
    elif uses[leaf.type] > 1 and dice.aims(*CONTIGUOUS_KEYS) and dice.chance(0.8):
        return None  # An aggregate of one of several occurrences is mostly ambiguous.
    if shape.overlaps(leaf) and dice.chance(0.9):
        return None
    function = _draw_function(dice)
    if dice.chance(0.12, "aggregate of an expression", "CASE", OF_EXPRESSION):
        among = _CASES if dice.aims("CASE") else _EXPRESSIONS
        fitting = [text for needs, text in among if set(needs) <= set(TYPES[leaf.type])]
        if fitting:
            text = dice.pick(fitting).replace("P.", f"{target}.")
            return _parsed_item(f"{function}({text})")
    if function == "COUNT":
        return _aggregate(function, target, None)
    names = [name for name, kind in TYPES[leaf.type].items() if kind in ("long", "double")]
    if function in _EXTREMES:
        names.append("time")
    if function in _EXTREMES and "t" in TYPES[leaf.type]:
        names += ["t"] * (6 if dice.aims("timestamp extreme") else 2)
    if dice.aims(SIGNED) and "y" in names:
        return _aggregate(dice.pick(("SUM", "AVG")), target, "y")
    return _aggregate(function, target, dice.pick(names))


def _draw_function(dice: Dice) -> str:
    function = dice.pick(_FUNCTIONS)
    if dice.aim in _AIMS and dice.chance(0.7):
        function = _AIMS[dice.aim]
    if dice.aims("timestamp extreme"):
        function = dice.pick(_EXTREMES)
    if dice.aims(*OF_DISPERSIONS) and dice.chance(0.7):
        function = "AVG"  # which another function replaces
    return function


def _parsed_item(text: str) -> Item:
    [query] = parse_workload(f"QUERY q RETURN {text} PATTERN A")
    return query.returns[0]


def _aggregate(function: str, target: str, attribute: str | None) -> Item:
    if target == "*":
        return Item(Call(function.lower(), (), star=True))
    inside = Reference(None, target) if attribute is None else Reference(target, attribute)
    return Item(Call(function.lower(), (inside,)))


def draw_window(dice: Dice, *, calendar: bool) -> tuple[Duration, Duration | None]:
    """WITHIN and SLIDE; a slide may be as short as a sixtieth, and need not divide."""
    unit = "microseconds" if calendar and dice.chance(0.5) else None
    if dice.aims("extreme times") and dice.chance(0.3):
        slides = (None, Duration(2**60, None), Duration(_LONGEST // 7, None))
        return Duration(_LONGEST, None), dice.pick(slides)
    if dice.chance(0.03, "high overlap"):
        return Duration(60, unit), Duration(dice.pick((1, 2, 3)), unit)
    within = dice.pick(_WITHINS)
    if dice.chance(0.5, "tumbling") and not dice.aims("sliding", "slide not dividing"):
        return Duration(within, unit), None
    slide = dice.pick((within // 2, within // 2, 3, 7, 4, max(within // 5, 2)))
    return Duration(within, unit), Duration(min(slide, within), unit)


def draw_semantics(dice: Dice) -> Semantics:
    """skip-till-any-match in three of four cases."""
    for name, semantics in (("next-match", Semantics.NEXT), ("contiguous", Semantics.CONTIGUOUS)):
        aim = (dice.aim or "").removeprefix("quantifier with ").removeprefix("EACH ")
        if aim.removeprefix("measure under ").startswith(name):
            return semantics
    roll = dice.number(1, 8)
    return {1: Semantics.NEXT, 2: Semantics.CONTIGUOUS}.get(roll, Semantics.ANY)
