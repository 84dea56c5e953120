"""Advice on counts: for queries that count trends where distinct things may be wanted."""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.query.bound import AggregateFunction, BoundQuery
from elsinore.query.expressions import Applied, BoundExpression, Constant, Slot
from elsinore.query.syntax import (
    Conjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Negation,
    Pattern,
    parts_of,
)

#: Functions whose values do not depend on how often an event counts.
_SAME_WITH_EACH = (AggregateFunction.MIN, AggregateFunction.MAX)
#: Comparisons that small values meet, by the comparison with swapped operands.
_SWAPPED = {"=": "=", ">": "<", ">=": "<="}


def repeats_hint(query: BoundQuery) -> str | None:
    """Return a hint for a query that counts trends of a pattern with a repeated part.

    Returns:
        None if the query has EACH or DISTINCT, if its values do not depend on the number of trends,
        or if the pattern does not allow EACH.
    """
    counts = any(item.function not in _SAME_WITH_EACH for item in query.counted)
    repeated = next(_repeated(query.pattern), None)
    if not counts or repeated is None or not takes_each(query):
        return None
    return f"{repeated} can repeat, so counts of matches can be very large: {instead(query)}"


def takes_each(query: BoundQuery) -> bool:
    """Return whether EACH and DISTINCT are allowed in a query that has neither."""
    return not query.steps and not query.participating and not _has_conjunction(query.pattern)


def instead(query: BoundQuery) -> str:
    """Return what to write instead of COUNT(*), with names of the query."""
    members = [position for position in query.positions if not position.negated]
    repeated = set(_repeated(query.pattern))
    once = [position.alias for position in members if position.alias not in repeated]
    name = once[-1] if once else members[-1].alias
    text = f"COUNT(EACH {name}) counts each event once"
    everywhere = {position.index for position in members}
    for key in query.keys:
        if key.equivalence and key.value is None and key.positions >= everywhere:
            return f"{text}, COUNT(DISTINCT {key.attribute}) each {key.attribute}"
    return text


def is_never_true(query: BoundQuery) -> bool:
    """Return whether HAVING asks for rows without trends: a window without a trend has no row."""
    return query.having is not None and _excludes_rows(query, query.having)


def _excludes_rows(query: BoundQuery, condition: BoundExpression) -> bool:
    match condition:
        case Applied("AND", parts):
            return any(_excludes_rows(query, part) for part in parts)
        case Applied("OR", parts):
            return all(_excludes_rows(query, part) for part in parts)
        case Applied(name, (Slot(number), Constant(value))) if name in _SWAPPED.values():
            return _is_below_one(query, number, name, value)
        case Applied(name, (Constant(value), Slot(number))) if name in _SWAPPED:
            return _is_below_one(query, number, _SWAPPED[name], value)
    return False


def _is_below_one(query: BoundQuery, number: int, name: str, value: object) -> bool:
    """Return whether an aggregate is COUNT(*), and a comparison holds only below 1."""
    if not query.aggregates[number].counts_trends or not isinstance(value, int | float):
        return False
    return value < 1 or (name == "<" and value == 1)


def _repeated(pattern: Pattern, inside: bool = False) -> Iterator[str]:
    """Yield the aliases of events that can occur several times in a trend."""
    if isinstance(pattern, Negation):
        return
    if isinstance(pattern, EventPattern) and inside:
        yield pattern.alias
    for part in parts_of(pattern):
        yield from _repeated(part, inside or isinstance(pattern, KleenePlus | KleeneStar))


def _has_conjunction(pattern: Pattern) -> bool:
    return isinstance(pattern, Conjunction) or any(map(_has_conjunction, parts_of(pattern)))
