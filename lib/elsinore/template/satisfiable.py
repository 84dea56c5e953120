"""Whether one event can meet several local predicates together.

A condition is read as alternatives, each a set of possible values for some terms: an attribute, or
any expression that is compared with a constant, or which of two expressions is the smaller. Terms
are taken to be independent of each other, so that "no" is certain and "yes" may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, floor
from typing import Any

from elsinore.catalog.stream import AttributeType
from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import (
    Both,
    BoundExpression,
    Comparison,
    Constant,
    Either,
    Inverse,
    IsNull,
    anonymous,
)
from elsinore.query.remember import of_query

#: Alternatives that are told apart; a condition of more is taken to let everything pass.
MOST_ALTERNATIVES = 16
#: Stretches of values that are compared with each other; beyond, one side alone is kept.
MOST_SPANS = 1_000
#: Sets of local predicates that are compared with each other; of more, none are told apart.
MOST_COMPARED = 64

#: A place between two values, in their order.
Cut = tuple[Any, ...]
_LOWEST: Cut = (-1,)
_HIGHEST: Cut = (1,)

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
#: Doubles tell all integers apart up to here.
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Values:
    """Possible values of a term: stretches from cut to cut, NULL, and (for a double) NaN."""

    spans: tuple[tuple[Cut, Cut], ...]
    null: bool = False
    nan: bool = False

    def __and__(self, other: Values) -> Values:
        if len(self.spans) * len(other.spans) > MOST_SPANS:
            return self
        met = (
            (max(one[0], two[0]), min(one[1], two[1])) for one in self.spans for two in other.spans
        )
        spans = tuple(span for span in met if span[0] < span[1])
        return Values(spans, self.null and other.null, self.nan and other.nan)

    def __or__(self, other: Values) -> Values:
        return Values(self.spans + other.spans, self.null or other.null, self.nan or other.nan)

    def __bool__(self) -> bool:
        return bool(self.spans) or self.null or self.nan


#: What must hold of some terms at once.
Alternative = dict[object, Values]

_EVERYTHING: list[Alternative] = [{}]


def can_meet(conditions: Iterable[BoundExpression]) -> bool:
    """Whether some event may meet all of these conditions, whatever position they are about."""
    return bool(_alternatives(Both(tuple(map(anonymous, conditions))), True))


@of_query
def told_apart(query: BoundQuery) -> frozenset[tuple[int, int]]:
    """Pairs of positions of one type whose local predicates no event meets together, both ways."""
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


def _alternatives(condition: BoundExpression, truth: bool) -> list[Alternative]:
    """When a condition may be true, or false; unknown is neither. No alternative means never."""
    match condition:
        case Inverse(operand):
            return _alternatives(operand, not truth)
        case Both(parts) | Either(parts) if isinstance(condition, Both) is truth:
            found = _EVERYTHING
            for part in parts:
                found = _bounded(_together(found, _alternatives(part, truth)))
            return found
        case Both(parts) | Either(parts):
            return _bounded(_joined([each for p in parts for each in _alternatives(p, truth)]))
        case IsNull(operand):
            some = Values(((_LOWEST, _HIGHEST),), nan=True)
            return [{operand: Values((), null=True) if truth else some}]
        case Comparison(operator, left, right):
            return _compared(operator if truth else _OPPOSITE[operator], left, right)
        case Constant():
            return _EVERYTHING
        case _:  # a truth value by itself
            return [{condition: _beside("=", Constant(truth, AttributeType.BOOLEAN))}]


def _together(left: list[Alternative], right: list[Alternative]) -> list[Alternative]:
    """One of each side at once."""
    found = []
    for one in left:
        for two in right:
            both = {
                t: one[t] & two[t] if t in one and t in two else (one | two)[t] for t in one | two
            }
            if all(both.values()):
                found.append(both)
    return found


def _joined(found: list[Alternative]) -> list[Alternative]:
    """Alternatives about the same single term as one."""
    single: Alternative = {}
    several = []
    for each in found:
        if len(each) == 1:
            ((term, values),) = each.items()
            single[term] = single[term] | values if term in single else values
        else:
            several.append(each)
    return [*({term: values} for term, values in single.items()), *several]


def _bounded(found: list[Alternative]) -> list[Alternative]:
    return found if len(found) <= MOST_ALTERNATIVES else _EVERYTHING


def _compared(operator: str, left: BoundExpression, right: BoundExpression) -> list[Alternative]:
    if isinstance(left, Constant):
        operator, left, right = _MIRRORED[operator], right, left
    if isinstance(left, Constant):
        return _EVERYTHING
    if isinstance(right, Constant):
        bound = _as_type(right, left.type)
        return _EVERYTHING if bound is None else [{left: _beside(operator, bound)}]
    if repr(left) > repr(right):
        operator, left, right = _MIRRORED[operator], right, left
    sign = Constant(0, AttributeType.LONG)  # of left minus right
    return [{("order", left, right): _beside(operator, sign)}]


def _as_type(constant: Constant, kind: AttributeType) -> Constant | None:
    """A constant as it meets values of a type; None where doubles blur which values those are."""
    value = constant.value
    if kind is AttributeType.DOUBLE and isinstance(value, int):
        return Constant(float(value), kind)
    if isinstance(value, float) and kind is not AttributeType.DOUBLE and abs(value) >= _EXACT:
        return None
    return replace(constant, type=kind)


def _beside(operator: str, constant: Constant) -> Values:
    """The values that compare so with a constant."""
    before, after = _cuts(constant)
    below, above = (_LOWEST, before), (after, _HIGHEST)
    spans = {
        "<": (below,),
        "<=": ((_LOWEST, after),),
        ">": (above,),
        ">=": ((before, _HIGHEST),),
        "=": ((before, after),),
        "!=": (below, above),
    }
    return Values(spans[operator])


def _cuts(constant: Constant) -> tuple[Cut, Cut]:
    """The places right before and right after a value; between 1 and 2 there is no long."""
    value = constant.value
    if constant.type in (AttributeType.LONG, AttributeType.TIMESTAMP):
        assert isinstance(value, int | float)
        return (0, ceil(value), 0), (0, floor(value) + 1, 0)
    return (0, value, 0), (0, value, 1)
