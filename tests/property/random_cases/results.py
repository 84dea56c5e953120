"""Random names, expressions and HAVING over the aggregates of a query."""

from __future__ import annotations

from collections.abc import Sequence

from tests.property.random_cases.dice import Dice
from tests.property.random_cases.dispersions import DISPERSIONS, OF_MEASURE

#: Constructs of RETURN and HAVING.
OF_NAMES = ("AS", "output of names")
OF_OUTPUTS = (*OF_NAMES, "output arithmetic", "division of integers")
OF_HAVING = ("HAVING", "HAVING with NULL")
#: Constructs of EACH and DISTINCT.
EACH_EDGE, EACH_NOT = "EACH with edge predicate", "EACH with NOT"
EACH_NEXT, EACH_CONTIGUOUS = "EACH next-match", "EACH contiguous"
OF_EACH = (
    *("EACH", "EACH *", "DISTINCT", "EACH alone", "EACH of an ambiguous pattern"),
    *(EACH_EDGE, EACH_NOT, EACH_NEXT, EACH_CONTIGUOUS, "MEDIAN", "PERCENTILE"),
)
OF_EXPRESSION = "measure of an expression"
#: Constructs of measures of trends.
OF_MEASURES = (
    *("LENGTH", "DURATION", "FIRST", "LAST", "TOTAL", "extreme of a measure"),
    *("difference of measures", "coalesce of a measure", "measure of an optional alias"),
    *("measure with NOT", "measure under next-match", "measure under contiguous"),
    *("measure with edge predicate", "LENGTH of an ambiguous pattern", OF_EXPRESSION),
)
#: Constructs of `RETURN STEPS`.
OF_STEPS = (
    *("STEPS", "keys of steps", "keys of several attributes", "STEPS with NOT"),
    *("STEPS with grouping", "STEPS with edge predicate", "STEPS with Kleene plus"),
    *("STEPS with next-match", "STEPS with contiguous", "STEPS with ambiguous"),
)
OF_RESULTS = (*OF_OUTPUTS, *OF_HAVING)

_SUMS = ("SUM(", "AVG(")
#: Of two numbers; names are numbers, too.
_NUMBERS = (
    *("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} / {b}", "{a} % {b}", "-{a}"),
    *("{a} / 3", "{a} * 2 - 1", "({a} - 1) * ({b} + 2)", "coalesce({a}, 0)", "abs({a} - {b})"),
    *("coalesce({a}, {b})", "least({a}, {b})", "greatest({a}, 2.5)", "{a} / ({b} - {b})"),
    *("{a} * {a} * {a} / ({a} + 1)", "7 / {a}", "{a} % 2 + 0.5", "{a} + 0"),
)
_INTEGERS = ("{a} / {b}", "{a} / 3", "{b} / ({a} * 2)")
_CONDITIONS = (
    *("{a} > {b}", "{a} = {b}", "{a} IS NULL", "{a} > 1 AND {b} < 3", "{a} IN (1, 2, 3)"),
    *("NOT {a} > 2 OR {b} IS NULL", "{a} BETWEEN 0 AND {b}", "{a} >= 1.5", "{a} * 2 > {b} + 1"),
    *("{a} != 2", "{a} IS NOT NULL", "{a} < 100000000000000000000"),
)
#: Of a sum of doubles, which other computations round elsewhere.
_ROUNDED = ("{a} / COUNT(*)", "{a} + 1", "{a} * 2", "-{a}", "{a} / 3 - 1", "coalesce({a}, 0)")
_TIMESTAMPS = ("{a}", "extract(hour FROM {a})", "coalesce({a}, '1970-01-01T00:00:00Z')")
#: Of a grouping attribute, by the attribute's last letter.
_GROUPS = {
    **dict.fromkeys("kx", ("{a}", "{a} + 1", "{a} / 2", "{a} IS NULL", "coalesce({a}, -1)")),
    **dict.fromkeys(
        "gs", ("{a}", "upper({a})", "{a} = 'p'", "{a} LIKE 'p%'", "coalesce({a}, 'z')")
    ),
    "f": ("{a}", "NOT {a}", "coalesce({a}, FALSE)"),
}  # fmt: skip
_OF_GROUPS = {
    **dict.fromkeys("kx", ("{a} = 1", "{a} IS NULL", "{a} < 2 OR COUNT(*) > 2")),
    **dict.fromkeys("gs", ("{a} = 'p'", "{a} IS NULL", "{a} LIKE 'p%' OR COUNT(*) > 1")),
    "f": ("{a}", "{a} IS NULL OR COUNT(*) > 1"),
}


#: Functions of numbers only.
_OF_NUMBERS = ("SUM", "AVG")
_SHARES = ("0", "1", "0.5", "0.1", "0.25", "0.9", "0.3333", "0.999", "1e-3", "0.7")


def draw_each(dice: Dice, aggregates: Sequence[str]) -> list[str]:
    """Items with EACH and DISTINCT, and sometimes those without."""
    each, kept = [], list(aggregates)
    for one in aggregates:
        function, inside = one.removesuffix(")").split("(", 1)
        if inside != "*" or dice.chance(0.5, "EACH *"):
            each.append(f"{function}(EACH {inside})")
        if "." in inside and function in _OF_NUMBERS and dice.chance(0.25, "MEDIAN"):
            each.append(f"MEDIAN(EACH {inside})")
        if "." in inside and function != "COUNT" and dice.chance(0.3, "PERCENTILE"):
            each.append(f"PERCENTILE(EACH {inside}, {dice.pick(_SHARES)})")
        if "." in inside and dice.chance(0.4, "DISTINCT"):
            _, _, attribute = inside.partition(".")
            bare = attribute.isidentifier() and dice.chance(0.5)
            each.append(f"COUNT(DISTINCT {attribute if bare else inside})")
    if dice.chance(0.4, "EACH alone", "EACH of an ambiguous pattern"):
        kept = []
    items = [*kept, *each]
    return list(dict.fromkeys(items))


#: Measures of trends; a and b are attributes of an alias.
_MEASURES = (
    *("LENGTH", "LENGTH", "DURATION", "DURATION", "FIRST({a})", "LAST({a})", "TOTAL({a})"),
    *("LENGTH / 2 - 1", "-LENGTH", "2 * DURATION", "LENGTH * 0.5"),
)
#: Measures of attributes, by construct.
_OF_ATTRIBUTES = {
    "FIRST": ("FIRST({a})", "FIRST({a}) + LENGTH", "1 - FIRST({a})"),
    "LAST": ("LAST({a})", "LAST({a}) * 3 - LENGTH", "LAST({a}) / 4"),
    "TOTAL": ("TOTAL({a})", "TOTAL({a}) - LENGTH", "-TOTAL({a})", "TOTAL({a}) + TOTAL({b})"),
    "difference of measures": (
        *("LAST({a}) - FIRST({a})", "LAST({a}) - FIRST({b})", "TOTAL({a}) - 2 * LAST({a})"),
        *("FIRST({a}) - LAST({b}) + DURATION", "LAST({a}) - LENGTH", "LENGTH - DURATION"),
    ),
    "coalesce of a measure": (
        *("coalesce(FIRST({a}), 2)", "coalesce(LAST({a}), 0.5)", "coalesce(TOTAL({a}), -1)"),
        *("coalesce(FIRST({a}), 2) - LENGTH", "LAST({a}) - coalesce(TOTAL({b}), 7)"),
        *("coalesce(LAST({a}), 3) + coalesce(FIRST({b}), 1)", "coalesce(TOTAL({a}), 0) * 2"),
    ),
}
#: Measures of expressions; the values of products can need 192 bits, of the others 70.
_PRODUCTS = ("TOTAL({a} * {a})", "FIRST({a} * {a}) - LENGTH", "LAST({a} * {a} * {a})")
_MULTIPLES = ("TOTAL({a} * 3)", "FIRST({a} + {a})", "LAST({a} * 4 - 1)", "TOTAL({a} * 2) - LENGTH")
_OF_TIMES = ("FIRST({a})", "LAST({a})", "LAST({a}) - FIRST({a})")
_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")


def draw_measures(dice: Dice, attributes: Sequence[str], aggregates: Sequence[str]) -> list[str]:
    """Items with measures of trends, and sometimes those of events.

    Args:
        dice: draws.
        attributes: numbers and times of some aliases, such as `A.x`.
        aggregates: the aggregates of the query.
    """
    items = list(aggregates) if dice.chance(0.8) else []
    for _ in range(dice.number(1, 3)):
        a, b = dice.pick(attributes), dice.pick(attributes)
        if dice.aim in ("LENGTH", "LENGTH of an ambiguous pattern", "DURATION"):
            text = dice.aim.partition(" ")[0]
        elif a.endswith((".time", ".t")):
            text = dice.pick(_OF_TIMES)
        elif dice.chance(0.5, *_OF_ATTRIBUTES):
            aimed = dice.aim if dice.aim in _OF_ATTRIBUTES else dice.pick([*_OF_ATTRIBUTES])
            text = dice.pick(_OF_ATTRIBUTES[aimed])
        else:
            text = dice.pick(_MEASURES)
        functions: Sequence[str] = _FUNCTIONS
        if dice.aims("extreme of a measure"):
            functions = _FUNCTIONS[3:]
        if dice.aims(OF_MEASURE) or (dice.aim not in OF_MEASURES and dice.chance(0.2)):
            functions = DISPERSIONS
        items.append(f"{dice.pick(functions)}({text.format(a=a, b=b)})")
    numbers = [each for each in attributes if not each.endswith((".time", ".t"))]
    if numbers and dice.chance(0.2, OF_EXPRESSION):
        function = dice.pick((*_FUNCTIONS, *DISPERSIONS))
        forms = _MULTIPLES if function in _FUNCTIONS[3:] else (*_MULTIPLES, *_PRODUCTS)
        items.append(f"{function}({dice.pick(forms).format(a=dice.pick(numbers))})")
    return list(dict.fromkeys(items))


def draw_results(
    dice: Dice, aggregates: Sequence[str], groups: Sequence[str], *, calendar: bool
) -> tuple[list[str], str | None]:
    """Items of RETURN and the condition of HAVING, if any.

    Args:
        dice: draws.
        aggregates: the aggregates of the query.
        groups: its grouping attributes, as GROUP-BY has them.
        calendar: whether `time` is a timestamp.
    """
    if not dice.chance(0.35, *OF_RESULTS):
        return list(aggregates), None
    rounded = [one for one in aggregates if one.startswith(_SUMS) and ".y" in one]
    endings = (".t)", ".time)") if calendar else (".t)",)
    instants = [one for one in aggregates if one.endswith(endings)]
    numbers = [one for one in aggregates if one not in (*rounded, *instants)] or ["COUNT(*)"]
    integers = [one for one in numbers if one.startswith(("COUNT", "SUM"))] or ["COUNT(*)"]
    items = list(aggregates)
    for number in range(dice.number(1, 3)):
        name = f" AS n{number}" if dice.chance(0.5, *OF_NAMES) else ""
        if rounded and dice.chance(0.2):
            text = dice.pick(_ROUNDED).format(a=dice.pick(rounded))
        elif instants and dice.chance(0.2):
            text = dice.pick(_TIMESTAMPS).format(a=dice.pick(instants))
            name = f" AS t{number}"
        elif groups and dice.chance(0.2):
            group = dice.pick(groups)
            text, name = dice.pick(_GROUPS[group[-1]]).format(a=group), f" AS g{number}"
        elif dice.chance(0.15):
            text = dice.pick(_CONDITIONS).format(a=dice.pick(numbers), b=dice.pick(numbers))
            name = f" AS c{number}" if name else ""
        else:
            of_integers = dice.chance(0.15, "division of integers")
            forms, among = (_INTEGERS, integers) if of_integers else (_NUMBERS, numbers)
            text = dice.pick(forms).format(a=dice.pick(among), b=dice.pick(among))
            numbers = [*numbers, f"n{number}"] if name else numbers
        items.append(text + name)
    if len(aggregates) > 1 and dice.chance(0.3):
        del items[0]
    having = None
    if dice.chance(0.4, *OF_HAVING):
        having = dice.pick(_CONDITIONS).format(a=dice.pick(numbers), b=dice.pick(numbers))
        if groups and dice.chance(0.3):
            group = dice.pick(groups)
            having = dice.pick(_OF_GROUPS[group[-1]]).format(a=group)
    return list(dict.fromkeys(items)), having
