"""Decide whether one event can meet several local predicates.

A condition depends on the order of its terms and the constants that they are compared with. A term
is an attribute, another expression that is compared with a constant, or the order of two
expressions. So it is enough to test a few values of each term: the constants, their neighbors, and
NULL. NaN is not tested: no comparison with NaN is true, so NaN meets no more conditions than other
values. Terms are treated as independent, so "no" is certain and "yes" may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations, product
from math import ceil, floor, inf, nextafter, prod
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import BoundQuery, of_query
from elsinore.query.expressions import Applied, BoundExpression, Constant

#: Maximum number of comparisons to test conditions with common terms. Conditions that need more
#: are treated as possible together.
MOST_TRIED = 5_000
#: Maximum number of sets of local predicates that are compared in pairs. If there are more, all
#: pairs are treated as possible together.
MOST_COMPARED = 64

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "!=": ne,
}  # fmt: skip
#: Doubles represent all integers up to this one exactly.
_EXACT = 2**53

#: A condition, and the truth value that it must have. Unknown is neither true nor false.
_Demand = tuple[BoundExpression, bool]


class _Comparison(NamedTuple):
    term: BoundExpression
    operator: str
    value: Any


@of_query
def told_apart(query: BoundQuery) -> frozenset[tuple[int, int]]:
    """Return pairs of positions of one type whose local predicates no event meets together.

    Each pair is included in both orders.
    """
    alike: dict[tuple[str, frozenset[BoundExpression]], list[int]] = {}
    for position in query.positions:
        local = query.local_conditions(position.index)
        if local:
            alike.setdefault((position.type, local), []).append(position.index)
    found = set()
    for one, two in combinations(alike, 2) if len(alike) <= MOST_COMPARED else ():
        if one[0] == two[0] and not can_meet(one[1] | two[1]):
            found |= {pair for p in alike[one] for q in alike[two] for pair in ((p, q), (q, p))}
    return frozenset(found)


def can_meet(conditions: Iterable[BoundExpression]) -> bool:
    """Return whether an event may meet all of these conditions, of any positions.

    False is certain, but True may be wrong.
    """
    groups: list[tuple[set[BoundExpression], list[_Demand]]] = []
    for demand in _demands(Applied("AND", tuple(conditions)), True):
        terms, together = {term for term, _ in _samples(demand[0])}, [demand]
        for group in [group for group in groups if not terms.isdisjoint(group[0])]:
            groups.remove(group)
            terms |= group[0]
            together += group[1]
        groups.append((terms, together))
    return all(_some_values_meet(demands) for _, demands in groups)


def _demands(condition: BoundExpression, truth: bool) -> Iterator[_Demand]:
    """Yield the demands that must all be met so that a condition is true, or false."""
    match condition:
        case Applied("NOT", (operand,)):
            yield from _demands(operand, not truth)
        case Applied("AND" | "OR" as name, parts) if (name == "AND") is truth:
            for part in parts:
                yield from _demands(part, truth)
        case _:
            yield condition, truth


def _some_values_meet(demands: list[_Demand]) -> bool:
    samples: dict[BoundExpression, set[Any]] = {}
    comparisons = 0
    for condition, _ in demands:
        for term, values in _samples(condition):
            samples.setdefault(term, {None}).update(values)
            comparisons += 1
    if comparisons * prod(map(len, samples.values())) > MOST_TRIED:
        return True
    trials = (dict(zip(samples, values, strict=True)) for values in product(*samples.values()))
    return any(all(_truth(c, trial) is truth for c, truth in demands) for trial in trials)


def _samples(condition: BoundExpression) -> Iterator[tuple[BoundExpression, tuple[Any, ...]]]:
    """Yield the terms of a condition, each with values around the constant it is compared with."""
    match condition:
        case Applied("NOT" | "AND" | "OR", parts):
            for part in parts:
                yield from _samples(part)
        case Applied("IS NULL", (operand,)):
            yield (
                operand,
                ({AttributeType.STRING: "", AttributeType.BOOLEAN: True}.get(operand.type, 0),),
            )
        case Constant():
            return
        case _:
            term, _, value = _comparison(condition)
            yield term, _around(value, term.type)


def _around(value: Any, kind: AttributeType) -> tuple[Any, ...]:
    """Return a value and its neighbors, as values of the given type."""
    match value:
        case bool():
            return True, False
        case str():
            return "", value, value + "\0"
        case float() if kind is AttributeType.DOUBLE:
            return nextafter(value, -inf), value, nextafter(value, inf)
        case int() | float():
            return ceil(value) - 1, ceil(value), floor(value), floor(value) + 1
        case _:
            return ()


def _truth(condition: BoundExpression, values: Mapping[BoundExpression, Any]) -> bool | None:
    """Return whether a condition is true for some values of its terms; None if unknown."""
    match condition:
        case Applied("NOT", (operand,)):
            truth = _truth(operand, values)
            return None if truth is None else not truth
        case Applied("AND" | "OR" as name, parts):
            found = {_truth(part, values) for part in parts}
            if (name == "OR") in found:
                return name == "OR"
            return None if None in found else name == "AND"
        case Applied("IS NULL", (operand,)):
            return values[operand] is None
        case Constant(value):
            return None if value is None else bool(value)
        case _:
            term, operator, bound = _comparison(condition)
            value = values[term]
            return None if value is None or bound is None else _COMPARE[operator](value, bound)


def _comparison(condition: BoundExpression) -> _Comparison:
    """Return a condition as the comparison of a term with a constant.

    A comparison of two expressions becomes a comparison of their order with 0. Any other condition
    is compared with TRUE.
    """
    match condition:
        case Applied(operator, (Constant() as constant, term)) if operator in _COMPARE:
            operator = _MIRRORED[operator]
        case Applied(operator, (term, Constant() as constant)) if operator in _COMPARE:
            pass
        case Applied(operator, (left, right)) if operator in _COMPARE:
            if repr(left) > repr(right):
                operator, left, right = _MIRRORED[operator], right, left
            return _Comparison(Applied("order", (left, right), AttributeType.LONG), operator, 0)
        case _:
            return _Comparison(condition, "=", True)
    value = constant.value
    if term.type is AttributeType.DOUBLE and isinstance(value, int):
        value = float(value)
    elif (
        term.type is not AttributeType.DOUBLE and isinstance(value, float) and abs(value) >= _EXACT
    ):
        return _Comparison(condition, "=", True)  # doubles blur which longs are meant
    return _Comparison(term, operator, value)
