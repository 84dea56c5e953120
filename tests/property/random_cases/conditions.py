"""Random WHERE clauses: local and edge predicates, equivalence, functions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from elsinore.query.parse import parse_workload
from elsinore.query.syntax import Call, Equivalence, EventPattern, Expression, Operation, Reference
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.results import EACH_EDGE
from tests.property.random_cases.shape import (
    CONTIGUOUS_KEYS,
    KEY_PER_ALIAS,
    KEYS_OF_SOME,
    TWO_KEYS,
    TYPES,
    Shape,
    draw_keys,
    draw_two_keys,
)

_COMPARE = ("<", "<=", ">", ">=", "=", "!=")

#: Conditions on one event P: the attributes that its type must have, and the text.
_LOCAL: tuple[tuple[str, str], ...] = (
    ("x", "P.x {sign} 1"),
    ("x", "P.x {sign} 2"),
    ("x", "P.x >= 0"),
    ("x", "P.x < 3"),
    ("x", "P.x IS NOT NULL"),
    ("x", "P.x BETWEEN 0 AND 2"),
    ("x", "P.x NOT IN (1, 7)"),
    ("x", "-P.x {sign} -1"),
    ("y", "P.y {sign} 0.5"),
    ("y", "P.y > -1"),
    ("xy", "NOT (P.x {sign} 1 OR P.y / P.x > 1)"),
    ("xy", "P.x % 2 = 1 OR P.y IS NULL"),
    ("xy", "P.x + P.y <= 3"),
    ("s", "P.s IN ('u', 'w')"),
    ("s", "P.s {sign} 'v'"),
    ("f", "P.f = TRUE"),
    ("f", "NOT (P.f = FALSE)"),
    ("t", "P.t {sign} '1970-01-01T00:00:00.000005Z'"),
    ("", "P.time % 2 = 0"),
)

#: Conditions of which one event meets one at most, with the attribute that they read.
_APART: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("x", ("P.x > 0", "P.x <= 0")),
    ("x", ("P.x BETWEEN 1 AND 2", "NOT (P.x >= 1)", "P.x > 2")),
    ("x", ("P.x IS NOT NULL", "P.x IS NULL")),
    ("x", ("P.x < 1.5", "P.x >= 2")),
    ("x", ("P.x % 2 = 0", "P.x % 2 = 1")),
    ("y", ("P.y < 0.5", "P.y >= 0.5")),
    ("s", ("P.s IN ('u', 'w')", "P.s NOT IN ('u', 'w')")),
    ("s", ("P.s LIKE '%v'", "P.s NOT LIKE '%v'")),
    ("f", ("P.f = TRUE", "P.f = FALSE")),
    ("", ("P.time % 2 = 0", "NOT (P.time % 2 = 0)")),
)

#: Conditions on an adjacent pair; P is the earlier event.
_EDGE: tuple[tuple[str, str], ...] = (
    ("x", "P.x {sign} NEXT(E).x"),
    ("x", "P.x <= NEXT(E).x"),
    ("x", "P.x < NEXT(E).x"),
    ("x", "NEXT(E).x - P.x {sign} 1"),
    ("x", "P.x * NEXT(E).x {sign} 1 OR P.x IS NULL"),
    ("", "NEXT(E).time - P.time <= 4"),
    ("", "NEXT(E).time - P.time > 1"),
    ("y", "P.y {sign} NEXT(E).y"),
    ("xy", "P.x {sign} NEXT(E).y"),
    ("xy", "NOT (P.y + NEXT(E).y {sign} 1 AND P.x % NEXT(E).x = 0)"),
    ("xy", "P.x <= NEXT(E).x AND P.y < NEXT(E).y OR P.x = 1"),
    ("s", "P.s {sign} NEXT(E).s"),
    ("t", "NEXT(E).t - P.t >= 0"),
)

_LOCAL_FUNCTIONS: tuple[tuple[str, str], ...] = (
    ("x", "abs(P.x) {sign} 1"),
    ("xy", "greatest(P.x, P.y, 0) < 3"),
    ("xy", "least(P.x, P.y) {sign} 1"),
    ("x", "coalesce(P.x, 1) {sign} 1"),
    ("s", "lower(P.s) = 'v' OR upper(P.s) IN ('U', 'W')"),
    ("s", "P.s LIKE '%v' OR P.s NOT LIKE '_'"),
    ("t", "extract(hour FROM P.t) = 0"),
    ("t", "extract(weekday FROM P.t) < 6"),
)
_EDGE_FUNCTIONS: tuple[tuple[str, str], ...] = (
    ("x", "abs(P.x - NEXT(E).x) <= 1"),
    ("x", "greatest(P.x, NEXT(E).x) > 0"),
    ("xy", "least(P.x, NEXT(E).y) < 2"),
    ("x", "coalesce(P.x, 0) <= coalesce(NEXT(E).x, 3)"),
)

_WITH_EDGES = ("", "next-match with ", "contiguous with ", "quantifier with ", "ANY with ")
_KEYED = (
    *("quantifier with key", "ANY with key"),
    *("equivalence", "scoped key", "NOT partial key", "NOT with key"),
    "AND of sides with different keys",
    *CONTIGUOUS_KEYS,
)


def draw_where(dice: Dice, shape: Shape) -> Expression | None:
    """A WHERE clause that suits a pattern, or none."""
    conjuncts: list[Expression] = []
    if dice.chance(0.35, *_KEYED):
        per_alias = dice.aims(KEY_PER_ALIAS)
        keys = draw_two_keys(dice, shape, apart=dice.chance(0.8)) if per_alias else ()
        keys = keys or draw_keys(dice, shape, dice.pick((1, 1, 2)))
        conjuncts += [Equivalence(keys)] if keys else []
    if dice.aims(*TWO_KEYS) and dice.chance(0.4) and len(found := draw_keys(dice, shape, 1)):
        conjuncts.append(Equivalence((Reference(None, found[0].attribute),)))
    conjuncts += _locals(dice, shape) + _edges(dice, shape)
    if not conjuncts:
        return None
    dice.shuffle(conjuncts)
    flat = [part for conjunct in conjuncts for part in _flat(conjunct)]
    return flat[0] if len(flat) == 1 else Operation("AND", tuple(flat))


def has_function(expression: Expression) -> bool:
    """Whether an expression calls a function or matches LIKE."""
    if isinstance(expression, Operation):
        called = expression.name == "LIKE"
        return called or any(has_function(operand) for operand in expression.operands)
    return isinstance(expression, Call)


def _flat(conjunct: Expression) -> tuple[Expression, ...]:
    """AND within AND as the parser reads it: one flat AND."""
    if isinstance(conjunct, Operation) and conjunct.name == "AND":
        return conjunct.operands
    return (conjunct,)


def _locals(dice: Dice, shape: Shape) -> list[Expression]:
    apart = dice.aims("aliases told apart by conditions")
    apart = apart or (dice.aims(*KEYS_OF_SOME) and dice.chance(0.5))
    found = _telling_apart(dice, shape) if apart else []
    if dice.chance(0.3, "local predicate", "ambiguous with predicate", "functions"):
        found += [_local(dice, dice.pick(shape.positive)) for _ in range(dice.pick((1, 1, 2)))]
    if shape.negated and dice.chance(0.3, "NOT with predicate"):
        found.append(_local(dice, dice.pick(shape.negated)))
    return found


def _telling_apart(dice: Dice, shape: Shape) -> list[Expression]:
    """Conditions of which no event meets two, on occurrences of one type in turn."""
    types = [leaf.type for leaf in shape.positive]
    repeated = [kind for kind in types if types.count(kind) > 1]
    if not repeated:
        return []
    kind = dice.pick(repeated)
    texts = dice.pick([texts for needs, texts in _APART if needs in ("", *TYPES[kind])])
    leaves = [leaf for leaf in shape.positive if leaf.type == kind]
    return [
        _renamed(_parsed(texts[number % len(texts)]), {"P": leaf.alias})
        for number, leaf in enumerate(leaves)
    ]


def _local(dice: Dice, leaf: EventPattern) -> Expression:
    texts = _fitting(_LOCAL, leaf.type)
    if dice.chance(0.15, "functions"):
        texts = _fitting(_LOCAL_FUNCTIONS, leaf.type) or texts
    text = dice.pick(texts).format(sign=dice.pick(_COMPARE))
    return _renamed(_parsed(text), {"P": leaf.alias})


def _edges(dice: Dice, shape: Shape) -> list[Expression]:
    types = {leaf.alias: leaf.type for leaf in shape.every}
    positive, negated = shape.pairs
    aims = tuple(f"{of}edge predicate" for of in _WITH_EDGES)
    found = []
    if positive and dice.chance(0.3, *aims, EACH_EDGE):
        for _ in range(dice.pick((1, 1, 2))):
            found.append(_edge(dice, dice.pick(positive), types))
    if negated and dice.chance(0.25, "NOT with edge predicate"):
        found.append(_edge(dice, dice.pick(negated), types))
    return found


def _edge(dice: Dice, pair: tuple[str, str], types: dict[str, str]) -> Expression:
    kinds = types[pair[0]], types[pair[1]]
    texts = _fitting(_EDGE, *kinds)
    if dice.chance(0.12):
        texts = _fitting(_EDGE_FUNCTIONS, *kinds) or texts
    text = dice.pick(texts).format(sign=dice.pick(_COMPARE))
    return _renamed(_parsed(text), {"P": pair[0], "E": pair[1]})


def _fitting(conditions: tuple[tuple[str, str], ...], *types: str) -> list[str]:
    """The conditions whose attributes all of these types have."""
    return [text for needs, text in conditions if all(set(needs) <= set(TYPES[t]) for t in types)]


@cache
def _parsed(condition: str) -> Expression:
    text = f"QUERY q RETURN COUNT(*) PATTERN SEQ(A P, B E) WHERE {condition} WITHIN 1;"
    where = parse_workload(text)[0].where
    assert where is not None
    return where


def _renamed(expression: Expression, aliases: dict[str, str]) -> Expression:
    match expression:
        case Reference(qualifier=qualifier) if qualifier is not None:
            return replace(expression, qualifier=aliases[qualifier])
        case Operation(operands=operands):
            return replace(expression, operands=tuple(_renamed(o, aliases) for o in operands))
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(_renamed(a, aliases) for a in arguments))
        case _:
            return expression
