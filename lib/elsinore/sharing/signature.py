"""What queries must agree on to share one count of a sub-pattern (Sharon section 7.2)."""

from __future__ import annotations

from typing import Any

from elsinore.query.bound import BoundQuery, Key
from elsinore.query.expressions import (
    Arithmetic,
    Both,
    BoundExpression,
    Comparison,
    Constant,
    Either,
    Field,
    Function,
    Inverse,
    IsNull,
    Like,
    Negative,
)
from elsinore.sharing.fingerprints import canonical_json
from elsinore.sharing.segments import Segment

#: `a > b` says what `b < a` says.
_MIRRORED = {">": "<", ">=": "<="}


def signature(query: BoundQuery, segment: Segment) -> str:
    """The sharing signature of a sub-pattern in a query: equal where one count serves both.

    Canonical JSON of the event types, the local and edge predicates inside of the sub-pattern and
    the key attributes that its events carry; positions are counted from the sub-pattern's first, so
    that aliases and whatever stands around it do not matter. RETURN does not matter: one
    propagation carries every aggregate. Nor do windows: counts are kept per START event of the
    sub-pattern, each window reads those that it holds, and they expire with the longest window.
    """
    inside = range(segment.start, segment.stop)
    local = [
        [predicate.position - segment.start, _canonical(predicate.condition, segment.start)]
        for predicate in query.local_predicates
        if predicate.position in inside
    ]
    edges = [
        [edge.earlier - segment.start, _canonical(edge.condition, segment.start)]
        for edge in query.edge_predicates
        if edge.earlier in inside and edge.later in inside
    ]
    keys = [
        [key.attribute, sorted(i - segment.start for i in key.positions if i in inside),
         key.equivalence]
        for key in keys_of(query, segment)
    ]  # fmt: skip
    return canonical_json(
        {
            "types": segment.types,
            "local": _unordered(local),
            "edges": _unordered(edges),
            "keys": _unordered(keys),
        }
    )


def keys_of(query: BoundQuery, segment: Segment) -> tuple[Key, ...]:
    """The keys of a query that some event of a sub-pattern carries."""
    inside = range(segment.start, segment.stop)
    return tuple(key for key in query.keys if any(i in inside for i in key.positions))


def _unordered(items: list[Any]) -> list[Any]:
    """In one order and without repetition: conjuncts may be written in any."""
    return [item for _, item in sorted({canonical_json(item): item for item in items}.items())]


def _canonical(expression: BoundExpression, base: int) -> list[Any]:
    """A bound expression as nested lists; positions are relative to `base`."""
    match expression:
        case Constant(value, kind):
            return ["constant", kind, value]
        case Field(position, attribute, kind, following):
            return ["field", kind, position - base, attribute, following]
        case Arithmetic(operator, left, right, kind):
            return [operator, kind, _canonical(left, base), _canonical(right, base)]
        case Comparison(operator, left, right, kind):
            if operator in _MIRRORED:
                operator, left, right = _MIRRORED[operator], right, left
            return [operator, kind, _canonical(left, base), _canonical(right, base)]
        case Both(parts, kind) | Either(parts, kind):
            name = "and" if isinstance(expression, Both) else "or"
            return [name, kind, *_unordered([_canonical(part, base) for part in parts])]
        case Negative(operand, kind) | Inverse(operand, kind) | IsNull(operand, kind):
            return [type(expression).__name__, kind, _canonical(operand, base)]
        case Function(name, operands, kind):
            return [f"function {name}", kind, *(_canonical(part, base) for part in operands)]
        case Like(operand, pattern, escape, kind):
            return ["like", kind, _canonical(operand, base), pattern, escape]
